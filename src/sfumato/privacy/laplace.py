r"""The exact privacy profile of Laplace noise in one dimension, continuous and on the integers.

For a shift s and scale b the loss lies in [-s/b, s/b], and for epsilon <= s/b
    delta = 1 - exp((epsilon - s/b) / 2),   least scale b = s / (epsilon - 2 ln(1 - delta)).
On the integers, q = e^(-1/b), j the number of losses (s - 2 z)/b above epsilon with z >= 0:
    delta = 1 - (q^j + e^epsilon q^(s - j + 1)) / (1 + q).
Results are rounded up.  Proof: docs/proofs/privacy-laplace.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.numeric import ceil_float, floor_float, round_up
from sfumato.privacy.gaussian import least
from sfumato.privacy.parameters import nonnegative, positive, probability, whole

__all__ = [
    "discrete_laplace_delta",
    "discrete_laplace_scale",
    "laplace_delta",
    "laplace_scale",
    "printed_laplace_scale",
]


def laplace_delta(scale: float, sensitivity: float, epsilon: float) -> float:
    """The least delta of Laplace noise at `epsilon`, rounded up.

    >>> round(laplace_delta(1.0, 1.0, 0.5), 6), laplace_delta(1.0, 1.0, 1.0)
    (0.221199, 0.0)
    """
    positive("scale", scale)
    nonnegative("sensitivity", sensitivity)
    nonnegative("epsilon", epsilon)
    excess = Fraction(sensitivity) / Fraction(scale) - Fraction(epsilon)
    if excess <= 0:
        return 0.0
    if excess > 1500:
        return 1.0
    return min(1.0, round_up(-math.expm1(-ceil_float(excess / 2)), 4))


def laplace_scale(sensitivity: float, epsilon: float, delta: float = 0.0) -> float:
    """The least scale that gives (epsilon, delta): sensitivity / (epsilon - 2 ln(1 - delta)).

    >>> round(laplace_scale(2996, 0.1, 0.1)), laplace_scale(1.0, 0.5)
    (9642, 2.0)
    """
    nonnegative("sensitivity", sensitivity)
    nonnegative("epsilon", epsilon)
    probability("delta", delta, zero=True)
    if sensitivity == 0:
        return math.ulp(0.0)
    total = positive("epsilon - 2 ln(1 - delta)", epsilon - 2 * math.log1p(-delta))
    scale = sensitivity / total * (1 - 1e-14)
    while laplace_delta(scale, sensitivity, epsilon) > delta:
        scale = round_up(scale)
    return scale


def printed_laplace_scale(sensitivity: float, epsilon: float, delta: float) -> float:
    """The sufficient rule sensitivity / (epsilon - ln(1 - delta)), larger than needed.  [Jazbec2018, 4.9]

    >>> round(printed_laplace_scale(2996, 2.0, 0.5))
    1112
    """
    nonnegative("sensitivity", sensitivity)
    nonnegative("epsilon", epsilon)
    probability("delta", delta, zero=True)
    total = positive("epsilon - ln(1 - delta)", epsilon - math.log1p(-delta))
    return round_up(sensitivity / total, 4)


def discrete_laplace_delta(scale: float, sensitivity: int, epsilon: float) -> float:
    """The least delta at `epsilon` of integer noise with weights exp(-|z| / scale), rounded up.

    Integer shifts up to `sensitivity`; the largest is the worst.

    >>> discrete_laplace_delta(2.0, 1, 0.5), round(discrete_laplace_delta(1.0, 1, 0.0), 6)
    (0.0, 0.462117)
    """
    positive("scale", scale)
    whole("sensitivity", sensitivity, 0)
    nonnegative("epsilon", epsilon)
    rate = 1 / Fraction(scale)
    if sensitivity * rate <= Fraction(epsilon):
        return 0.0
    count = math.ceil((sensitivity - Fraction(epsilon) / rate) / 2)  # losses (s - 2z)/b above epsilon
    first = -math.expm1(-min(ceil_float(count * rate), 1e4))
    exponent = min(max(Fraction(epsilon) - (sensitivity - count) * rate, Fraction(-(10**4))), Fraction(700))  # upwards
    second = -math.expm1(floor_float(exponent))
    ratio = math.exp(-min(ceil_float(rate), 1e4))
    slack = 8 * 2.0**-53 * (abs(first) + abs(second))
    return min(1.0, max(0.0, round_up((first + ratio * second + slack) / (1 + ratio), 4)))


def discrete_laplace_scale(sensitivity: int, epsilon: float, delta: float = 0.0) -> float:
    """A scale whose `discrete_laplace_delta` is at most `delta`, least where that is monotone."""
    whole("sensitivity", sensitivity, 0)
    if sensitivity == 0:
        return math.ulp(0.0)
    start = laplace_scale(float(sensitivity), epsilon, delta)
    return least(lambda scale: discrete_laplace_delta(scale, sensitivity, epsilon) <= delta, start)
