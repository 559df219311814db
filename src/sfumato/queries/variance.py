r"""Variances, from the Bernstein basis of degree 2.

With t and R as for the mean, each present row adds ((R-t)^2, 2 t (R-t), t^2): non-negative, adding
up to R^2.  So one row moves the triple by R^2 in l1, and from it follow the count (the total over
R^2), the first moment and the second (docs/proofs/moments.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.details import OfColumn
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, Whole, half_width, numeric_space, share_rows
from sfumato.queries.weighted_noise import weighted_quantile
from sfumato.spaces.schema import Schema

__all__ = ["Variance", "VarianceDetails", "variance"]

Floats = npt.NDArray[np.float64]
WIDEST_SQUARED = 2**30  # the square of a wider range, times a row, would not fit in 64 bits
ELSEWHERE = 0.02  # of beta, for the mean to lie where the weights are not looked at
NARROWED = 4  # times that the weights are looked at


@dataclass(frozen=True, slots=True)
class VarianceDetails(OfColumn):
    """The variance of a column."""

    kind: ClassVar[str] = "variance"

    def over(self, query: Query, schema: Schema, cells: Cells) -> Variance:
        """One for each cell."""
        self.must_be_narrow(query, schema)
        return Variance(query, schema, cells)

    def must_be_narrow(self, query: Query, schema: Schema) -> None:
        """Refuse a column whose squares do not fit in 64 bits."""
        width = numeric_space(query, schema).lattice.width
        if width > WIDEST_SQUARED:
            raise UnsupportedQuery(
                f"the {self.kind} of {self.column!r} needs at most 2^30 steps in its range, got {width}; "
                "declare a larger step"
            )


class Variance(VectorQuestion):
    """The variance (divided by the count) of a column over each cell."""

    coordinates = 3

    @property
    def body(self) -> Simplex:
        """A row adds a triple that totals R^2, or nothing."""
        return Simplex(self.lattice.width**2)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The count, the sum and the sum of squares, counted from the lower bound."""
        column = self.query.column
        return (Measure(column), Measure(column, 1), Measure(column, 2))

    def vector(self, totals: Whole) -> Whole:
        """The triples, cell after cell."""
        present, above, squares = (np.asarray(total, dtype=object) for total in totals)
        width = self.lattice.width
        first = width**2 * present - 2 * width * above + squares
        middle = 2 * (width * above - squares)
        return np.stack([first, middle, squares], axis=1).reshape(-1)

    def estimate(self, noisy: Whole) -> Floats:
        """The variance of the noisy moments, kept between 0 and a quarter of the squared range."""
        total, mean, square = self._moments(self._triples(noisy))
        known = np.where(total > 0, square - mean**2, 0.125)
        return self._values(np.clip(known, 0.0, 0.25))

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """By test inversion, with a small share of beta for where the mean lies.

        At the true mean m and variance v the sum of (m^2 - v, m^2 - m - v, (1 - m)^2 - v) times the noisy triple is
        pure noise, and it is T (v^ + (m^ - m)^2 - v) with T the noisy total, m^ and v^ the noisy mean and variance.  So
        v lies within q / T of v^ + (m^ - m)^2, q the quantile of that noise at weights no less than the true ones: the
        largest over where m and v can lie, narrowed in turn (docs/proofs/moments.md).
        """
        triples = self._triples(noisy)
        total, mean, square = self._moments(triples)
        decided = total > 0
        safe, center = np.where(decided, total, 1.0), np.clip(square - mean**2, 0.0, 0.25)
        first = weighted_quantile(np.ones((1, 3)) * [1.0, 0.5, 1.0], noise, ELSEWHERE * beta) / safe
        before, after = np.clip(mean - first, 0, 1), np.clip(mean + first, 0, 1)
        away = weighted_quantile(_mean_weights(before, after), noise, ELSEWHERE * beta) / safe
        before, after = np.clip(mean - away, 0, 1), np.clip(mean + away, 0, 1)
        least, most = np.zeros_like(center), np.full_like(center, 0.25)
        for _ in range(NARROWED):
            reach = weighted_quantile(_weights(before, after, least, most), noise, (1 - ELSEWHERE) * beta) / safe
            least, most = np.maximum(center - reach, 0.0), np.minimum(center + away**2 + reach, 0.25)
        low, high = np.where(decided, least, 0.0), np.where(decided, most, 0.25)
        return self._values(low), self._values(high)

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width for a uniform law of the declared size, shared equally by the cells."""
        triple = self.typical()
        if triple is None:
            return None
        low, high = self.interval(triple, noise, beta)
        middle, (most,) = self.estimate(triple), self.largest()
        return half_width(float(low[0]), float(middle[0]), float(high[0]), (0.0, most))

    @property
    def span(self) -> tuple[float, float]:
        """From nothing to the largest answer."""
        return 0.0, float(self.largest()[0])

    def typical(self) -> Floats | None:
        """The triple of a uniform law."""
        if self.schema.size is None:
            return None
        each = share_rows(self.schema.size, self.cells.count)
        return np.full(3, self.lattice.width**2 * each / 3.0)

    @property
    def supposed_rows(self) -> int | None:
        """The declared size, shared equally by the cells."""
        return None if self.schema.size is None else share_rows(self.schema.size, self.cells.count)

    @property
    def case(self) -> tuple[str, ...]:
        """Other laws have other errors."""
        return ("values spread evenly over the range",)

    def largest(self) -> Floats:
        """The largest answer: that of values half at either end."""
        return self._values(np.array([0.25]))

    def _triples(self, noisy: Whole) -> Floats:
        return np.asarray(noisy, dtype=np.float64).reshape(-1, 3)

    @staticmethod
    def _moments(triples: Floats) -> tuple[Floats, ...]:
        total = triples.sum(axis=1)
        safe = np.where(total > 0, total, 1.0)
        return total, (triples[:, 1] / 2 + triples[:, 2]) / safe, triples[:, 2] / safe

    def _values(self, relative: Floats) -> Floats:
        return np.asarray(relative * self.lattice.value(self.lattice.width) ** 2, dtype=np.float64)


def _mean_weights(before: Floats, after: Floats) -> Floats:
    """The largest sizes of (m, 1/2 - m, 1 - m) for m between the two."""
    return np.stack([after, np.maximum(abs(0.5 - before), abs(0.5 - after)), 1 - before], axis=1)


def _weights(before: Floats, after: Floats, least: Floats, most: Floats) -> Floats:
    """The largest sizes of (m^2 - v, m^2 - m - v, (1 - m)^2 - v) for m and v between their ends."""
    lowest = np.where((before < 0.5) & (after > 0.5), -0.25, np.minimum(before**2 - before, after**2 - after))
    sizes = (
        np.maximum(after**2 - least, most - before**2),
        most - lowest,
        np.maximum((1 - before) ** 2 - least, most - (1 - after) ** 2),
    )
    return np.stack(sizes, axis=1)


def variance(column: str) -> Query:
    """The variance of a number (divided by the count)."""
    return Query(VarianceDetails(column))
