"""Public cells: categories, bins of a number, and their products; or keys to be discovered."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import exact
from sfumato.queries.constants import plain_constant
from sfumato.schema import Schema
from sfumato.spaces import Categories, Dates, Integers, Interval, Label, Texts

__all__ = ["Bins", "Cells", "Discovered", "Grouping", "Key", "bind_cells", "bins", "discovered"]

MOST_CELLS = 10_000_000


@dataclass(frozen=True, slots=True)
class Bins:
    """A number cut at public edges: `[e0, e1), [e1, e2), ..., [e_last-1, e_last]`; the ends take what clips."""

    column: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        arguments.text("column of bins", self.column)
        given = arguments.several("edges", self.edges)
        if len(given) == 1 and isinstance(given[0], list | tuple):
            given = tuple(given[0])
        edges: tuple[Any, ...] = tuple(plain_constant(edge, f"an edge of bins({self.column!r})") for edge in given)
        numbers = all(type(edge) in (int, float) for edge in edges)
        if len(edges) < 2 or not numbers or any(not a < b for a, b in itertools.pairwise(edges)):
            raise ParameterError(
                f"edges of bins({self.column!r}) must be at least two increasing numbers, such as "
                f"bins({self.column!r}, 0, 18, 65, 120)"
            )
        object.__setattr__(self, "edges", edges)


@dataclass(frozen=True, slots=True)
class Discovered:
    """Keys that are not public: those held by enough units (rows, or persons) are found privately, at a delta."""

    column: str

    def __post_init__(self) -> None:
        arguments.text("column of discovered", self.column)


Grouping = str | Bins | Discovered


def bins(column: str, *edges: float, count: int | None = None) -> Bins | str:
    """Cut a numeric column at `edges`, or into `count` bins of equal width.

    >>> bins("age", 0, 18, 65, 120)
    Bins(column='age', edges=(0, 18, 65, 120))
    """
    if count is None:
        return Bins(column, edges)
    arguments.whole("count", count, most=MOST_CELLS)
    if len(edges) != 2:
        raise ParameterError("bins(column, low, high, count=n) needs exactly the two ends beside count")
    low, high = (exact(arguments.number("each end of bins", edge)) for edge in edges)
    return Bins(column, tuple(float(low + (high - low) * i / count) for i in range(count + 1)))


def discovered(column: str) -> Discovered:
    """Group by the values of a text column that enough units (rows, or persons) hold.

    A value that one unit alone holds is shown with probability at most the delta that is spent.
    """
    return Discovered(column)


@dataclass(frozen=True, slots=True)
class Key:
    """A bound grouping column: its cells' labels, and for numbers the lattice indices where bins start."""

    column: str
    labels: tuple[Label, ...]
    starts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """The product of bound keys, in row-major order; no keys: one cell for the whole table."""

    keys: tuple[Key, ...]

    @property
    def count(self) -> int:
        """The number of cells."""
        return math.prod(len(key.labels) for key in self.keys)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each key."""
        return tuple(len(key.labels) for key in self.keys)

    def take_every_row(self, schema: Schema) -> bool:
        """Whether each row falls into some cell: no key's value can be missing or unknown."""
        spaces: list[Any] = [schema.space(key.column) for key in self.keys]
        return all(space.missing is not None and getattr(space, "other", "") is not None for space in spaces)

    def labels(self) -> list[tuple[Label, ...]]:
        """The labels of each cell, in order."""
        return list(itertools.product(*(key.labels for key in self.keys)))

    def columns(self, repeat: int = 1) -> dict[str, list[Label]]:
        """The labels by key, each cell's `repeat` times in a row."""
        cells = [labels for labels in self.labels() for _ in range(repeat)]
        return {key.column: [labels[i] for labels in cells] for i, key in enumerate(self.keys)}


def bind_cells(groupings: Sequence[Grouping], schema: Schema) -> Cells:
    """The cells of public groupings."""
    keys = tuple(_bind(grouping, schema) for grouping in groupings)
    if len({key.column for key in keys}) != len(keys):
        raise SchemaError("a column appears twice in the grouping; name each once")
    cells = Cells(keys)
    if cells.count > MOST_CELLS:
        raise UnsupportedQuery(
            f"the grouping has {cells.count} cells, at most {MOST_CELLS} are possible; use fewer or coarser keys"
        )
    return cells


def _bind(grouping: Grouping, schema: Schema) -> Key:
    if isinstance(grouping, Discovered):
        raise UnsupportedQuery(f"discovered({grouping.column!r}) must be the only key of its query")
    if isinstance(grouping, Bins):
        return _bind_bins(grouping, schema)
    space = schema.space(grouping)
    if isinstance(space, Categories):
        return Key(grouping, space.values)
    if isinstance(space, Interval | Integers):
        points = space.lattice.width + 1
        if points > 1000:
            raise UnsupportedQuery(
                f"column {grouping!r} has {points} lattice points; group by bins({grouping!r}, edge, edge, ...)"
            )
        indices = range(space.lattice.low, space.lattice.high + 1)
        shown = space.date if isinstance(space, Dates) else lambda index: _plain(space.lattice.value(index))
        return Key(grouping, tuple(_text(shown(i)) for i in indices), tuple(indices))
    if isinstance(space, Texts):
        raise UnsupportedQuery(f"the values of {grouping!r} are not public; group by discovered({grouping!r})")
    raise UnsupportedQuery(f"column {grouping!r} ({type(space).__name__}) cannot be a grouping key")


def _bind_bins(grouping: Bins, schema: Schema) -> Key:
    space = schema.space(grouping.column)
    if not isinstance(space, Interval | Integers):
        raise SchemaError(f"bins({grouping.column!r}) needs a numeric column")
    lattice, edges = space.lattice, grouping.edges
    starts = tuple(math.ceil(exact(edge, "edge") / lattice.step) for edge in edges[:-1])
    if starts[0] > lattice.low or math.floor(exact(edges[-1], "edge") / lattice.step) < lattice.high:
        raise SchemaError(
            f"bins({grouping.column!r}) must cover the column's bounds {lattice.low_value:g} to {lattice.high_value:g}"
        )
    if any(a >= b for a, b in itertools.pairwise(starts)):
        raise SchemaError(f"bins({grouping.column!r}) has bins narrower than the column's step")
    texts = [f"[{a:g}, {b:g})" for a, b in itertools.pairwise(edges)]
    texts[-1] = texts[-1][:-1] + "]"
    return Key(grouping.column, tuple(texts), starts)


def _text(label: Any) -> Label:
    """A label as it is, a date as text."""
    return label.isoformat() if isinstance(label, datetime.date) else label


def _plain(value: float) -> Label:
    return int(value) if value == int(value) else f"{value:g}"
