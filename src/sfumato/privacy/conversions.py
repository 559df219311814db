r"""From one kind of guarantee to another, each rounded outward.

pure -> concentrated: rho = epsilon tanh(epsilon / 2), which randomized response attains; it is at
    most epsilon^2 / 2 [BunSteinke2016].
concentrated -> approximate: delta = inf over alpha > 1 of
    exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha     [CanonneKamathSteinke2020]
    and epsilon for a given delta at the one alpha with rho (alpha - 1)^2 + ln alpha = ln(1 / delta).
Any alpha is valid, so that rounding alone is to be bounded.  Proof: docs/proofs/privacy-conversions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.numeric import round_up
from sfumato.privacy.parameters import nonnegative, positive, probability

__all__ = [
    "concentrated_delta",
    "concentrated_for",
    "concentrated_to_approximate",
    "concentrated_within",
    "normal_mu",
    "pure_for",
    "pure_to_concentrated",
    "renyi_to_approximate",
]

SLACK = 16 * 2.0**-53  # relative rounding error granted to a sum of four terms


def pure_to_concentrated(epsilon: float) -> float:
    """The least rho that every epsilon-DP mechanism meets: epsilon tanh(epsilon / 2).

    >>> round(pure_to_concentrated(1.0), 6), pure_to_concentrated(0.0)
    (0.462117, 0.0)
    """
    nonnegative("epsilon", epsilon)
    return round_up(epsilon * math.tanh(epsilon / 2), 4) if epsilon else 0.0


def pure_for(rho: float) -> float:
    """The greatest epsilon whose `pure_to_concentrated` is at most `rho`."""
    nonnegative("rho", rho)
    return _greatest(lambda epsilon: pure_to_concentrated(epsilon) <= rho, rho + 1)


def concentrated_to_approximate(rho: float, delta: float) -> float:
    """The least epsilon at `delta` that follows from rho-zCDP by one Renyi order, rounded up.

    >>> round(concentrated_to_approximate(0.1, 1e-6), 6)
    2.141939
    """
    nonnegative("rho", rho)
    probability("delta", delta)
    if rho == 0:
        return 0.0
    x = _best_order(rho, delta)
    return _renyi(x, (1 + x) * rho, delta)


def concentrated_within(rho: float, most: float, delta: float) -> float:
    """Epsilon at `delta` for a `rho` that is at most `most`, by the one order that is best for `most`, rounded up.

    The order does not depend on `rho`, so this holds where `rho` is what a process has spent when it is stopped.

    >>> concentrated_within(0.1, 0.1, 1e-6) == concentrated_to_approximate(0.1, 1e-6)
    True
    """
    nonnegative("rho", rho)
    positive("most", most)
    probability("delta", delta)
    x = _best_order(most, delta)
    return _renyi(x, (1 + x) * rho, delta)


def renyi_to_approximate(order: float, divergence: float, delta: float) -> float:
    """Epsilon at `delta` from a Renyi divergence of one order above 1, rounded up.

    >>> round(renyi_to_approximate(10.0, 1.0, 1e-6), 6)
    2.173853
    """
    positive("order - 1", order - 1)
    nonnegative("divergence", divergence)
    probability("delta", delta)
    return _renyi(order - 1, divergence, delta)


def _renyi(x: float, divergence: float, delta: float) -> float:
    """At the order 1 + x: divergence + ln(1 / (delta (1 + x))) / x + ln(1 - 1 / (1 + x))."""
    terms = (divergence, -math.log(delta) / x, -math.log1p(x) / x, -math.log1p(1 / x))
    return max(0.0, round_up(math.fsum(terms) + SLACK * math.fsum(map(abs, terms))))


def concentrated_delta(rho: float, epsilon: float) -> float:
    """The least delta at `epsilon` that follows from rho-zCDP by one Renyi order, rounded up."""
    nonnegative("rho", rho)
    nonnegative("epsilon", epsilon)
    if rho == 0:
        return 0.0
    low, high = -745.0, 0.0  # logarithm of delta
    if concentrated_to_approximate(rho, math.exp(low)) <= epsilon:
        return math.exp(low)
    while high - low > 1e-13 * -low:
        middle = (low + high) / 2
        enough = concentrated_to_approximate(rho, math.exp(middle)) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
        if high == 0.0 and low > -1e-12:
            return 1.0
    return math.exp(high)


def concentrated_for(epsilon: float, delta: float) -> float:
    """The greatest rho whose `concentrated_to_approximate` at `delta` is at most `epsilon`.

    >>> rho = concentrated_for(1.0, 1e-6)
    >>> round(rho, 6), concentrated_to_approximate(rho, 1e-6) <= 1.0
    (0.024356, True)
    """
    nonnegative("epsilon", epsilon)
    probability("delta", delta)
    return _greatest(lambda rho: concentrated_to_approximate(rho, delta) <= epsilon, epsilon + 1)


def normal_mu(amount: float) -> float:
    """The mu of normal noise with (moved / sigma)^2 / 2 = `amount`, rounded up.

    >>> normal_mu(0.5) >= 1.0, normal_mu(0.0)
    (True, 0.0)
    """
    return round_up(math.sqrt(2 * amount), 2) if amount else 0.0


def _best_order(rho: float, delta: float) -> float:
    """The x > 0 with rho x^2 + ln(1 + x) = ln(1 / delta), the left side increasing."""
    goal = -math.log(delta)
    low, high = 0.0, math.sqrt(goal / rho)
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high or high - low < 1e-12 * high:
            break
        low, high = (middle, high) if rho * middle**2 + math.log1p(middle) < goal else (low, middle)
    return high


def _greatest(holds: Callable[[float], bool], bound: float) -> float:
    if not holds(0.0):
        return 0.0
    low, high = 0.0, bound
    while holds(high):
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 1e-15 * high:
            return low
        low, high = (middle, high) if holds(middle) else (low, middle)
