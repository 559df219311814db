"""Public cells of a number: half of them equal, half in proportion to magnitude, and points where values gather.

A number's lattice is first cut into `BARS` equal bars, those of a histogram between the bounds, which is what numbers
are most often looked at by.  Each bar is then cut at quantiles of a fixed law on the points: with probability one half
any point, else one whose magnitude is uniform on a logarithmic scale.  Bounds that are far too wide then cost half of
the cells, not nearly all: an income between 0 and 10^8 is as sharp as one between 0 and 10^6.  Zero, the two bounds
(where clipped values gather) and a value that stands for missing ones are cells of their own.  Nothing here is read off
the data.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["BARS", "CELLS", "bars", "cut"]

CELLS = 256  # of a number; finer ones drown in noise, and their smooth parts are merged anyway
BARS = 32  # of equal width; no cell lies in two
MAGNITUDES = 1e7  # the range over the smallest magnitude that is told from 0
GRID = 2048  # points that the law is tabulated at, twice

Reals = npt.NDArray[np.float64]


@lru_cache(maxsize=4096)
def cut(low: int, high: int, magnitudes: bool, atoms: frozenset[int] = frozenset()) -> tuple[int, ...]:
    """The first points of at most CELLS cells, counted from `low`; `magnitudes` where 0 is more than a convention.

    >>> cut(0, 3, True)
    (0, 1, 2, 3)
    >>> edges = cut(0, 10**8, True)
    >>> len(edges), edges[:4], edges[-2:]
    (256, (0, 1, 12, 13), (99218202, 100000000))
    """
    if high - low < CELLS:
        return tuple(range(high - low + 1))
    grid, law = _law(low, high, magnitudes)
    starts = [low + first for first in bars(high - low)]
    ends = np.interp([*starts, high], grid, law)
    alone = {point for point in (low, high, *atoms, *([0] if magnitudes else [])) if low <= point <= high}
    kept = {*starts, *alone, *(point + 1 for point in alone if point < high)}

    def edges(parts: int) -> set[int]:
        counts = np.maximum(1, np.diff(np.rint(parts * ends))).astype(np.int64)
        inside = [
            np.linspace(*pair, count, endpoint=False)[1:] for pair, count in zip(pairwise(ends), counts, strict=True)
        ]
        return kept | {int(edge) for edge in np.ceil(np.interp(np.concatenate(inside), law, grid))}

    fewest, most = 1, 4 * CELLS  # quantiles that fall on one point are one edge; the equal half makes the rest differ
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (middle, most) if len(edges(middle)) <= CELLS else (fewest, middle)
    return tuple(sorted(edge - low for edge in edges(fewest)))


def bars(width: int) -> tuple[int, ...]:
    """The first points of the bars between bounds that are `width` apart, counted from the lower one.

    >>> bars(3), bars(100)[:4]
    ((0, 1, 2, 3), (0, 4, 7, 10))
    """
    return tuple(sorted({-(-place * width // BARS) for place in range(BARS)}))


def _law(low: int, high: int, magnitudes: bool) -> tuple[Reals, Reals]:
    """The distribution function of the law, at enough points: linear between them."""
    least = max(1.0, (high - low) / MAGNITUDES)
    scale = np.geomspace(least, max(-low, high, least), GRID)
    points = np.concatenate([np.linspace(low, high, GRID), *([scale, -scale] if magnitudes else [])])
    grid = np.unique(np.clip(points, low, high))
    equal = (grid - low) / (high - low)
    if not magnitudes:
        return grid, equal
    logs = np.sign(grid) * np.log(np.maximum(np.abs(grid) / least, 1.0))
    return grid, (equal + (logs - logs[0]) / (logs[-1] - logs[0])) / 2
