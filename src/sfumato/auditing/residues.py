"""Residues: what noise on a coarser grid than the value leaves of the value.

Noise that takes only multiples of g publishes the value modulo g, however large the noise is.  A period is
learned from outputs on one input: their differences are multiples of it (a common divisor, exact for whole
numbers of any size, up to rounding for floats), or they gather around few places of a common period.  What
is learned only chooses a feature; fresh runs decide.  Residues of floats are coarse, so that rounding in the
last bits does not show in them: they hold against claims that assume `real-arithmetic` as well.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np

__all__ = ["exact_difference", "periods", "residues"]

MOST = 3  # periods of one column at most
GROUPS = 128  # inputs from whose outputs gathering is learned
TAKEN = 64  # outputs of one input from which a period is learned
BLOCK = 4  # differences whose common divisor is taken; by chance it exceeds 1 once in thirteen
SHARE = 0.15  # of all blocks must agree on a divisor
STRIKING = 6.0  # deviations by which outputs gather more than by chance
WHOLE = 2.0**53  # floats below this hold every whole number
CELLS, SHIFT = 62.373, 0.5731  # cells of a float's residue; no usual fraction lies near an edge of one
FINE = 2.0**-40  # the least period of a float, relative to it
COMMON = sorted(
    {*range(2, 33)}
    | {2**k for k in range(1, 62)}
    | {m * 10**k for k in range(1, 18) for m in (1, 2, 5)}
)  # fmt: skip
COMMON_PARTS = sorted({2.0**k for k in range(-20, 21)} | {m * 10.0**k for k in range(-6, 7) for m in (1, 2, 5)})


def residues(values: Sequence[Any], period: float, origin: float) -> np.ndarray:
    """How far each value lies from `origin` modulo `period`; NaN for what is no number of that kind.

    A period of type int asks for exact residues of whole numbers, a float for cells of a coarse residue.

    >>> residues([13, 2**70 + 5, None], 8, 5).tolist()
    [0.0, 0.0, nan]
    """
    if isinstance(period, int):
        return _whole_residues(values, period, int(origin))
    column = np.array([_real(value) for value in values])
    with np.errstate(all="ignore"):
        turns = (column - origin) / period
        away = np.abs(turns - np.rint(turns))  # folded, so that both sides of a turn's end meet
        cells = np.floor(away * CELLS + SHIFT)
        return np.where(np.abs(column) * FINE < period, cells, np.nan)


def exact_difference(one: Sequence[Any], two: Sequence[Any]) -> np.ndarray:
    """Differences of whole numbers, exact before they become floats; NaN for other values."""
    pairs = zip(map(_whole, one), map(_whole, two), strict=True)
    found = [math.nan if a is None or b is None else _small(a - b) for a, b in pairs]
    return np.array(found)


def periods(samples: Sequence[Sequence[Any]]) -> list[tuple[float, float]]:
    """Periods with their origins that a column shows; `samples` holds its values, input by input."""
    taken = [list(sample[:TAKEN]) for sample in samples]
    present = [value for sample in taken for value in sample if value is not None]
    if not present:
        return []
    if all(_whole(value) is not None for value in present):
        groups = [[w for w in map(_whole, sample) if w is not None] for sample in taken]
        found = [*_divisors(groups), *_gathering(groups, COMMON)]
        return [(period, _origin(groups)) for period in dict.fromkeys(found)][:MOST]
    reals = [[r for r in map(_real, sample) if math.isfinite(r)] for sample in taken]
    grids = [*_grids(reals), *_gathering(reals, COMMON_PARTS)]
    distinct: list[float] = []
    for grid in grids:
        if all(abs(grid - other) > 1e-6 * other for other in distinct):
            distinct.append(grid)
    return [(period, _origin(reals)) for period in distinct[:MOST]]


def _origin(groups: Sequence[Sequence[float]]) -> float:
    """The first value there is."""
    return next((sample[0] for sample in groups if sample), 0)


def _whole(value: object) -> int | None:
    """The whole number that a value is, if it is one exactly."""
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating) and abs(float(value)) < WHOLE and value == int(value):
        return int(value)
    return None


def _real(value: SupportsFloat | None) -> float:
    if value is None:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _small(number: int) -> float:
    """A whole number as a float, bounded so that it never overflows."""
    return float(max(-(10**300), min(number, 10**300)))


def _whole_residues(values: Sequence[Any], period: int, origin: int) -> np.ndarray:
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.dtype.itemsize <= 8 and period < 2**31:
        away = (values % values.dtype.type(period)).astype(np.int64) - origin % period
        away %= period
        return np.where(2 * away > period, away - period, away).astype(float)
    found = []
    for value in values:
        number = _whole(value)
        if number is None:
            found.append(math.nan)
            continue
        away = (number - origin) % period
        found.append(_small(away - period if 2 * away > period else away))
    return np.array(found)


def _divisors(groups: Sequence[Sequence[int]]) -> list[int]:
    """Common divisors above 1 on which many small blocks of differences agree."""
    moves = [abs(value - sample[0]) for sample in groups for value in sample[1:] if value != sample[0]]
    blocks = [moves[k : k + BLOCK] for k in range(0, len(moves) - BLOCK + 1, BLOCK)]
    votes = Counter(math.gcd(*block) for block in blocks)
    kept = [(count, period) for period, count in votes.items() if period > 1 and count >= max(2, SHARE * len(blocks))]
    return [period for _, period in sorted(kept, key=lambda item: (-item[0], item[1]))][:2]


def _grids(groups: Sequence[Sequence[float]]) -> list[float]:
    """A grid on which the values of each input lie, up to rounding: Euclid on small moves, refined on large ones."""
    moves = np.array([b - a for sample in map(sorted, groups) for a, b in itertools.pairwise(sample)])
    widest = max((abs(value) for sample in groups for value in sample), default=0.0)
    moves = np.sort(moves[moves > widest * FINE])
    if len(moves) < 2 * BLOCK:
        return []
    found = []
    for small in (moves[: len(moves) // 2], moves[len(moves) // 4 : len(moves) // 2]):
        for start in range(0, len(small) - 1, max(1, len(small) // 3)):
            grid = _divisor(small[start], small[start + 1], widest * FINE * 2**8)
            for move in moves[:: max(1, len(moves) // 64)] if grid else ():
                times = round(move / grid)
                if times and abs(move - times * grid) < 0.1 * grid:
                    grid = move / times
            share = float(np.mean(np.abs(moves - grid * np.rint(moves / grid)) < 0.02 * grid)) if grid else 0.0
            found.append((round(share, 1), float(grid)))
    share, best = max(found, default=(0.0, 0.0))
    return [float(f"{best:.9g}") if math.isclose(float(f"{best:.9g}"), best) else best] if share > 0.5 else []


def _divisor(one: float, two: float, least: float) -> float:
    """Euclid's algorithm up to rounding; 0 where nothing above `least` divides both."""
    large, small = max(one, two), min(one, two)
    while small > least:
        rest = abs(large - small * round(large / small))
        if rest < 1e-3 * small:
            return small
        large, small = small, rest
    return 0.0


def _gathering(groups: Sequence[Sequence[float]], common: Sequence[float]) -> list[float]:
    """Common periods modulo which the outputs of one input gather, strongest first."""
    useful = [sample for sample in groups if len(sample) > 1][:GROUPS]
    if not useful:
        return []
    reach = float(np.median([_spread(sample) for sample in useful])) / 2
    finest = max(abs(value) for sample in useful for value in sample) * FINE if common is COMMON_PARTS else 1
    values = [value - sample[0] for sample in useful for value in sample]
    short = max(map(abs, values)) < WHOLE
    column = np.array(values, dtype=np.int64 if common is COMMON and short else None if short else object)
    starts = np.cumsum([0, *map(len, useful[:-1])])
    sizes = np.array([len(sample) for sample in useful])
    found = []
    for period in common:
        if not finest < period <= reach:
            continue
        turns = np.exp(2j * np.pi * ((column % period).astype(float) / period))
        heights = np.abs(np.add.reduceat(turns, starts)) ** 2 / sizes
        excess = (heights.sum() - len(heights)) / math.sqrt(len(heights))
        if excess > STRIKING:
            found.append((excess, period))
    return [period for _, period in sorted(found, key=lambda item: (-item[0], -item[1]))][:MOST]


def _spread(sample: Sequence[float]) -> float:
    """Half of the sample lies within this width."""
    ranked = sorted(sample)
    return _real(ranked[(3 * len(ranked)) // 4] - ranked[len(ranked) // 4])
