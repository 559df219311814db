"""Neighboring inputs: add, remove, replace one unit; small, extreme, tied, empty and wrapping tables.

Under add-remove a table is a bag of rows, so the new row may stand anywhere and all rows may be
permuted; under replacement it is a tuple of public length.  `l1`, `l2` and `linf` are for vectors at
distance at most 1: histograms, and lists of query answers each of which moves by at most 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from sfumato.auditing.findings import abridged
from sfumato.auditing.metamorphic import permutations
from sfumato.auditing.records import CANARY, records_for
from sfumato.auditing.shapes import Shape, printed, shape_of
from sfumato.errors import ParameterError
from sfumato.privacy.adjacency import AddRemove, Adjacency, Person, Replace, Unit

__all__ = ["Pair", "explicit", "pairs_for", "relation_of"]

MOST, OF_TABLES = 420, 240  # pairs that are tried at most; frames are slow to build
SIZES = (1, 2, 3, 5, 10, 33, 100, 127, 255, 256)


@dataclass(frozen=True)
class Pair:
    """Two neighboring inputs, how they are related, and the record in which they differ."""

    first: object
    second: object
    relation: str
    record: object = None


def explicit(pairs: Sequence[tuple[Any, Any] | Pair]) -> list[Pair]:
    """The pairs that the caller vouches for."""
    found = []
    for k, pair in enumerate(pairs):
        if isinstance(pair, Pair):
            found.append(pair)
            continue
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise ParameterError(f"pairs[{k}] must hold two neighboring inputs, got {type(pair).__name__}")
        found.append(Pair(pair[0], pair[1], f"the given pair {k}"))
    return found


def relation_of(adjacency: Adjacency | str) -> str:
    """The name of a neighboring relation, checked."""
    name = adjacency if isinstance(adjacency, str) else adjacency.name
    known = (AddRemove.name, Replace.name, "l1", "l2", "linf")
    if name not in known:
        raise ParameterError(f"adjacency must be one of {', '.join(known)}, got {name!r}")
    return name


def pairs_for(
    examples: Sequence[Any],
    relation: str,
    unit: Unit,
    records: Sequence[Any] | None,
    bounds: tuple[float, float] | None,
    fixed_size: bool = False,
) -> list[Pair]:
    """Neighboring pairs around the examples, ordinary ones first; `fixed_size` keeps to the examples' sizes."""
    if relation in ("l1", "l2", "linf"):
        return list(islice(_vectors(examples, relation), MOST))
    shape, rows = shape_of(examples[0])
    others = [shape_of(example)[1] for example in examples[1:]]
    pool = list(records) if records is not None else records_for(shape, [*rows, *chain.from_iterable(others)], bounds)
    bases = _sized if fixed_size else _bases
    streams = [_of_tables(shape, [rows, *others], pool, relation, bases)]
    if isinstance(unit, Person):
        around = (rows,) if fixed_size else (rows, [], rows[:1])
        streams = [_of_people(shape, rows, around, pool, relation, unit)]
    elif relation == AddRemove.name:
        streams.append(_permuted(shape, [rows, *others], pool))
    return list(islice(_merged(streams), OF_TABLES if shape.kind == "table" else MOST))


def _merged(streams: list[Iterator[Pair]]) -> Iterator[Pair]:
    """Distinct pairs: four of the first stream for each one of the others."""
    seen: set[str] = set()
    turns = [(stream, 4 if k == 0 else 1) for k, stream in enumerate(streams)]
    while turns:
        left = []
        for stream, share in turns:
            taken = list(islice(stream, share))
            for pair in taken:
                key = f"{printed(pair.first)}|{printed(pair.second)}"
                if key not in seen:
                    seen.add(key)
                    yield pair
            if taken:
                left.append((stream, share))
        turns = left


def _of_tables(
    shape: Shape, tables: list[list[Any]], pool: list[Any], relation: str, bases: Callable[..., Iterator[Any]]
) -> Iterator[Pair]:
    for base in bases(tables, pool):
        ordinary = base[1]
        for record in pool if ordinary else pool[:6]:
            if relation == AddRemove.name:
                yield _added(shape, base[0], record, len(base[0]))
            elif base[0]:
                yield from _replaced(shape, base[0], record, pool)
    if relation == AddRemove.name:
        for rows in tables:
            for record in pool[:8]:
                yield _added(shape, rows, record, 0)


def _bases(tables: list[list[Any]], pool: list[Any]) -> Iterator[tuple[list[Any], bool]]:
    """Tables to start from, and whether every record is to be tried on them."""
    yield [], True
    yield tables[0], True
    yield [pool[0]] * 3, True
    yield from ((rows, False) for rows in tables[1:])
    yield [pool[0]], True
    for record in pool[1:]:
        yield [record], False
    for record in pool[:2] if len(pool) > 1 else pool:
        yield from (([record] * size, False) for size in SIZES[1:])
    for record in pool[2:]:
        yield from (([record] * size, False) for size in (2, 3))
    yield [pool[k % len(pool)] for k in range(2 * len(pool))], False


def _sized(tables: list[list[Any]], pool: list[Any]) -> Iterator[tuple[list[Any], bool]]:
    """Tables of the sizes of the given ones."""
    yield from ((rows, True) for rows in tables)
    for size in dict.fromkeys(map(len, tables)):
        yield [pool[k % len(pool)] for k in range(size)], True
        yield from (([record] * size, False) for record in pool)


def _added(shape: Shape, rows: list[Any], record: object, position: int) -> Pair:
    more = [*rows[:position], record, *rows[position:]]
    where = "the end" if position else "the front"
    words = f"a table of {len(rows)} rows with one more at {where}: {abridged(record, 80)}"
    return Pair(shape.build(more), shape.build(rows), words, record)


def _replaced(shape: Shape, rows: list[Any], record: object, pool: list[Any]) -> Iterator[Pair]:
    for position in {0, len(rows) - 1}:
        for other in [rows[position], pool[0], pool[min(1, len(pool) - 1)]]:
            if repr(other) == repr(record):
                continue
            one = [*rows[:position], record, *rows[position + 1 :]]
            two = [*rows[:position], other, *rows[position + 1 :]]
            words = f"row {position} of {len(rows)} replaced: {abridged(record, 80)} for {abridged(other, 80)}"
            yield Pair(shape.build(one), shape.build(two), words, record)


def _of_people(
    shape: Shape, rows: list[Any], around: Sequence[list[Any]], pool: list[Any], relation: str, unit: Person
) -> Iterator[Pair]:
    """One person with several rows, alike and spread over all groups."""
    if unit.column not in shape.columns:
        raise ParameterError(f"inputs have no column {unit.column!r}; unit names the column of persons")
    place = shape.columns.index(unit.column)
    stranger = max((row[place] for row in rows), default=0)
    stranger = stranger + 1 if isinstance(stranger, int | float) else f"{stranger}-other"

    def of(record: tuple[Any, ...], person: object) -> tuple[Any, ...]:
        return (*record[:place], person, *record[place + 1 :])

    size = max(unit.rows, 3)
    groups = [[of(record, stranger)] * size for record in pool]
    groups += [[of(record, stranger) for record in pool[k : k + size]] for k in range(0, len(pool), 2)]
    for base in around:
        for group in groups:
            mine = [*base, *group]
            if relation == Replace.name:
                words = f"a person's rows changed: {abridged(group, 80)} for {abridged(pool[0], 80)}"
                yield Pair(shape.build(mine), shape.build([*base, of(pool[0], stranger)]), words)
            else:
                words = f"a person with {len(group)} rows added: {abridged(group, 80)}"
                yield Pair(shape.build(mine), shape.build(base), words)


def _permuted(shape: Shape, tables: list[list[Any]], pool: list[Any]) -> Iterator[Pair]:
    """A table and its permutation with one more row: neighbors as bags."""
    wide = [2.0**53, 1.0, 1.0, 1.0, -(2.0**53)]
    numeric = pool and isinstance(pool[0], float)
    for rows in [*tables, *([wide] if numeric and float("inf") in pool else []), pool]:
        for order in permutations(rows):
            yield Pair(
                shape.build([*order, pool[0]]),
                shape.build(rows),
                f"rows permuted, one more: {abridged(pool[0], 80)}",
                pool[0],
            )


def _vectors(examples: Sequence[Any], relation: str) -> Iterator[Pair]:
    """Vectors at distance at most 1 in the norm."""
    for example in examples:
        base = np.asarray(example, dtype=float)
        size = base.size
        moves = [np.eye(size)[k] for k in {0, size - 1}]
        if relation == "l2":
            moves += [np.ones(size) / np.sqrt(size)]
        if relation == "linf":
            signs = np.where(np.arange(size) < size / 2, 1.0, -1.0)
            moves = [np.ones(size), signs, -signs, (signs > 0) * 1.0, (signs < 0) * 1.0, *moves]
            moves += [
                np.where(np.arange(size) % 2, 1.0, -1.0),
                np.where(np.arange(size) < 1, -1.0, 1.0),
            ]
        for start in (np.zeros(size), base, np.full(size, 100.0), base + CANARY):
            for move in moves:
                for sign in (1, -1):
                    words = f"vectors of length {size} at {relation} distance 1"
                    yield Pair(_like(example, start + sign * move), _like(example, start), words)


def _like(example: object, vector: np.ndarray) -> Any:
    return vector.tolist() if isinstance(example, list) else vector
