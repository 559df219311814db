r"""Means, from two sums whose sensitivities share one budget.

With t the lattice index counted from the lower bound and R the number of steps in the range, each
present row adds (t, R - t) to (a, b): non-negative, adding up to R.  So one row moves the pair by R in
l1, not by 2 R, and a/(a+b) is the mean's place in the range; the private count comes with it.  This
is the Bernstein basis of degree 1 (docs/proofs/moments.md).  With a public number of present rows a
alone is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Units
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Segment, Simplex
from sfumato.queries.details import Weighted
from sfumato.queries.entries import EntryMeans, has_entries
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.ratio import ratio_interval
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, Whole, numeric_space, share_rows, units_of
from sfumato.queries.weights import Weights, weights_of
from sfumato.spaces.schema import Schema

__all__ = ["Mean", "MeanDetails", "mean"]


@dataclass(frozen=True, slots=True)
class MeanDetails(Weighted):
    """The mean of a column, weighted by another where one is given."""

    kind: ClassVar[str] = "mean"

    def over(self, query: Query, schema: Schema, cells: Cells) -> Mean | EntryMeans:
        """One for each cell; of arrays, one for each entry in it."""
        if has_entries(query, schema, self.weight):
            return EntryMeans(query, schema, cells)
        width = numeric_space(query, schema).lattice.width
        return Mean(query, schema, cells, weights_of(self.kind, self.weight, schema, width))


@dataclass(frozen=True)
class Mean(VectorQuestion):
    """The mean of a column over each cell: of the pair (a, b) the place of a among both."""

    weights: Weights | None = None

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
        return Simplex(self.lattice.width * self.heaviest) if self.rows is None else Segment(0, self.lattice.width)

    @property
    def heaviest(self) -> int:
        """How often a row counts at most."""
        return 1 if self.weights is None else self.weights.most

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of present rows, and their sum counted from the lower bound."""
        return (Measure(self.query.column), Measure(self.query.column, 1))

    @property
    def shown_in(self) -> Units | None:
        """A mean is a number of its column."""
        return units_of(numeric_space(self.query, self.schema))

    @property
    def frame(self) -> tuple[float, float]:
        """The column's bounds."""
        return self.lattice.low_value, self.lattice.high_value

    def vector(self, totals: Whole) -> Whole:
        """The pairs (a, b), cell after cell."""
        present, above = (np.asarray(total, dtype=object) for total in self.totals(totals))
        if self.rows is not None:
            return above
        return np.stack([above, self.lattice.width * present - above], axis=1).reshape(-1)

    def estimate(self, noisy: Whole) -> npt.NDArray[np.float64]:
        """The ratio, kept inside the bounds; the middle of the range where the noisy count is not positive."""
        a, b = self._pairs(noisy)
        total = a + b
        place = np.where(total > 0, a / np.where(total > 0, total, 1.0), 0.5)
        return self._values(np.clip(place, 0.0, 1.0))

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
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
        if self.rows is not None:
            return self.lattice.value(1) * noise.quantile(beta) / self.rows
        pair = self.typical()
        if pair is None:
            return None
        low, high = ratio_interval(pair[:1], pair[1:], noise, beta)
        return float((high - low)[0] / 2) * self.lattice.value(self.lattice.width)

    def typical(self) -> npt.NDArray[np.float64] | None:
        """A pair in the middle of the range, of weights that are half of the largest on average."""
        if self.schema.size is None:
            return None
        each = share_rows(self.schema.size, self.cells.count)
        return np.full(2, self.lattice.width * self.heaviest * each / (2.0 if self.weights is None else 4.0))

    @property
    def supposed_rows(self) -> int | None:
        """The declared size, shared equally by the cells; None where the number of rows is public."""
        if self.rows is not None or self.schema.size is None:
            return None
        return share_rows(self.schema.size, self.cells.count)

    @property
    def case(self) -> tuple[str, ...]:
        """Nearer to the ends of the range the error is larger."""
        weighed = () if self.weights is None else ("weights of half the largest on average",)
        return () if self.supposed_rows is None else (self.middle, *weighed)

    @property
    def middle(self) -> str:
        """Where the answer lies that a preview speaks of."""
        return "a mean in the middle of the range"

    def _pairs(self, noisy: Whole) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        if self.rows is not None:
            a = np.asarray(noisy, dtype=np.float64)
            return a, self.lattice.width * self.rows - a
        pairs = np.asarray(noisy, dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _values(self, place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return self.lattice.values(self.lattice.low + place * self.lattice.width)


def mean(column: str, *, weight: str | None = None) -> Query:
    """The mean of a number; with `weight` (a column of survey weights) each row counts as often as it says.

    Of a column `x` of arrays (`Box`) the mean of every entry; `x[0]` is the first entry alone.
    """
    return Query(MeanDetails(column, weight))
