"""Counts and histograms: one whole number a cell, moved by at most one by each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Columns
from sfumato.answers.estimates import Estimates
from sfumato.privacy.adjacency import Person
from sfumato.queries.adding import added_up, must_add_up
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.details import Grouped, known_parts
from sfumato.queries.grouping import Cells, Grouping
from sfumato.queries.query import Query
from sfumato.queries.total import SumDetails
from sfumato.queries.vector import Bounds, Noise, Noisy, VectorQuestion, Whole
from sfumato.spaces.schema import Schema

__all__ = ["CountDetails", "Counts", "HistogramDetails", "Tallies", "count", "count_people", "histogram"]


@dataclass(frozen=True, slots=True)
class CountDetails(Grouped):
    """How many rows there are."""

    kind: ClassVar[str] = "count"

    def subject(self) -> str:
        """What is asked."""
        return "count"

    def to_record(self) -> dict[str, Any]:
        """Nothing more."""
        return {}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> CountDetails | SumDetails:
        """What `to_record`, or a plan, describes; a weighted count is the sum of the weights."""
        known_parts(cls.kind, record, "weight")
        return cls() if record.get("weight") is None else SumDetails(record["weight"])

    def over(self, query: Query, schema: Schema, cells: Cells) -> Counts:
        """One count a cell."""
        return Counts(query, schema, cells)


@dataclass(frozen=True, slots=True)
class HistogramDetails(Grouped):
    """Counts over the cells of one or several columns."""

    kind: ClassVar[str] = "histogram"

    def subject(self) -> str:
        """What is asked."""
        return "histogram"

    def to_record(self) -> dict[str, Any]:
        """Nothing more."""
        return {}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> HistogramDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record)
        return cls()

    def over(self, query: Query, schema: Schema, cells: Cells) -> Counts:
        """One count a cell."""
        return Counts(query, schema, cells)


class Tallies(VectorQuestion):
    """Numbers of rows, one a cell."""

    coordinates = 1

    @property
    def measure(self) -> str:
        """Rows."""
        return "rows"

    @property
    def is_total(self) -> bool:
        """None is zero."""
        return True

    def estimate(self, noisy: Whole) -> npt.NDArray[np.float64]:
        """The noisy counts (unbiased, so they may be negative)."""
        return np.asarray(noisy, dtype=np.float64)

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The noise's quantile on both sides; a count is never negative (`table` keeps a negative estimate inside)."""
        counts, margin = self.estimate(noisy), noise.quantile(beta)
        return np.maximum(counts - margin, 0.0), np.maximum(counts + margin, 0.0)

    def preview(self, noise: Noise, beta: float) -> float:
        """The noise's quantile."""
        return float(noise.quantile(beta))


class Counts(Tallies):
    """How many rows fall into each cell."""

    @property
    def measure(self) -> str:
        """Rows, or people where each counts once in a cell, or has one row that counts."""
        unit = self.schema.unit
        return "people" if isinstance(unit, Person) and unit.rows == 1 else "rows"

    @property
    def body(self) -> Simplex:
        """A row adds one to one cell, or nothing."""
        return Simplex(0 if self.is_public else 1)

    @property
    def is_public(self) -> bool:
        """Whether the answer is the declared size: every row counts, in the only cell."""
        return self.cells.count == 1 and self.total_is_public

    @property
    def total_is_public(self) -> bool:
        """Whether every row has a cell, and their number is public and the same for all neighbors."""
        kept = self.query.condition is None and self.cells.take_every_row(self.schema)
        return kept and self.schema.fixed_size is not None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of rows."""
        return (Measure(None),)

    def read(self, output: Whole, mechanism: Noisy) -> Estimates:
        """One estimate a cell, with its interval; and the same as whole numbers that add up."""
        found = super().read(output, mechanism)
        assert isinstance(found, Estimates)
        return replace(found, whole=partial(self._added_up, self.estimate(output), mechanism.noise))

    def _added_up(self, counts: npt.NDArray[np.float64], noise: Noise, beta: float, joint: bool) -> Columns:
        """The counts as whole numbers, none negative, with all sums over keys."""
        must_add_up(self.query)
        public = self.schema.fixed_size if self.total_is_public else None
        return added_up(self.cells, counts, noise, beta, joint, public)

    def vector(self, totals: Whole) -> Whole:
        """The counts themselves; a public one is the declared size, whatever the table holds."""
        if self.is_public:
            return np.array([self.schema.fixed_size], dtype=np.int64)
        return np.asarray(totals[0], dtype=np.int64)


def count(*, weight: str | None = None) -> Query:
    """How many rows there are; with `weight` (a column of survey weights) how many they stand for, its sum."""
    return Query(CountDetails() if weight is None else SumDetails(weight))


def count_people(groups: int | None = None) -> Query:
    """How many people have a row that meets the condition; split with `by`, in each group.

    The same as `count().per_person(each=1, groups=groups)`: a person is counted once in each group, in at most
    `groups` of them (default: in all), whatever number of rows the schema lets count.

    >>> count_people().where("age >= 18").name
    'people where age >= 18'
    """
    return count().per_person(each=1, groups=groups)


def histogram(*keys: Grouping) -> Query:
    """Counts over the cells of one or several columns."""
    return Query(HistogramDetails(), keys=keys)
