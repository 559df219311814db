"""Exact K-norm draws in small dimension: the hull cut into the simplices between the origin and its facets.

In the cone of a facet with basis B the gauge is the sum of the weights, so the density exp(-gauge) makes the weights
independent standard exponentials there, and a cone has probability proportional to |det B|.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.randomness import Rng
from sfumato.sampling.reals import Reals, exponentials, uniforms

if TYPE_CHECKING:
    from sfumato.sampling.bodies.hull import Hull

__all__ = ["affordable", "cones", "draw", "volume"]

MOST_COLUMNS = {1: 10**6, 2: 10**5, 3: 5000, 4: 1000, 5: 250, 6: 80}  # about ten seconds of Qhull, at worst


def affordable(hull: Hull) -> bool:
    """Whether the facets are few enough to list: small rank, not too many columns."""
    frame = hull.frame
    return bool(frame.columns.shape[1] <= MOST_COLUMNS.get(frame.rank, 0))


def draw(hull: Hull, count: int, rng: Rng) -> Reals:
    """Independent draws with density proportional to exp(-gauge), one a row."""
    bases, sizes = cones(hull)
    cumulative = np.cumsum(sizes)
    chosen = np.searchsorted(cumulative, uniforms((count,), rng) * cumulative[-1])
    weights = exponentials((count, hull.frame.rank), rng)
    return np.asarray(np.einsum("cij,cj->ci", bases[chosen], weights) @ hull.frame.lift.T)


def volume(hull: Hull) -> float:
    """The sum of |det B| / d! over the facets, in the original coordinates; for hulls of full dimension."""
    _, sizes = cones(hull)
    scale = abs(float(np.linalg.det(hull.frame.lift)))
    return math.fsum(sizes.tolist()) * scale / math.factorial(hull.frame.rank)


@lru_cache(maxsize=16)
def cones(hull: Hull) -> tuple[Reals, npt.NDArray[np.float64]]:
    """The basis of every simplicial facet (facets, d, d) in the frame, and the size |det| of its cone."""
    columns = hull.frame.columns
    corners = np.hstack([columns, -columns]).T
    if hull.frame.rank == 1:
        bases = np.array([[[corners.max()]], [[corners.min()]]])
    else:
        from scipy.spatial import ConvexHull

        found = ConvexHull(corners, qhull_options="Qt" if hull.frame.rank <= 4 else "Qt Qx")
        bases = np.swapaxes(corners[found.simplices], 1, 2)
    return bases, np.abs(np.linalg.det(bases))
