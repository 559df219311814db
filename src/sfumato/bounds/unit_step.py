r"""What no pure mechanism can beat on real tables when only single steps are protected: the best radial staircase.

If neighbors may differ by any v in K, and only they are constrained, then the worst mean of any increasing loss l is
at least the least, over 0 < b <= 1, of the mean of l under the law that is uniform on the ball of radius (b + k) vr(K)
with weight e^{-epsilon k} (b + k)^d.  For the norm that is vr(K) d/(d+1) S_{d+1}(b) / S_d(b), with
S_j(b) = sum_k e^{-epsilon k} (b + k)^j; it is attained when K is a ball.  At d = 1 it is the staircase of
GengViswanath2014.  Proof: docs/proofs/bounds-unit_step.md.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.bounds.arguments import positive

__all__ = ["staircase_moment", "unit_step_mean_norm", "unit_step_mean_square"]

GRID = 400  # values of b between which the search is refined
ROUNDING = 1 - 1e-9


def unit_step_mean_norm(radius: float, dimension: int, epsilon: float) -> float:
    """The least worst-case mean l2 error; `radius` is the volume radius of the sensitivity body.

    >>> round(unit_step_mean_norm(1.0, 1, 1.0), 4), round(1 / (2 * math.sinh(0.5)), 4)
    (0.9595, 0.9595)
    """
    return positive("radius", radius) * _least(dimension, epsilon, 1)


def unit_step_mean_square(radius: float, dimension: int, epsilon: float) -> float:
    """The least worst-case mean square of the l2 error."""
    return positive("radius", radius) ** 2 * _least(dimension, epsilon, 2)


def staircase_moment(b: float, dimension: int, epsilon: float, order: int) -> float:
    """E r^order under the radial staircase with first step b, for vr(K) = 1: d / (d + order) S_{d+order} / S_d."""
    last = math.ceil((dimension + order + 60) / epsilon) + 1
    k = np.arange(last + 1, dtype=np.float64)
    logs = dimension * np.log(b + k) - epsilon * k
    weights = np.exp(logs - logs.max())
    return float(dimension / (dimension + order) * (weights * (b + k) ** order).sum() / weights.sum())


def _least(dimension: int, epsilon: float, order: int) -> float:
    positive("dimension", dimension)
    positive("epsilon", epsilon)
    from scipy.optimize import minimize_scalar

    grid = np.linspace(1 / GRID, 1.0, GRID)
    values = [staircase_moment(float(b), dimension, epsilon, order) for b in grid]
    place = int(np.argmin(values))
    low, high = grid[max(place - 1, 0)] / (2 if place == 0 else 1), grid[min(place + 1, GRID - 1)]
    found = minimize_scalar(
        lambda b: staircase_moment(float(b), dimension, epsilon, order), bounds=(float(low), float(high)),
        method="bounded", options={"xatol": 1e-10},
    )  # fmt: skip
    return min(float(found.fun), *values) * ROUNDING
