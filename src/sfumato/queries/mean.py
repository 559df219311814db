r"""Means, from two sums whose sensitivities share one budget.

With t the lattice index counted from the lower bound and R the number of steps in the range, each
present row adds (t, R - t) to (a, b): non-negative, adding up to R.  So one row moves the pair by R in
l1, not by 2 R, and a/(a+b) is the mean's place in the range; the private count comes with it.  This
is the Bernstein basis of degree 1 (docs/proofs/moments.md).  With a public number of present rows a
alone is enough.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Segment, Simplex
from sfumato.queries.ratio import ratio_interval
from sfumato.queries.vector import Bounds, Integers, Noise, VectorQuestion, equal_groups

__all__ = ["Mean"]


class Mean(VectorQuestion):
    """The mean of a column over each cell."""

    __slots__ = ()

    @property
    def rows(self) -> int | None:
        """The public number of rows the mean is over, where there is one."""
        return self.schema.fixed_size if self.every_row_counts else None

    @property
    def coordinates(self) -> int:
        """One sum with a public number of rows, else two."""
        return 2 if self.rows is None else 1

    @property
    def body(self) -> Simplex | Segment:
        """A row adds (t, R - t), or t alone."""
        return Simplex(self.lattice.width) if self.rows is None else Segment(0, self.lattice.width)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of present rows, and their sum counted from the lower bound."""
        return (Measure(self.query.column), Measure(self.query.column, 1))

    def vector(self, totals: Integers) -> Integers:
        """The pairs (a, b), cell after cell."""
        present, above = (np.asarray(total, dtype=object) for total in totals)
        if self.rows is not None:
            return above
        return np.stack([above, self.lattice.width * present - above], axis=1).reshape(-1)

    def estimate(self, noisy: Integers) -> npt.NDArray[np.float64]:
        """The ratio, kept inside the bounds; the middle of the range where the noisy count is not positive."""
        a, b = self._pairs(noisy)
        total = a + b
        place = np.where(total > 0, a / np.where(total > 0, total, 1.0), 0.5)
        return self._values(np.clip(place, 0.0, 1.0))

    def interval(self, noisy: Integers, noise: Noise, beta: float) -> Bounds:
        """By test inversion; with a public number of rows, the noise's quantile over that number."""
        a, b = self._pairs(noisy)
        if self.rows is not None:
            margin, total = noise.quantile(beta), a + b
            low, high = np.clip((a - margin) / total, 0, 1), np.clip((a + margin) / total, 0, 1)
        else:
            low, high = ratio_interval(a, b, noise, beta)
        return self._values(low), self._values(high)

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width at the middle of the range for the declared size, shared equally by the cells."""
        rows = self.rows or self.schema.size
        if rows is None:
            return None
        each = max(1, rows // max(1, self.cells.count))
        half = np.array([self.lattice.width * each / 2.0])
        if self.rows is not None:
            return self.lattice.value(1) * noise.quantile(beta) / rows
        low, high = ratio_interval(half, half, noise, beta)
        return float((high - low)[0] / 2) * self.lattice.value(self.lattice.width)

    @property
    def case(self) -> tuple[str, ...]:
        """Nearer to the ends of the range, or with fewer rows, the error is larger."""
        if self.rows is not None or self.schema.size is None:
            return ()
        return ("a mean in the middle of the range", equal_groups(self.schema.size, self.cells.count))

    def _pairs(self, noisy: Integers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        if self.rows is not None:
            a = np.asarray(noisy, dtype=np.float64)
            return a, self.lattice.width * self.rows - a
        pairs = np.asarray(noisy, dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _values(self, place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return self.lattice.values(self.lattice.low + place * self.lattice.width)
