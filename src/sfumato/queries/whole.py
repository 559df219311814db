"""What questions share that are about a whole table: one cell, under the query's own name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.question import Bound

__all__ = ["WholeTable", "must_be_whole", "names_from", "shown_names"]

SHOWN = 4  # columns that a name lists


class WholeTable(Bound):
    """A bound question without keys."""

    __slots__ = ()

    @property
    def cells(self) -> Cells:
        """One cell: the whole table."""
        return Cells(())


def must_be_whole(query: Query, what: str) -> None:
    """Refuse keys and conditions where a table is published that has none."""
    if query.keys or query.condition is not None:
        raise UnsupportedQuery(f"{what} takes no keys in by and no where: it is made of all rows")


def names_from(record: Mapping[str, Any], kind: str) -> tuple[str, ...] | None:
    """The columns that a record names, None where it names none."""
    columns = record.get("columns")
    if columns is None:
        return None
    if not isinstance(columns, list | tuple) or not all(isinstance(name, str) for name in columns):
        raise SchemaError(f"columns of a {kind} query must be a list of column names")
    return tuple(columns)


def shown_names(columns: Sequence[str]) -> str:
    """The columns in a name, or how many they are.

    >>> shown_names(["age", "sex"])
    'age, sex'
    """
    return ", ".join(columns) if len(columns) <= SHOWN else f"table of {len(columns)} columns"
