"""Public cells: categories, bins of a number, and their products; or keys to be discovered."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import exact
from sfumato.queries.constants import plain_constant
from sfumato.spaces import Label, Lattice, Space, numeric
from sfumato.spaces.schema import Schema

__all__ = ["Bins", "Cells", "Discovered", "Grouping", "Key", "bind_cells", "bins", "discovered"]

MOST_CELLS = 10_000_000


@dataclass(frozen=True, slots=True)
class Bins:
    """A number cut at public edges: `[e0, e1), [e1, e2), ..., [e_last-1, e_last]`; the ends take what clips.

    With `count`, the column's declared bounds, or the two ends in `edges`, are cut into so many bins of equal width.
    """

    column: str
    edges: tuple[float | str, ...] = ()
    count: int | None = None

    def __post_init__(self) -> None:
        arguments.text("column of bins", self.column)
        if self.count is not None:
            arguments.whole("count", self.count, most=MOST_CELLS)
            if not self.edges:
                return
        given = arguments.several("edges", self.edges)
        if len(given) == 1 and isinstance(given[0], list | tuple):
            given = tuple(given[0])
        edges: tuple[Any, ...] = tuple(plain_constant(edge, f"an edge of bins({self.column!r})") for edge in given)
        texts = all(
            isinstance(edge, str) for edge in edges
        )  # dates and elapsed times, compared where the column is known
        numbers = all(type(edge) in (int, float) for edge in edges)
        if len(edges) < 2 or not (texts or (numbers and all(a < b for a, b in itertools.pairwise(edges)))):
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


def bins(column: str, *edges: float | str, count: int | None = None) -> Bins | str:
    """Cut a numeric column at `edges` (of dates and elapsed times also texts), or into `count` bins of equal width.

    Without edges, the declared bounds are cut: `bins("age", count=4)`.

    >>> bins("age", 0, 18, 65, 120)
    Bins(column='age', edges=(0, 18, 65, 120), count=None)
    """
    if count is None:
        return Bins(column, edges)
    arguments.whole("count", count, most=MOST_CELLS)
    if len(edges) not in (0, 2):
        raise ParameterError(
            "bins(column, count=n) cuts the declared bounds, bins(column, low, high, count=n) the two ends beside count"
        )
    if not any(type(edge) in (int, float) for edge in edges):
        return Bins(column, edges, count)  # the declared bounds, or dates: known where the column is
    low, high = (exact(arguments.number("each end of bins", edge)) for edge in edges)
    return Bins(column, tuple(float(low + (high - low) * i / count) for i in range(count + 1)))


def discovered(column: str) -> Discovered:
    """Group by the values of a text column that enough units (rows, or persons) hold; alone, or with public keys.

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
        return all(schema.space(key.column).settled for key in self.keys)

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
        raise UnsupportedQuery(f"discovered({grouping.column!r}) is no public key; this question needs public ones")
    if isinstance(grouping, Bins):
        return _bind_bins(grouping, schema)
    space = schema.space(grouping)
    if space.labels is not None:
        return Key(grouping, space.labels)
    if numeric(space):
        points = space.lattice.width + 1
        if points > 1000:
            raise UnsupportedQuery(
                f"column {grouping!r} has {points} lattice points; group by bins({grouping!r}, edge, edge, ...)"
            )
        indices = range(space.lattice.low, space.lattice.high + 1)
        return Key(grouping, tuple(map(space.label, indices)), tuple(indices))
    if space.discoverable:
        raise UnsupportedQuery(f"the values of {grouping!r} are not public; group by discovered({grouping!r})")
    raise UnsupportedQuery(f"column {grouping!r} ({type(space).__name__}) cannot be a grouping key")


def _bind_bins(grouping: Bins, schema: Schema) -> Key:
    space = schema.space(grouping.column)
    if not numeric(space):
        raise SchemaError(f"bins({grouping.column!r}) needs a numeric column; group by {grouping.column!r} itself")
    lattice, edges = space.lattice, [space.number(edge) for edge in grouping.edges]
    if grouping.count is not None and grouping.count > lattice.width:
        raise SchemaError(f"bins({grouping.column!r}) has bins narrower than the column's step; ask for fewer")
    if grouping.count is not None:
        edges = _equal(edges or [lattice.low_value, lattice.high_value], grouping.count, lattice)
    starts = tuple(math.ceil(exact(edge, "edge") / lattice.step) for edge in edges[:-1])
    if starts[0] > lattice.low or math.floor(exact(edges[-1], "edge") / lattice.step) < lattice.high:
        low, high = _edge(space, lattice.low_value), _edge(space, lattice.high_value)
        bounds = f"the column's bounds {low} to {high}"
        raise SchemaError(f"bins({grouping.column!r}) must cover {bounds}: begin and end there")
    if any(a >= b for a, b in itertools.pairwise(starts)):
        raise SchemaError(f"bins({grouping.column!r}) has bins narrower than the column's step")
    texts = [f"[{_edge(space, a)}, {_edge(space, b)})" for a, b in itertools.pairwise(edges)]
    texts[-1] = texts[-1][:-1] + "]"
    return Key(grouping.column, tuple(texts), starts)


def _equal(ends: list[Any], count: int, lattice: Lattice) -> list[Any]:
    """The edges of bins of equal width, those within at the next point of the lattice."""
    low, high = (exact(end, "edge") / lattice.step for end in ends)
    inner = (lattice.value(math.ceil(low + (high - low) * place / count)) for place in range(1, count))
    return [ends[0], *inner, ends[1]]


def _edge(space: Space, number: float) -> str:
    """An edge as the column shows it."""
    return str(space.shown(number)) if space.decodes else f"{number:g}"
