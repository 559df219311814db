r"""The least variance of noise whose translate by 1 has relative entropy at most rho: concentrated privacy on a line.

Of the Renyi orders only the relative entropy is used.  For any function g of pairs (z, z + 1), odd under reflection of
the pair, and l >= 0, the inequality  a ln(a/b) >= a s + a - b e^s  with s = -+g gives

    variance >= min over z of [z^2 + (l/2) (h(z) + h(-z))] - l rho,   h(z) = 1 + g(z - 1) - e^{-g(z - 1)}.

The best g makes the bracket the same number c at all z but those next to 0; it is found from far out inward, where the
recursion is a contraction, on each coset of Z in Z/MESH, and any rounding in it only lowers the minimum.  The minimum
over Z/MESH less 1 / (4 MESH^2) is a bound for all real answers.  Proof: docs/proofs/bounds-divergence.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["FINE", "MESH", "Profile", "divergence_variance", "newton", "profile"]

Array = npt.NDArray[np.float64]
MESH = 15  # cosets of Z; odd, so that no two of their points are opposite
FINE = 0.03  # losses below are grouped up to about this one: a relative loss of about its quarter's square
LARGEST = 12.0  # rho; the least variance beyond is below e^-12
ROUNDING = 1e-12
ONE_SHARE = 0.3  # rho up to which the multiplier 1 / (2 rho^2) is right
SHARES = (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 1.0, 1.1, 1.2)  # of it, tried for greater rho


@dataclass(frozen=True, slots=True)
class Profile:
    """A feasible dual: the multiplier l, and h at the places -reach..reach in steps of 1 / MESH."""

    multiplier: float
    tilts: Array

    @property
    def reach(self) -> int:
        """How far the places go; beyond them the bracket only grows."""
        return (len(self.tilts) // 2) // MESH

    def reaching(self, reach: int) -> Array:
        """h at the places -reach..reach, the same beyond its ends as there."""
        index = np.arange(-reach * MESH, reach * MESH + 1)
        inside = np.clip(index, -self.reach * MESH + (index + self.reach * MESH) % MESH, None)
        inside = np.minimum(inside, self.reach * MESH - (self.reach * MESH - index) % MESH)
        tilts: Array = self.tilts[inside + self.reach * MESH]
        return tilts

    def floor(self) -> float:
        """The least bracket over all places, rounded down."""
        places = np.arange(-self.reach * MESH, self.reach * MESH + 1) / MESH
        bracket = places**2 + self.multiplier / 2 * (self.tilts + self.tilts[::-1])
        size = places**2 + self.multiplier / 2 * (abs(self.tilts) + abs(self.tilts[::-1]))
        return float((bracket - ROUNDING * size).min())


def divergence_variance(rho: float) -> float:
    """The least second moment of a real X such that X and X + 1 have relative entropy at most rho both ways.

    >>> round(divergence_variance(0.1), 2)
    5.0
    """
    group = max(1, math.isqrt(int(FINE / rho)))
    grouped = group**2 * rho * (1 + ROUNDING)
    least = max(_closed(grouped), _value(grouped) - 1 / (4 * MESH**2), math.exp(-2 * grouped))
    return max(0.0, group**2 * least * (1 - ROUNDING))


def _value(rho: float) -> float:
    found = profile(rho)
    return found.floor() - found.multiplier * rho if found else 0.0


def _closed(rho: float) -> float:
    """From g = -2 asinh(k (z + 1/2)), at the k near the best."""

    def at(k: float) -> float:
        y = k / 2
        return (math.asinh(y) + y * math.sqrt(1 + y * y) - rho / 2) / k**2 - 0.25

    return max(at(rho * share) for share in (0.7, 0.8, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0))


@lru_cache(maxsize=64)
def profile(rho: float) -> Profile | None:
    """A dual near the best for this rho, if one is sought."""
    if rho > LARGEST:
        return None
    shares = (1.0,) if rho <= ONE_SHARE else SHARES
    found = [_balanced(share / (2 * rho**2), rho) for share in shares]
    return max(found, key=lambda dual: dual.floor() - dual.multiplier * rho)


def _balanced(multiplier: float, rho: float) -> Profile:
    """The dual with this multiplier whose bracket is the same at all places but those next to 0."""
    reach = int(7 / math.sqrt(2 * rho)) + 7
    low, high = 0.0, 1 / rho + 1
    with np.errstate(over="ignore"):  # of levels far above the best
        while high - low > 1e-8 * high:
            middle = (low + high) / 2
            if _center(_inward(middle, multiplier, reach), multiplier) >= middle:
                low = middle
            else:
                high = middle
    return Profile(multiplier, _tilts(_inward(low, multiplier, reach)))


def _inward(level: float, multiplier: float, reach: int) -> Array:
    """g at k + r, k = 0..reach, for each coset r of Z in Z/MESH: from far out inward so that the bracket is `level`."""
    r = np.arange(-(MESH // 2), MESH // 2 + 1) / MESH
    gains = np.empty((reach + 1, MESH))
    gains[reach] = -np.log1p(2 * (r + reach) ** 2 / multiplier)
    for k in range(reach, 0, -1):
        inner = gains[k] + np.exp(gains[k]) + 2 * (level - (r + k) ** 2) / multiplier - 2
        gains[k - 1] = -newton(-inner)
    return gains


def _center(gains: Array, multiplier: float) -> float:
    """The least bracket at the places next to 0."""
    r = np.arange(-(MESH // 2), MESH // 2 + 1) / MESH
    side = 1 - gains[0] - np.exp(gains[0])
    return float((r**2 + multiplier / 2 * (side + side[::-1])).min())


def newton(y: Array) -> Array:
    """The x with x + e^x = y, by Newton; what is left of it only lowers a minimum."""
    x = np.where(y > 1.5, np.log(np.maximum(y, 1.5)), np.where(y < -1.5, y, (y - 1) / 2))
    for _ in range(5):
        grown = np.exp(x)
        x = x - (x + grown - y) / (1 + grown)
    return x


def _tilts(gains: Array) -> Array:
    """h at all places, g being the same beyond its end as there."""
    outward = np.concatenate([gains.ravel(), gains[-1], gains[-1]])  # g at -(MESH // 2) / MESH and on
    reach = len(gains) + 1
    index = np.arange(-reach * MESH, reach * MESH + 1) - MESH  # of z - 1
    sign = np.where(index >= -(MESH // 2), 1.0, -1.0)
    before = sign * outward[np.where(sign > 0, index, -index - MESH) + MESH // 2]
    tilts: Array = 1 + before - np.exp(-before)
    return tilts
