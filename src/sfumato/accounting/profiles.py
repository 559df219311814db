r"""A worst pair from a privacy profile: what all (epsilon_i, delta_i) that a claim implies say together.

Definition.  A mechanism that is (e_i, d_i)-DP for e_0 < ... < e_n, in both directions, has hockey-stick curves that
are convex in e^epsilon; so they lie below their chords, and below d_n beyond the last point.
Result.      `profile_law` is a mixture of randomized responses with the parameters e_i and a chance to reveal, whose
curve is not below those chords: it dominates every such mechanism.
Proof: docs/proofs/accounting-loss.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.accounting.laws import Array, FiniteLaw
from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.conversions import concentrated_delta, concentrated_to_approximate
from sfumato.privacy.parameters import positive, probability, whole

__all__ = ["concentrated_law", "profile_law"]

POINTS = 200  # of the profile that are used; more change a claim by less than a thousandth
WIDEST = 700.0  # the largest epsilon whose exponential is a float
OVER = 1 + 1e-12  # over the rounding of sums of that many terms
SPARE = 1e-13  # mass over 1, which covers the rounding of what is left


def profile_law(profile: Callable[[float], float], top: float, points: int = POINTS) -> FiniteLaw:
    """The worst pair whose delta at i top / points is at most the profile's, for i = 0, ..., points.

    >>> law = profile_law(lambda epsilon: 0.0 if epsilon >= 1 else 1.0, 1.0, 1)
    >>> [round(float(loss), 6) for loss in law.losses], [round(float(mass), 4) for mass in law.p]
    ([-inf, -1.0, -0.0, 0.0, 1.0], [0.0, 0.2689, 0.0, 0.0, 0.7311])
    """
    unit = positive("top", top) / whole("points", points)
    if top > WIDEST:
        raise ParameterError(f"top must be at most {WIDEST:g}, got {top!r}")
    epsilons = unit * np.arange(points + 1, dtype=np.float64)
    revealed = min(1.0, profile(float(epsilons[-1])))
    weights = np.zeros(points + 1)  # of randomized response at each epsilon
    left = 1 - revealed + SPARE
    for i in range(points, 0, -1):
        at = float(epsilons[i - 1])
        short = min(1.0, profile(at)) * OVER - _curve(epsilons[i:], weights[i:], at) - revealed
        gain = _curve(epsilons[i : i + 1], np.ones(1), at)
        weights[i] = min(left, max(0.0, short) / gain * OVER)
        left -= weights[i]
    weights[0] = left
    return _mixture(epsilons, weights, revealed, unit)


def concentrated_law(rho: float, tail: float) -> FiniteLaw:
    """The worst pair that the profile of rho-zCDP allows, its curve followed down to a delta of `tail`."""
    positive("rho", rho)
    top = concentrated_to_approximate(rho, probability("tail", tail))
    if not 0 < top <= WIDEST:
        raise ParameterError(f"rho = {rho!r} promises next to nothing: no worst pair can be written down for it")
    return profile_law(lambda epsilon: concentrated_delta(rho, epsilon), round_up(top))


def _curve(epsilons: Array, weights: Array, at: float) -> float:
    """The delta at `at` of a mixture of randomized responses, all of a larger epsilon."""
    return float(np.sum(weights * -np.expm1(at - epsilons) / (1 + np.exp(-epsilons))))


def _mixture(epsilons: Array, weights: Array, revealed: float, unit: float) -> FiniteLaw:
    likely, unlikely = weights / (1 + np.exp(-epsilons)), weights / (1 + np.exp(epsilons))
    losses = np.concatenate([[-np.inf], -epsilons[::-1], epsilons])
    p = np.concatenate([[0.0], unlikely[::-1], likely])
    q = np.concatenate([[revealed], likely[::-1], unlikely])
    return FiniteLaw(losses, p, q, revealed, True, unit)
