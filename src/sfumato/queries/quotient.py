r"""Ratios of two sums over the same rows.

A row where both columns are present adds (v a, w b) to the pair of sums, a and b in steps of their lattices, with
public whole numbers v and w that make both reach equally far.  At the true ratio r the difference A - r B of the noisy
sums is pure noise, so that r is kept while |A - r B| is at most the quantile of that noise (test inversion, after
Fieller 1954), at a weight no less than the true one: the largest of those r that are left, narrowed in turn
(docs/proofs/quotient.md).  A ratio has public bounds: its answer, like every one, is that of clipped values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Rectangle
from sfumato.queries.details import Grouped, known_parts, needed_column
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, Whole, half_width, share_rows
from sfumato.queries.weighted_noise import weighted_quantile
from sfumato.spaces import Lattice, numeric
from sfumato.spaces.schema import Schema

__all__ = ["Quotient", "RatioDetails", "ratio", "ratio_bounds"]

Floats = npt.NDArray[np.float64]
FINER = 16  # how finely the two sums are made to reach equally far
NARROWED = 8  # times that the weights are looked at


@dataclass(frozen=True, slots=True)
class RatioDetails(Grouped):
    """The sum of one column over the sum of another, between bounds."""

    kind: ClassVar[str] = "ratio"

    numerator: str
    denominator: str
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        needed_column("ratio's numerator", self.numerator)
        needed_column("ratio's denominator", self.denominator)
        if self.numerator == self.denominator:
            raise ParameterError(f"the ratio of {self.numerator!r} to itself is 1; name two columns")
        if self.bounds is None:
            return
        ends = arguments.several("bounds", self.bounds)
        if len(ends) != 2:
            raise ParameterError("bounds of a ratio are two numbers, such as bounds=(0, 2)")
        low, high = (arguments.number("each of bounds", end) for end in ends)
        if not low < high:
            raise ParameterError(f"bounds of a ratio must rise, got {low:g} and {high:g}")
        object.__setattr__(self, "bounds", (low, high))

    def subject(self) -> str:
        """What is asked."""
        return f"ratio of {self.numerator} to {self.denominator}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        bounds = {} if self.bounds is None else {"bounds": list(self.bounds)}
        return {"numerator": self.numerator, "denominator": self.denominator, **bounds}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> RatioDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "numerator", "denominator", "bounds")
        return cls(record.get("numerator", ""), record.get("denominator", ""), record.get("bounds"))

    def over(self, query: Query, schema: Schema, cells: Cells) -> Quotient:
        """One for each cell."""
        above, below = (_plain_lattice(name, schema) for name in (self.numerator, self.denominator))
        if below.low < 0:
            raise UnsupportedQuery(
                f"the denominator {self.denominator!r} of a ratio must not be negative; declare a lower bound of 0"
            )
        if self.bounds is None and below.low == 0:
            raise UnsupportedQuery(
                f"the denominator {self.denominator!r} can be 0, so that the ratio has no bounds; say between which "
                "numbers it lies, as in bounds=(0, 2), or declare a positive lower bound"
            )
        return Quotient(query, schema, cells, above, below, self.bounds or ratio_bounds(above, below))


def _plain_lattice(name: str, schema: Schema) -> Lattice:
    space = schema.space(name)
    if not numeric(space) or space.decodes:
        raise UnsupportedQuery(f"a ratio needs columns of numbers; {name!r} is declared as {type(space).__name__}")
    return space.lattice


def ratio_bounds(above: Lattice, below: Lattice) -> tuple[float, float]:
    """The least and the largest ratio of a value of the one to a positive value of the other."""
    ends = [a / b for a in (above.low_value, above.high_value) for b in (below.low_value, below.high_value)]
    return min(ends), max(ends)


@dataclass(frozen=True)
class Quotient(VectorQuestion):
    """The ratio of two sums over each cell."""

    above: Lattice
    below: Lattice
    bounds: tuple[float, float]

    coordinates = 2

    @property
    def never_missing(self) -> bool:
        """Whether both are known of every row."""
        return all(self.schema.space(name).settled for name in self.query.measured)

    @cached_property
    def reaches(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """What a row adds to the two sums, in steps; with a public number of rows counted from the lower bounds."""
        if self.every_row_counts:  # only differences matter
            return (0, self.above.width), (0, self.below.width)
        return (self.above.low, self.above.high), (self.below.low, self.below.high)

    @cached_property
    def multiples(self) -> tuple[int, int]:
        """The whole numbers that make both sums reach equally far, as nearly as matters."""
        far = [max(1, abs(low), abs(high)) for low, high in self.reaches]
        return FINER * max(far) // far[0], FINER * max(far) // far[1]

    @property
    def body(self) -> Rectangle:
        """A row adds a pair, or nothing."""
        (a, b), (c, d) = self.reaches
        v, w = self.multiples
        return Rectangle(((v * a, v * b), (w * c, w * d)))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The rows where both are present, and the two sums over them, counted from the lower bounds."""
        first, second = self.query.measured[:2]
        return tuple(Measure(first, power, second, other) for power, other in ((0, 0), (1, 0), (0, 1)))

    @property
    def measure(self) -> str:
        """What the numbers are."""
        return self.query.details.subject()

    @property
    def frame(self) -> tuple[float, float]:
        """The public bounds."""
        return self.bounds

    def vector(self, totals: Whole) -> Whole:
        """The pairs of sums, cell after cell."""
        rows, above, below = (np.asarray(total, dtype=object) for total in totals)
        if self.every_row_counts:
            rows = np.array([self.schema.fixed_size], dtype=object)
        v, w = self.multiples
        pairs = [v * (above + self.above.low * rows), w * (below + self.below.low * rows)]
        return np.stack(pairs, axis=1).reshape(-1)

    @property
    def worth(self) -> tuple[float, float]:
        """What one whole number of each sum is worth."""
        v, w = self.multiples
        return float(self.above.step / v), float(self.below.step / w)

    def estimate(self, noisy: Whole) -> Floats:
        """The ratio of the noisy sums, kept between the bounds; their middle where the denominator is not positive."""
        above, below = self._sums(noisy)
        low, high = self.bounds
        found = np.where(below > 0, above / np.where(below > 0, below, 1.0), (low + high) / 2)
        return np.clip(found, low, high)

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """By test inversion, the weight of the denominator's noise narrowed in turn."""
        above, below = self._sums(noisy)
        safe = np.where(below > 0, below, 1.0)
        low, high = (np.full(len(above), end) for end in self.bounds)
        v, w = self.worth
        for _ in range(NARROWED):
            largest = np.maximum(np.abs(low), np.abs(high))
            reach = weighted_quantile(np.stack([np.full_like(largest, v), w * largest], axis=1), noise, beta) / safe
            low, high = np.maximum(low, above / safe - reach), np.minimum(high, above / safe + reach)
            low, high = np.minimum(low, self.bounds[1]), np.maximum(high, self.bounds[0])
            low, high = np.minimum(low, high), np.maximum(low, high)
        decided = below > 0
        return np.where(decided, low, self.bounds[0]), np.where(decided, high, self.bounds[1])

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width at the middle of the bounds for the declared size, shared equally by the cells."""
        pair = self.typical()
        if pair is None:
            return None
        low, high = self.interval(pair, noise, beta)
        return half_width(float(low[0]), float(self.estimate(pair)[0]), float(high[0]), self.frame)

    def typical(self) -> Floats | None:
        """The sums for a ratio in the middle of its bounds, and denominators in the middle of theirs."""
        if self.schema.size is None:
            return None
        each = share_rows(self.schema.size, self.cells.count)
        below = float(Fraction(each * (self.below.low + self.below.high), 2) * self.multiples[1])
        return np.array([below * self.worth[1] * sum(self.bounds) / 2 / self.worth[0], below])

    @property
    def supposed_rows(self) -> int | None:
        """The declared size, shared equally by the cells."""
        return None if self.schema.size is None else share_rows(self.schema.size, self.cells.count)

    @property
    def case(self) -> tuple[str, ...]:
        """Larger ratios, and smaller denominators, have larger errors."""
        return ("a ratio in the middle of its bounds", "denominators in the middle of theirs")

    def _sums(self, noisy: Whole) -> tuple[Floats, Floats]:
        pairs = np.asarray(noisy, dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0] * self.worth[0], pairs[:, 1] * self.worth[1]


def ratio(numerator: str, denominator: str, *, bounds: Sequence[float] | None = None) -> Query:
    """The sum of one column over the sum of another, over the rows that have both.

    `bounds` are public: the ratio is kept between them.  They follow from the columns' own where no denominator can
    be 0, and must be given elsewhere.

    >>> ratio("tip", "fare", bounds=(0, 1)).by("city").name
    'ratio of tip to fare by city'
    """
    return Query(RatioDetails(numerator, denominator, bounds))  # type: ignore[arg-type]
