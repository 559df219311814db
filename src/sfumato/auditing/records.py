"""Records worth inserting: ordinary ones, corners, and everything a careful program must survive.

Numbers: the declared corners, or 0, +-1, large and huge magnitudes, infinities, NaN and the ends of
integer types.  Texts: known ones, a rare one, the empty one.  Rows combine them column by column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.auditing.shapes import Shape

__all__ = ["CANARY", "records_for"]

CANARY = 0.7390851332151607  # a number that nobody computes by accident
WORD = "canary-8f1d"


def records_for(shape: Shape, rows: Sequence[Any], bounds: tuple[float, float] | None) -> list[Any]:
    """Ordinary records first, extreme ones last."""
    if not rows:
        rows = [0.0, 1.0]
    example = rows[0]
    if isinstance(example, dict):
        names = list(example)
        parts = [[row[name] for row in rows] for name in names]
        return [dict(zip(names, row, strict=True)) for row in _rows(parts, bounds, None)]
    if isinstance(example, tuple) or (isinstance(example, list) and _even(rows)):
        parts = [list(column) for column in zip(*rows, strict=True)]
        maker = type(example)
        return [maker(row) for row in _rows(parts, bounds, shape.dtype)]
    if isinstance(example, list | set | frozenset):
        return _collections(rows)
    return _values(list(rows), bounds, shape.dtype)


def _even(rows: Sequence[Any]) -> bool:
    numeric = all(isinstance(cell, int | float) for row in rows for cell in row)
    return numeric and len({len(row) for row in rows}) == 1


def _values(seen: list[Any], bounds: tuple[float, float] | None, dtype: np.dtype[Any] | None) -> list[Any]:
    """Values for one column, of the kind that was seen in it."""
    known = [v for v in seen if v is not None]
    first = known[0] if known else 0.0
    if isinstance(first, bool | np.bool_):
        return _distinct([False, True], seen)
    if isinstance(first, str):
        return _distinct([*dict.fromkeys(known)][:6], [WORD, ""], [None] if None in seen else [])
    if isinstance(first, int | np.integer) and (dtype is None or dtype.kind in "iu"):
        return _integers([int(v) for v in known], bounds, dtype)
    if isinstance(first, int | float | np.number):
        return _floats([float(v) for v in known], bounds, None in seen)
    return _distinct([*known][:8], [None] if None in seen else [])


def _integers(seen: list[int], bounds: tuple[float, float] | None, dtype: np.dtype[Any] | None) -> list[Any]:
    if bounds is not None:
        low, high = math.ceil(bounds[0]), math.floor(bounds[1])
        return _distinct([low, high, (low + high) // 2], [v for v in seen if low <= v <= high][:4])
    ends = np.iinfo(dtype if dtype is not None else np.int64)
    wide = [v for v in (10**6, -(10**6), 2**31 - 1, -(2**31)) if ends.min <= v <= ends.max]
    return _distinct([0, 1, min(seen), max(seen)], [-1] if ends.min < 0 else [], wide, [ends.max, ends.min])


def _floats(seen: list[float], bounds: tuple[float, float] | None, nulls: bool) -> list[Any]:
    if bounds is not None:
        low, high = bounds
        inside = [v for v in seen if low <= v <= high]
        return _distinct([low, high, (low + high) / 2], inside[:4], [low + CANARY * (high - low)])
    finite = [v for v in seen if math.isfinite(v)] or [0.0]
    ordinary = [0.0, 1.0, min(finite), max(finite), -1.0, CANARY]
    wide = [1e3, -1e3, 1e6, -1e6, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324]
    return _distinct(ordinary, wide, [None] if nulls else [])


def _rows(parts: list[list[Any]], bounds: tuple[float, float] | None, dtype: np.dtype[Any] | None) -> list[Any]:
    """Rows from column values: seen rows, all at one corner, one column moved, mixed corners."""
    pools = [_values(part, bounds, dtype) for part in parts]
    rows = [tuple(part[k] for part in parts) for k in range(min(3, len(parts[0])))]
    width = max(map(len, pools))
    rows += [tuple(pool[k % len(pool)] for pool in pools) for k in range(min(width, 12))]
    base = rows[0]
    order = range(len(pools)) if len(pools) <= 8 else (0, 1, len(pools) // 2, len(pools) - 1)
    for k in order:
        rows += [(*base[:k], value, *base[k + 1 :]) for value in pools[k]]
    rows.append(tuple(pool[k % 2] if len(pool) > 1 else pool[0] for k, pool in enumerate(pools)))
    rows.append(tuple(pool[(k + 1) % 2] if len(pool) > 1 else pool[0] for k, pool in enumerate(pools)))
    return _distinct(rows)


def _collections(rows: Sequence[Any]) -> list[Any]:
    """Lists or sets as records: seen ones, the empty one, everything at once, one rare item."""
    maker = type(rows[0])
    items = list(dict.fromkeys(item for row in rows for item in row))
    rare: object = WORD if items and isinstance(items[0], str) else CANARY
    return _distinct([*rows][:5], [maker(()), maker(items), maker(items[:1]), maker((rare,)), maker(items * 5)])


def _distinct(*groups: Sequence[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    for group in groups:
        for value in group:
            found.setdefault(repr(value), value)
    return list(found.values())
