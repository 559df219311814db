r"""Correlations of two columns, from the products of two pairs and two squares.

With t and R, u and S as for the mean of either, a row where both are present adds p times ((R-t)(S-u), (R-t) u,
t (S-u), t u), a t (R-t) and b u (S-u), with public whole numbers that make all six reach about equally far: their sums
hold the number of rows, both sums, both sums of squares and the sum of products.  The interval inverts a linear test in
which, at the true means m, n, ratio k of the deviations and correlation r, the exact sums cancel: the sum over rows of
(s - m)(v - n) - r/2 (k (s - m)^2 + (v - n)^2 / k), s = t/R and v = u/S (docs/proofs/correlation.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Products
from sfumato.queries.details import Grouped, known_parts
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.variance import WIDEST_SQUARED
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, Whole, half_width, share_rows
from sfumato.queries.weighted_noise import weighted_quantile
from sfumato.spaces import numeric
from sfumato.spaces.schema import Schema

__all__ = ["Correlation", "CorrelationDetails", "correlation"]

Floats = npt.NDArray[np.float64]
Ends = tuple[Floats, Floats]
FINER = 16  # how finely the six sums are made to reach equally far
ELSEWHERE = 0.02  # of beta, for each of two means and two variances to lie where it is not looked for
NARROWED = 4  # times that the weights are looked at


@dataclass(frozen=True, slots=True)
class CorrelationDetails(Grouped):
    """The correlation of two columns."""

    kind: ClassVar[str] = "correlation"

    columns: tuple[str, str]

    def __post_init__(self) -> None:
        names = tuple(arguments.text("column", name) for name in arguments.several("columns", self.columns))
        if len(names) != 2 or names[0] == names[1]:
            raise ParameterError("a correlation is that of two different columns, such as correlation('age', 'income')")
        object.__setattr__(self, "columns", names)

    def subject(self) -> str:
        """What is asked."""
        return "correlation of {} and {}".format(*self.columns)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"columns": list(self.columns)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> CorrelationDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "columns")
        return cls(record.get("columns", ()))

    def over(self, query: Query, schema: Schema, cells: Cells) -> Correlation:
        """One for each cell."""
        for name in self.columns:
            space = schema.space(name)
            if not numeric(space):
                raise UnsupportedQuery(
                    f"a correlation needs columns of numbers; {name!r} is declared as {type(space).__name__}"
                )
            if space.lattice.width > WIDEST_SQUARED:
                raise UnsupportedQuery(
                    f"a correlation needs at most 2^30 steps in a column's range, {name!r} has {space.lattice.width}; "
                    "declare a larger step"
                )
        return Correlation(query, schema, cells)


class Correlation(VectorQuestion):
    """The correlation of two columns over each cell."""

    coordinates = 6

    @property
    def never_missing(self) -> bool:
        """Whether both are known of every row."""
        return all(self.schema.space(name).settled for name in self.query.measured)

    @cached_property
    def widths(self) -> tuple[int, int]:
        """The steps in either range."""
        one, other = (self.schema.lattice(name).width for name in self.query.measured)
        return one, other

    @cached_property
    def multiples(self) -> tuple[int, int, int]:
        """The whole numbers of products and of either square: a R^2 and b S^2 are nearly p R S, and never more."""
        one, other = self.widths
        products = FINER * -(-max(self.widths) // min(self.widths))
        return products, products * other // one, products * one // other

    @property
    def body(self) -> Products:
        """A row adds four products that total p R S, and two squares' parts; or nothing."""
        (one, other), (p, a, b) = self.widths, self.multiples
        return Products(p * one * other, (a * (one // 2) * (one - one // 2), b * (other // 2) * (other - other // 2)))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The rows where both are present, and sums over them of either, its square, and the product."""
        first, second = self.query.measured
        powers = ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1))
        return tuple(Measure(first, power, second, other) for power, other in powers)

    @property
    def measure(self) -> str:
        """What the numbers are."""
        return self.query.details.subject()

    @property
    def frame(self) -> tuple[float, float]:
        """A correlation lies between -1 and 1."""
        return -1.0, 1.0

    def vector(self, totals: Whole) -> Whole:
        """The six sums, cell after cell."""
        rows, t, u, squares, others, products = (np.asarray(total, dtype=object) for total in totals)
        (one, other), (p, a, b) = self.widths, self.multiples
        corners = (
            one * other * rows - other * t - one * u + products, one * u - products, other * t - products, products,
        )  # fmt: skip
        parts = [*(p * corner for corner in corners), a * (one * t - squares), b * (other * u - others)]
        return np.stack(parts, axis=1).reshape(-1)

    def estimate(self, noisy: Whole) -> Floats:
        """The correlation of the noisy moments; 0 where a variance is not positive."""
        total, _, variances, product = self._moments(noisy)
        decided = (total > 0) & (variances > 0).all(axis=0)
        spread = np.sqrt(np.where(decided, variances[0] * variances[1], 1.0))
        return np.where(decided, np.clip(product / spread, -1.0, 1.0), 0.0)

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """By test inversion, with a small share of beta for where either mean and variance lie."""
        total, means, variances, product = self._moments(noisy)
        safe = np.where(total > 0, total, 1.0)
        inside = [self._mean_ends(axis, means[axis], safe, noise, ELSEWHERE * beta) for axis in (0, 1)]
        spreads = [
            self._variance_ends(axis, variances[axis], means[axis], inside[axis], safe, noise, ELSEWHERE * beta)
            for axis in (0, 1)
        ]
        decided = (total > 0) & (spreads[0][0] > 0) & (spreads[1][0] > 0)
        (low_one, high_one), (low_other, high_other) = ((np.where(decided, end, 0.25) for end in e) for e in spreads)
        ratio = np.sqrt(low_other / high_one), np.sqrt(high_other / low_one)
        away = [np.maximum(m - low, high - m) for m, (low, high) in zip(means, inside, strict=True)]
        first, second = (np.where(decided, one, 0.25) for one in variances)
        scale = _scales(first, second, away, ratio)
        slack, middle = away[0] * away[1], np.where(decided, product, 0.0)
        low, high = -np.ones_like(total), np.ones_like(total)
        for _ in range(NARROWED):
            weights = self._weighted(*_coefficients(inside, ratio, (low, high)))
            reach = slack + weighted_quantile(weights, noise, (1 - 4 * ELSEWHERE) * beta) / safe
            below, above = middle - reach, middle + reach
            low = np.clip(below / np.where(below > 0, scale[1], scale[0]), low, high)
            high = np.clip(above / np.where(above > 0, scale[0], scale[1]), low, high)
        return np.where(decided, low, -1.0), np.where(decided, high, 1.0)

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width for independent uniform laws of the declared size, shared equally by the cells."""
        sums = self.typical()
        if sums is None:
            return None
        low, high = self.interval(sums, noise, beta)
        return half_width(float(low[0]), float(self.estimate(sums)[0]), float(high[0]), self.frame)

    def typical(self) -> Floats | None:
        """The sums of independent uniform laws."""
        if self.schema.size is None:
            return None
        each = share_rows(self.schema.size, self.cells.count)
        (one, other), (p, a, b) = self.widths, self.multiples
        return each * np.array([*[p * one * other / 4] * 4, a * one**2 / 6, b * other**2 / 6])

    @property
    def supposed_rows(self) -> int | None:
        """The declared size, shared equally by the cells."""
        return None if self.schema.size is None else share_rows(self.schema.size, self.cells.count)

    @property
    def case(self) -> tuple[str, ...]:
        """Narrower laws have larger errors."""
        return ("values spread evenly over both ranges",)

    def _moments(self, noisy: Whole) -> tuple[Floats, Floats, Floats, Floats]:
        """The total, in the noise's units, and relative to it both means, both variances, and the covariance."""
        sums = np.asarray(noisy, dtype=np.float64).reshape(-1, 6)
        total = sums[:, :4].sum(axis=1)
        relative = sums / np.where(total > 0, total, 1.0)[:, None]
        one, other = relative[:, 2] + relative[:, 3], relative[:, 1] + relative[:, 3]
        near = relative[:, 4:] / self._worth[4:]
        variances = np.stack([one - near[:, 0] - one**2, other - near[:, 1] - other**2])
        return total, np.stack([one, other]), variances, relative[:, 3] - one * other

    @cached_property
    def _worth(self) -> Floats:
        """What either square reaches for each unit of the total."""
        (one, other), (p, a, b) = self.widths, self.multiples
        return np.array([1.0] * 4 + [a * one / (p * other), b * other / (p * one)])

    def _weighted(self, *sizes: Floats) -> Floats:
        """The weights of the six noises, from those of corners and of squares' parts."""
        return np.stack(np.broadcast_arrays(*sizes), axis=1) / self._worth

    def _mean_ends(self, axis: int, mean: Floats, total: Floats, noise: Noise, beta: float) -> Ends:
        """Where a true mean lies: the sum of s - m is pure noise."""
        low, high = np.zeros_like(mean), np.ones_like(mean)
        for _ in range(2):
            sizes = _corners(axis, high, 1 - low)
            reach = weighted_quantile(self._weighted(*sizes, 0 * low, 0 * low), noise, beta) / total
            low, high = np.clip(mean - reach, low, high), np.clip(mean + reach, low, high)
        return low, high

    def _variance_ends(
        self, axis: int, variance: Floats, mean: Floats, inside: Ends, total: Floats, noise: Noise, beta: float
    ) -> Ends:
        """Where a true variance lies: the sum of (s - m)^2 - v is pure noise."""
        (before, after), away = inside, np.maximum(mean - inside[0], inside[1] - mean)
        low, high = np.zeros_like(variance), np.full_like(variance, 0.25)
        for _ in range(NARROWED):
            near = np.maximum(after**2 - low, high - before**2)
            far = np.maximum((1 - before) ** 2 - low, high - (1 - after) ** 2)
            squares = (np.ones_like(low), 0 * low) if axis == 0 else (0 * low, np.ones_like(low))
            reach = weighted_quantile(self._weighted(*_corners(axis, near, far), *squares), noise, beta) / total
            low, high = np.clip(variance - reach, low, high), np.clip(variance + away**2 + reach, low, high)
        return low, high


def _corners(axis: int, near: Floats, far: Floats) -> tuple[Floats, ...]:
    """What belongs to 0 and to 1 along an axis, at the four corners of both."""
    return (near, near, far, far) if axis == 0 else (near, far, near, far)


def _scales(first: Floats, second: Floats, away: list[Floats], ratio: Ends) -> Ends:
    """The least and the largest of (k (V + d^2) + (W + e^2) / k) / 2, for d, e and k within their ends."""
    best = np.clip(np.sqrt(second / first), *ratio)
    least = (best * first + second / best) / 2
    most = [(k * (first + away[0] ** 2) + (second + away[1] ** 2) / k) / 2 for k in ratio]
    return least, np.maximum(*most)


def _coefficients(inside: list[Ends], ratio: Ends, found: Ends) -> tuple[Floats, ...]:
    """The largest sizes of the test's coefficients for means, ratio and correlation within their ends.

    At the corner (i, j): (i - m)(j - n) - r/2 (k (i - m)^2 + (j - n)^2 / k); of the squares' parts r k / 2, r / (2 k).
    """
    (lower, upper), sizes = found, []
    for i in (0, 1):
        for j in (0, 1):
            (a, b), (c, d) = (_distance(one, ends) for one, ends in zip((i, j), inside, strict=True))
            product = (a * c, b * d) if i == j else (-b * d, -a * c)
            least, most = (ratio[0] * a**2 + c**2 / ratio[1]) / 2, (ratio[1] * b**2 + d**2 / ratio[0]) / 2
            taken = lower * np.where(lower < 0, most, least), upper * np.where(upper > 0, most, least)
            sizes.append(np.maximum(np.abs(product[0] - taken[1]), np.abs(product[1] - taken[0])))
    strongest = np.maximum(np.abs(lower), np.abs(upper)) / 2
    return (*sizes, strongest * ratio[1], strongest / ratio[0])


def _distance(corner: int, ends: Ends) -> Ends:
    """The least and the largest distance of a corner, 0 or 1, from a mean within its ends."""
    return (1 - ends[1], 1 - ends[0]) if corner else ends


def correlation(one: str, other: str) -> Query:
    """The correlation of two columns of numbers, over the rows that have both.

    >>> correlation("age", "income").by("sex").name
    'correlation of age and income by sex'
    """
    return Query(CorrelationDetails((one, other)))
