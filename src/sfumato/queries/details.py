"""What a query of one kind carries, and what kinds share that are asked for each cell of keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from sfumato import arguments
from sfumato.errors import ParameterError, SchemaError
from sfumato.queries.grouping import Cells, bind_cells

if TYPE_CHECKING:
    from sfumato.queries.query import Query
    from sfumato.queries.question import Question
    from sfumato.spaces.schema import Schema

__all__ = [
    "Details",
    "Grouped",
    "Kind",
    "OfColumn",
    "Weighted",
    "a_kind",
    "known_parts",
    "needed_column",
    "weighted_by",
]


@runtime_checkable
class Details(Protocol):
    """Frozen public parameters of a question; the closed list of kinds is in `queries/kinds.py`.

    `bind` finds every public mistake, and refuses `query.keys` or `query.condition` where the kind has none.
    """

    kind: ClassVar[str]

    def subject(self) -> str:
        """What is asked, readable: the query's name without its keys and its condition."""

    def to_record(self) -> dict[str, Any]:
        """Plain values, beside `query`, `by` and `where`."""

    def bind(self, query: Query, schema: Schema) -> Question:
        """The bound question."""


class Kind(Details, Protocol):
    """Details of the closed list: plans and stored releases describe them."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Details:
        """What `to_record`, or a plan, describes; parts that the kind does not have are refused."""


class Grouped:
    """A kind that is asked for each cell of keys, which may be public or discovered."""

    __slots__ = ()

    def bind(self, query: Query, schema: Schema) -> Question:
        """The question over the cells of the query's public keys."""
        return self.over(query, schema, bind_cells(query.keys, schema))

    def over(self, query: Query, schema: Schema, cells: Cells) -> Question:
        """The question over bound cells."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class OfColumn(Grouped):
    """A kind that is about one column and has no other parameter."""

    kind: ClassVar[str]

    column: str

    def __post_init__(self) -> None:
        needed_column(self.kind, self.column)

    def subject(self) -> str:
        """What is asked."""
        return f"{self.kind} of {self.column}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"column": self.column}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "column")
        return cls(record.get("column", ""))


@dataclass(frozen=True, slots=True)
class Weighted(OfColumn):
    """A kind that is about one column, whose rows may be weighted by another."""

    weight: str | None = None

    def __post_init__(self) -> None:
        needed_column(self.kind, self.column)
        if self.weight is not None:
            arguments.text("weight", self.weight)

    def subject(self) -> str:
        """What is asked."""
        return f"{self.kind} of {self.column}{weighted_by(self.weight)}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"column": self.column, **({} if self.weight is None else {"weight": self.weight})}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "column", "weight")
        return cls(record.get("column", ""), record.get("weight"))


def weighted_by(weight: str | None) -> str:
    """The end of a name."""
    return "" if weight is None else f" weighted by {weight}"


def known_parts(kind: str, record: Mapping[str, Any], *known: str) -> None:
    """Refuse parts that a kind does not have."""
    unknown = sorted(record.keys() - set(known))
    if unknown == ["column"]:
        raise ParameterError(f"{a_kind(kind)} takes no column; narrow it with where or split it with by")
    if unknown:
        parts = ", ".join((*known, "by", "where"))
        raise SchemaError(f"{a_kind(kind)} query has no part {unknown[0]!r}; known are {parts}")


def a_kind(kind: str) -> str:
    """A kind of question in a sentence.

    >>> a_kind("mean"), a_kind("extent")
    ('a mean', 'an extent')
    """
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def needed_column(kind: str, column: object) -> None:
    """Refuse a question about no column."""
    if column is None or (isinstance(column, str) and not column):
        raise ParameterError(f"{a_kind(kind)} needs the column it is about; give column, in the shell --column")
    arguments.text("column", column)
