"""Rows that noise may have hidden: as many as the predicted error, anywhere within public bounds.

No sample of the made rows tells of what is not among them, such as the far end of a column that noise outweighs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.cards import listed
from sfumato.queries.encoding import Column, encoded
from sfumato.release.prediction import PredictedErrors
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["anywhere", "beyond", "farther", "total_variation"]

BARS = 32  # of a column's bounds: as much must be left without a row to be worth a word
NAMES = 5  # of columns in a sentence
FARTHER = 3  # times as far from the median as all that were made: what noise may hide


def total_variation(names: tuple[str, ...], found: PredictedErrors) -> float:
    """How far the shares of these columns are predicted to be off, at most; of three or more, by their worst pair."""
    if len(names) < 2:
        return max((found.within((name,)) for name in names), default=0.0)
    known = [pair for pair in found.pairs if set(pair) in [set(two) for two in combinations(names, 2)]]
    return max((found.within(pair) for pair in known or found.pairs), default=1.0)


def anywhere(names: Sequence[str], schema: Schema, count: int, chance: np.random.Generator) -> pa.Table | None:
    """Rows with any value of each column's public domain; none where columns are sets or arrays."""
    import pyarrow as pa

    columns = encoded(schema, tuple(names))
    if not count or any(column.whole is not None for column in columns):
        return None
    return pa.table({column.name: column.decoded(chance.integers(column.points, size=count)) for column in columns})


def farther(
    columns: Sequence[Column],
    places: Mapping[str, npt.NDArray[np.int64]],
    rows: pa.Table,
    found: PredictedErrors,
    chance: np.random.Generator,
) -> pa.Table | None:
    """The rows, with as many values of each number as its error beyond all that were made, up to several times as far.

    None where the made values leave no room for that within the public bounds.
    """
    moved = None
    for column in columns:
        held = places[column.name]
        there = np.flatnonzero(held >= 0)
        if not column.ordered or column.whole is not None or column.name not in rows.column_names or not there.size:
            continue
        low, middle, high = held[there].min(), int(np.median(held[there])), held[there].max()
        below, above = (FARTHER * (middle - low), FARTHER * (high - middle))
        ends = ((max(0, low - below), low), (high + 1, min(column.points, high + above + 1)))
        left = [(first, last) for first, last in ends if first < last]
        chosen = chance.permutation(there)[: math.ceil(found.middles[(column.name,)] * there.size)]
        for part, (first, last) in zip(np.array_split(chosen, max(1, len(left))), left, strict=False):
            held = held.copy()
            held[part] = chance.integers(first, last, size=part.size)
        if left:
            place = rows.column_names.index(column.name)
            moved = (rows if moved is None else moved).set_column(place, column.name, column.decoded(held))
    return moved


def beyond(columns: Sequence[Column], rows: Mapping[str, npt.NDArray[np.int64]]) -> dict[str, str]:
    """Where numbers could be and no row was made, in words: real ones there, if they are few, are not seen."""
    told = []
    for column in columns:
        held, lattice = rows[column.name][rows[column.name] >= 0], column.space.lattice
        if lattice is None or not len(held):
            continue
        room = max(2, lattice.width // BARS)
        for word, end, left, bound in (
            ("below", held.min(), held.min(), lattice.low),
            ("above", held.max(), lattice.width - held.max(), lattice.high),
        ):
            if left >= room:
                label = column.space.label
                told.append(f"{column.name} {word} {label(lattice.low + int(end))} (declared to {label(bound)})")
    if not told:
        return {}
    shown = listed(told, NAMES)
    return {
        "no rows": f"{shown}: few real ones there would not show beside the noise, and count among the values that "
        "were made; tails, least and greatest values are not to be used"
    }
