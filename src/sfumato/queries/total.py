"""Sums: one whole number of steps a cell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Segment
from sfumato.queries.vector import Bounds, Integers, Noise, VectorQuestion

__all__ = ["Total"]


class Total(VectorQuestion):
    """The sum of a column over each cell."""

    __slots__ = ()
    coordinates = 1

    @property
    def body(self) -> Segment:
        """A row adds its value to one cell, or nothing."""
        if self.every_row_counts:  # only differences matter: count from the lower bound
            return Segment(0, self.lattice.width)
        return Segment(min(self.lattice.low, 0), max(self.lattice.high, 0))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of present rows, and their sum counted from the lower bound."""
        return (Measure(self.query.column), Measure(self.query.column, 1))

    def vector(self, totals: Integers) -> Integers:
        """The sum of the lattice indices; with a fixed size, of that many rows whatever the table holds."""
        rows, above = (np.asarray(total, dtype=object) for total in totals)
        if self.every_row_counts:
            rows = np.array([self.schema.fixed_size], dtype=object)
        return np.asarray(above + self.lattice.low * rows, dtype=object)

    def estimate(self, noisy: Integers) -> npt.NDArray[np.float64]:
        """The noisy sums in the column's units."""
        return self.lattice.values(noisy)

    def interval(self, noisy: Integers, noise: Noise, beta: float) -> Bounds:
        """The noise's quantile on both sides."""
        margin = noise.quantile(beta)
        return self.lattice.values(noisy - margin), self.lattice.values(noisy + margin)

    def preview(self, noise: Noise, beta: float) -> float:
        """The noise's quantile in the column's units."""
        return self.lattice.value(noise.quantile(beta))
