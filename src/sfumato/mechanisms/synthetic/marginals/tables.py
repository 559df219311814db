"""Sums and quotients of tables over sets of columns."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import groupby

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.tree import Bag

__all__ = ["Reals", "margin", "ordered", "ratio", "spread"]

Reals = npt.NDArray[np.float64]
SMALL = 4096  # cells of a table up to which one sum over all that is left out is faster than several
LEAST = 1e-300  # where there is nothing below, there is nothing above


def margin(table: Reals, bag: Bag, part: Bag) -> Reals:
    """Sum a table over the columns that are not in `part`; those that are stay in the order of `bag`."""
    gone, passes, kept = _passes(table.shape, bag, part)
    if not gone:
        return table
    if table.size <= SMALL:
        return np.asarray(np.add.reduce(table, axis=gone))
    for before, size, after in passes:  # products with ones, which are faster than sums over short axes
        ones = _ones(size)
        table = table.reshape(before, size) @ ones if after == 1 else ones @ table.reshape(before, size, after)
    return np.asarray(table.reshape(kept))


def ordered(table: Reals, order: Bag, part: Bag) -> Reals:
    """A table whose columns are those of `part` in the order of another, with its axes in their own order."""
    axes = _axes(order, part)
    return table if axes is None else table.transpose(axes)


def spread(table: Reals, part: Bag, bag: Bag) -> Reals:
    """A table over `part`, shaped so that it multiplies one over `bag`; both have the same order."""
    sizes = dict(zip(part, table.shape, strict=True))
    return table.reshape(tuple(sizes.get(column, 1) for column in bag))


def ratio(above: Reals, below: Reals) -> Reals:
    """The quotient of sums over the same weights, of which those below are never negative."""
    return np.asarray(above / np.maximum(below, LEAST))


@lru_cache(maxsize=4096)
def _passes(
    shape: tuple[int, ...], bag: Bag, part: Bag
) -> tuple[tuple[int, ...], list[tuple[int, int, int]], tuple[int, ...]]:
    """The axes that are summed over; neighbors among them at once, the largest first; and the shape that is left."""
    gone = tuple(axis for axis, column in enumerate(bag) if column not in part)
    runs = [
        (own, math.prod(shape[axis] for axis in axes))
        for own, axes in groupby(range(len(shape)), key=lambda axis: axis in gone)
    ]
    passes = []
    while any(own for own, _ in runs):
        place = max((k for k, (own, _) in enumerate(runs) if own), key=lambda k: runs[k][1])
        before, after = (math.prod(size for _, size in some) for some in (runs[:place], runs[place + 1 :]))
        passes.append((before, runs.pop(place)[1], after))
    return gone, passes, tuple(size for axis, size in enumerate(shape) if axis not in gone)


@lru_cache(maxsize=4096)
def _axes(order: Bag, part: Bag) -> list[int] | None:
    kept = tuple(c for c in order if c in part)
    return None if kept == part else [kept.index(c) for c in part]


@lru_cache(maxsize=256)
def _ones(size: int) -> Reals:
    return np.ones(size)
