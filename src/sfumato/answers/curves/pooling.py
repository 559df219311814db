"""Cells of a box, joined where noise leaves too little of their numbers of rows: halves of halves, from the top.

A box is cut across its longest side while both halves hold enough rows, or one does and the other next to none.  Of a
box that is not cut the cells are read together; one that holds next to nothing is not read at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves.waves import Floats

__all__ = ["Pool", "Tallies", "pools"]

ENOUGH = 4.0  # deviations of its noise that the number of rows of a half must exceed
EMPTY = 8.0  # times fewer rows than the other half


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """Noisy sums in the cells of the unit box, in rows: a row at place t of the target's range adds `basis` of t.

    The basis adds up to 1, and weighted by `levels` to t; the last of it weighs t^2 (or is t itself, for labels 0
    and 1).  Noise is independent, of one `variance`.
    """

    sides: tuple[int, ...]  # cells along each axis
    places: Floats  # of the cells' middles, a row each
    widths: Floats  # of a cell along each axis; 0 where all of its rows lie at the middle
    sums: Floats  # cells x basis
    levels: Floats
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Cells that are read together: their rows, the mean place of these, and how far they lie from it."""

    cells: npt.NDArray[np.int64]
    rows: float
    place: Floats
    spread: float


def pools(tallies: Tallies) -> list[Pool]:
    """The pools that hold rows; all cells are one where noise outweighs their number."""
    rows = tallies.sums.sum(axis=1)
    noise = float(np.sqrt(tallies.variance * tallies.sums.shape[1]))
    index = np.arange(len(rows)).reshape(tallies.sides)
    return [_pool(tallies, cells, rows) for cells in _cut(index, rows, noise)]


def _cut(box: npt.NDArray[np.int64], rows: Floats, noise: float) -> list[npt.NDArray[np.int64]]:
    """The boxes that are read, in order."""
    side = int(np.argmax(box.shape))
    length = box.shape[side]
    if length == 1:
        return [box.reshape(-1)]
    halves = np.split(box, [length // 2], axis=side)
    held = [float(rows[half.reshape(-1)].sum()) for half in halves]
    enough = [number > ENOUGH * noise * np.sqrt(half.size) for number, half in zip(held, halves, strict=True)]
    if all(enough):
        return [*_cut(halves[0], rows, noise), *_cut(halves[1], rows, noise)]
    for this, other in ((0, 1), (1, 0)):
        if enough[this] and EMPTY * held[other] < held[this]:
            return _cut(halves[this], rows, noise)
    return [box.reshape(-1)]


def _pool(tallies: Tallies, cells: npt.NDArray[np.int64], rows: Floats) -> Pool:
    weights = np.maximum(rows[cells], 0.0)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(cells), 1 / len(cells))
    place = weights @ tallies.places[cells]
    apart = weights @ ((tallies.places[cells] - place) ** 2).sum(axis=1)
    spread = float(np.sqrt(apart + (tallies.widths**2).sum() / 12))
    return Pool(cells, max(float(rows[cells].sum()), 1.0), np.asarray(place), spread)
