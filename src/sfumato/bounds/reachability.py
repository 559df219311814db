"""What rows a schema allows: the bounds need every cell, and every value, to be possible.

A condition that no row meets, a cell beyond the column's range, or a cell that restricts the very column that is
summed would make a better mechanism possible, and a certificate wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from sfumato.queries.predicates import Between, Both, Contains, Either, Negated, OneOf, Predicate
from sfumato.schema import Schema
from sfumato.spaces import Categories, Integers, Interval

__all__ = ["obstacle"]

MOST_ROWS = 100_000  # kinds of rows that are tried

Atom = Between | OneOf | Contains


def obstacle(question: Any) -> str | None:
    """Why some cell cannot take every value, or None if each can."""
    schema, query, keys = question.schema, question.query, question.cells.keys
    taken = {key.column for key in keys} | {query.column}
    if query.column in {key.column for key in keys}:
        return "the cells restrict the column that is summed"
    if not all(_reachable(key, schema) for key in keys):
        return "no row can fall into some of the cells"
    if query.condition is None:
        return None
    condition = query.condition.bind(schema)
    if taken & {atom.column for atom in _atoms(condition)}:
        return "the condition restricts the cells or the column that is summed"
    outcomes = _outcomes(condition, schema)
    if outcomes is None:
        return "the condition is too long to see which rows can meet it"
    if True not in outcomes or (query.column is None and schema.fixed_size is not None and False not in outcomes):
        return "every row, or none, meets the condition"
    return None


def _reachable(key: Any, schema: Schema) -> bool:
    """Whether each bin of a number meets the column's range."""
    if key.starts is None:
        return True
    lattice = schema.space(key.column).lattice  # type: ignore[attr-defined]
    ends = (*key.starts[1:], lattice.high + 1)
    return all(start <= lattice.high and end > lattice.low for start, end in zip(key.starts, ends, strict=True))


def _atoms(condition: Predicate) -> Iterator[Atom]:
    if isinstance(condition, Both | Either):
        yield from _atoms(condition.one)
        yield from _atoms(condition.other)
    elif isinstance(condition, Negated):
        yield from _atoms(condition.one)
    else:
        assert isinstance(condition, Atom)
        yield condition


def _outcomes(condition: Predicate, schema: Schema) -> set[bool] | None:
    """What the condition can come to, over every kind of row; None if there are too many kinds."""
    atoms = list(_atoms(condition))
    columns = sorted({atom.column for atom in atoms})
    kinds = [_kinds(column, [atom for atom in atoms if atom.column == column], schema) for column in columns]
    if math.prod(len(kind) for kind in kinds) > MOST_ROWS:
        return None
    rows = (dict(zip(columns, values, strict=True)) for values in itertools.product(*kinds))
    return {_holds(condition, row) for row in rows}


def _kinds(column: str, atoms: list[Atom], schema: Schema) -> list[Any]:
    """Values of a column that stand for all of them, None for a missing one."""
    space = schema.space(column)
    if isinstance(space, Interval | Integers):
        cuts = {c for atom in atoms if isinstance(atom, Between) for c in (atom.low, atom.high + 1)}
        points: list[Any] = [c for c in {*cuts, space.lattice.low} if space.lattice.low <= c <= space.lattice.high]
        return points + ([None] if space.missing is None else [])
    if isinstance(space, Categories):
        return [*space.values, *([None] if space.missing is None or space.other is None else [])]
    items = sorted({str(atom.item) for atom in atoms if isinstance(atom, Contains)})
    size = min(len(items), getattr(space, "cap", None) or len(items))
    return [None, *(set(some) for k in range(size + 1) for some in itertools.combinations(items, k))]


def _holds(condition: Predicate, row: dict[str, Any]) -> bool:
    match condition:
        case Both(one, other):
            return _holds(one, row) and _holds(other, row)
        case Either(one, other):
            return _holds(one, row) or _holds(other, row)
        case Negated(one):
            return not _holds(one, row)
        case Between(column, low, high):
            return row[column] is not None and low <= row[column] <= high
        case OneOf(column, labels):
            return row[column] in labels
        case Contains(column, item):
            return row[column] is not None and str(item) in row[column]
    raise AssertionError("a bound condition has no other parts")
