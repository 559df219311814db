r"""Trade-off functions: the least missed-detection rate of any test of given false-alarm rate.

A mechanism with trade-off function at least f is f-DP [DongRothSu2022].  Values are rounded down,
so that each function here is a valid claim.  A privacy profile delta(e) is the same knowledge:
    f(a) = sup over e >= 0 of max(0, 1 - delta(e) - e^e a, e^-e (1 - delta(e) - a)),
and leaving out some e only weakens the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from sfumato.deferred import function
from sfumato.errors import ParameterError
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Claim, GaussianPrivacy, Pure

__all__ = ["profile_of", "tradeoff_from_profile", "tradeoff_of"]

ndtr = function("scipy.special", "ndtr")
ndtri = function("scipy.special", "ndtri")

Curve = Callable[[float], float]


def tradeoff_of(claim: Claim) -> Curve:
    """The trade-off function of a pure, approximate or Gaussian claim.

    >>> round(tradeoff_of(GaussianPrivacy(1.0))(0.05), 6), round(tradeoff_of(Pure(0.0))(0.25), 9)
    (0.740489, 0.75)
    """
    match claim:
        case GaussianPrivacy():
            mu = claim.mu
            return lambda alpha: _gaussian(mu, _rate(alpha))
        case Pure() | Approximate():
            profile = profile_of(claim)
            return tradeoff_from_profile(profile, [claim.epsilon])
        case _:
            raise ParameterError(f"{type(claim).__name__} has no closed trade-off function; convert it to Approximate")


def profile_of(claim: Claim) -> Curve:
    """The least delta the claim promises at each epsilon: 1 where it promises nothing.

    >>> profile_of(Pure(1.0))(1.0), profile_of(GaussianPrivacy(0.5))(0.0) < 0.2
    (0.0, True)
    """
    match claim:
        case GaussianPrivacy():
            mu = claim.mu
            return lambda epsilon: gaussian_delta(1.0, mu, epsilon)
        case Pure() | Approximate():
            delta = claim.delta if isinstance(claim, Approximate) else 0.0
            return lambda epsilon: _worst_profile(claim.epsilon, delta, epsilon)
        case _:
            raise ParameterError(f"{type(claim).__name__} has no exact profile; convert it to Approximate")


def tradeoff_from_profile(profile: Curve, epsilons: Iterable[float]) -> Curve:
    """The trade-off function that follows from a profile at the given epsilons."""
    points: Sequence[tuple[float, float]] = [(epsilon, profile(epsilon)) for epsilon in epsilons]

    def curve(alpha: float) -> float:
        best = 0.0
        for epsilon, delta in points:
            grown = math.exp(min(epsilon, 700.0)) * _rate(alpha)
            best = max(best, 1 - delta - grown, math.exp(-epsilon) * (1 - delta - alpha))
        return max(0.0, best * (1 - 1e-15) - 1e-16 * (best < 1))

    return curve


def _worst_profile(own: float, delta: float, epsilon: float) -> float:
    """Randomized response with a chance `delta` to reveal."""
    if epsilon >= own:
        return delta
    likely = 1 / (1 + math.exp(-own))
    rest = likely * -math.expm1(epsilon - own)
    return min(1.0, (delta + (1 - delta) * rest) * (1 + 1e-15))


def _gaussian(mu: float, alpha: float) -> float:
    if alpha in (0.0, 1.0):
        return 1.0 - alpha
    return max(0.0, float(ndtr(-float(ndtri(alpha)) - mu)) * (1 - 1e-13))


def _rate(alpha: float) -> float:
    if not (isinstance(alpha, int | float) and 0 <= alpha <= 1):
        raise ParameterError(f"alpha must lie in [0, 1], got {alpha!r}")
    return float(alpha)
