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
from sfumato.statements import Accuracy, ErrorStatement, NotStated, level_of

__all__ = ["NEEDS_SIZE", "Bounds", "Integers", "Noise", "VectorQuestion", "equal_groups", "numeric_space", "per_cell"]

NEEDS_SIZE = "depends on the number of rows; declare size= to preview it"
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
        """The half-width to expect in `case`, from public quantities; None where a declared size is needed."""

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
        """The public columns: keys, estimate, and the interval's ends, the estimate never outside them."""
        low, high = self.interval(noisy, mechanism.noise, per_cell(beta, self.cells.count or 1, joint))
        estimate = self.estimate(noisy)
        return {
            **self.cells.columns(),
            "estimate": estimate.tolist(),
            "low": np.minimum(low, estimate).tolist(),
            "high": np.maximum(high, estimate).tolist(),
        }

    @property
    def case(self) -> tuple[str, ...]:
        """The tables that `preview` speaks of; empty where it speaks of all."""
        return ()

    def accuracy(self, mechanism: Any, beta: float) -> Accuracy:
        """The error to expect, from public quantities."""
        half = self.preview(mechanism.noise, beta)
        if half is None:
            return NotStated(NEEDS_SIZE)
        return ErrorStatement("answer", half, level_of(beta), each=self.cells.count > 1, given=self.case)

    def accuracy_of(self, noisy: Integers, mechanism: Any, beta: float) -> Accuracy:
        """The error of a release, from its own intervals: how far the estimate can be from what they cover."""
        columns = self.table(noisy, mechanism, beta)
        estimate, low, high = (np.asarray(columns[name], dtype=np.float64) for name in ("estimate", "low", "high"))
        if not len(estimate):
            return NotStated("no cell was released")
        reach = np.maximum(high - estimate, estimate - low)
        return ErrorStatement(
            "answer", float(reach.max()), level_of(beta), least=float(reach.min()), each=len(estimate) > 1
        )

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
        asked = "quantiles need" if query.kind == "quantiles" else f"a {query.kind} needs"
        raise UnsupportedQuery(f"{asked} a numeric column; {query.column!r} is declared as {type(space).__name__}")
    return space


def equal_groups(size: int, cells: int) -> str:
    """The declared size, shared equally.

    >>> equal_groups(3000, 1), equal_groups(3000, 7)
    ('3,000 rows', '428 rows in each group')
    """
    each = max(1, size // max(1, cells))
    return f"{each:,} rows in each group" if cells > 1 else f"{each:,} rows"


def per_cell(beta: float, cells: int, joint: bool) -> float:
    """The failure probability to use in each of `cells` independent cells.

    >>> per_cell(0.05, 10, joint=False), round(per_cell(0.05, 10, joint=True), 5)
    (0.05, 0.00512)
    """
    if not 0 < beta < 1:
        raise ParameterError(f"the level must lie strictly between 0 and 1, got {1 - beta:g}")
    return -math.expm1(math.log1p(-beta) / cells) if joint else beta
