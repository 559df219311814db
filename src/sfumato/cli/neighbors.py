"""Small neighboring tables made from a schema alone: one unit with extreme, ordinary or missing rows more or other."""

from __future__ import annotations

import math
from typing import Any

from sfumato.privacy.adjacency import Person, Replace
from sfumato.schema import Schema
from sfumato.spaces import Box, Categories, Curves, Dates, Integers, Interval, Record, Space, Subsets

__all__ = ["invented", "neighbors"]

KINDS = 5  # of rows: the lowest values, the highest, ordinary ones, others, missing


def neighbors(schema: Schema) -> list[tuple[Any, Any]]:
    """Pairs of Arrow tables that differ by one unit, under the schema's own relation."""
    others = [_rows(schema, kind, f"other {kind}") for kind in range(KINDS)]
    units = [_rows(schema, kind, "the one") * schema.unit.rows for kind in range(KINDS)]
    if isinstance(schema.adjacency, Replace):
        size = schema.fixed_size
        around = (others[0] + others[1]) * 3 if size is None else (others[0] * size)[: size - 1]
        pairs = [(around + one, around + other) for one in units for other in units if one is not other]
    else:
        bases = [[], others[2] * 3, others[0] + others[1]]
        pairs = [(base + unit, base) for unit in units for base in bases]
    return [(invented(schema, one), invented(schema, other)) for one, other in pairs]


def _rows(schema: Schema, kind: int, person: str) -> list[dict[str, Any]]:
    row = {name: _value(space, kind) for name, space in schema.columns.items()}
    return [row | ({schema.unit.column: person} if isinstance(schema.unit, Person) else {})]


def _value(space: Space, kind: int) -> Any:
    """A value of that kind in a space."""
    if kind == KINDS - 1:
        return None
    if isinstance(space, Record):
        return {name: _value(part, kind) for name, part in space.parts.items()}
    if isinstance(space, Box | Curves):
        return _array(space, kind)
    if isinstance(space, Dates):
        first, last = space.lattice.low, space.lattice.high
        return space.date((first, last, (first + last) // 2, first + (last - first) // 4)[kind])
    if isinstance(space, Interval | Integers):
        low, high = space.lattice.low_value, space.lattice.high_value
        return (low, high, (low + high) / 2, low + (high - low) / 4)[kind]
    if isinstance(space, Categories):
        return space.values[(0, -1, 0, 1 % len(space.values))[kind]]
    if isinstance(space, Subsets):
        return list((space.of[:0], space.of[: space.cap], space.of[:1], space.of[-1:])[kind])
    return ("a", "b", "a", "c")[kind]


def _array(space: Box | Curves, kind: int) -> Any:
    """Entries all lowest, all highest, in turn, and rising."""
    shape = space.shape if isinstance(space, Box) else (len(space.points),)
    low, high = space.lattice.low_value, space.lattice.high_value
    size = math.prod(shape)
    entries: list[Any] = (
        [low] * size,
        [high] * size,
        [(low, high)[k % 2] for k in range(size)],
        _rising(low, high, size),
    )[kind]
    for side in reversed(shape[1:]):
        entries = [entries[k : k + side] for k in range(0, len(entries), side)]
    return entries


def _rising(low: float, high: float, size: int) -> list[float]:
    return [low + (high - low) * k / max(size - 1, 1) for k in range(size)]


def invented(schema: Schema, rows: list[dict[str, Any]]) -> Any:
    """An Arrow table of these rows, with the types that the schema expects."""
    import pyarrow as pa

    names = list(schema.columns) + ([schema.unit.column] if isinstance(schema.unit, Person) else [])
    kinds = [_kind(schema.columns.get(name)) for name in names]
    return pa.table(
        {name: pa.array([row[name] for row in rows], kind) for name, kind in zip(names, kinds, strict=True)}
    )


def _kind(space: Space | None) -> Any:
    import pyarrow as pa

    if isinstance(space, Record):
        return pa.struct([(name, _kind(part)) for name, part in space.parts.items()])
    if isinstance(space, Box | Curves):
        kind = pa.float64()
        for _ in space.shape if isinstance(space, Box) else "1":
            kind = pa.list_(kind)
        return kind
    if isinstance(space, Dates):
        return pa.date32()
    if isinstance(space, Interval | Integers):
        return pa.float64()
    if isinstance(space, Categories | Subsets):
        labels = space.values if isinstance(space, Categories) else space.of
        item = pa.scalar(labels[0]).type
        return pa.list_(item) if isinstance(space, Subsets) else item
    return pa.string()
