"""Sums: one whole number of steps a cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Segment
from sfumato.queries.details import Weighted
from sfumato.queries.entries import EntrySums, has_entries
from sfumato.queries.grouping import Cells
from sfumato.queries.limits import ends_of
from sfumato.queries.query import Query
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, Whole, numeric_space
from sfumato.queries.weights import Weights, weights_of
from sfumato.spaces.schema import Schema

__all__ = ["SumDetails", "Total", "sum"]


@dataclass(frozen=True, slots=True)
class SumDetails(Weighted):
    """The sum of a column, weighted by another where one is given."""

    kind: ClassVar[str] = "sum"

    def over(self, query: Query, schema: Schema, cells: Cells) -> Total | EntrySums:
        """One for each cell; of arrays, one for each entry in it."""
        if has_entries(query, schema, self.weight):
            return EntrySums(query, schema, cells)
        lattice = numeric_space(query, schema).lattice
        largest = max(lattice.width, abs(lattice.low), abs(lattice.high))
        return Total(query, schema, cells, weights_of(self.kind, self.weight, schema, largest))


@dataclass(frozen=True)
class Total(VectorQuestion):
    """The sum of a column over each cell."""

    weights: Weights | None = None

    coordinates = 1

    @property
    def body(self) -> Segment:
        """A row adds its value to one cell, as often as its weight says, or nothing."""
        if self.every_row_counts:  # only differences matter: count from the lower bound
            return Segment(0, self.lattice.width)
        return Segment(min(self.ends[0], 0), max(self.ends[1], 0))

    @property
    def is_plain(self) -> bool:
        """Whether it adds up one column as it is."""
        return self.weights is None

    @property
    def dense(self) -> bool:
        """Whether the column has values of one step, and no weights multiply them."""
        return self.weights is None and self.lattice.low <= 1 and self.lattice.high >= -1

    @cached_property
    def ends(self) -> tuple[int, int]:
        """What a row may add, in steps: a value of the column, a weight times it, or a person's total."""
        low, high = ends_of(self.schema, self.query.column or "")
        if self.weights is None:
            return low, high
        products = [weight * value for weight in (self.weights.lattice.low, self.weights.most) for value in (low, high)]
        return min(products), max(products)

    @property
    def step(self) -> float:
        """What a step of the weight is worth."""
        return 1.0 if self.weights is None else self.weights.step

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of present rows, and their sum counted from the lower bound."""
        return (Measure(self.query.column), Measure(self.query.column, 1))

    @property
    def is_total(self) -> bool:
        """Nothing adds up to zero."""
        return True

    def vector(self, totals: Whole) -> Whole:
        """The sum of the lattice indices; with a fixed size, of that many rows whatever the table holds."""
        rows, above = (np.asarray(total, dtype=object) for total in self.totals(totals))
        if self.every_row_counts:
            rows = np.array([self.schema.fixed_size], dtype=object)
        return np.asarray(above + ends_of(self.schema, self.query.column or "")[0] * rows, dtype=object)

    def estimate(self, noisy: Whole) -> npt.NDArray[np.float64]:
        """The noisy sums in the column's units."""
        return self.lattice.values(noisy) * self.step

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The noise's quantile on both sides."""
        margin = noise.quantile(beta)
        return self.lattice.values(noisy - margin) * self.step, self.lattice.values(noisy + margin) * self.step

    def preview(self, noise: Noise, beta: float) -> float:
        """The noise's quantile in the column's units."""
        return self.lattice.value(noise.quantile(beta)) * self.step


def sum(column: str, *, weight: str | None = None) -> Query:
    """The sum of a number; with `weight` (a column of survey weights) each row counts as often as it says.

    Of a column `x` of arrays (`Box`) the sum of every entry; `x[0]` is the first entry alone.
    """
    return Query(SumDetails(column, weight))
