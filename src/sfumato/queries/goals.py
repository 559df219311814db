r"""What a synthetic table should answer well: questions as whole weights that each row gives to cells.

A row gives a cell weights that are not negative and add up to at most UNIT: a count gives UNIT to the row's cell, a
mean or a sum (v, UNIT - v) for the place v of the value between the column's bounds, a share (UNIT, 0) or (0, UNIT), a
smooth function (v, UNIT - v) for its value's place in the function's range; a row that does not count gives nothing.
The weights are computed from the row's own indices and from public values alone, in whole numbers, so that secret rows
and made ones are read alike.  Proof: docs/proofs/synthesis-workload.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.conditions import Between, Contains, OneOf, Test
from sfumato.queries.details import a_kind
from sfumato.queries.grouping import Cells, Discovered, Key, bind_cells
from sfumato.queries.predicates import Predicate
from sfumato.queries.query import Query
from sfumato.queries.share import ShareDetails
from sfumato.queries.smooth import whole_values
from sfumato.queries.smooth_mean import SmoothMean, bind_smooth
from sfumato.spaces.schema import Schema

__all__ = ["MOST_ANSWERS", "UNIT", "Batch", "Goal", "goals_of", "places", "tests_of"]

UNIT = 1 << 16  # the whole of a row
MOST_ANSWERS = 20_000  # numbers that all goals together ask for
ROOM = 46  # bits of a lattice index that still fit in 64 with UNIT on top

Whole = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]
Values = Callable[["Batch"], tuple[Truth, Whole]]  # which rows count, and the weight of the first of two numbers


class Batch:
    """Some rows as indices (-1 is missing), with what conditions came to, each looked at once."""

    def __init__(self, columns: Mapping[str, Whole], schema: Schema) -> None:
        self.columns, self.schema = columns, schema
        self._told: dict[Test, Truth] = {}

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(next(iter(self.columns.values())))

    def points(self, column: str) -> Whole:
        """The lattice indices of a number where it is present."""
        return np.asarray(self.columns[column] + self.schema.lattice(column).low)

    def holds(self, condition: Predicate | None) -> Truth:
        """Where a bound condition holds."""
        if condition is None:
            return np.ones(self.rows, dtype=bool)
        return np.asarray(condition.holds(self._tested))

    def _tested(self, test: Test) -> Truth:
        if test not in self._told:
            self._told[test] = TESTS[type(test)](self, test)
        return self._told[test]

    def place(self, key: Key) -> Whole:
        """The place of each row among a key's cells, -1 where it has none."""
        held = self.columns[key.column]
        if key.starts is None:
            return held
        found = np.searchsorted(np.array(key.starts), self.points(key.column), side="right") - 1
        return np.where(held < 0, -1, found)


TESTS: dict[type, Callable[[Batch, Any], Truth]] = {
    Between: lambda batch, test: (
        (batch.columns[test.column] >= 0)
        & (batch.points(test.column) >= test.low)
        & (batch.points(test.column) <= test.high)
    ),
    OneOf: lambda batch, test: np.isin(
        batch.columns[test.column], places(batch.schema.space(test.column).labels or (), test.labels)
    ),
    Contains: lambda batch, test: batch.columns[_flag(test)] == 1,
}


@dataclass(frozen=True, slots=True)
class Goal:
    """One question: its cells, and what a row gives to the cell that it falls into."""

    query: Query
    cells: Cells
    condition: Predicate | None
    values: Values | None = field(default=None, compare=False)  # None where rows are counted; the query says which

    @property
    def size(self) -> int:
        """How many numbers it asks for."""
        return self.cells.count * (1 if self.values is None else 2)

    def weights(self, batch: Batch) -> tuple[Whole, Whole, Whole]:
        """Which rows count, the number that each gives its first weight to, and that weight; others get the rest."""
        place, counts = np.zeros(batch.rows, dtype=np.int64), batch.holds(self.condition)
        for key in self.cells.keys:
            own = batch.place(key)
            counts = counts & (own >= 0) & (own < len(key.labels))
            place = place * len(key.labels) + own
        if self.values is None:
            rows = np.flatnonzero(counts)
            return rows, place[rows], np.full(len(rows), UNIT, dtype=np.int64)
        present, first = self.values(batch)
        rows = np.flatnonzero(counts & present)
        return rows, 2 * place[rows], np.clip(first[rows], 0, UNIT)

    def sums(self, batch: Batch) -> Whole:
        """The numbers of all rows together."""
        _, place, first = self.weights(batch)
        found = np.zeros(self.size, dtype=np.int64)
        np.add.at(found, place, first)
        if self.values is not None:
            np.add.at(found, place + 1, UNIT - first)
        return found

    def spread(self, batch: Batch, out: npt.NDArray[np.float32]) -> None:
        """The weights of every row, as parts of one, into an empty matrix with a column for each number."""
        rows, place, first = self.weights(batch)
        out[rows, place] = first / UNIT
        if self.values is not None:
            out[rows, place + 1] = 1 - first / UNIT


def goals_of(workload: Sequence[Query], schema: Schema, columns: Sequence[str]) -> tuple[Goal, ...]:
    """The questions of a workload, about made columns and entries of them; what is not linear or smooth is refused."""
    found = tuple(_goal(query, schema, columns) for query in workload)
    asked = sum(goal.size for goal in found)
    if asked > MOST_ANSWERS:
        raise UnsupportedQuery(
            f"the workload asks for {asked:,} numbers, at most {MOST_ANSWERS:,} are possible; use fewer queries, or "
            "coarser keys"
        )
    return found


def _goal(query: Query, schema: Schema, columns: Sequence[str]) -> Goal:
    from sfumato.queries.binding import bind  # which knows all kinds, this one's among them

    kind = query.kind
    if kind not in KINDS:
        raise UnsupportedQuery(
            f"a workload holds {', '.join(KINDS)} queries, not {a_kind(kind)} query; ask the made table for it"
        )
    if query.limits is not None or query.details.to_record().get("weight") is not None:
        raise UnsupportedQuery(
            f"{query.name!r} counts rows by persons or weights; queries of a workload count each row"
        )
    if any(isinstance(key, Discovered) for key in query.keys):
        raise UnsupportedQuery(f"{query.name!r} discovers its keys; those of a workload are public")
    bind(query, schema)  # finds every other public mistake
    condition, values = query.bound_condition(schema), KINDS[kind](query, schema)
    _must_be_made(query, condition, schema, columns)
    return Goal(query, bind_cells(query.keys, schema), condition, values)


def _must_be_made(query: Query, condition: Predicate | None, schema: Schema, columns: Sequence[str]) -> None:
    """Refuse what the made rows cannot tell: other columns, and whether a value was missing before it was replaced."""
    tests = tests_of(query, condition, schema)
    for test in tests:
        if type(test) not in TESTS:
            raise UnsupportedQuery(f"{query.name!r} tests column {test.column!r} for what made rows do not tell")
    strange = sorted({*query.columns, *(test.column for test in tests)} - set(columns))
    if strange and schema.space(strange[0]).discoverable:
        raise UnsupportedQuery(
            f"{query.name!r} is about {strange[0]!r}, whose texts are not public; ask the made table for it, or "
            "declare the texts as Categories(..., other=...)"
        )
    if strange:
        raise ParameterError(
            f"the queries of a workload are about the columns of the synthetic table; {strange[0]!r} of "
            f"{query.name!r} is none of them"
        )


def tests_of(query: Query, condition: Predicate | None, schema: Schema) -> list[Test]:
    """What a question tests of single columns: in its bound condition, and in that of a share."""
    asked = query.details.condition.bind(schema) if isinstance(query.details, ShareDetails) else None
    return [test for one in (condition, asked) if one is not None for test in one.tests()]


def _counted(query: Query, schema: Schema) -> None:
    return None


def _number(query: Query, schema: Schema) -> Values:
    column = query.column or ""
    width = schema.lattice(column).width
    shift = max(0, width.bit_length() - ROOM)

    def values(batch: Batch) -> tuple[Truth, Whole]:
        held = batch.columns[column]
        return held >= 0, (np.clip(held, 0, width) >> shift) * UNIT // max(1, width >> shift)

    return values


def _share(query: Query, schema: Schema) -> Values:
    assert isinstance(query.details, ShareDetails)
    asked = query.details.condition.bind(schema)
    return lambda batch: (np.ones(batch.rows, dtype=bool), np.where(batch.holds(asked), UNIT, 0))


def _smooth(query: Query, schema: Schema) -> Values:
    question: SmoothMean = bind_smooth(query, schema)
    function, axes, (low, high) = question.function, question.axes, question.ends
    steps = np.array([axis.step for axis in axes], dtype=np.int64)
    widths = np.array([axis.width for axis in axes], dtype=np.int64)

    def values(batch: Batch) -> tuple[Truth, Whole]:
        held = np.stack([batch.columns[name] for name in function.columns], axis=1)
        present = np.asarray((held >= 0).all(axis=1))
        found = whole_values(function, axes, np.clip(held, 0, widths) // steps)
        return present, (np.clip(found, low, high) - low) * UNIT // (high - low)

    return values


KINDS: dict[str, Callable[[Query, Schema], Values | None]] = {
    "count": _counted,
    "histogram": _counted,
    "workload": _counted,  # linear answers over a histogram: that of their keys
    "sum": _number,
    "mean": _number,
    "share": _share,
    "gaussian-mixture": _smooth,
    "smooth": _smooth,
}


def places(labels: Sequence[object], wanted: Sequence[object]) -> list[int]:
    """Where wanted labels stand among all."""
    return [place for place, label in enumerate(labels) if label in wanted]


def _flag(test: Contains) -> str:
    """The column of levels that says whether a set holds an item."""
    return f"{test.column} has {test.item}"
