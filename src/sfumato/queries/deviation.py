"""Standard deviations: the roots of variances, read from the same noisy triples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.variance import Floats, Variance, VarianceDetails
from sfumato.queries.vector import Bounds, Noise, Whole
from sfumato.spaces.schema import Schema

__all__ = ["Deviation", "DeviationDetails", "std"]


@dataclass(frozen=True, slots=True)
class DeviationDetails(VarianceDetails):
    """The standard deviation of a column."""

    kind: ClassVar[str] = "std"

    def over(self, query: Query, schema: Schema, cells: Cells) -> Deviation:
        """One for each cell."""
        self.must_be_narrow(query, schema)
        return Deviation(query, schema, cells)


class Deviation(Variance):
    """The standard deviation of a column over each cell."""

    def estimate(self, noisy: Whole) -> Floats:
        """The root of the variance."""
        return np.sqrt(super().estimate(noisy))

    def largest(self) -> Floats:
        """The root of the largest variance."""
        return np.sqrt(super().largest())

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The roots of the ends: a root rises, so they hold the deviation whenever those hold the variance."""
        low, high = super().interval(noisy, noise, beta)
        return np.sqrt(low), np.sqrt(high)


def std(column: str) -> Query:
    """The standard deviation of a number (the root of its variance, divided by the count)."""
    return Query(DeviationDetails(column))
