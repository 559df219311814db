r"""Volume radii of sensitivity bodies, exact or from below with a stated confidence.

vr(K) = (Vol K / Vol B)^{1/d}, B the Euclidean ball.  In polar coordinates Vol K / Vol B = E ||theta||_K^{-d} over the
sphere, so vr(K) >= (E ||theta||_K^{-k})^{1/k} for every 0 < k <= d.  The mean is that of a variable that is never
negative, so its lower confidence limit needs no upper bound: a player who bets against the value m cannot multiply
a capital by 1 / alpha with more probability than alpha (WaudbySmithRamdas2024).  Proof: docs/proofs/bounds-volume.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import positive, probability
from sfumato.elimination import rank
from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling.bodies import Hull
from sfumato.sampling.reals import normals

__all__ = ["Radius", "betting_limit", "cross_polytope_radius", "radius_of_volume", "volume_radius"]

Floats = npt.NDArray[np.float64]

OUTWARD = 1 - 1e-7  # gauges come from linear programs in floating point: their reciprocals are shortened by this
PILOT = 100  # draws that choose the power and the bet, and are not used again
LARGEST_EXACT = 4  # dimensions in which the hull is cut into simplices for its volume
SEED = 5  # public: a certificate is the same whoever computes it


@dataclass(frozen=True, slots=True)
class Radius:
    """A lower bound on a volume radius; it fails with probability at most 1 - confidence."""

    value: float
    confidence: float

    @property
    def is_exact(self) -> bool:
        """Whether nothing was simulated."""
        return self.confidence == 1


def radius_of_volume(volume: float, dimension: int) -> float:
    """(volume / Vol B_2^d)^{1/d}.

    >>> round(radius_of_volume(4.0, 2), 4)
    1.1284
    """
    d = positive("dimension", dimension)
    return math.exp(math.log(positive("volume", volume)) / d + math.lgamma(1 + d / 2) / d - math.log(math.pi) / 2)


def cross_polytope_radius(points: npt.ArrayLike) -> float:
    """A volume radius from below, at once: of the cross-polytope of d columns chosen greedily by their determinant."""
    from scipy.linalg import qr

    columns = np.asarray(points, dtype=np.float64)
    d = len(columns)
    _, upper, _ = qr(columns, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(upper))
    if len(sizes) < d or sizes[-1] <= 1e-12 * sizes[0]:
        return 0.0
    logs = float(np.log(sizes).sum()) + d * math.log(2) - math.lgamma(d + 1)
    return _root(logs, d) * (1 - 1e-9)


def spanning(points: npt.ArrayLike) -> Floats:
    """The points as columns, if they span the space."""
    columns = np.asarray(points, dtype=np.float64)
    if columns.ndim != 2 or rank(columns) < len(columns):
        raise ParameterError(
            f"points must be a matrix with one column a point, of full rank, got shape {columns.shape}; give the "
            "transpose where the points are rows, and reduce a query to its rank first"
        )
    return columns


def volume_radius(points: npt.ArrayLike, confidence: float = 0.999, draws: int = 1500) -> Radius:
    """The volume radius of the hull of the columns of `points` and their negatives, which must span the space.

    >>> volume_radius(np.eye(3)).is_exact
    True
    """
    columns = spanning(points)
    probability("1 - confidence", 1 - confidence)
    hull = Hull(columns)
    if hull.degrees == hull.columns.shape[1]:
        _, logs = np.linalg.slogdet(hull.columns)
        d = hull.dimension
        return Radius(_root(float(logs) + d * math.log(2) - math.lgamma(d + 1), d) * (1 - 1e-9), 1.0)
    if len(columns) == 1:
        return Radius(float(np.abs(columns).max()), 1.0)
    volume = hull.volume() if hull.dimension <= LARGEST_EXACT else None
    if volume is not None:
        return Radius(radius_of_volume(volume, hull.dimension) * (1 - 1e-9), 1.0)
    least = cross_polytope_radius(columns)
    return Radius(max(_simulated(hull, 1 - confidence, draws), least), confidence)


@lru_cache(maxsize=64)
def _simulated(hull: Hull, alpha: float, draws: int) -> float:
    """The limit from `draws` fresh directions, its power chosen on a pilot."""
    d = hull.dimension
    directions = normals((PILOT + draws, d), seeded(SEED))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reach = OUTWARD / hull.gauge(directions)
    pilot, fresh = reach[:PILOT], reach[PILOT:]
    unit = float(pilot.mean())
    powers = sorted({1, 2, 4, 8, 12, 16, 24, 32, 48, d})
    best = 1
    best_value = 0.0
    for power in (p for p in powers if p <= d):
        scaled = (pilot / unit) ** power
        spread = scaled.std() * math.sqrt(2 * math.log(1 / alpha) / draws)
        expected = max(float(scaled.mean()) - float(spread), 0.0) ** (1 / power)
        if expected > best_value:
            best, best_value = power, expected
    samples = (fresh / unit) ** best
    limit = betting_limit(samples, alpha, guess=(pilot / unit) ** best)
    return float(unit * limit ** (1 / best))


def betting_limit(samples: Floats, alpha: float, guess: Floats) -> float:
    """A lower confidence limit for the mean of non-negative independent samples; `guess` only sizes the bets."""
    spread = max(float(np.var(guess)), 1e-12)
    wanted = math.sqrt(2 * math.log(1 / alpha) / (len(samples) * spread))
    low, high = 0.0, float(samples.mean())
    for _ in range(60):
        middle = (low + high) / 2
        stake = min(wanted, 0.5 / middle) if middle > 0 else wanted
        capital = float(np.log1p(stake * (samples - middle)).sum())
        low, high = (middle, high) if capital >= math.log(1 / alpha) else (low, middle)
    return low


def _root(log_volume: float, d: int) -> float:
    return math.exp(log_volume / d + math.lgamma(1 + d / 2) / d - math.log(math.pi) / 2)
