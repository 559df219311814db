"""Bound questions whose answer is a vector of whole numbers: `coordinates` of them in each cell."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Answer, Units
from sfumato.answers.estimates import Estimates
from sfumato.answers.statements import Accuracy, ErrorStatement, NotStated, level_of, state_by_rows
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.aggregation import Aggregation, Measure
from sfumato.queries.contributions import Contribution, sensitivity
from sfumato.queries.details import a_kind
from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import Predicate
from sfumato.queries.query import Query
from sfumato.queries.question import Bound, Source
from sfumato.queries.weights import Weights
from sfumato.spaces import Lattice, Numeric, Space, numeric
from sfumato.spaces.schema import Schema

__all__ = [
    "NEEDS_SIZE",
    "Bounds",
    "Noise",
    "Noisy",
    "VectorQuestion",
    "Whole",
    "half_width",
    "numeric_space",
    "per_cell",
    "share_rows",
    "units_of",
]

NEEDS_SIZE = "depends on the number of rows; declare size= to preview it"
Whole = npt.NDArray[Any]  # whole numbers: int64 where they are counts, Python's own where they may be larger
Bounds = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


class Noise(Protocol):
    """What error bars need to know of a one-dimensional law of noise."""

    def quantile(self, beta: float) -> int: ...

    @property
    def variance(self) -> float: ...

    @property
    def mean_absolute(self) -> float: ...

    def __hash__(self) -> int: ...  # what is computed of a law is kept


class Noisy(Protocol):
    """A mechanism whose output is the vector with independent noise of one law on each number."""

    @property
    def noise(self) -> Noise: ...


@dataclass(frozen=True)
class VectorQuestion(Bound, ABC):
    """A query bound to a schema: exact integers in, noisy integers out, estimates and intervals from those.

    Everything here is a function of public quantities, except `vector`, whose argument is secret.
    """

    query: Query
    schema: Schema
    cells: Cells

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

    def answer(self, table: Source) -> Whole:
        """The exact, secret vector of a table; no cells, no numbers."""
        if self.cells.count == 0:
            return np.zeros(0, dtype=object)
        return self.vector(table.answer(self.statistic))

    @abstractmethod
    def vector(self, totals: Whole) -> Whole:
        """The exact answer, in lattice units, from the engine's totals of shape (measures, cells)."""

    @abstractmethod
    def estimate(self, noisy: Whole) -> npt.NDArray[np.float64]:
        """One number a cell, in the column's own units."""

    @abstractmethod
    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """For each cell, an interval that misses the clipped, bounded answer with probability at most beta."""

    @abstractmethod
    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width to expect in `case`, from public quantities; None where a declared size is needed."""

    @cached_property
    def lattice(self) -> Lattice:
        """The lattice of the column that is measured."""
        return numeric_space(self.query, self.schema).lattice

    @cached_property
    def every_row_counts(self) -> bool:
        """Whether the number of rows is public and none can be left out, missing, filtered or weighted."""
        unfiltered = self.query.condition is None and not self.cells.keys and self.weights is None
        return self.never_missing and unfiltered and self.schema.fixed_size is not None

    @property
    def never_missing(self) -> bool:
        """Whether what is measured is known of every row."""
        return numeric_space(self.query, self.schema).settled

    @property
    def weights(self) -> Weights | None:
        """What rows are weighted by, where they are."""
        return None

    @property
    def judged(self) -> Predicate | None:
        """The bound condition whose rows are counted, where one is."""
        return None

    @property
    def dense(self) -> bool:
        """Whether rows can add every whole number up to the largest."""
        return True

    @property
    def dimension(self) -> int:
        """Whole numbers released in all."""
        return self.coordinates * self.cells.count

    @cached_property
    def statistic(self) -> Aggregation:
        """What the engine is asked."""
        measures = self.measures if self.weights is None else self.weights.measures(self.measures)
        return Aggregation(self.query.bound_condition(self.schema), self.cells, measures)

    def totals(self, found: Whole) -> Whole:
        """The measures of each cell, as the engine found them, with weights taken in."""
        return found if self.weights is None else self.weights.combined(found)

    @property
    def measure(self) -> str:
        """What the numbers are, for an axis."""
        return f"{self.query.kind} of {self.query.column}"

    @property
    def is_total(self) -> bool:
        """Whether the numbers are totals, of which none is zero."""
        return False

    @property
    def shown_in(self) -> Units | None:
        """How the answers are shown, where they are numbers of the column and it shows them in its own way."""
        return None

    @property
    def frame(self) -> tuple[float, float] | None:
        """The public range of the numbers, where it is worth showing."""
        return None

    @property
    def span(self) -> tuple[float, float] | None:
        """The public range that every answer lies in: an interval that fills it holds no information."""
        return self.frame

    def read(self, output: Whole, mechanism: Noisy) -> Answer:
        """One estimate a cell, with its interval."""
        noise, order = mechanism.noise, "axis" if self.cells.keys and self.cells.keys[0].starts is not None else "size"

        @lru_cache(maxsize=4)  # a release is shown, stored and stated at one level
        def ends(beta: float, joint: bool) -> Bounds:
            cells = self.cells.count or 1
            tied = joint and self.total_is_public  # noise of sum zero: the union of the cells' tails
            return self.interval(output, noise, beta / cells if tied else per_cell(beta, cells, joint))

        return Estimates(
            self.cells.columns(), self.estimate(output), ends, self.measure, order, self.is_total, self.frame,
            span=self.span, units=self.shown_in,
        )  # fmt: skip

    @property
    def total_is_public(self) -> bool:
        """Whether the numbers are counts of a public total: every unit has its place in one of the cells."""
        return False

    def typical(self) -> npt.NDArray[np.float64] | None:
        """The exact numbers of one cell in `case`; None where the declared size is needed, or none speaks for all."""
        return None

    @property
    def case(self) -> tuple[str, ...]:
        """The tables that `preview` speaks of; empty where it speaks of all with as many rows."""
        return ()

    @property
    def supposed_rows(self) -> int | None:
        """The rows of a cell that `preview` supposes; None where their number does not matter, or is not declared."""
        return None

    @property
    def selection(self) -> str | None:
        """What decides how many rows a cell has, in words; None where it has all of the table."""
        return self.query.selection

    def with_rows(self, rows: int) -> Self:
        """The same question about a table in which each cell has so many rows."""
        return replace(self, schema=replace(self.schema, size=rows * max(1, self.cells.count)))

    def accuracy(self, mechanism: Noisy, beta: float) -> Accuracy:
        """The error to expect, from public quantities; by numbers of rows where it depends on those."""
        if self.preview(mechanism.noise, beta) is None:
            return NotStated(NEEDS_SIZE)
        if self.supposed_rows is None:
            return self.expect_error(mechanism, beta)
        return state_by_rows(
            self.supposed_rows, self.selection, lambda rows: self.with_rows(rows).expect_error(mechanism, beta)
        )

    def expect_error(self, mechanism: Noisy, beta: float) -> ErrorStatement:
        """The error in the case that `preview` speaks of."""
        half = self.preview(mechanism.noise, beta)
        assert half is not None
        return ErrorStatement("answer", half, level_of(beta), each=self.several, given=self.case)

    @property
    def several(self) -> bool:
        """Whether there is more than one number."""
        return self.cells.count > 1

    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the vector."""
        if norm not in self._sensitivities:
            self._sensitivities[norm] = sensitivity(self.body, norm, self.dimension, self.schema, self.cells.count)
        return self._sensitivities[norm]

    @cached_property
    def _sensitivities(self) -> dict[str, float]:
        """Those that were asked for, by norm."""
        return {}

    def coordinate_sensitivity(self) -> int:
        """How far one unit moves a single coordinate."""
        return int(self.sensitivity("linf"))


def numeric_space(query: Query, schema: Schema) -> Numeric:
    """The space of the query's column, which must hold numbers."""
    space = schema.space(query.column or "")
    if not numeric(space):
        asked = "quantiles need" if query.kind == "quantiles" else f"{a_kind(query.kind)} needs"
        fix = f"count its values with count().by({query.column!r}), or ask about a column of numbers"
        raise UnsupportedQuery(
            f"{asked} a numeric column; {query.column!r} is declared as {type(space).__name__}: {fix}"
        )
    return space


def units_of(space: Space) -> Units | None:
    """How a column shows its numbers; None where as they are."""
    return space.shown if space.decodes else None


def half_width(low: float, middle: float, high: float, frame: tuple[float, float]) -> float:
    """Return half of an interval; the farther end where it is cut off by the range that answers are kept in.

    There the noise decides the answer, which may be as far off as the range allows.

    >>> half_width(1.0, 2.0, 3.5, (0.0, 9.0)), half_width(0.0, 2.0, 9.0, (0.0, 9.0))
    (1.25, 7.0)
    """
    if low <= frame[0] or high >= frame[1]:
        return max(high - middle, middle - low)
    return (high - low) / 2


def share_rows(size: int, cells: int) -> int:
    """Return the rows of each cell where the declared size is shared equally.

    >>> share_rows(3000, 1), share_rows(3000, 7), share_rows(3, 7)
    (3000, 428, 1)
    """
    return max(1, size // max(1, cells))


def per_cell(beta: float, cells: int, joint: bool) -> float:
    """The failure probability to use in each of `cells` independent cells.

    >>> per_cell(0.05, 10, joint=False), round(per_cell(0.05, 10, joint=True), 5)
    (0.05, 0.00512)
    """
    if not 0 < beta < 1:
        raise ParameterError(f"the level must lie strictly between 0 and 1, got {1 - beta:g}")
    return -math.expm1(math.log1p(-beta) / cells) if joint else beta
