"""Who is protected, and against what: the privacy unit and the neighboring relation, as types.

Two tables are neighbors when one unit is added or removed (`AddRemove`) or exchanged for another
(`Replace`).  A unit is one row (`Row`) or one person with at most `rows` rows (`Person`); a person
may have none, so the number of rows is private even under `Replace` unless the unit is a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError

__all__ = ["ADJACENCIES", "AddRemove", "Adjacency", "Person", "Replace", "Row", "Unit", "total_ends"]


@dataclass(frozen=True, slots=True)
class AddRemove:
    """Neighbors differ by the presence of one unit."""

    name = "add-remove"
    removes = True

    def words(self) -> str:
        """The relation for a reader."""
        return "adding or removing"

    def doubt(self) -> str:
        """What somebody may wonder about one unit, who knows all others."""
        return "whether the table holds"


@dataclass(frozen=True, slots=True)
class Replace:
    """Neighbors differ by the contents of one unit; the number of units is public."""

    name = "replace"
    removes = False

    def words(self) -> str:
        """The relation for a reader."""
        return "changing all data of"

    def doubt(self) -> str:
        """What somebody may wonder about one unit, who knows all others."""
        return "whether something is true of"


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
    """The unit is everything that shares one value of `column`; at most `rows` of its rows count.

    A question with limits of its own (`Query.per_person`) puts them here: with `groups`, at most `rows` count in each
    of so many groups; with `total`, what counts in each is the sum of a person's rows there, clipped to these ends.
    """

    column: str
    rows: int
    groups: int | None = field(default=None, repr=False)
    total: tuple[float, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, given in (("rows", self.rows), ("groups", 1 if self.groups is None else self.groups)):
            if not (isinstance(given, int) and not isinstance(given, bool) and given >= 1):
                raise ParameterError(f"{name} must be a whole number of at least 1, got {given!r}")
        if self.total is not None:
            object.__setattr__(self, "total", total_ends(self.total))

    def words(self) -> str:
        """The unit for a reader."""
        return f"any one person (the rows that share a {self.column!r}, {self._counted()})"

    def to_record(self) -> dict[str, Any]:
        """Plain values; of limits only those that are there."""
        groups = {} if self.groups is None else {"groups": self.groups}
        total = {} if self.total is None else {"total": list(self.total)}
        return {"column": self.column, "rows": self.rows, **groups, **total}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Person:
        """What `to_record` wrote."""
        total = record.get("total")
        return cls(record["column"], record["rows"], record.get("groups"), None if total is None else tuple(total))

    def _counted(self) -> str:
        where = "" if self.groups in (None, 1) else f" in each of at most {self.groups} groups"
        if self.total is None:
            return f"of which at most {self.rows} count{where}"
        low, high = self.total
        return f"whose total counts as far as it lies within {low:g} to {high:g}{where}"


def total_ends(total: object) -> tuple[float, float]:
    """The ends that a person's total is clipped to, which hold 0."""
    given = arguments.several("total", total)
    if len(given) != 2:
        raise ParameterError("total is two numbers, the ends that a person's sum is clipped to, such as (0, 5000)")
    low, high = (arguments.number("total", end) for end in given)
    if not (low <= 0 <= high and low < high):
        raise ParameterError(
            f"total must hold 0, which is the sum of who has no rows, and one more number, got {low:g} to {high:g}"
        )
    return low, high


Unit = Row | Person
