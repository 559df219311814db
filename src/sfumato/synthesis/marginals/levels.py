r"""From noisy counts of single columns to smooth ones, and to nested groups of levels for the pairs.

Counts of an ordered column are fitted by steps: the cut into runs that minimizes squared error plus a penalty of
sigma^2 ln(levels) for each run, found exactly by dynamic programming.  Of an unordered column, the levels that noise
would hide share what they have together.  Groups are merged from the smallest up, so that coarser ones are unions of
finer ones.  All of it works on noisy counts, which are public.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.synthesis.encoding import Column

__all__ = ["Groups", "Smoothed", "nested", "smoothed"]

Reals = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]

HIDDEN = 2.0  # standard deviations below which a category shares with the others below
STEPS = 1500  # levels up to which runs are found exactly; there are at most 257


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Counts of each level, nonnegative."""

    counts: Reals


def smoothed(counts: Reals, sigma: float, column: Column, total: float) -> Smoothed:
    """Nonnegative counts that sum to `total`; an empty column is spread evenly."""
    runs = _steps(counts[: column.valued], sigma) if column.ordered else _pooled(counts, sigma)
    if column.ordered and column.nullable:
        runs = np.append(runs, runs.max() + 1)
    lengths = np.bincount(runs)
    level = np.maximum(np.bincount(runs, weights=counts) / lengths, 0.0)[runs]
    if column.nullable and level[-1] < HIDDEN * sigma:
        level[-1] = 0.0  # missing values only where they show
    if level.sum() <= 0:
        level = np.ones(len(counts)) if not column.nullable else np.append(np.ones(column.valued), 0.0)
    return Smoothed(level * (total / level.sum()))


def nested(mass: Reals, column: Column, sizes: Sequence[int]) -> tuple[Groups, ...]:
    """Groups of levels, finest first, at most `sizes[k]` of them; each is a union of groups of the one before.

    Missing values that do not show join the first group, where their share is nothing.
    """
    if column.nullable and mass[-1] <= 0:
        return tuple(np.append(held, held[0]) for held in nested(mass[:-1], replace(column, nullable=False), sizes))
    wanted = [size for size in sizes if size < len(mass)]
    found: list[Groups] = [np.arange(len(mass))] if len(mass) <= sizes[0] else []
    if wanted:
        merges = _adjacent(mass, column) if column.ordered else _smallest(mass)
        owner, done = np.arange(len(mass)), 0
        for size in wanted:
            for small, large in merges[done : len(mass) - size]:
                owner[large] = small
            done = len(mass) - size
            while (owner[owner] != owner).any():
                owner = owner[owner]
            found.append(_numbered(owner))
    return tuple(found)


def _numbered(owner: Groups) -> Groups:
    return np.unique(owner, return_inverse=True)[1].astype(np.int64)


def _adjacent(mass: Reals, column: Column) -> list[tuple[int, int]]:
    """Neighbors of least mass together, again and again; missing values stay apart until the end."""
    starts, held = list(range(column.valued)), [float(m) for m in mass[: column.valued]]
    merges: list[tuple[int, int]] = []
    while len(held) > 1:
        k = min(range(len(held) - 1), key=lambda k: held[k] + held[k + 1])
        merges.append((starts[k], starts[k + 1]))
        held[k : k + 2] = [held[k] + held[k + 1]]
        del starts[k + 1]
    return merges + ([(0, column.valued)] if column.nullable else [])


def _smallest(mass: Reals) -> list[tuple[int, int]]:
    """The two smallest groups, again and again."""
    heap = [(float(m), k) for k, m in enumerate(mass)]
    heapq.heapify(heap)
    merges = []
    while len(heap) > 1:
        (one, a), (other, b) = heapq.heappop(heap), heapq.heappop(heap)
        merges.append((min(a, b), max(a, b)))
        heapq.heappush(heap, (one + other, min(a, b)))
    return merges


def _pooled(counts: Reals, sigma: float) -> Groups:
    """Every level that shows by itself, the rest together."""
    hidden = counts < HIDDEN * sigma
    runs = np.cumsum(~hidden).astype(np.int64)
    runs[hidden] = 0
    return _numbered(runs)


def _steps(counts: Reals, sigma: float) -> Groups:
    """The run of each level in the best cut: least squared error plus the penalty."""
    size = len(counts)
    if size > STEPS:
        raise AssertionError("numbers have few levels")
    sums, squares = np.append(0.0, counts.cumsum()), np.append(0.0, (counts**2).cumsum())
    penalty, best, cut = sigma**2 * math.log(max(2, size)), np.zeros(size + 1), np.zeros(size + 1, dtype=np.int64)
    for end in range(1, size + 1):
        start = np.arange(end)
        errors = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)
        costs = best[start] + errors + penalty
        cut[end] = costs.argmin()
        best[end] = costs[cut[end]]
    runs, end, run = np.zeros(size, dtype=np.int64), size, 0
    while end > 0:
        runs[cut[end] : end] = run
        end, run = int(cut[end]), run + 1
    return run - 1 - runs
