r"""The most Fisher information that one epsilon-private report can carry, for the families of the bounds; rounded up.

Each is sup over weights 1 <= w <= e^epsilon of ||E w phi||^2 / (E w)^2, attained by w = e^epsilon on a set A:
subsets     phi the orthonormal directions of the simplex at its center, A of the best size      [YeBarg2018]
pairs       phi the differences of disjoint pairs of categories
cap         phi = d x on the unit sphere, A a cap: PrivUnit's optimum                            [AsiFeldmanTalwar2022]
cube        phi = x on {-1, 1}^d, by Parseval and the level-one inequality                       [ODonnell2014]
Proof: docs/proofs/bounds-minimax.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato.bounds.arguments import nonnegative, positive, whole
from sfumato.deferred import function
from sfumato.errors import ParameterError

__all__ = ["cap_information", "checked", "cube_information", "pair_information", "subset_information"]

betainc = function("scipy.special", "betainc")
betaln = function("scipy.special", "betaln")

SLACK = 1 + 1e-9  # over the rounding of closed forms and special functions
GRID = 4001  # points of a search over shares
FINE = 257  # points of a search that is refined around the best
LARGEST = 60.0  # epsilon


def subset_information(k: int, epsilon: float) -> float:
    """For the frequencies of k categories near the uniform law."""
    checked(k, epsilon, 2)
    d, grown = np.arange(1, k, dtype=np.float64), math.expm1(epsilon)
    return float((grown**2 * d * (k - d) / k / (1 + grown * d / k) ** 2).max()) * SLACK


def pair_information(k: int, epsilon: float) -> float:
    """The same for the floor(k/2) differences of pairs alone."""
    checked(k, epsilon, 2)
    a, grown = np.arange(1, k // 2 + 1, dtype=np.float64), math.expm1(epsilon)
    return float((grown**2 * a / 2 / (1 + grown * a / k) ** 2).max()) * SLACK


@lru_cache(maxsize=256)
def cap_information(d: int, epsilon: float) -> float:
    """For the mean of unit vectors in d >= 2 dimensions; one dimension is `cube_information`."""
    checked(d, epsilon, 2)
    grown, norm = math.expm1(epsilon), math.exp(-betaln(0.5, (d - 1) / 2)) / (d - 1)

    def value(t: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        first = norm * (1 - t * t) ** ((d - 1) / 2)
        share = betainc((d - 1) / 2, 0.5, 1 - t * t) / 2
        return np.asarray(grown * first / (1 + grown * share))

    low, high = 0.0, 1.0
    for _ in range(6):  # unimodal in t; each round keeps the neighbors of the best
        t = np.linspace(low, high, FINE)
        best = int(np.argmax(value(t)))
        low, high = float(t[max(best - 1, 0)]), float(t[min(best + 1, FINE - 1)])
    return float((d * value(np.linspace(low, high, FINE)).max()) ** 2) * SLACK


@lru_cache(maxsize=256)
def cube_information(d: int, epsilon: float) -> float:
    """For the means of d signs: tanh(epsilon/2)^2 in one dimension, an upper bound of the supremum in more."""
    checked(d, epsilon, 1)
    if d == 1:
        return math.tanh(epsilon / 2) ** 2 * SLACK
    grown = math.expm1(epsilon)
    edges = np.concatenate([np.geomspace(1e-9, 0.1, GRID), np.linspace(0.1, 0.9, 4 * GRID)[1:], [1.0]])
    low, high = edges[:-1], edges[1:]  # each factor at its worse end, cell by cell
    weight = np.minimum(high * (1 - np.minimum(low, 0.5)), 2 * high**2 * -np.log(low))
    below = grown**2 * 2 * 1e-9  # smaller sets: weight at most tau (1 - tau)
    return max(float((grown**2 * weight / (1 + grown * low) ** 2).max()), below) * SLACK


def checked(size: int, epsilon: float, least: int) -> None:
    """Refuse a dimension or number of categories below `least`, and losses at which privacy costs nothing."""
    if whole("dimension", size) < least:
        raise ParameterError(f"dimension (or k) must be at least {least}, got {size}")
    if nonnegative("epsilon", positive("epsilon", epsilon)) > LARGEST:
        raise ParameterError(f"epsilon must be at most {LARGEST:g}, got {epsilon!r}: beyond it privacy costs nothing")
