r"""Which moves a table of n units has room for at once, where units are replaced: rings of exchanges.

A replaced unit leaves one cell for another (f_j - f_i), or was in none (f_j).  All pairs of c cells would take
c (c - 1) / 2 moves, each with its own rows; the exchanges of each cell with those 1, r, r^2, ... places further on a
ring of q cells take h q, and lose little: for a histogram of many cells gamma^2 is 0.81, 0.92, 0.95 and 0.97 of that
of all pairs with h = 1, 2, 3 and 4.  There the moves' matrix is circulant, its eigenvalues sums of
2 - 2 cos(2 pi k s / q).  Any choice gives a bound.  Proof: docs/proofs/bounds-exchanges.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from sfumato.bounds.linear import Family, Floats, squared_norm
from sfumato.queries.linear.ellipsoid import least_ellipsoid

__all__ = ["families_of_cells", "families_of_columns", "scattered", "sizes_of"]

LARGEST_RING = 4096
FEW = 6  # cells: all numbers up to this are tried
RINGS = (1, 2, 3, 4, 6, 8, 12, 16)  # offsets of a ring
FEW_RINGS = (1, 2, 4)
LARGEST_PAIRED = 32  # cells whose pairs are all looked at
SHARES = np.linspace(0.0, 1.0, 33)[:, None]  # of the weight on single cells, the rest on exchanges


def families_of_cells(cells: int, alone: float, apart: float, units: int | None) -> list[Family]:
    """Moves of a histogram: `alone` of one cell by itself, `apart` of one up and another down by as much; 0: none."""
    found = []
    if alone:
        found += [_single(q, alone) for q in sizes_of(cells, units)]
    if not apart:
        return found
    for q in sizes_of(cells, units):
        if q > 1:
            found += list(_exchanged(q, alone, apart, units))
    return found


def _single(cells: int, alone: float) -> Family:
    value = cells * alone**2
    return Family(cells, value, lambda: value)


def _exchanged(cells: int, alone: float, apart: float, units: int | None) -> Iterator[Family]:
    rings = [()] if units is None else [(), *_rings(min(cells, LARGEST_RING), RINGS)]
    for offsets in rings:
        q = min(cells, LARGEST_RING) if offsets else cells
        edges = q * len(offsets) if offsets else q * (q - 1) // 2
        for single in (0.0, alone) if alone else (0.0,):
            value = _norm_of_ring(q, offsets, single, apart)
            yield Family(edges + (q if single else 0), value, partial(float, value))


@lru_cache(maxsize=4096)
def _norm_of_ring(cells: int, offsets: tuple[int, ...], alone: float, apart: float) -> float:
    """gamma^2, from below: of exchanges along a ring, or of all pairs without offsets."""
    if offsets:
        k = np.arange(cells)
        values = sum(2 - 2 * np.cos(2 * np.pi * k * s / cells) for s in offsets) / (cells * len(offsets))
        counts = np.ones(cells)
    else:  # 0 once, and the same for all that adds up to zero
        values, counts = np.array([0.0, 2 / (cells - 1)]), np.array([1.0, cells - 1.0])
    shares = SHARES if alone else SHARES[:1]
    roots = np.sqrt(np.maximum(shares * alone**2 / cells + (1 - shares) * apart**2 * values, 0.0))
    return float((roots @ counts).max()) ** 2 * (1 - 1e-9)


def families_of_columns(columns: Floats, alone: bool, apart: bool, units: int | None) -> list[Family]:
    """Moves of linear answers, one column a cell: `alone` the columns themselves, `apart` their differences."""
    cells = columns.shape[1]
    found = []
    for q in sizes_of(cells, units):
        kept = columns[:, np.linspace(0, cells - 1, q).round().astype(np.int64)[scattered(q)]]
        if alone:
            found.append(_of_points(kept))
        if not apart or q < 2:
            continue
        turned = kept if alone else _span(kept[:, 1:] - kept[:, :1]).T @ kept
        for offsets in [*([()] if q <= LARGEST_PAIRED else []), *_rings(q, FEW_RINGS)]:
            moved = _differences(turned, offsets)
            found.append(_of_points(np.concatenate([kept, moved], axis=1) if alone else moved))
    return found


def _span(points: Floats) -> Floats:
    """An orthonormal basis of what the columns span."""
    left, sizes, _ = np.linalg.svd(points, full_matrices=False)
    return np.asarray(left[:, sizes > 1e-9 * sizes[0]])


def _of_points(points: Floats) -> Family:
    moved = points[:, points.any(axis=0)]
    rough = least_ellipsoid(moved, steps=1).lower if moved.size else 0.0
    return Family(moved.shape[1], rough, partial(squared_norm, moved))


def _differences(columns: Floats, offsets: tuple[int, ...]) -> Floats:
    """Of all pairs without offsets."""
    if offsets:
        return np.concatenate([columns - np.roll(columns, s, axis=1) for s in offsets], axis=1)
    first, second = np.triu_indices(columns.shape[1], 1)
    return np.asarray(columns[:, first] - columns[:, second])


def scattered(cells: int) -> npt.NDArray[np.int64]:
    """The cells in an order in which neighbors are far apart: steps of about the golden ratio.

    >>> scattered(8).tolist()
    [0, 5, 2, 7, 4, 1, 6, 3]
    """
    stride = next(s for s in range(max(1, round(0.618 * cells)), cells + 2) if math.gcd(s, cells) == 1)
    return np.arange(cells) * stride % cells


def _rings(cells: int, counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Offsets below half of the ring, in a geometric series.

    >>> _rings(50, (1, 2, 4))
    [(1,), (1, 5), (1, 2, 5, 11)]
    """
    most = (cells - 1) // 2
    series = [{max(1, round((cells / 2) ** (j / h))) for j in range(h)} for h in counts]
    return list(dict.fromkeys(tuple(sorted(s for s in one if s <= most)) for one in series if most))


def sizes_of(cells: int, units: int | None) -> list[int]:
    """How many of the cells to look at: as many as there are units for, a half, a quarter, ..., and few."""
    if units is None:
        return [cells]
    most = min(cells, units)
    return sorted({most >> i for i in range(most.bit_length())} | set(range(1, min(most, FEW) + 1)))
