"""The exact, secret counts that synthesis measures: two or three passes over the rows, which are never kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.tree import Bag, Pair
from sfumato.queries.encoding import Column

__all__ = ["WEIGHT", "Read", "pair_counts", "single_counts", "triple_counts"]

DENSE = 1000  # products of flags that take as long as counting one pair in one row; measured
FLAGS = 1 << 25  # held at a time
LOOKED_UP = 1 << 16  # values of a column whose groups are written down, next to a batch
BLOCK = 256  # groups multiplied at a time with all that follow
WEIGHT = "\0weight"  # beside the columns of a batch: how often each row counts, where that is not once

Whole = npt.NDArray[np.int64]
Weighed = tuple[list[Groups], Whole | None]  # the groups of a batch's columns, and the weights of its rows
Read = Callable[[], Iterable[Mapping[str, Any]]]  # batches of rows: for each column an array of indices, -1 missing


def single_counts(read: Read, columns: Sequence[Column]) -> list[Whole]:
    """How many rows each level of each column has."""
    counts = [np.zeros(column.size, dtype=np.int64) for column in columns]
    found = [_grouping(column, np.arange(column.size)) for column in columns]
    for batch in read():
        for held, column, groups in zip(counts, columns, found, strict=True):
            held += _sums(groups(np.asarray(batch[column.name])), column.size, batch.get(WEIGHT))
    return counts


def _grouping(column: Column, owner: Groups) -> Callable[[Whole], Groups]:
    """The group of each index that comes in, missing and unknown ones too; looked up where a column has few values."""
    if column.points > LOOKED_UP:
        return lambda indices: owner[column.levels(indices)]
    table = owner[column.levels(np.arange(-1, column.points + 1))]  # all below and above are alike
    return lambda indices: np.take(table, indices + 1, mode="clip")


def _sums(cells: Groups, size: int, weights: Whole | None) -> Whole:
    """How often each cell counts: exact, since floats hold whole numbers below 2^53."""
    return np.bincount(cells, weights, size).astype(np.int64)


def pair_counts(
    read: Read, columns: Sequence[Column], owners: Sequence[Groups], wanted: Sequence[Pair] | None = None
) -> dict[Pair, Whole]:
    """How many rows each pair of groups has, of the pairs of columns that are `wanted`: all, unless they are named."""
    sizes = [int(owner.max()) + 1 for owner in owners]
    pairs = list(combinations(range(len(columns)), 2)) if wanted is None else list(wanted)
    found = {column.name: _grouping(column, owner) for column, owner in zip(columns, owners, strict=True)}
    batches = (
        ([groups(np.asarray(batch[name])) for name, groups in found.items()], batch.get(WEIGHT)) for batch in read()
    )
    return (_multiplied if sum(sizes) ** 2 < DENSE * len(pairs) else _counted)(batches, sizes, pairs)


def triple_counts(
    read: Read, columns: Sequence[Column], owners: Sequence[Groups], wanted: Sequence[Bag]
) -> dict[Bag, Whole]:
    """How many rows have each three groups, of the three columns that are `wanted`, which are sorted."""
    sizes = [int(owner.max()) + 1 for owner in owners]
    found = {column.name: _grouping(column, owner) for column, owner in zip(columns, owners, strict=True)}
    shapes = {some: tuple(sizes[column] for column in some) for some in wanted}
    counts = {some: np.zeros(math.prod(shape), dtype=np.int64) for some, shape in shapes.items()}
    for batch in read():
        groups, weights = [group(np.asarray(batch[name])) for name, group in found.items()], batch.get(WEIGHT)
        for pair, some in groupby(wanted, key=lambda held: held[:2]):
            both = groups[pair[0]] * sizes[pair[1]] + groups[pair[1]]
            for held in some:
                counts[held] += _sums(both * sizes[held[2]] + groups[held[2]], len(counts[held]), weights)
    return {some: held.reshape(shapes[some]) for some, held in counts.items()}


def _counted(batches: Iterator[Weighed], sizes: Sequence[int], pairs: Sequence[Pair]) -> dict[Pair, Whole]:
    """Pair by pair."""
    counts = {(one, other): np.zeros(sizes[one] * sizes[other], dtype=np.int64) for one, other in pairs}
    for groups, weights in batches:
        for one, other in pairs:
            cells = groups[one] * sizes[other] + groups[other]
            counts[one, other] += _sums(cells, sizes[one] * sizes[other], weights)
    return {pair: held.reshape(sizes[pair[0]], sizes[pair[1]]) for pair, held in counts.items()}


def _multiplied(batches: Iterator[Weighed], sizes: Sequence[int], pairs: Sequence[Pair]) -> dict[Pair, Whole]:
    """All pairs at once, as products of matrices of flags: exact, as floats hold whole numbers below 2^24, or 2^53."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    total = int(starts[-1])
    counts = np.zeros((total, total), dtype=np.int64)
    most = max(1, min(1 << 23, FLAGS // total))
    for groups, weights in batches:
        rows = len(groups[0])
        for first in range(0, rows, most):
            places = np.stack([held[first : first + most] for held in groups], axis=1) + starts[:-1]
            flags = np.zeros((len(places), total), dtype=np.float32 if weights is None else np.float64)
            np.put_along_axis(flags, places, 1.0, axis=1)
            weighed = flags if weights is None else flags * weights[first : first + most, np.newaxis]
            for block in range(0, total, BLOCK):
                found = flags[:, block : block + BLOCK].T @ weighed[:, block:]
                counts[block : block + BLOCK, block:] += found.astype(np.int64)
    return {
        (one, other): counts[starts[one] : starts[one + 1], starts[other] : starts[other + 1]] for one, other in pairs
    }
