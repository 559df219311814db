"""Running counts that are published period by period: how many rows each period has, and how many there are up to it.

The periods are announced together, and paid for once; each version of the table then publishes its own.  What one row
moves is said by its period, which is why it must keep its date: docs/proofs/continual_counting.md.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.answer import Columns
from sfumato.answers.estimates import Estimates
from sfumato.answers.statements import ErrorStatement, level_of
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import exact
from sfumato.privacy.adjacency import Replace, Row
from sfumato.queries.aggregation import Aggregation, Measure
from sfumato.queries.details import known_parts, needed_column
from sfumato.queries.grouping import Bins, Cells, Key, bind_cells
from sfumato.queries.linear.factors import EACH, UPTO
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.linear.workload import Workload
from sfumato.queries.query import Query
from sfumato.queries.question import Bound, Question, Source
from sfumato.spaces import Space, numeric
from sfumato.spaces.schema import Schema

__all__ = ["Running", "RunningDetails", "Steady", "running", "series_of"]

MOST_PERIODS = 400
COUNTED = "counted"  # the column that says which of the two counts a row of the table holds
RUNNING = "running"  # the order of the answers: those up to the ends of periods, then those within
UP_TO, WITHIN = "up to the end", "in the period"
FIRST_DAY = re.compile(r"\d{4}-\d\d-01")
Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class RunningDetails:
    """Counts up to the end of each period of a column of dates; `apart`: each version has its own period's rows."""

    kind: ClassVar[str] = "running"

    column: str
    edges: tuple[float | str, ...]
    apart: bool = False

    def __post_init__(self) -> None:
        needed_column(self.kind, self.column)
        object.__setattr__(self, "edges", Bins(self.column, self.edges).edges)
        if len(self.edges) > MOST_PERIODS + 1:
            raise ParameterError(f"edges name {len(self.edges) - 1} periods, at most {MOST_PERIODS} are possible")
        if not isinstance(self.apart, bool):
            raise ParameterError(f"apart must be True or False, got {self.apart!r:.40}")

    def subject(self) -> str:
        """What is asked."""
        return f"running count by {self.column}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"column": self.column, "edges": list(self.edges), **({"apart": True} if self.apart else {})}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> RunningDetails:
        """What `to_record`, or a plan, describes; a plan may say the first day and a number of `months`."""
        known_parts(cls.kind, record, "column", "edges", "months", "apart")
        edges, months = arguments.several("edges", record.get("edges", ())), record.get("months")
        return cls(record.get("column", ""), _months(edges, months), record.get("apart", False))

    def bind(self, query: Query, schema: Schema) -> Running:
        """The question about the table of one period."""
        if not isinstance(schema.unit, Row):
            raise UnsupportedQuery(
                "running counts protect single rows: somebody with rows in every period would be in all of them, and "
                "which of their rows count is not known before the last; publish each period by itself, or all "
                "together as sf.prefix(...) when the last is over"
            )
        if isinstance(schema.adjacency, Replace):
            raise UnsupportedQuery(
                "running counts need adjacency add-remove: under replacement the number of rows is public, and that "
                "of later periods is not known when they are announced"
            )
        if COUNTED in (self.column, *query.key_columns):
            raise SchemaError(f"a column of the answers is called {COUNTED!r}; rename the column of the table")
        if self.column in query.key_columns:
            raise SchemaError(f"the periods are cut from {self.column!r}, which is no group beside them; leave it out")
        key, first = _key(self, schema)
        names = _named(key.labels[first : first + len(self.edges) - 1])
        if schema.version not in names:
            few = ", ".join(names[:3]) + (
                f", ..., {names[-1]}" if len(names) > 4 else "".join(f", {n}" for n in names[3:])
            )
            raise SchemaError(
                f"running counts are published one period at a time, and version says which: give one of {few}, "
                f"got {schema.version!r:.60}"
            )
        return Running(query, schema, bind_cells(query.keys, schema), key, first, names)


class Steady(Protocol):
    """A mechanism that has measured the periods so far."""

    def read(self, output: Whole) -> tuple[Floats, Floats]:
        """The counts up to each period, and of each, of shape (periods, groups)."""

    def margins(self, beta: float) -> tuple[Floats, Floats]:
        """What these miss by at most, each but for beta, for all periods that were announced."""


@dataclass(frozen=True)
class Running(Bound):
    """Running counts bound to the schema of one period's version."""

    query: Query
    schema: Schema
    groups: Cells
    key: Key  # the periods, and what lies before and after them
    first: int  # of the cells of that key
    names: tuple[str, ...]  # of the periods, which are the versions'

    @property
    def period(self) -> int:
        """How many periods are over with this one."""
        return 1 + self.names.index(self.schema.version or "")

    @property
    def apart(self) -> bool:
        """Whether each version's table holds its own period's rows alone."""
        assert isinstance(self.query.details, RunningDetails)
        return self.query.details.apart

    @property
    def assumptions(self) -> frozenset[str]:
        """That a row is in one period, in whatever versions it is."""
        return frozenset({"fixed-dates"})

    @property
    def cells(self) -> Cells:
        """What the engine counts: periods by groups."""
        return Cells((self.key, *self.groups.keys))

    @cached_property
    def statistic(self) -> Aggregation:
        """What the engine is asked."""
        return Aggregation(self.query.bound_condition(self.schema), self.cells, (Measure(None),))

    def answer(self, table: Source) -> Whole:
        """The exact, secret counts of the periods that are over, of shape (periods, groups); of later ones none."""
        return self.vector(table.answer(self.statistic))

    def vector(self, totals: Whole) -> Whole:
        """The same from the engine's totals."""
        counts = np.asarray(totals[0], dtype=np.int64).reshape(len(self.key.labels), -1)
        kept = counts[self.first : self.first + len(self.names)].copy()
        kept[self.period :] = 0
        return kept

    @cached_property
    def prefixes(self) -> Workload:
        """The running counts of all groups, as they would be asked when the last period is over."""
        cells = Cells((self._periods, *self.groups.keys))
        return Workload(
            self.query, self.schema, cells, Linear(cells.shape, (Block((UPTO, *(EACH for _ in self.groups.keys))),))
        )

    @property
    def _periods(self) -> Key:
        kept = slice(self.first, self.first + len(self.names))
        assert self.key.starts is not None
        return Key(self.key.column, self.key.labels[kept], self.key.starts[kept])

    def read(self, output: Whole, mechanism: Steady) -> Estimates:
        """Two estimates for each period that is over and each group, with their intervals."""
        over = self.period
        estimates = np.concatenate([one.reshape(-1) for one in mechanism.read(output)])

        def ends(beta: float, joint: bool) -> tuple[Floats, Floats]:
            each = beta / len(estimates) if joint else beta
            widths = np.concatenate([np.repeat(one[:over], self.groups.count) for one in mechanism.margins(each)])
            return np.maximum(estimates - widths, 0.0), np.maximum(estimates + widths, 0.0)

        stated = partial(self.accuracy, mechanism, over=over)
        return Estimates(self._labels(over), estimates, ends, "rows", RUNNING, True, stated=stated)

    def _labels(self, over: int) -> Columns:
        cells = list(itertools.product((UP_TO, WITHIN), self.names[:over], self.groups.labels()))
        keys = {self.key.column: [name for _, name, _ in cells], COUNTED: [counted for counted, _, _ in cells]}
        return keys | {key.column: [held[i] for _, _, held in cells] for i, key in enumerate(self.groups.keys)}

    def accuracy(self, mechanism: Steady, beta: float, over: int | None = None) -> ErrorStatement:
        """The errors of the counts up to the end of each period; besides, those of the counts within one."""
        upto, within = (one[:over] for one in mechanism.margins(beta))
        alone = ErrorStatement("answer", float(within.max()), level_of(beta), least=float(within.min()))
        told = f"counts within a period {alone.words(probability=False)}"
        return ErrorStatement(
            "answer", float(upto.max()), level_of(beta), least=float(upto.min()), each=True, besides=(told,)
        )


def series_of(question: Question) -> Running | None:
    """The question as one of a series that was announced, if it is."""
    return question if isinstance(question, Running) else None


def running(column: str, *edges: float | str, months: int | None = None, apart: bool = False) -> Query:
    """How many rows there are up to the end of each period, and in each: published when the period is over.

    Periods start at `edges`, the last of which ends the last one; or `months` months from the first of them.  The
    table's `version` is the period's start, such as 2026-03 where all start on the first of a month.  All periods are
    charged together, once, with the first that is published, and share their noise.  Each version holds all rows so
    far; with `apart` only those of its own period.  The session needs allow=["fixed-dates"]: a row never changes date.

    >>> running("day", "2026-01-01", months=12).by("shop").name
    'running count by day by shop'
    """
    return Query(RunningDetails(column, _months(edges, months), apart))


def _months(edges: tuple[float | str, ...], months: object) -> tuple[float | str, ...]:
    """The edges, or the first days of so many months and of the one after."""
    if months is None:
        return edges
    count = arguments.whole("months", months, 1, MOST_PERIODS)
    try:
        (first,) = edges
        start = datetime.date.fromisoformat(str(first))
        ends = [12 * start.year + start.month - 1 + place for place in range(count + 1)]
        return tuple(datetime.date(month // 12, month % 12 + 1, start.day).isoformat() for month in ends)
    except ValueError:
        raise ParameterError(
            f"months counts from one first day such as '2026-01-01', which every month must have, got {edges!r:.80}"
        ) from None


def _key(details: RunningDetails, schema: Schema) -> tuple[Key, int]:
    """The periods as cells of the column, with what lies before and after them; and the place of the first."""
    space = schema.space(details.column)
    if not numeric(space):
        raise UnsupportedQuery(f"periods are cut from dates or numbers; {details.column!r} is {type(space).__name__}")
    lattice, edges = space.lattice, [space.number(edge) for edge in details.edges]
    starts = [math.ceil(exact(edge, "edge") / lattice.step) for edge in edges]
    if any(a >= b for a, b in itertools.pairwise(starts)):
        raise SchemaError("edges of running counts must increase, by at least a step of the column")
    if starts[1] <= lattice.low or starts[-2] > lattice.high:
        raise SchemaError(
            f"every period must meet the declared bounds of {details.column!r}, {_shown(space, lattice.low_value)} to "
            f"{_shown(space, lattice.high_value)}; declare wider ones, or other periods"
        )
    labels = [_shown(space, edge) for edge in edges[:-1]]
    before, after = starts[0] > lattice.low, starts[-1] <= lattice.high
    cuts = [*([lattice.low] if before else []), *starts[:-1], *([starts[-1]] if after else [])]
    named = [*(["before"] if before else []), *labels, *(["after"] if after else [])]
    return Key(details.column, tuple(named), tuple(cuts)), int(before)


def _shown(space: Space, number: float) -> str:
    return str(space.shown(number)) if space.decodes else f"{number:.15g}"


def _named(labels: tuple[Any, ...]) -> tuple[str, ...]:
    """Periods by their starts; by the month where all start on its first day."""
    texts = tuple(map(str, labels))
    return tuple(text[:7] for text in texts) if all(map(FIRST_DAY.fullmatch, texts)) else texts
