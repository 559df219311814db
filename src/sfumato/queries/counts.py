"""Counts and histograms: one whole number a cell, moved by at most one by each row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.vector import Bounds, Integers, Noise, VectorQuestion

__all__ = ["Counts"]


class Counts(VectorQuestion):
    """How many rows fall into each cell."""

    __slots__ = ()
    coordinates = 1

    @property
    def body(self) -> Simplex:
        """A row adds one to one cell, or nothing."""
        return Simplex(0 if self.is_public else 1)

    @property
    def is_public(self) -> bool:
        """Whether the answer is the declared size: every row counts, in the only cell."""
        unfiltered = self.query.condition is None and self.cells.count == 1
        return self.schema.fixed_size is not None and unfiltered and self.cells.take_every_row(self.schema)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of rows."""
        return (Measure(None),)

    def vector(self, totals: Integers) -> Integers:
        """The counts themselves; a public one is the declared size, whatever the table holds."""
        if self.is_public:
            return np.array([self.schema.fixed_size], dtype=np.int64)
        return np.asarray(totals[0], dtype=np.int64)

    def estimate(self, noisy: Integers) -> npt.NDArray[np.float64]:
        """The noisy counts (unbiased, so they may be negative)."""
        return np.asarray(noisy, dtype=np.float64)

    def interval(self, noisy: Integers, noise: Noise, beta: float) -> Bounds:
        """The noise's quantile on both sides; a count is never negative (`table` keeps a negative estimate inside)."""
        counts, margin = self.estimate(noisy), noise.quantile(beta)
        return np.maximum(counts - margin, 0.0), np.maximum(counts + margin, 0.0)

    def preview(self, noise: Noise, beta: float) -> float:
        """The noise's quantile."""
        return float(noise.quantile(beta))
