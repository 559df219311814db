r"""Rows that a workload asks about and a model lacks: invented, since weights cannot make rows.

Where hardly a row of the model counts for a number of the workload, some are copied and changed in the columns that the
query speaks of, until they count for it: its conditions and keys name the values.  Of several that do, those stay that
were changed least.  They weigh nothing until the number is measured; then they get what the answer says beyond what
rows have, where that is more than noise (`rounds.py`).  Read are made rows and public queries: nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.queries.conditions import Between, OneOf, Test
from sfumato.queries.encoding import Column
from sfumato.queries.goals import UNIT, Batch, Goal, places, tests_of
from sfumato.queries.rules import Rules

__all__ = ["Seeds", "sown"]

FEW = 10  # rows that count for a number: with fewer it is lacking
EACH, LEAST = 24, 2000  # seeds of a number at most, and of all numbers if rows are fewer
CHOICES = 6  # candidates to a seed
TRIES = 30
SPOKEN, ANY = 0.6, 0.8  # of the values that are drawn anew: those that tests speak of, then any; the rest as rows have
SEED = 16  # public: the same rows get the same seeds
SOWN = ("count", "histogram", "workload", "sum", "mean", "share")  # kinds whose conditions name what counts

Whole = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """Invented rows; each is there for a number of a goal."""

    rows: Mapping[str, Whole] = field(default_factory=dict)
    goals: Whole = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    numbers: Whole = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.goals)

    @property
    def many(self) -> int:
        """How many numbers have seeds."""
        return len(set(zip(self.goals.tolist(), self.numbers.tolist(), strict=True)))

    def beside(self, batch: Batch) -> Batch:
        """The rows of a batch, and after them these."""
        if not len(self):
            return batch
        both = {name: np.concatenate([held, self.rows[name]]) for name, held in batch.columns.items()}
        return Batch(both, batch.schema)


def sown(goals: Sequence[Goal], columns: Sequence[Column], rules: Rules, pool: Batch) -> Seeds:
    """Seeds for every number that hardly a row of the pool counts for, as far as some are found."""
    chance, known = np.random.default_rng(SEED), {column.name: column for column in columns}
    lacking = [_lacking(goal, pool) for goal in goals]
    many, most = sum(map(len, lacking)), max(LEAST, pool.rows)
    if not many:
        return Seeds()
    thin, each = -(-many // most), min(EACH, max(1, most // many))
    found = []
    for place, (goal, wanted) in enumerate(zip(goals, lacking, strict=True)):
        if len(wanted):
            rows, numbers = _invented(goal, wanted[::thin], each, known, rules, pool, chance)
            found.append((rows, np.full(len(numbers), place), numbers))
    return Seeds(
        {name: np.concatenate([rows[name] for rows, _, _ in found]) for name in known},
        np.concatenate([own for _, own, _ in found]),
        np.concatenate([numbers for _, _, numbers in found]),
    )


def _lacking(goal: Goal, pool: Batch) -> Whole:
    """The numbers that fewer than FEW rows count for; none where queries do not say by values what counts."""
    plain = all(type(test) in PASSING for test in tests_of(goal.query, goal.condition, pool.schema))
    if goal.query.kind not in SOWN or not plain:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(goal.sums(pool) < FEW * UNIT)


def _invented(
    goal: Goal,
    wanted: Whole,
    each: int,
    columns: Mapping[str, Column],
    rules: Rules,
    pool: Batch,
    chance: np.random.Generator,
) -> tuple[dict[str, Whole], Whole]:
    """Rows of the pool, changed so that they count for the wanted numbers, and which of these each counts for."""
    schema = pool.schema
    numbers = np.repeat(wanted, each * CHOICES)
    givers = chance.integers(pool.rows, size=len(numbers))
    tests = list(tests_of(goal.query, goal.condition, schema))
    free = list(dict.fromkeys([*(test.column for test in tests), *filter(None, [goal.query.column])]))
    ruled = [name for _, names in rules.parts() for name in names]
    held = {name: pool.columns[name][givers] for name in {*free, *ruled, *(key.column for key in goal.cells.keys)}}
    _set_keys(goal, numbers, held, columns, chance)
    fine = _counts(goal, numbers, Batch(held, schema)) & rules.hold(held)
    for turn in range(TRIES if free else 0):
        left = np.flatnonzero(~fine)
        if not len(left):
            break
        drawn = {name: some[left] for name, some in held.items()}
        anew = chance.random((len(free), len(left))) < max(1 / len(free), turn / TRIES)
        for name, here in zip(free, anew, strict=True):
            own = [test for test in tests if test.column == name]
            drawn[name] = np.where(here, _drawn(columns[name], own, pool, len(left), chance), drawn[name])
        _set_keys(goal, numbers[left], drawn, columns, chance)
        good = _counts(goal, numbers[left], Batch(drawn, schema)) & rules.hold(drawn)
        for name, some in drawn.items():
            held[name][left[good]] = some[good]
        fine[left[good]] = True
    changed = sum(_apart(columns[name], pool.columns[name][givers], some) for name, some in held.items())
    order = np.lexsort([np.asarray(changed), numbers])
    order = order[fine[order]]
    starts = np.searchsorted(numbers[order], numbers[order])  # where the candidates of the same number begin
    kept = order[np.arange(len(order)) - starts < each]
    rows = {name: some[givers[kept]] for name, some in pool.columns.items()}
    return {**rows, **{name: some[kept] for name, some in held.items()}}, numbers[kept]


def _set_keys(
    goal: Goal, numbers: Whole, rows: dict[str, Whole], columns: Mapping[str, Column], chance: np.random.Generator
) -> None:
    """Put each row into the cell of its number."""
    if not goal.cells.keys:
        return
    cells = np.unravel_index(numbers // (goal.size // goal.cells.count), goal.cells.shape)
    for key, place in zip(goal.cells.keys, cells, strict=True):
        column = columns[key.column]
        if key.starts is None:
            rows[key.column] = np.asarray(place)
            continue
        low = column.space.lattice.low if column.space.lattice is not None else 0
        ends = np.clip(np.array([*key.starts, low + column.points]) - low, 0, column.points)
        first, room = ends[place], np.maximum(1, np.diff(ends)[place])
        outside = (rows[key.column] < first) | (rows[key.column] >= first + room)
        drawn = first + (chance.random(len(first)) * room).astype(np.int64)
        rows[key.column] = np.where(outside, drawn, rows[key.column])


def _counts(goal: Goal, numbers: Whole, batch: Batch) -> Truth:
    """Which rows give half of themselves or more to their number."""
    rows, place, first = goal.weights(batch)
    given = np.zeros(batch.rows, dtype=np.int64)
    given[rows] = np.where(place == numbers[rows], first, np.where(place + 1 == numbers[rows], UNIT - first, 0))
    return 2 * given >= UNIT


def _drawn(column: Column, tests: Sequence[Test], pool: Batch, count: int, chance: np.random.Generator) -> Whole:
    """Values of a column: some that tests speak of, some of all that it can take, some that rows have."""
    kind, found = chance.random(count), chance.choice(pool.columns[column.name], count)
    anywhere = column.levels(chance.integers(column.points, size=count))
    if column.edges is not None:
        anywhere = np.array(column.edges, dtype=np.int64)[np.minimum(anywhere, column.valued - 1)]
    spoken = [PASSING[type(test)](column, test, count, chance) for test in tests]
    if spoken:
        which = chance.integers(len(spoken), size=count)
        found = np.where(kind < SPOKEN, np.stack(spoken)[which, np.arange(count)], found)
    return np.where((kind >= SPOKEN) & (kind < ANY), anywhere, found)


def _labelled(column: Column, test: OneOf, count: int, chance: np.random.Generator) -> Whole:
    """Labels that a test names, any of them alike."""
    return chance.choice(np.array(places(column.space.labels or (), test.labels) or [-1], dtype=np.int64), count)


def _within(column: Column, test: Between, count: int, chance: np.random.Generator) -> Whole:
    """Numbers between the ends of a test, any of them alike."""
    low = 0 if column.space.lattice is None else column.space.lattice.low
    first, last = max(test.low - low, 0), min(test.high - low, column.points - 1)
    return chance.integers(first, last + 1, size=count) if first <= last else np.full(count, -1)


PASSING: dict[type, Callable[[Column, Any, int, np.random.Generator], Whole]] = {OneOf: _labelled, Between: _within}


def _apart(column: Column, one: Whole, other: Whole) -> npt.NDArray[np.float64]:
    """How far a value was changed: 1 at most."""
    if not column.ordered:
        return np.asarray(one != other, dtype=np.float64)
    near = np.abs(one - other) / column.points
    return np.asarray(np.where((one < 0) != (other < 0), 1.0, near), dtype=np.float64)
