r"""All thresholds of a column at once: the share of rows at or below each point of a grid, by a small database.

A database of m rows on the grid is as good as its worst threshold: its penalty is max_g |m F(g) - n y(g)|, F(g) and
y(g) the rows at or below g in the table (of n present rows) and in the small database.  One row added, removed or
replaced moves every m F(g) - n y(g) by at most m, so it moves each penalty by at most m, for either relation.
Proof: docs/proofs/threshold_database.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.answers.shares import Shares
from sfumato.answers.statements import Accuracy, ErrorStatement, NotStated, level_of, state_by_rows
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries.aggregation import Frequencies
from sfumato.queries.features import Axis, axes_of
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.vector import NEEDS_SIZE, units_of
from sfumato.queries.whole import WholeTable
from sfumato.spaces import Lattice
from sfumato.spaces.schema import Schema

__all__ = ["ThresholdGrid", "Thresholds", "thresholds"]

MOST_POINTS = 20_000
MOST_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of a column on a grid of `points`; `rows` is the small database's size, chosen if left out."""

    kind: ClassVar[str] = "thresholds"

    column: str
    points: int = 1000
    rows: int | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.column, str) and self.column):
            raise ParameterError("column must name the column that thresholds are about")
        if not (isinstance(self.points, int) and 2 <= self.points <= MOST_POINTS):
            raise ParameterError(f"points must be a whole number from 2 to {MOST_POINTS}, got {self.points!r}")
        if self.rows is not None and not (isinstance(self.rows, int) and 1 <= self.rows <= MOST_ROWS):
            raise ParameterError(f"rows must be a whole number from 1 to {MOST_ROWS}, got {self.rows!r}")

    def subject(self) -> str:
        """What is asked, readable."""
        return f"thresholds of {self.column}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"column": self.column, "points": self.points, "rows": self.rows}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Thresholds:
        """What `to_record`, or a plan, describes."""
        unknown = sorted(record.keys() - {"column", "points", "rows"})
        if unknown:
            raise SchemaError(f"a thresholds query has no part {unknown[0]!r}; known are column, points, rows, where")
        return cls(record.get("column", ""), record.get("points", 1000), record.get("rows"))

    def bind(self, query: Query, schema: Schema) -> ThresholdGrid:
        """The question about a table with this schema."""
        if query.keys:
            raise UnsupportedQuery("thresholds take no keys in by; narrow them with where")
        (axis,) = axes_of((self.column,), schema, self.points)
        if self.rows is None and schema.size is None:
            raise UnsupportedQuery("thresholds need rows=, the small database's size, or a declared size= to choose it")
        return ThresholdGrid(query, schema, axis)


def thresholds(column: str, *, points: int = 1000, rows: int | None = None) -> Query:
    """The share of rows at or below each of `points` grid points of a column, all at once.

    Released is a small database on the grid, chosen by the exponential mechanism among all of its size.
    """
    return Query(Thresholds(column, points, rows))


class HasRows(Protocol):
    """A mechanism that releases a small database: its size, and the error of its worst threshold in rows."""

    @property
    def rows(self) -> int: ...

    def error(self, beta: float) -> float: ...


@dataclass(frozen=True, slots=True)
class ThresholdGrid(WholeTable):
    """Thresholds bound to a schema; the exact answer is the number of rows in each cell of the grid."""

    query: Query
    schema: Schema
    axis: Axis

    @property
    def details(self) -> Thresholds:
        """The query's own parameters."""
        assert isinstance(self.query.details, Thresholds)
        return self.query.details

    @property
    def dimension(self) -> int:
        """The number of grid points."""
        return self.axis.cells

    @property
    def lattice(self) -> Lattice:
        """The column's lattice."""
        return self.schema.lattice(self.details.column)

    def spread(self, rows: int) -> int:
        """How far apart the changes of penalties of databases of this size can lie when one unit changes."""
        return 2 * rows * self.schema.unit.rows

    def answer(self, table: Source) -> npt.NDArray[np.int64]:
        """The exact, secret counts of the grid's cells."""
        found = Frequencies(self.query.bound_condition(self.schema), self.cells, self.details.column)
        _, values, counts = table.answer(found)
        places = (np.asarray(values, dtype=np.int64) - self.lattice.low) // self.axis.step
        histogram = np.zeros(self.axis.cells, dtype=np.int64)
        np.add.at(histogram, places, np.asarray(counts, dtype=np.int64))
        return histogram

    def database(self, output: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The rows of the small database, in the column's units."""
        return self.lattice.values(self.lattice.low + self.axis.middles()[np.asarray(output, dtype=np.int64)])

    def estimate(self, output: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The share of rows at or below each grid point."""
        places = np.asarray(output, dtype=np.int64)
        below = np.cumsum(np.bincount(places, minlength=self.axis.cells))
        return np.asarray(below / max(len(places), 1))

    def read(self, output: npt.ArrayLike, mechanism: HasRows) -> Shares:
        """The shares, with bars for all at once where a size is declared and no condition leaves rows out."""
        ends = np.minimum((np.arange(self.axis.cells) + 1) * self.axis.step - 1, self.axis.width)
        size = self.schema.size if self.query.selection is None else None
        return Shares(
            self.lattice.values(self.lattice.low + ends), self.estimate(output), self.database(output),
            None if size is None else lambda beta: mechanism.error(beta) / size, partial(self.accuracy, mechanism),
            self.details.column, units_of(self.schema.space(self.details.column)),
        )  # fmt: skip

    def accuracy(self, mechanism: HasRows, beta: float) -> Accuracy:
        """The error to expect."""
        made = f"{self.axis.cells} thresholds from a database of {mechanism.rows} rows"
        if self.schema.size is None:
            return NotStated(f"{made}; {NEEDS_SIZE}")
        size, most = self.schema.size, mechanism.error(beta)
        rounding = 1 / (2 * mechanism.rows)  # of a share, by the small database; the rest is a number of rows
        return state_by_rows(
            size, self.query.selection,
            lambda rows: ErrorStatement(
                "shares", most / rows if rows == size else rounding + (most - rounding * size) / rows, level_of(beta),
                given=(made,),
            ),
        )  # fmt: skip
