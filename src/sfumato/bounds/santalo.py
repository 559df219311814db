r"""Volume radii of sensitivity bodies from above, with a stated confidence.

By the Blaschke-Santalo inequality vr(K) vr(K') <= 1 for a symmetric body K and its polar K' [Santalo1949].  The
gauge of the polar is the support function h(theta) = max_i |<f_i, theta>| of the columns, so vr(K')^d = E h^{-d} over
the sphere, and vr(K) <= (E h^{-d})^{-1/d}; no linear program is needed.  The mean is bounded below as in `volume`.
Proof: docs/proofs/bounds-santalo.md.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import probability, whole
from sfumato.bounds.volume import Radius, betting_limit, spanning
from sfumato.randomness import seeded
from sfumato.sampling.reals import normals

__all__ = ["volume_radius_above"]

PILOT = 500  # draws that size the bets, and are not used again
SEED = 6  # public, and another than that of the lower bound
OUTWARD = 1 + 1e-9  # over the rounding of scalar products


def volume_radius_above(points: npt.ArrayLike, confidence: float = 0.999, draws: int = 20_000) -> Radius:
    """An upper bound on the volume radius of the hull of the columns of `points` and their negatives.

    >>> 0.8 < volume_radius_above(np.eye(2)).value < 1.0  # the square with corners on the axes: sqrt(2 / pi) = 0.798
    True
    """
    columns = spanning(points)
    alpha, d = 1 - probability("confidence", confidence), len(columns)
    directions = normals((PILOT + whole("draws", draws), d), seeded(SEED))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    widths = np.concatenate([np.abs(part @ columns).max(axis=1) for part in np.array_split(directions, 32)]) * OUTWARD
    unit = float(np.median(widths[:PILOT]))
    powers = (widths / unit) ** -float(d)
    limit = betting_limit(powers[PILOT:], alpha, guess=powers[:PILOT])
    longest = float(np.linalg.norm(columns, axis=0).max()) * OUTWARD  # K lies in that ball
    return Radius(min(unit * limit ** (-1 / d) * OUTWARD if limit > 0 else longest, longest), confidence)
