"""A small database as a question: a few rows that answer the counting queries of a workload like the whole table.

Its universe are the cells of the workload's keys, its queries the workload's rows, which count: whole numbers from 0
up.  The exact answer is the table's histogram over the cells.  Proof: docs/proofs/synthesis-net.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.rows import RowsAnswer
from sfumato.answers.statements import CONDITION, Accuracy, ErrorStatement, NotStated, level_of, state_by_rows
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.linear.families import Part, part_from
from sfumato.queries.linear.labels import labels_of
from sfumato.queries.linear.workload import Workload, WorkloadDetails
from sfumato.queries.query import Query
from sfumato.queries.question import Bound, Source
from sfumato.queries.vector import NEEDS_SIZE
from sfumato.spaces.schema import Schema

__all__ = ["CountingQueries", "SmallDatabaseDetails", "small_database"]

Whole = npt.NDArray[np.int64]

PARTS = ("workload", "rows", "steps", "candidates")
MOST_ROWS = 10_000
MOST_STEPS = 100_000_000
LARGEST_ENTRY = 2**30
DEFAULT_ROWS = 5


@dataclass(frozen=True, slots=True)
class SmallDatabaseDetails:
    """The counting queries, how many rows answer them, and on request the steps of a walk or the only candidates."""

    kind: ClassVar[str] = "small_database"

    workload: tuple[Part, ...]
    rows: int = DEFAULT_ROWS
    steps: int | None = None
    candidates: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        if not self.workload:
            raise ParameterError('a small database needs the queries of a workload, such as prefix("age")')
        arguments.whole("rows", self.rows, most=MOST_ROWS)
        if self.steps is not None:
            arguments.whole("steps", self.steps, least=0, most=MOST_STEPS)
        if self.candidates is None:
            return
        if not self.candidates:
            raise ParameterError("candidates is empty; give at least one database, as a count for each cell")
        for one in self.candidates:
            if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in one):
                raise ParameterError("a candidate is a list of whole numbers of at least 0, one for each cell")
            if sum(one) != self.rows:
                raise ParameterError(f"every candidate must have rows={self.rows} rows in all, one has {sum(one)}")

    def subject(self) -> str:
        """What is asked, readable."""
        return f"small database of {self.rows} rows"

    def to_record(self) -> dict[str, object]:
        """Plain values; what is left out is the default."""
        record: dict[str, object] = {"workload": [part.to_record() for part in self.workload], "rows": self.rows}
        if self.steps is not None:
            record["steps"] = self.steps
        if self.candidates is not None:
            record["candidates"] = [list(one) for one in self.candidates]
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> SmallDatabaseDetails:
        """What `to_record`, or a plan, describes."""
        unknown = sorted(record.keys() - set(PARTS))
        if unknown:
            raise SchemaError(
                f"a small_database query has no part {unknown[0]!r}; known are by, where, {', '.join(PARTS)}"
            )
        parts = record.get("workload", ())
        if not isinstance(parts, list | tuple):
            raise SchemaError('workload of a small_database query is a list of parts such as { rows = ["prefix"] }')
        candidates = record.get("candidates")
        listed = None if candidates is None else tuple(tuple(one) for one in candidates)
        return cls(
            tuple(part_from(part) for part in parts), record.get("rows", DEFAULT_ROWS), record.get("steps"), listed
        )

    def bind(self, query: Query, schema: Schema) -> CountingQueries:
        """The question about a table with this schema."""
        if not query.keys:
            raise UnsupportedQuery("a small database needs keys in by: its rows are cells of these columns")
        asked = WorkloadDetails(self.workload)
        linear = asked.bind(Query(asked, query.condition, query.keys), schema)
        matrix = linear.linear.dense()
        if matrix.min() < 0 or matrix.max() > LARGEST_ENTRY:
            raise UnsupportedQuery(
                f"a small database answers queries that count, with entries from 0 to {LARGEST_ENTRY}; "
                "leave out rows with other numbers"
            )
        for one in self.candidates or ():
            if len(one) != linear.cells.count:
                raise SchemaError(f"a candidate has {len(one)} counts for {linear.cells.count} cells; one for each")
        return CountingQueries(query, schema, linear, np.asarray(matrix, dtype=np.int64))


def small_database(
    queries: Query,
    *,
    rows: int | None = None,
    steps: int | None = None,
    candidates: Sequence[Sequence[int]] | None = None,
) -> Query:
    """A few rows that answer all counting queries of a workload about as the table does, chosen by their worst one.

    `queries` is a workload such as `prefix("age")`, `marginals([...], k=2)` or `predicates([...], by=...)`; its cells
    are what rows can be.  The choice is among all databases of `rows` rows, by a walk of `steps` steps where they are
    too many (which assumes `mixing`), or among the `candidates` given, each a count for every cell.

    >>> from sfumato.queries.linear.doors import prefix
    >>> small_database(prefix("age"), rows=3).name
    'small database of 3 rows by age'
    """
    arguments.instance("queries", queries, Query, "a workload such as prefix('age')")
    if not isinstance(queries.details, WorkloadDetails):
        raise ParameterError(f"queries must be a workload such as prefix('age'), not a {queries.kind} query")
    listed = (
        None
        if candidates is None
        else tuple(tuple(arguments.whole("each count of a candidate", count, 0) for count in one) for one in candidates)
    )
    size = rows if rows is not None else sum(listed[0]) if listed else DEFAULT_ROWS
    details = SmallDatabaseDetails(queries.details.parts, size, steps, listed)
    return Query(details, queries.condition, queries.keys)


class Choosing(Protocol):
    """A mechanism that chooses among databases."""

    @property
    def rows(self) -> int:
        """The size of each."""

    @property
    def best(self) -> float | None:
        """How far the best of them can be from any table; None where that is not known."""

    def error(self, beta: float = 0.05) -> float:
        """How much farther the chosen one can be than the best, in rows, but for `beta`."""


def _count(value: object) -> int:
    return arguments.whole("each count of a candidate", value, 0)


@dataclass(frozen=True, slots=True, eq=False)
class CountingQueries(Bound):
    """Counting queries bound to a schema: `matrix` has one row a query and one column a cell."""

    query: Query
    schema: Schema
    linear: Workload
    matrix: Whole

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, CountingQueries)
        return same and (self.query, self.schema) == (other.query, other.schema)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.query, self.schema))

    @property
    def details(self) -> SmallDatabaseDetails:
        """The query's own parameters."""
        assert isinstance(self.query.details, SmallDatabaseDetails)
        return self.query.details

    @property
    def name(self) -> str:
        """The query's readable name."""
        return self.query.name

    @property
    def cells(self) -> Cells:
        """One cell: the whole table."""
        return Cells(())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the cells, and those that a condition looks at."""
        return tuple(dict.fromkeys((*(key.column for key in self.linear.cells.keys), *self.query.columns)))

    @property
    def universe(self) -> int:
        """The number of cells."""
        return int(self.matrix.shape[1])

    @property
    def largest(self) -> int:
        """The largest entry: 1 for queries that count rows."""
        return int(self.matrix.max())

    def spread(self, rows: int) -> int:
        """How far apart the changes of penalties of databases of this size can lie when one unit changes."""
        return 2 * rows * self.largest * self.schema.unit.rows

    @property
    def rows(self) -> int:
        """The size of the database."""
        return self.details.rows

    @property
    def steps(self) -> int | None:
        """The steps of a walk, where they are asked for."""
        return self.details.steps

    @property
    def candidates(self) -> Whole | None:
        """The only databases to choose among, as histograms, where they are given."""
        return None if self.details.candidates is None else np.array(self.details.candidates, dtype=np.int64)

    def specification(self) -> dict[str, object]:
        """What makes it the same table again: the query."""
        return {"query": self.query.to_record()}

    def answer(self, table: Source) -> Whole:
        """The exact, secret counts of the cells."""
        return self.linear.histogram(table.answer(self.linear.statistic))

    def shares(self, histogram: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Each query's mean over the rows of a histogram."""
        weights = np.asarray(histogram, dtype=np.float64)
        return np.asarray(self.matrix @ weights / max(float(weights.sum()), 1e-300))

    def labels(self) -> list[str]:
        """What each query counts."""
        return list(labels_of(self.details.workload, self.linear.cells))

    def accuracy(self, mechanism: Choosing, beta: float) -> Accuracy:
        """How far all shares can be from the table's: what the best database misses them by, and the choice."""
        made = f"{len(self.matrix)} queries from a database of {mechanism.rows} rows"
        if self.schema.size is None:
            return NotStated(f"{made}; {NEEDS_SIZE}")
        most, best = mechanism.error(beta), mechanism.best
        if best is None:
            return NotStated(f"{made}; how far the best candidate lies from the table is not known")
        return state_by_rows(
            self.schema.size, None if self.query.condition is None else CONDITION,
            lambda rows: ErrorStatement("shares", best + most / rows, level_of(beta), given=(made,)),
        )  # fmt: skip

    def stored(self, output: Whole) -> dict[str, object]:
        """The query, and the chosen database as a count for each cell."""
        return {"query": self.query.to_record(), "output": np.asarray(output).tolist()}

    def read(self, output: Whole, mechanism: Choosing) -> RowsAnswer:
        """The rows of the small database: each the labels of its cell."""
        places = np.repeat(np.arange(self.universe), np.asarray(output, dtype=np.int64))
        held = np.unravel_index(places, self.linear.cells.shape)
        columns = {key.column: _values(key, axis) for key, axis in zip(self.linear.cells.keys, held, strict=True)}
        return RowsAnswer(columns, self.accuracy(mechanism, 0.05))


def _values(key: Key, places: Whole) -> list[object]:
    """The labels of cells; as texts where they are of several types."""
    alike = len({type(label) for label in key.labels}) == 1
    return [key.labels[int(place)] if alike else str(key.labels[int(place)]) for place in places]
