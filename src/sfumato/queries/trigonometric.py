"""A table for smooth queries as a question: which numbers, how smooth, on request how many waves and grid points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.rows import RowsAnswer
from sfumato.answers.statements import Accuracy
from sfumato.errors import SchemaError
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.view import SecretView
from sfumato.queries.whole import WholeTable, must_be_whole, names_from
from sfumato.spaces.schema import Schema

__all__ = ["SmoothRows", "SmoothTable", "trigonometric"]

MOST = 1_000_000  # of orders and grids, far beyond what can be drawn
PARTS = ("columns", "smoothness", "order", "grid")


@dataclass(frozen=True, slots=True)
class SmoothTable:
    """Points with weights for queries with `smoothness` derivatives; `order` and `grid` override what follows."""

    kind: ClassVar[str] = "trigonometric"

    columns: tuple[str, ...]
    smoothness: int = 4
    order: int | None = None
    grid: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", arguments.names("columns", self.columns))
        arguments.whole("smoothness", self.smoothness)
        for name in ("order", "grid"):
            if getattr(self, name) is not None:
                arguments.whole(name, getattr(self, name), least=2, most=MOST)

    def subject(self) -> str:
        """What is asked, readable."""
        return f"smooth table of {', '.join(self.columns)}"

    def to_record(self) -> dict[str, object]:
        """Plain values; what is left out is the default."""
        more = {name: getattr(self, name) for name in ("order", "grid") if getattr(self, name) is not None}
        return {"columns": list(self.columns), "smoothness": self.smoothness, **more}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> SmoothTable:
        """What `to_record`, or a plan, describes."""
        unknown = sorted(record.keys() - set(PARTS))
        if unknown:
            raise SchemaError(f"a trigonometric query has no part {unknown[0]!r}; known are {', '.join(PARTS)}")
        columns = names_from(record, "trigonometric")
        if not columns:
            raise SchemaError("a trigonometric query needs columns, a list of up to about three numbers")
        return cls(columns, record.get("smoothness", 4), record.get("order"), record.get("grid"))

    def bind(self, query: Query, schema: Schema) -> SmoothRows:
        """The question about a table with this schema."""
        must_be_whole(query, "a smooth table")
        for name in self.columns:
            schema.space(name)
        return SmoothRows(query, schema, self)


def trigonometric(
    columns: Sequence[str], *, smoothness: int = 4, order: int | None = None, grid: int | None = None
) -> Query:
    """A synthetic table of up to about three numeric columns for smooth queries: grid points with weights.

    `smoothness` is the order of derivatives that queries have; `order` and `grid` override what follows from it.
    """
    return Query(SmoothTable(arguments.names("columns", columns), smoothness, order, grid))


class Fitting(Protocol):
    """A mechanism that fits points with weights to noisy features."""

    def accuracy(self, beta: float, output: npt.ArrayLike | None = None) -> Accuracy:
        """How far the features are from the table's, for its declared size or the released one."""

    def points(self, output: npt.ArrayLike) -> Mapping[str, object]:
        """The points in the columns' own units, and their weights."""


@dataclass(frozen=True, slots=True)
class SmoothRows(WholeTable):
    """A table for smooth queries bound to a schema."""

    query: Query
    schema: Schema
    details: SmoothTable

    @property
    def columns(self) -> tuple[str, ...]:
        """The numbers that are read and published."""
        return self.details.columns

    def specification(self) -> dict[str, object]:
        """What makes it the same table again."""
        return self.details.to_record()

    def answer(self, table: Source) -> SecretView:
        """A secret view of the columns."""
        return SecretView(table, self.columns)

    def accuracy(self, mechanism: Fitting, beta: float) -> Accuracy:
        """The error of the features that smooth queries are answered from, for the declared size."""
        return mechanism.accuracy(beta)

    def stored(self, output: npt.NDArray[np.int64]) -> dict[str, object]:
        """The noisy features; the rows are stored as they are."""
        return {"output": output.tolist()}

    def read(self, output: npt.NDArray[np.int64], mechanism: Fitting) -> RowsAnswer:
        """The points of the grid with their weights."""
        return RowsAnswer(mechanism.points(output), mechanism.accuracy(0.05, output))
