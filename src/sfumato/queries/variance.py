r"""Variances, from the Bernstein basis of degree 2.

With t and R as for the mean, each present row adds ((R-t)^2, 2 t (R-t), t^2): non-negative, adding
up to R^2.  So one row moves the triple by R^2 in l1, and from it follow the count (the total over
R^2), the first moment and the second (docs/proofs/moments.md).
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.vector import Bounds, Integers, Noise, VectorQuestion, equal_groups

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
        """Each coordinate within its quantile at beta/3; then what the variance can be over that box.

        For any fixed c the mean of (u - c)^2 is the variance plus (mean - c)^2, and is a ratio of linear
        functions of the triple.  With c the noisy mean it bounds the variance from above, and from below once
        the largest (mean - c)^2 in the box, of second order, is taken off (docs/proofs/moments.md).
        """
        triples, margin = self._triples(noisy), float(noise.quantile(beta / 3))
        total, c, _ = self._moments(triples)
        about = np.stack([c**2, c**2 - c, (1 - c) ** 2], axis=1)
        least, most = _ratio_extremes(triples, margin, about)
        before, after = _ratio_extremes(triples, margin, np.broadcast_to([0.0, 0.5, 1.0], triples.shape))
        least = least - np.maximum(after - c, c - before) ** 2
        undecided = total <= 4 * margin
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

    @property
    def case(self) -> tuple[str, ...]:
        """Other laws, and fewer rows, have other errors."""
        if self.schema.size is None:
            return ()
        return ("values spread evenly over the range", equal_groups(self.schema.size, self.cells.count))

    def _triples(self, noisy: Integers) -> Floats:
        return np.asarray(noisy, dtype=np.float64).reshape(-1, 3)

    @staticmethod
    def _moments(triples: Floats) -> tuple[Floats, ...]:
        total = triples.sum(axis=1)
        safe = np.where(total > 0, total, 1.0)
        return total, (triples[:, 1] / 2 + triples[:, 2]) / safe, triples[:, 2] / safe

    def _values(self, relative: Floats) -> Floats:
        return np.asarray(relative * self.lattice.value(self.lattice.width) ** 2, dtype=np.float64)


def _ratio_extremes(triples: Floats, margin: float, weights: Floats) -> Bounds:
    """The least and greatest weighted mean of the triples within `margin`, entries at least 0.

    A ratio of linear functions is monotone along each coordinate, so its extremes are at corners.
    """
    ratios = []
    for signs in itertools.product((-margin, margin), repeat=3):
        corner = np.maximum(triples + np.array(signs), 0.0)
        ratios.append((weights * corner).sum(axis=1) / np.maximum(corner.sum(axis=1), TINY))
    return np.minimum.reduce(ratios), np.maximum.reduce(ratios)
