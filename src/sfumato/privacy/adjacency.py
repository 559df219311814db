"""Who is protected, and against what: the privacy unit and the neighboring relation, as types.

Two tables are neighbors when one unit is added or removed (`AddRemove`) or exchanged for another
(`Replace`).  A unit is one row (`Row`) or one person with at most `rows` rows (`Person`); a person
may have none, so the number of rows is private even under `Replace` unless the unit is a row.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ParameterError

__all__ = ["ADJACENCIES", "AddRemove", "Adjacency", "Person", "Replace", "Row", "Unit"]


@dataclass(frozen=True, slots=True)
class AddRemove:
    """Neighbors differ by the presence of one unit."""

    name = "add-remove"

    def words(self) -> str:
        """The relation for a reader."""
        return "adding or removing"


@dataclass(frozen=True, slots=True)
class Replace:
    """Neighbors differ by the contents of one unit; the number of units is public."""

    name = "replace"

    def words(self) -> str:
        """The relation for a reader."""
        return "changing all data of"


Adjacency = AddRemove | Replace
ADJACENCIES: dict[str, Adjacency] = {"add-remove": AddRemove(), "replace": Replace()}


@dataclass(frozen=True, slots=True)
class Row:
    """The unit is a single row."""

    @property
    def rows(self) -> int:
        """How many rows one unit may have."""
        return 1

    def words(self) -> str:
        """The unit for a reader."""
        return "any one row"


@dataclass(frozen=True, slots=True)
class Person:
    """The unit is everything that shares one value of `column`; at most `rows` of its rows count."""

    column: str
    rows: int

    def __post_init__(self) -> None:
        if not (isinstance(self.rows, int) and not isinstance(self.rows, bool) and self.rows >= 1):
            raise ParameterError(f"rows must be a whole number of at least 1, got {self.rows!r}")

    def words(self) -> str:
        """The unit for a reader."""
        return f"any one person (the rows that share a {self.column!r}, of which at most {self.rows} count)"


Unit = Row | Person
