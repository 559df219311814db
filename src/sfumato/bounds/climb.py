r"""How many units it takes to raise the probability of an event: what no private mechanism can beat, step by step.

Between neighbors the probability p of an event becomes q with q <= e^eps p + delta and 1 - p <= e^eps (1 - q) + delta,
so q <= min(e^eps p + delta, 1 - e^-eps (1 - p - delta), 1): a concave, increasing function of p, and k units apply it k
times.  Under rho-concentrated privacy k units have Renyi divergences of at most a k^2 rho at every order a, both ways:
D_a(q, p) and D_a(p, q) of two coins.  The pairs (p, q) that a claim allows are convex, so averages obey it too.
Proof: docs/proofs/bounds-climb.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Guarantee

__all__ = ["among", "least_steps", "raised"]

FINE = 1e-3  # epsilons below are taken many steps at a time
ORDERS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0)
MOST = 10**15  # steps
UP = 1 + 1e-12
LARGEST = 700.0  # epsilon whose exponential is a double


def raised(p: float, epsilon: float, delta: float) -> float:
    """The largest probability of an event at a neighbor of a table where it is p, rounded up."""
    grown = math.exp(epsilon) * p if epsilon <= LARGEST else (math.exp(min(epsilon + math.log(p), 1.0)) if p else 0.0)
    return min((grown + delta) * UP, 1 - math.exp(-epsilon) * (1 - p - delta) + 1e-15, 1.0)


def least_steps(claim: Guarantee, start: float, level: float) -> int | None:
    """The least number of units between a table where an event has probability at most `start`, and one with `level`.

    None where that is infinite.

    >>> from sfumato.privacy.guarantees import Approximate, Pure
    >>> [least_steps(Pure(1.0), 1 / many, 0.95) for many in (10, 50, 1000)]
    [4, 6, 9]
    >>> least_steps(Approximate(1.0, 1e-6), 0.0, 0.95)
    16
    """
    if not (0 <= start < level < 1):
        raise ParameterError(f"a start and a level must satisfy 0 <= start < level < 1, got {start} and {level}")
    parts = claim.parts()
    if "rho" in parts:
        return _by_divergence(parts["rho"], start, level)
    epsilon, delta = parts["epsilon"], parts.get("delta", 0.0)
    if not (epsilon or delta) or not (start or delta):
        return None
    many = max(1, math.ceil(FINE / epsilon)) if epsilon else max(1, math.ceil(FINE / delta))
    try:
        together = claim.group(many).parts() if many > 1 else parts
    except ParameterError:  # so many together have no guarantee left
        return 1
    leaps = _leaps(together["epsilon"], together.get("delta", 0.0), start, level)
    return None if leaps is None else 1 + (leaps - 1) * many


@lru_cache(maxsize=1024)
def _leaps(epsilon: float, delta: float, start: float, level: float) -> int | None:
    p, count = start, 0
    while p < level:
        higher = raised(p, epsilon, delta)
        if not higher > p:
            return None
        p, count = higher, count + 1
    return count


def _by_divergence(rho: float, start: float, level: float) -> int | None:
    """The least k with every divergence of the two coins at most order k^2 rho."""
    if start == 0 or rho == 0:
        return None
    needed = max(divergence(*pair, a) / a for a in ORDERS for pair in ((level, start), (start, level)))
    return min(MOST, max(1, math.ceil(math.sqrt(needed / rho) * (1 - 1e-12))))


def divergence(p: float, q: float, order: float) -> float:
    """The Renyi divergence of a coin with probability p from one with q; at order 1 that of Kullback and Leibler."""
    if order == 1:
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    first = order * math.log(p) - (order - 1) * math.log(q)
    second = order * math.log1p(-p) - (order - 1) * math.log1p(-q)
    larger = max(first, second)
    return (larger + math.log(math.exp(first - larger) + math.exp(second - larger))) / (order - 1)


def among(claim: Guarantee) -> str:
    """The mechanisms that a bound of this kind ranges over."""
    parts = claim.parts()
    if "rho" in parts:
        return "concentrated mechanisms"
    return "mechanisms with epsilon and delta" if parts.get("delta", 0.0) else "pure mechanisms"
