"""Bound questions whose answer is a vector of whole numbers: `coordinates` of them in each cell."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.aggregation import Aggregation, Measure
from sfumato.queries.contributions import Contribution, sensitivity
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.schema import Schema
from sfumato.spaces import Integers as WholeNumbers
from sfumato.spaces import Interval, Lattice

__all__ = ["Bounds", "Integers", "Noise", "VectorQuestion", "numeric_space", "per_cell"]

Integers = npt.NDArray[Any]  # whole numbers: int64 where they are counts, Python's own where they may be larger
Bounds = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


class Noise(Protocol):
    """What error bars need to know of a one-dimensional law of noise."""

    def quantile(self, beta: float) -> int: ...

    @property
    def variance(self) -> float: ...

    @property
    def mean_absolute(self) -> float: ...


@dataclass(frozen=True, slots=True)
class VectorQuestion(ABC):
    """A query bound to a schema: exact integers in, noisy integers out, estimates and intervals from those.

    Everything here is a function of public quantities, except `vector`, whose argument is secret.
    """

    query: Query
    schema: Schema
    cells: Cells

    @property
    def name(self) -> str:
        """The query's readable name."""
        return self.query.name

    @property
    @abstractmethod
    def coordinates(self) -> int:
        """Whole numbers released in each cell."""

    @property
    @abstractmethod
    def body(self) -> Contribution:
        """What one row may add."""

    @property
    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """What the engine computes in each cell."""

    @abstractmethod
    def vector(self, totals: Integers) -> Integers:
        """The exact answer, in lattice units, from the engine's totals of shape (measures, cells)."""

    @abstractmethod
    def estimate(self, noisy: Integers) -> npt.NDArray[np.float64]:
        """One number a cell, in the column's own units."""

    @abstractmethod
    def interval(self, noisy: Integers, noise: Noise, beta: float) -> Bounds:
        """For each cell, an interval that misses the clipped, bounded answer with probability at most beta."""

    @abstractmethod
    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width to expect, from public quantities; None where a declared size is needed."""

    @property
    def lattice(self) -> Lattice:
        """The lattice of the column that is measured."""
        return numeric_space(self.query, self.schema).lattice

    @property
    def every_row_counts(self) -> bool:
        """Whether the number of rows is public and none can be left out, missing or filtered."""
        imputed = numeric_space(self.query, self.schema).missing is not None
        unfiltered = self.query.condition is None and not self.cells.keys
        return imputed and unfiltered and self.schema.fixed_size is not None

    @property
    def dimension(self) -> int:
        """Whole numbers released in all."""
        return self.coordinates * self.cells.count

    @property
    def statistic(self) -> Aggregation:
        """What the engine is asked."""
        return Aggregation(self.query.bound_condition(self.schema), self.cells, self.measures)

    def table(self, noisy: Integers, mechanism: Any, beta: float, joint: bool = False) -> dict[str, list[Any]]:
        """The public columns: keys, estimate, and the interval's ends."""
        low, high = self.interval(noisy, mechanism.noise, per_cell(beta, self.cells.count or 1, joint))
        columns = self.cells.columns()
        return {
            **columns,
            "estimate": self.estimate(noisy).tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
        }

    def accuracy(self, mechanism: Any, beta: float) -> str:
        """The error to expect, in words, from public quantities."""
        half = self.preview(mechanism.noise, beta)
        if half is None:
            return "depends on the number of rows; declare size= to preview it"
        return f"± {half:.4g} with probability {1 - beta:g}"

    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the vector."""
        return sensitivity(self.body, norm, self.dimension, self.schema)

    def coordinate_sensitivity(self) -> int:
        """How far one unit moves a single coordinate."""
        return int(self.sensitivity("linf"))


def numeric_space(query: Query, schema: Schema) -> Interval | WholeNumbers:
    """The space of the query's column, which must hold numbers."""
    space = schema.space(query.column or "")
    if not isinstance(space, Interval | WholeNumbers):
        raise UnsupportedQuery(
            f"a {query.kind} needs a numeric column; {query.column!r} is declared as {type(space).__name__}"
        )
    return space


def per_cell(beta: float, cells: int, joint: bool) -> float:
    """The failure probability to use in each of `cells` independent cells.

    >>> per_cell(0.05, 10, joint=False), round(per_cell(0.05, 10, joint=True), 5)
    (0.05, 0.00512)
    """
    if not 0 < beta < 1:
        raise ParameterError(f"the level must lie strictly between 0 and 1, got {1 - beta:g}")
    return -math.expm1(math.log1p(-beta) / cells) if joint else beta
