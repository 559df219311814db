r"""From noisy counts of single columns to smooth ones, and to nested groups of levels for the pairs.

Counts of an ordered column are fitted by steps: the cut into runs that minimizes squared error plus a penalty of
sigma^2 ln(levels) for each run, found exactly by dynamic programming.  Runs that noise alone could make are empty, so
that a few rows of noise at a far bound do not decide the mean; unless the rows are missed without them.  Of an
unordered column, the levels that noise would hide share what they have together.  Groups are merged from the smallest
up, so that coarser ones are unions of finer ones; those of a number within the bars of a public histogram first.  All
of it works on noisy counts, which are public.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sfumato.queries.encoding import Column

__all__ = ["HIDDEN", "Groups", "coarsened", "nested", "smoothed"]

Reals = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]

HIDDEN = 2.0  # standard deviations below which a category shares with the others below
WEAK, STRONG = 3.0, 4.5  # of a run beside one that shows, and of one that shows: in a hundred columns noise is it once
MISSED = 0.1  # of the rows
ACROSS = 8.0  # times the mass of two neighbors in one bar may be that of two in different ones, before they are merged
STEPS = 1500  # levels up to which runs are found exactly; there are at most 257


def smoothed(counts: Reals, sigma: float, column: Column, total: float, tails: float = 0.0) -> Reals:
    """Nonnegative counts that sum to `total`; an empty column is spread evenly.

    `tails`: how many deviations one count of chance may lie beyond those of a normal law.
    """
    runs = _steps(counts[: column.valued], sigma) if column.ordered else _pooled(counts, sigma)
    if column.ordered and column.nullable:
        runs = np.append(runs, runs.max() + 1)
    lengths, sums = np.bincount(runs), np.bincount(runs, weights=counts).astype(np.float64)
    held = np.maximum(sums, 0.0)
    if column.ordered:
        values = runs[column.valued - 1] + 1  # runs of values; missing ones are nobody's neighbor
        held[:values] = _shown(sums[:values], lengths[:values], sigma, total - held[values:].sum(), tails)
    level = (held / lengths)[runs]
    if column.ordered:
        _end(level[: column.valued], counts[: column.valued], runs[: column.valued], sigma)
    if column.nullable and level[-1] < HIDDEN * sigma:
        level[-1] = 0.0  # missing values only where they show
    if level.sum() <= 0:
        level = np.ones(len(counts)) if not column.nullable else np.append(np.ones(column.valued), 0.0)
    return np.asarray(level * (total / level.sum()))


def coarsened(column: Column, most: int) -> Groups:
    """Neighboring levels in about `most` equal groups; labels, zero, the ends and missing values by themselves."""
    if not column.ordered or column.valued <= most:
        return np.arange(column.size)
    places = np.arange(column.valued)
    starts = np.diff(places * most // column.valued, prepend=-1) > 0
    for alone in {0, column.valued - 1, *column.levels(column.zero).tolist()}:
        starts[alone : alone + 2] = True
    groups = np.cumsum(starts) - 1
    return np.append(groups, groups[-1] + 1) if column.nullable else groups


def nested(mass: Reals, column: Column, sizes: Sequence[int]) -> tuple[Groups, ...]:
    """Groups of levels, finest first, at most `sizes[k]` of them; each is a union of groups of the one before.

    Missing values that do not show join the first group, where their share is nothing.
    """
    if column.nullable and mass[-1] <= 0:
        return tuple(np.append(held, held[0]) for held in nested(mass[:-1], replace(column, nullable=False), sizes))
    most = _filled(mass) if column.ordered and len(mass) > sizes[0] else len(mass)
    wanted = sorted({min(size, most) for size in sizes if size < len(mass)}, reverse=True)
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


def _filled(mass: Reals) -> int:
    """The levels that hold rows: where these are few, no group is empty, or noise on pairs would fill far bounds."""
    return max(1, int((mass > 0).sum()))


def _numbered(owner: Groups) -> Groups:
    return np.unique(owner, return_inverse=True)[1].astype(np.int64)


def _adjacent(mass: Reals, column: Column) -> list[tuple[int, int]]:
    """Neighbors of least mass together, again and again, empty ones first; missing values stay apart until the end.

    Those that lie in one bar of the public histogram weigh less, so that groups end where bars do, unless almost nobody
    is there.  No group is empty where there are fewer groups than levels: noise on pairs puts no rows where none show.
    """
    starts, held, bars = np.arange(column.valued), mass[: column.valued], column.bars()[: column.valued]
    merges: list[tuple[int, int]] = []
    while len(held) > 1:
        sums, least = held[:-1] + held[1:], np.minimum(held[:-1], held[1:])
        costs = np.where(bars[:-1] == bars[1:], sums / ACROSS, sums)
        k = int(np.where(least > 0, costs, sums - mass.sum()).argmin())
        if bars[k] != bars[k + 1] and held[k + 1] > 0:
            bars[k] = bars[k + 1] if held[k] <= 0 else -1 - starts[k]  # of several bars: no neighbor shares them
        merges.append((int(starts[k]), int(starts[k + 1])))
        held, starts, bars = np.delete(held, k + 1), np.delete(starts, k + 1), np.delete(bars, k + 1)
        held[k] = sums[k]
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


def _shown(sums: Reals, lengths: Groups, sigma: float, total: float, tails: float) -> Reals:
    """The sums of the runs that show, or lie in a row of weaker ones with one that does; others get what is missed."""
    found, deviations = np.maximum(sums, 0.0), sigma * np.sqrt(lengths)
    weak, shows = sums >= WEAK * deviations + tails / 4 * sigma, sums >= STRONG * deviations + tails * sigma
    weak[1:-1] |= weak[:-2] & weak[2:] & (sums[1:-1] >= HIDDEN * deviations[1:-1])
    rows = np.cumsum(np.diff(weak, prepend=weak[0]))  # of runs that are all weak or all below that
    whole, size = np.bincount(rows, weights=sums), np.bincount(rows, weights=lengths)
    seen = whole >= sigma * (STRONG * np.sqrt(size) + tails)
    np.logical_or.at(seen, rows, shows)
    kept = weak & seen[rows]
    left, given = total - found[kept].sum(), float(found[~kept].sum())
    if left > max(MISSED * total, HIDDEN * sigma * math.sqrt(lengths[kept].sum())) and given > 0:
        return np.where(kept, found, found * (left / given))
    return np.where(kept, found, 0.0)


def _end(level: Reals, counts: Reals, runs: Groups, sigma: float) -> None:
    """End the outermost runs, in place, as early as their rows stand out nearly as much: beyond, few or none are."""
    held = np.unique(runs[level > 0])
    for run, outward in ((held[0], -1), (held[-1], 1)) if len(held) > 1 else ():
        places = np.flatnonzero(runs == run)[::outward]
        sums = counts[places].cumsum()
        gain = np.maximum(sums, 0.0) ** 2 / np.arange(1, len(places) + 1)
        last = int((gain >= gain.max() - sigma**2 * math.log(len(places) + 1)).argmax())
        level[places] = 0.0
        level[places[: last + 1]] = max(0.0, float(sums[last])) / (last + 1)


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
