r"""Measurements that agree: what several tables say of one column or pair is averaged before a model is fitted.

Noise makes two tables disagree about what both hold.  A model can only meet the average, and a fit finds it by driving
the potentials of both far apart, in thousands of steps.  Least squares find it at once.  Tables of one pair are nested,
each coarser one a merging of the finer: their sums are averaged from the finest up, and differences handed down evenly
[HayRastogiMiklauSuciu2010].  Then each column gets the counts that fit all of its tables, weighted by their noise, and
each table is moved by as little as gives it those sums.  A table of three columns stands first as the three pairs that
it sums up to, and is then moved by as little as gives it their counts.  Everything here works on numbers that are
already public.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sfumato.mechanisms.synthetic.marginals.estimation import Groups, Measurement, merging
from sfumato.mechanisms.synthetic.marginals.model import Reals
from sfumato.mechanisms.synthetic.marginals.tree import Bag

__all__ = ["agreed", "remaining", "within"]

TINY = 1e-12


def agreed(measurements: Sequence[Measurement], total: float) -> list[Measurement]:
    """The same measurements with counts that agree; of every column there is one by itself, of all of its groups."""
    plain = [one for one in measurements if len(one.columns) < 3]
    three = [one for one in measurements if len(one.columns) == 3]
    found = _agreed([*plain, *(side for one in three for side in _sides(one))], total)
    flat, sides = iter(found), iter(found[len(plain) :])
    return [
        next(flat)
        if len(one.columns) < 3
        else replace(one, counts=_fitting(one.counts, [next(sides).counts for _ in range(3)]))
        for one in measurements
    ]


def _agreed(measurements: Sequence[Measurement], total: float) -> list[Measurement]:
    places = _places(measurements)
    pairs = {columns: [measurements[place] for place in held] for columns, held in places.items() if len(columns) == 2}
    finest = [replace(tables[0], counts=_averaged(tables)) for tables in pairs.values()]
    found = [_column(one, finest, total) if len(one.columns) == 1 else one for one in measurements]
    alone = {one.columns[0]: one.counts for one in found if len(one.columns) == 1}
    for table in finest:
        rows, columns = (merging(g) @ alone[c] for g, c in zip(table.groups, table.columns, strict=True))
        counts = _moved(table.counts, rows, columns)
        for place in places[table.columns]:
            sides = zip(table.groups, measurements[place].groups, strict=True)
            left, right = (merging(within(fine, coarse)) for fine, coarse in sides)
            found[place] = replace(measurements[place], counts=left @ counts @ right.T)
    return found


def remaining(measurements: Sequence[Measurement], sizes: Sequence[int]) -> list[float]:
    """The part of each column's deviation that is left once its counts agree with the sums of its pairs.

    `sizes` are the groups that it is looked at in; what lies within those of its pairs, they say nothing of.
    """
    finest = [measurements[held[0]] for columns, held in _places(measurements).items() if len(columns) == 2]
    found = [1.0] * len(sizes)
    for one in measurements:
        if len(one.columns) == 1 and one.counts.size > 1:
            (column,) = one.columns
            gone = 1 - _scatter(_equations(one, finest)[0]) / _scatter(_equations(one, ())[0])
            known = (one.counts.size - 1) / (max(sizes[column], one.counts.size) - 1)
            found[column] = math.sqrt(max(1 - known * gone, TINY))
    return found


def _scatter(precision: Reals) -> float:
    """The variances of all counts together, their sum being known."""
    covariance = np.linalg.inv(precision)
    spread = covariance.sum(axis=1)
    return float(np.trace(covariance) - spread @ spread / spread.sum())


def _places(measurements: Sequence[Measurement]) -> dict[Bag, list[int]]:
    """Where the measurements of the same columns stand, the finest first."""
    places: dict[Bag, list[int]] = defaultdict(list)
    for place in sorted(range(len(measurements)), key=lambda place: -measurements[place].counts.size):
        places[measurements[place].columns].append(place)
    return places


def within(fine: Groups, coarse: Groups) -> Groups:
    """The coarser group that each finer one lies in."""
    owner = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    owner[fine] = coarse
    return owner


def _averaged(tables: Sequence[Measurement]) -> Reals:
    """The finest table of one pair, with the sums that all of its tables say together; finest first."""
    held = [
        (tables[0].counts, np.broadcast_to(np.asarray(tables[0].variance, dtype=np.float64), tables[0].counts.shape))
    ]
    merges = []
    for finer, table in pairwise(tables):
        left, right = (merging(within(a, b)) for a, b in zip(finer.groups, table.groups, strict=True))
        merges.append((left, right))
        sums, variances = (left @ part @ right.T for part in held[-1])
        own = np.asarray(table.variance, dtype=np.float64)
        whole = variances + own
        held.append(((sums * own + table.counts * variances) / whole, variances * own / whole))
    found = held[-1][0]
    for (counts, variances), (left, right) in zip(held[-2::-1], merges[::-1], strict=True):
        gap = (found - left @ counts @ right.T) / (left @ variances @ right.T)
        found = counts + variances * (left.T @ gap @ right)
    return np.asarray(found)


def _column(one: Measurement, pairs: Sequence[Measurement], total: float) -> Measurement:
    """A column's counts by least squares: its own, the sums of its pairs, and the number of rows."""
    matrix, right = _equations(one, pairs)
    found, spread = np.linalg.solve(matrix, np.stack([right, np.ones_like(right)], axis=1)).T
    return replace(one, counts=found + spread * ((total - found.sum()) / spread.sum()))


def _equations(one: Measurement, pairs: Sequence[Measurement]) -> tuple[Reals, Reals]:
    """The normal equations of a column's counts: the precision of what was measured, and what it says."""
    (column,) = one.columns
    precision = 1 / np.broadcast_to(np.asarray(one.variance, dtype=np.float64), one.counts.shape)
    matrix, right = np.diag(precision), precision * one.counts
    for pair in pairs:
        if column in pair.columns:
            axis = pair.columns.index(column)
            merge = merging(pair.groups[axis])
            weight = 1 / (float(np.max(pair.variance)) * pair.counts.shape[1 - axis])
            matrix += weight * merge.T @ merge
            right += weight * merge.T @ pair.counts.sum(axis=1 - axis)
    return matrix, right


def _moved(table: Reals, rows: Reals, columns: Reals) -> Reals:
    """The table nearest to this one that has these sums."""
    off, across = rows - table.sum(axis=1), columns - table.sum(axis=0)
    return np.asarray(table + off[:, None] / table.shape[1] + across / table.shape[0] - off.sum() / table.size)


def _sides(one: Measurement) -> list[Measurement]:
    """The pairs that three columns sum up to, without the first, the second and the third."""
    spread = float(np.max(one.variance))
    return [
        Measurement(
            (*one.columns[:axis], *one.columns[axis + 1 :]),
            (*one.groups[:axis], *one.groups[axis + 1 :]),
            one.counts.sum(axis=axis),
            spread * one.counts.shape[axis],
        )
        for axis in range(3)
    ]


def _fitting(table: Reals, sides: Sequence[Reals]) -> Reals:
    """The table of three columns nearest to this one that sums up to these pairs, which agree with one another."""
    first, second, third = (wanted - table.sum(axis=axis) for axis, wanted in enumerate(sides))
    a, b, c = table.shape
    out = table + first[np.newaxis] / a + second[:, np.newaxis] / b + third[:, :, np.newaxis] / c
    alone = third.sum(axis=1) / (b * c), third.sum(axis=0) / (a * c), second.sum(axis=0) / (a * b)
    out -= alone[0][:, np.newaxis, np.newaxis] + alone[1][:, np.newaxis] + alone[2]
    return np.asarray(out + first.sum() / table.size)
