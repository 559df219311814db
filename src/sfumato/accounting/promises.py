"""What a claim of any kind promises for single events: delta at every epsilon, and where to attack it."""

from __future__ import annotations

import math

import numpy as np

from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Claim, Concentrated, GaussianPrivacy, Pure, Renyi

__all__ = ["curve", "points"]

SEEN = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)  # deltas at which a Renyi claim is attacked


def curve(claim: Claim, epsilon: float) -> float:
    """A delta that the claim promises at this epsilon: the least known, rounded up.

    >>> curve(Pure(1.0), 1.0), curve(Approximate(1.0, 1e-3), 2.0)
    (0.0, 0.001)
    """
    match claim:
        case Pure() | Approximate():
            delta = claim.delta if isinstance(claim, Approximate) else 0.0
            if epsilon >= claim.epsilon:
                return delta
            top = math.exp(claim.epsilon)
            return min(1.0, delta + (1 - delta) * (top - math.exp(epsilon)) / (1 + top) * (1 + 1e-12))
        case Concentrated():
            orders = 1 + np.geomspace(1e-3, 1e4, 800)
            return _by_order(orders, orders * claim.rho, epsilon)
        case Renyi():
            return _by_order(np.array([claim.order]), np.array([claim.epsilon]), epsilon)
        case GaussianPrivacy():
            return min(1.0, gaussian_delta(1.0, claim.mu, epsilon)) if claim.mu else 0.0


def _by_order(orders: np.ndarray, divergences: np.ndarray, epsilon: float) -> float:
    """The least delta at epsilon that a divergence of one of the orders leaves.  [CanonneKamathSteinke2020]"""
    logs = (orders - 1) * (divergences - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    return min(1.0, float(np.exp(min(np.min(logs), 0.0))) * (1 + 1e-9))


def points(claim: Claim) -> tuple[tuple[float, float], ...]:
    """The (epsilon, delta) at which a claim is attacked; refuting one of them refutes the claim.

    A concentrated, Renyi or Gaussian claim promises a delta at every epsilon; it is attacked at a few, spread
    over the loss that Gaussian noise has, or where a divergence of that order leaves a delta that can be seen.
    """
    match claim:
        case Pure():
            return ((claim.epsilon, 0.0),)
        case Approximate():
            return ((claim.epsilon, claim.delta),)
        case Renyi():
            lost = claim.order * math.log1p(-1 / claim.order) - math.log(claim.order - 1)
            epsilons = [claim.epsilon + (lost - math.log(delta)) / (claim.order - 1) for delta in SEEN]
        case Concentrated() | GaussianPrivacy():
            rho = claim.rho if isinstance(claim, Concentrated) else claim.mu**2 / 2
            epsilons = [rho + k * math.sqrt(2 * rho) for k in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)]
    return tuple(dict.fromkeys((max(0.0, epsilon), curve(claim, max(0.0, epsilon))) for epsilon in epsilons))
