r"""Variances, from the Bernstein basis of degree 2.

With t and R as for the mean, each present row adds ((R-t)^2, 2 t (R-t), t^2): non-negative, adding
up to R^2.  So one row moves the triple by R^2 in l1, and from it follow the count (the total over
R^2), the first moment and the second (docs/proofs/moments.md).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.vector import Bounds, Integers, Noise, VectorQuestion

__all__ = ["Variance"]

Floats = npt.NDArray[np.float64]
TINY = 1e-300  # keeps 0 / 0 quiet where the count is lost in the noise


class Variance(VectorQuestion):
    """The variance (divided by the count) of a column over each cell."""

    __slots__ = ()
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

    def vector(self, totals: Integers) -> Integers:
        """The triples, cell after cell."""
        present, above, squares = (np.asarray(total, dtype=object) for total in totals)
        width = self.lattice.width
        first = width**2 * present - 2 * width * above + squares
        middle = 2 * (width * above - squares)
        return np.stack([first, middle, squares], axis=1).reshape(-1)

    def estimate(self, noisy: Integers) -> Floats:
        """The variance of the noisy moments, kept between 0 and a quarter of the squared range."""
        total, mean, square = self._moments(self._triples(noisy))
        known = np.where(total > 0, square - mean**2, 0.125)
        return self._values(np.clip(known, 0.0, 0.25))

    def interval(self, noisy: Integers, noise: Noise, beta: float) -> Bounds:
        """Each coordinate within its quantile at beta/3; then the extremes of both moments."""
        triples, margin = self._triples(noisy), float(noise.quantile(beta / 3))
        lower, upper = np.maximum(triples - margin, 0.0), np.maximum(triples + margin, 0.0)
        least, most = self._extreme(lower, upper, 0), self._extreme(lower, upper, 1)
        undecided = triples.sum(axis=1) <= 3 * margin
        low, high = np.where(undecided, 0.0, least), np.where(undecided, 0.25, most)
        return self._values(np.clip(low, 0, 0.25)), self._values(np.clip(high, 0, 0.25))

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width for a uniform law of the declared size, shared equally by the cells."""
        if self.schema.size is None:
            return None
        each = max(1, self.schema.size // max(1, self.cells.count))
        uniform = np.full(3, self.lattice.width**2 * each / 3.0)
        single = type(self)(self.query, self.schema, type(self.cells)(()))
        low, high = single.interval(uniform, noise, beta)
        return float(high[0] - low[0]) / 2

    @staticmethod
    def _extreme(lower: Floats, upper: Floats, side: int) -> Floats:
        """An outer bound of w2 - m^2 over the box of triples: w2 the last weight, m = w1 / 2 + w2.

        Both are ratios of linear functions, so monotone along each coordinate: w2 and m rise with the
        last coordinate and fall with the first; along the middle one w2 falls and m goes either way.
        """
        far, near = (upper, lower) if side else (lower, upper)
        square = far[:, 2] / np.maximum(far[:, 2] + near[:, 0] + near[:, 1], TINY)
        choices = [
            (middle[:, 1] / 2 + near[:, 2]) / np.maximum(far[:, 0] + middle[:, 1] + near[:, 2], TINY)
            for middle in (lower, upper)
        ]
        mean = np.minimum(*choices) if side else np.maximum(*choices)
        return np.asarray(square - mean**2, dtype=np.float64)

    def _triples(self, noisy: Integers) -> Floats:
        return np.asarray(noisy, dtype=np.float64).reshape(-1, 3)

    @staticmethod
    def _moments(triples: Floats) -> tuple[Floats, ...]:
        total = triples.sum(axis=1)
        safe = np.where(total > 0, total, 1.0)
        return total, (triples[:, 1] / 2 + triples[:, 2]) / safe, triples[:, 2] / safe

    def _values(self, relative: Floats) -> Floats:
        return np.asarray(relative * self.lattice.value(self.lattice.width) ** 2, dtype=np.float64)
