"""Columns that are computed from declared ones, row by row, and then coerced like any value.

A derived column is a formula over declared columns, and the space that its values are coerced to.  The parts of dates
(`year(d)`, `month(d)`, ...) are such columns with spaces that follow from the declared bounds; they need no
declaration.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.spaces.grammar import Literal, Name, Tree, parsed

if TYPE_CHECKING:
    from sfumato.spaces.space import Space

__all__ = ["PARTS", "Derived", "columns_in", "entries_of", "named", "part_name", "part_of", "paths_of"]

PARTS = ("year", "quarter", "month", "day", "weekday", "hour")
ENTRY = re.compile(r"(.+)\[(0|[1-9][0-9]{0,8})\]", re.DOTALL)
PART = re.compile(rf"({'|'.join(PARTS)})\((.+)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Derived:
    """A formula over declared columns, and the space that its values are coerced to."""

    formula: str
    space: Space

    @property
    def tree(self) -> Tree:
        """The formula as it is read."""
        return parsed(self.formula, "formula")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the formula reads, each once."""
        return columns_in(self.tree)

    def to_record(self) -> dict[str, Any]:
        """Plain values: the record of the space, and where it comes from."""
        return {"from": self.formula, **self.space.to_record()}


def columns_in(tree: Tree) -> tuple[str, ...]:
    """The names in a tree, each once, in the order of their mention."""
    if isinstance(tree, Literal):
        return ()
    if isinstance(tree, Name):
        return (tree.text,)
    return tuple(dict.fromkeys(name for part in tree.parts for name in columns_in(part)))


def named(column: str) -> str:
    """A column's name as conditions write it: between backticks where it is not a plain word.

    >>> named("age"), named("first name"), named("month(joined)")
    ('age', '`first name`', 'month(joined)')
    """
    if column.isidentifier() and not keyword.iskeyword(column):
        return column
    if part_of(column) is not None:
        return column
    return "`" + column.replace("`", "``") + "`"


def part_name(function: str, column: str) -> str:
    """What the part of a date is called."""
    return f"{function}({named(column)})"


def part_of(name: str) -> tuple[str, str] | None:
    """The function and the column of a part's name as `part_name` writes it; None for other names.

    >>> part_of("month(joined)"), part_of("month(`first day`)"), part_of("month")
    (('month', 'joined'), ('month', 'first day'), None)
    """
    found = PART.fullmatch(name)
    if found is None:
        return None
    inner = found[2]
    column = inner[1:-1].replace("``", "`") if inner[:1] == inner[-1:] == "`" and len(inner) > 2 else inner
    return (found[1], column) if column and part_name(found[1], column) == name and part_of(column) is None else None


def paths_of(columns: Mapping[str, Space]) -> list[tuple[tuple[str, ...], Space]]:
    """Each column that engines hold by the path of its names, through a record those of its fields, and its space.

    >>> from sfumato.spaces import Interval, Record
    >>> [path for path, _ in paths_of({"age": Interval(0, 120), "home": Record({"rent": Interval(0, 9)})})]
    [('age',), ('home', 'rent')]
    """
    found: list[tuple[tuple[str, ...], Space]] = []
    for name, space in columns.items():
        inner = [((), space)] if space.fields is None else paths_of(space.fields)
        found += [((name, *path), part) for path, part in inner]
    return found


def entries_of(name: str) -> list[tuple[str, tuple[int, ...]]]:
    """The columns that an entry's name may mean, the longest first, and the indices that follow; none of other names.

    >>> entries_of("image[3][0]"), entries_of("image")
    ([('image[3]', (0,)), ('image', (3, 0))], [])
    """
    found: list[tuple[str, tuple[int, ...]]] = []
    while (match := ENTRY.fullmatch(name)) is not None:
        found.append((name := match[1], (int(match[2]), *(found[-1][1] if found else ()))))
    return found
