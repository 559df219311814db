"""Exact K-norm draws for a histogram under replacement: the hull of all differences c (e_i - e_j).

A facet is the product of the simplex on the k positive cells and the one on the n - k others; there are C(n, k) of
them, each with a cone of size proportional to C(n - 2, k - 1).  The gauge, ||z||_1 / (2 c), is gamma(n - 1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato.randomness import Rng
from sfumato.sampling.reals import Reals, exponentials, gammas, uniforms

if TYPE_CHECKING:
    from sfumato.sampling.bodies.hull import Hull

__all__ = ["applies", "draw"]


def applies(hull: Hull) -> bool:
    """Whether the columns are all the differences c (e_i - e_j), i < j, up to sign."""
    columns, n = hull.columns, hull.dimension
    if n < 2 or columns.shape[1] != n * (n - 1) // 2:
        return False
    size = np.abs(columns).max()
    entries = np.abs(columns).sum(axis=0) == 2 * size
    return bool((columns.sum(axis=0) == 0).all() and entries.all() and ((columns != 0).sum(axis=0) == 2).all())


def draw(hull: Hull, count: int, rng: Rng) -> Reals:
    """Independent draws with density proportional to exp(-gauge) on the vectors of sum zero, one a row."""
    n = hull.dimension
    logs = np.array([_log_choose(n, k) + _log_choose(n - 2, k - 1) for k in range(1, n)])
    cumulative = np.cumsum(np.exp(logs - logs.max()))
    positive = 1 + np.searchsorted(cumulative, uniforms((count,), rng) * cumulative[-1])
    order = np.argsort(uniforms((count, n), rng), axis=1)
    chosen = order < positive[:, None]  # a uniformly random set of `positive` cells
    parts = exponentials((count, n), rng)
    up, down = np.where(chosen, parts, 0.0), np.where(chosen, 0.0, parts)
    shape = up / up.sum(axis=1, keepdims=True) - down / down.sum(axis=1, keepdims=True)
    return np.asarray(np.abs(hull.columns).max() * shape * gammas(n - 1, (count, 1), rng))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
