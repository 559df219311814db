"""Public cells of a number about points where its values are known to lie: fine between them, coarser the farther away.

The points ("cuts") increase, and are public: somebody declared or released them.  Of a law on the lattice seven
twentieths lie evenly between the outer cuts and half as far again on either side, a quarter in equal parts between one
cut and the next, a quarter beyond the outer cuts, where its density falls with the distance, and the rest about the
middle cut, falling likewise: outer ones may be far off.  Cells are cut at its quantiles.  Zero, the two bounds and a
value that stands for missing ones are cells of their own, as in `cells.py`, and so are the cuts: where many values are
equal, one lies at them.  Nothing here is read off the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries.cells import BARS, CELLS
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.schema import nearest

__all__ = ["Cuts", "checked_cuts", "cut_about", "grouped", "must_be_numbers"]

EVEN, RANKED, FAR, MIDDLE = 0.35, 0.25, 0.25, 0.15  # parts of the law
GRID = 2048  # points that each part is tabulated at
LEAST = 1e-9  # of a logarithm, below which there is no room beyond the outer cuts
MOST_PARTS = 384  # quantiles of the law, so that no more than 96 lie far out; those on one point are one edge

Cuts = tuple[tuple[str, tuple[int, ...]], ...]  # columns, each with its points, counted from the lower bound
Reals = npt.NDArray[np.float64]


@lru_cache(maxsize=4096)
def cut_about(low: int, high: int, atoms: frozenset[int], cuts: tuple[int, ...]) -> tuple[int, ...]:
    """The first points of at most CELLS cells between lattice points, counted from `low` as the cuts are.

    >>> edges = cut_about(0, 10**6, frozenset(), (1970, 1990, 2010))
    >>> len(edges), edges[:3], [edge for edge in edges if 1990 <= edge < 1994], edges[-1]
    (206, (0, 1, 212), [1990, 1991, 1992, 1993], 1000000)
    """
    width = high - low
    if width < CELLS:
        return tuple(range(width + 1))
    grid, law = _law(width, cuts)
    alone = {0, width, *cuts, *(atom - low for atom in atoms if low <= atom <= high)}
    kept = {*alone, *(point + 1 for point in alone if point < width)}

    def edges(parts: int) -> set[int]:
        quantiles = np.interp(np.arange(1, parts) / parts, law, grid)
        return kept | {min(width, int(edge)) for edge in np.ceil(quantiles)}

    fewest, most = 1, MOST_PARTS
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (middle, most) if len(edges(middle)) <= CELLS else (fewest, middle)
    return tuple(sorted(edges(fewest)))


def grouped(edges: tuple[int, ...]) -> tuple[int, ...]:
    """The first points of at most BARS groups of as many cells each, which stand for the bars of a public histogram.

    >>> grouped((0, 3, 9)), grouped(tuple(range(256)))[:3]
    ((0, 3, 9), (0, 8, 16))
    """
    return edges[:: -(-len(edges) // BARS)]


def checked_cuts(lattice: Lattice, cuts: object) -> tuple[int, ...]:
    """The cuts of a column as a release holds them; what cannot be some is refused."""
    found = tuple(cuts) if isinstance(cuts, list | tuple) else ()
    whole = bool(found) and all(isinstance(cut, int) and not isinstance(cut, bool) for cut in found)
    if not (whole and list(found) == sorted(found) and found[0] >= 0 and found[-1] <= lattice.width):
        raise SchemaError("cuts must be a list of lattice points that do not decrease, counted from the lower bound")
    return found


def must_be_numbers(asked: Iterable[str], columns: Mapping[str, bool], made: Iterable[str]) -> None:
    """Refuse cuts of what is no column of numbers or dates; `columns` says which are, `made` what rules compute."""
    computed = set(made)
    for name in asked:
        if name in computed:
            raise ParameterError(f"cuts names {name!r}, which a rule (keep) makes; name the columns it is made of")
        if name not in columns:
            near = nearest(name, list(columns))
            raise ParameterError(f"cuts names columns of the synthetic table; {name!r} is none of it{near}")
        if not columns[name]:
            numbers = ", ".join(other for other, is_number in columns.items() if is_number)
            raise UnsupportedQuery(
                f"cuts are found for numbers and dates, and {name!r} holds neither; "
                + (f"name some of {numbers}, or leave cuts out" if numbers else "leave cuts out")
            )


def _law(width: int, cuts: tuple[int, ...]) -> tuple[Reals, Reals]:
    """The distribution function of the law, at enough points: linear between them."""
    first, middle, last = cuts[0], cuts[len(cuts) // 2], cuts[-1]
    margin = (last - first) / 2
    start, stop = max(0.0, first - margin), min(float(width), last + margin)
    away = np.geomspace(1.0, width, GRID)
    ends = (point + side * away for point in {first, middle, last} for side in (-1, 1))
    points = np.concatenate([np.linspace(start, stop, GRID), cuts, *ends, [0.0, width]])
    grid = np.unique(np.clip(points, 0.0, width))
    about = _fading(grid, middle, middle, 1.0)
    if stop <= start:
        return grid, about
    far = _fading(grid, first, last, margin)
    inside = np.unique(np.array([start, *cuts, stop]))
    even = np.clip((grid - start) / (stop - start), 0.0, 1.0)
    ranked = np.interp(grid, inside, np.linspace(0.0, 1.0, len(inside)))
    law = EVEN * even + RANKED * ranked + FAR * far + MIDDLE * about
    return grid, law / law[-1]


def _fading(grid: Reals, first: int, last: int, scale: float) -> Reals:
    """The distribution function of a law outside two points, whose density falls with the distance beyond a scale."""
    found = np.log1p(np.maximum(grid - last, 0.0) / scale) - np.log1p(np.maximum(first - grid, 0.0) / scale)
    return np.asarray((found - found[0]) / max(found[-1] - found[0], LEAST))  # nothing where these are the bounds
