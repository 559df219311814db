r"""The f-divergence of two finite laws for one's own f: sum of q f(p / q), rounded up.

f must be convex on (0, infinity) with f(1) = 0.  Both are checked where it can be: f(1), and second differences at
points spread evenly in the logarithm from 2^-40 to 2^40 and at the ratios of the two laws; a function that passes and
is not convex elsewhere gives a number that is no divergence.  Where P has mass and Q none, the divergence has the part
P(that) f'(infinity), the limit of f(t) / t, which no finite number of values shows: it is infinite unless `slope` is
given, and a given one is checked against all slopes seen.  Where Q has mass and P none, f(0) is taken, infinite if f
cannot be computed there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.accounting.laws import Array
from sfumato.errors import ParameterError

__all__ = ["f_divergence"]

SPREAD = 40  # powers of two on each side of 1 at which f is looked at
ROUNDING = 1e-9  # relative, granted to the values of f when they are compared
SLACK = 1e-12  # relative, over the rounding of the sum


def f_divergence(f: Callable[[float], float], p: Array, q: Array, slope: float = math.inf) -> float:
    """The divergence of the probabilities p from q.

    >>> halves, thirds = np.array([0.5, 0.5]), np.array([1 / 3, 2 / 3])
    >>> round(f_divergence(lambda t: abs(t - 1) / 2, halves, thirds), 6)  # total variation
    0.166667
    """
    shared = (p > 0) & (q > 0)
    ratios = p[shared] / q[shared]
    _must_be_convex(f, ratios, slope)
    terms = q[shared] * np.array([_value(f, float(ratio)) for ratio in ratios])
    alone, empty = float(p[q == 0].sum()), float(q[p == 0].sum())
    parts = [*terms.tolist()]
    parts += [alone * slope] if alone else []
    parts += [empty * _at_zero(f)] if empty else []
    total = math.fsum(parts) if all(map(math.isfinite, parts)) else math.inf
    return max(0.0, total + SLACK * math.fsum(map(abs, parts))) if math.isfinite(total) else math.inf


def _must_be_convex(f: Callable[[float], float], ratios: Array, slope: float) -> None:
    spread = 2.0 ** np.linspace(-SPREAD, SPREAD, 4 * SPREAD + 1)
    points = np.unique(np.concatenate([spread, ratios]))
    values = np.array([_value(f, float(point)) for point in points])
    if abs(_value(f, 1.0)) > ROUNDING:
        raise ParameterError(f"f(1) must be 0, got {_value(f, 1.0):.6g}: subtract it, as two equal laws are 0 apart")
    gaps = np.diff(points)
    inner = (values[:-2] * gaps[1:] + values[2:] * gaps[:-1]) / (gaps[:-1] + gaps[1:])
    loose = ROUNDING * (1 + np.abs(values[:-2]) + np.abs(values[1:-1]) + np.abs(values[2:]))
    bent = np.flatnonzero(values[1:-1] > inner + loose)
    if bent.size:
        raise ParameterError(f"f must be convex; it is not around t = {points[1 + bent[0]]:.6g}")
    steepest = float((values[-1] - values[-2]) / gaps[-1])
    if slope < steepest - ROUNDING * (1 + abs(steepest)):
        raise ParameterError(
            f"slope must be the limit of f(t) / t, at least {steepest:.6g}, which is seen; got {slope!r}"
        )


def _value(f: Callable[[float], float], at: float) -> float:
    try:
        value = float(f(at))
    except (ArithmeticError, ValueError, TypeError):
        value = math.nan
    if not math.isfinite(value):
        raise ParameterError(f"f must give a finite number for every t > 0; it gives none at t = {at:.6g}")
    return value


def _at_zero(f: Callable[[float], float]) -> float:
    try:
        value = float(f(0.0))
    except (ArithmeticError, ValueError):
        return math.inf
    return math.inf if math.isnan(value) else value
