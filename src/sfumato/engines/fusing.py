"""Statistics that are asked together, counted in one pass over the table: that of the cells of all their keys at once.

On Spark reading and clipping the rows is most of an answer's cost, and every answer is a job of its own.  A plan's
questions are known when it begins, so that its first answer can bring others with it: rows are grouped by the keys of
several statistics together, each measure is added up where its own condition holds, and whole numbers add up further
outside.  The cells of all keys together stay few, or there are more passes.

An answer that came with another one is as secret as the rows.  It stays in this process's memory until its own question
is asked, which is after its own charge; it is handed out once, and goes with the table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.engines.compilation import LIMB, limbs
from sfumato.engines.positions import FEW
from sfumato.engines.results import Counted, Whole, whole
from sfumato.errors import SfumatoError
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Frequencies, Measure, Statistic
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.predicates import Predicate
from sfumato.spaces.schema import Schema

__all__ = ["Foreseen", "asked_first", "fused", "parted"]

MOST_CELLS = 4096  # of all keys of a pass together, which a hash table near the processor holds


@dataclass(eq=False)
class Foreseen:
    """The statistics that are about to be asked of one table, and the answers that came with others."""

    _wanted: Counter[Statistic] = field(default_factory=Counter)
    _held: dict[Statistic, Any] = field(default_factory=dict)
    _asking: Lock = field(default_factory=Lock)

    def expect(self, statistics: Iterable[Statistic]) -> None:
        """These are about to be asked, in any order."""
        with self._asking:
            self._wanted.update(statistics)

    def answer(
        self,
        statistic: Statistic,
        schema: Schema,
        alone: Callable[[Statistic], Any],
        together: Callable[[Aggregation], pa.Table],
    ) -> Any:
        """The answer, from a pass that several share where it was expected with others; else `alone`.

        None where the pass failed; each of them is then asked by itself.
        """
        if self._wanted[statistic] <= 0:
            return alone(statistic)
        with self._asking:
            if statistic not in self._held:
                self._held |= self._together(statistic, schema, together)
            self._wanted[statistic] -= 1
            if statistic in self._held:
                return self._held[statistic] if self._wanted[statistic] > 0 else self._held.pop(statistic)
        return alone(statistic)

    def _together(
        self, statistic: Statistic, schema: Schema, together: Callable[[Aggregation], pa.Table]
    ) -> dict[Statistic, Any]:
        """The answers of all that share a pass with a statistic; nothing where it has none to share."""
        shared = next((one for one in _passes(self._wanted, schema) if statistic in one), ())
        if len(shared) < 2:
            return {}
        asked = fused(shared, schema)
        try:
            result = together(asked)
            return {one: parted(result, asked, one, schema) for one in shared}
        except BaseException as failure:
            dict.update(self._wanted, {**dict.fromkeys(shared, 0), statistic: 1})
            if not isinstance(failure, Exception) or isinstance(failure, SfumatoError):
                raise
            return {statistic: None}


class Asked(Exception):
    """A statistic that a mechanism takes first."""

    def __init__(self, statistic: Statistic) -> None:
        super().__init__("asked without a table")
        self.statistic = statistic


@dataclass(frozen=True, slots=True)
class Unread:
    """A table of which nothing is read: whoever asks it for an answer says what was wanted, and ends there."""

    schema: Schema
    steady: bool

    def answer(self, statistic: Statistic) -> Any:
        """Nothing but the question."""
        raise Asked(statistic)

    def rows(self, *wanted: object) -> Iterator[Any]:
        """No rows."""
        return iter(())

    persons = rows


def asked_first(take: Callable[[Any], object], schema: Schema, steady: bool) -> tuple[Statistic, ...]:
    """The first statistic that a mechanism takes of a table with this schema, where it takes one; no table is read."""
    try:
        take(Unread(schema, steady))
    except Asked as asked:
        return (asked.statistic,)
    except Exception:
        pass
    return ()


def _passes(wanted: Counter[Statistic], schema: Schema) -> list[tuple[Statistic, ...]]:
    """Statistics that share a pass: each joins the first one whose cells stay few with its own."""
    passes: list[dict[Statistic, tuple[Key, ...]]] = []
    for statistic in (one for one, times in wanted.items() if times > 0):
        keys = _keys(statistic, schema)
        if keys is None:
            continue
        for shared in passes:
            if _cells({*keys, *(key for held in shared.values() for key in held)}) <= MOST_CELLS:
                shared[statistic] = keys
                break
        else:
            passes.append({statistic: keys})
    return [tuple(shared) for shared in passes]


def _cells(keys: Iterable[Key]) -> int:
    """The cells of these keys together, with one more of each for all other rows."""
    return math.prod(len(key.labels) + 1 for key in keys)


def _keys(statistic: Statistic, schema: Schema) -> tuple[Key, ...] | None:
    """The keys by which a statistic can be counted with others; None if it cannot."""
    if isinstance(schema.unit, Person) and schema.unit.groups is not None:
        return None
    keys = KEYS[type(statistic)](statistic, schema) if type(statistic) in KEYS else None
    if keys is None or any(len(key.labels) > FEW for key in keys if key.starts is None):
        return None
    return keys if _cells(keys) <= MOST_CELLS else None


def _with_value(statistic: Frequencies, schema: Schema) -> tuple[Key, ...] | None:
    """The keys of counted values, which are the last."""
    value = _value(statistic, schema)
    return None if value is None else (*statistic.cells.keys, value)


def _value(statistic: Frequencies, schema: Schema) -> Key | None:
    """The values that are counted, as a key; None where they are no few numbers or labels."""
    column = statistic.column
    if column is None or statistic.within is not None:
        return None
    form = schema.space(column).form
    if form is None or form.listed:
        return None
    if form.labels is not None:
        return Key(column, form.labels)
    lattice = schema.space(column).lattice
    if lattice is None or lattice.width >> statistic.shift >= MOST_CELLS:
        return None
    starts = range(lattice.low, lattice.high + 1, 1 << statistic.shift)
    return Key(column, tuple(range(len(starts))), tuple(starts))


def fused(statistics: Iterable[Statistic], schema: Schema) -> Aggregation:
    """All of them as one aggregation, over the cells of all their keys."""
    held = tuple(statistics)
    keys = dict.fromkeys(key for one in held for key in _keys(one, schema) or ())
    measures = dict.fromkeys(measure for one in held for measure in _measures(one))
    return Aggregation(None, Cells(tuple(keys)), tuple(measures))


def _measures(statistic: Statistic) -> tuple[Measure, ...]:
    """What is added up, under the statistic's own condition."""
    return tuple(replace(one, where=_both(statistic.where, one.where)) for one in MEASURES[type(statistic)](statistic))


def _both(first: Predicate | None, second: Predicate | None) -> Predicate | None:
    return second if first is None else first if second is None else first & second


def parted(result: pa.Table, asked: Aggregation, statistic: Statistic, schema: Schema) -> Any:
    """One statistic's answer, from the result of the aggregation that several were fused to."""
    keys = _keys(statistic, schema) or ()
    places = [whole(result[f"key{asked.cells.keys.index(key)}"]) for key in keys]
    inside = np.all([place >= 0 for place in places], axis=0) if places else np.full(result.num_rows, True)
    shape = tuple(len(key.labels) for key in keys)
    cells = np.ravel_multi_index([place[inside] for place in places], shape) if places else np.zeros(
        result.num_rows, dtype=np.int64
    )  # fmt: skip
    sums = np.zeros((len(_measures(statistic)), math.prod(shape)), dtype=object)
    for i, measure in enumerate(_measures(statistic)):
        at = asked.measures.index(measure)
        for j in range(limbs(measure, schema)):
            np.add.at(sums[i], cells, _python(result[f"sum{at}_{j}"])[inside] << (LIMB * j))
    return READ[type(statistic)](sums, statistic, keys, schema)


def _counts(sums: Whole, statistic: Frequencies, keys: tuple[Key, ...], schema: Schema) -> Counted:
    """Cells, values and counts, of those that occur."""
    value, found = keys[-1], np.flatnonzero(sums[0])
    lattice = schema.space(value.column).lattice
    low = 0 if lattice is None or value.starts is None or statistic.in_runs else lattice.low
    cells, values = np.divmod(found, len(value.labels))
    return cells, values + low, sums[0][found].astype(np.int64)


def _python(column: pa.ChunkedArray) -> Whole:
    return whole(column).astype(object)


# What differs between the statistics that share a pass: their keys, what is added up, and how their sums are read.
KEYS: dict[type[Statistic], Callable[..., tuple[Key, ...] | None]] = {
    Aggregation: lambda statistic, schema: statistic.cells.keys, Frequencies: _with_value,
}  # fmt: skip
MEASURES: dict[type[Statistic], Callable[..., tuple[Measure, ...]]] = {
    Aggregation: lambda statistic: statistic.measures, Frequencies: lambda statistic: (Measure(None),),
}  # fmt: skip
READ: dict[type[Statistic], Callable[..., Any]] = {
    Aggregation: lambda sums, *described: sums, Frequencies: _counts,
}  # fmt: skip
