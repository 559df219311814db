r"""How much of one person counts in one question: rows, rows in each of several groups, or a total.

`rows`: the first so many of a person's rows, in the public order that their contents decide, whatever is asked.
`each` and `groups`: of the rows that meet the condition, at most `each` in each cell, of at most `groups` cells; those
of a person's first rows come first.  `total`: the sum of a person's rows in each cell, clipped; rows are then not
bounded at all.  Every choice is made from one person's rows alone, so that a person moves an answer by no more than
`queries/contributions.py` says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import exact
from sfumato.privacy.adjacency import Person, total_ends
from sfumato.spaces.schema import Schema

__all__ = ["PerPerson", "ends_of"]

PARTS = ("rows", "groups", "each", "total")
MOST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PerPerson:
    """What counts of one person, in place of the schema's own `rows`.

    >>> PerPerson(each=2, groups=3).words()
    'with at most 2 rows a person in each of at most 3 groups'
    """

    rows: int | None = None
    groups: int | None = None
    each: int | None = None
    total: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for part in ("rows", "groups", "each"):
            if getattr(self, part) is not None:
                arguments.whole(part, getattr(self, part), most=MOST)
        if self.total is not None:
            object.__setattr__(self, "total", total_ends(self.total))
        if [self.rows, self.each, self.total].count(None) != 2 or (self.rows is not None and self.groups is not None):
            raise ParameterError(
                "per_person takes rows=, at most so many rows of a person; or each=, so many in each group; or total=, "
                "the ends that a person's sum is clipped to; the latter two also with groups=, in how many groups"
            )

    def words(self) -> str:
        """The limit for a name."""
        where = "" if self.groups is None else f" in each of at most {self.groups} groups"
        if self.total is not None:
            return f"with totals of a person within {self.total[0]:g} to {self.total[1]:g}{where}"
        if self.rows is not None:
            return f"with at most {_rows(self.rows)} a person"
        return f"with at most {_rows(self.each)} a person{where or ' in each group'}"

    def within(self, schema: Schema, cells: int | None) -> Schema:
        """The schema whose unit says so, for a question over public cells (None: not such a question)."""
        if not isinstance(schema.unit, Person):
            raise UnsupportedQuery("per_person is for tables with several rows a person; declare unit= and rows=")
        if self.rows is not None:
            return replace(schema, unit=Person(schema.unit.column, self.rows))
        if cells is None:
            raise UnsupportedQuery(
                "each=, groups= and total= are for counts, sums and means of public groups; use rows="
            )
        if self.groups is not None and cells == 1:
            raise UnsupportedQuery("groups= needs several groups; split the question with by(...)")
        groups = min(self.groups or cells, cells)
        return replace(schema, unit=Person(schema.unit.column, self.each or 1, groups, self.total))

    def to_record(self) -> dict[str, Any]:
        """Plain values: what was given."""
        given = {part: getattr(self, part) for part in PARTS if getattr(self, part) is not None}
        return given if self.total is None else {**given, "total": list(self.total)}

    @classmethod
    def from_record(cls, record: object) -> PerPerson:
        """What `to_record`, or a plan, describes."""
        if not isinstance(record, Mapping) or not record.keys() <= set(PARTS):
            raise SchemaError("per_person is { rows = 3 }, { each = 1, groups = 2 } or { total = [0, 5000] }")
        return cls(**record)


def ends_of(schema: Schema, column: str) -> tuple[int, int]:
    """The least and the greatest number of steps that counts as one row of a column: a person's total is one.

    Ends of a total that no values of the column add up to are moved to 0.
    """
    lattice = schema.lattice(column)
    if not isinstance(schema.unit, Person) or schema.unit.total is None:
        return lattice.low, lattice.high
    low, high = (exact(end) / lattice.step for end in schema.unit.total)
    return (math.ceil(low) if lattice.low < 0 else 0), (math.floor(high) if lattice.high > 0 else 0)


def _rows(number: int | None) -> str:
    return "1 row" if number == 1 else f"{number} rows"
