r"""The exact privacy profile of Gaussian noise, continuous and on the integers.

With mu = sensitivity / sigma the least delta of Gaussian noise at epsilon is
    delta = Phi(a) - e^epsilon Phi(a - mu),    a = mu / 2 - epsilon / mu     [BalleWang2018, Theorem 8]
          = phi(a) (m(-a) - m(mu - a)),        m = (1 - Phi) / phi the Mills ratio.
The second form loses nothing in the tail; for small mu the difference is bounded by a trapezoid,
since -m' is convex.  On the integers the loss is a finite sum of positive terms (or, for wide
noise, the continuous value plus the error of the midpoint rule).  Results are rounded up.
Proof: docs/proofs/privacy-gaussian.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sfumato.numeric import ceil_float, round_down, round_up
from sfumato.privacy.conversions import normal_mu
from sfumato.privacy.parameters import nonnegative, positive, probability, whole

__all__ = [
    "discrete_gaussian_delta",
    "discrete_gaussian_sigma",
    "gaussian_amount",
    "gaussian_delta",
    "gaussian_pure",
    "gaussian_sigma",
]

SPECIAL_ERROR = 1e-14  # relative error granted to erfcx and erfc; the tests measure below 2e-15
SPLIT = 2.0**27 + 1  # halves the digits of a float
ASYMPTOTIC = 25.0  # where e^(x^2) is still a float, and eight terms of the asymptotic series give all digits
FAR = 38.5  # beyond so many standard deviations a normal tail is below the least float
SMALL = 60.0  # weights below e^-60 of the largest are bounded together
SUMMED_UP_TO = 2.0e4  # widest integer noise that is summed term by term
LEAST = math.ulp(0.0)
FEW_DIGITS = 0.01  # a mu below which two logarithms agree in too many digits to be subtracted
NEXT_TO_NONE = 1e-100  # a delta beside no epsilon, below which noise is wider than any number


def gaussian_delta(sigma: float, sensitivity: float, epsilon: float) -> float:
    """The least delta of Gaussian noise at `epsilon`, rounded up; `sensitivity` is in the l2 norm.

    >>> round(gaussian_delta(1.0, 1.0, 1.0), 12)
    0.126936737507
    """
    positive("sigma", sigma)
    nonnegative("sensitivity", sensitivity)
    nonnegative("epsilon", epsilon)
    if sensitivity == 0:
        return 0.0
    ratio = Fraction(sensitivity) / Fraction(sigma)
    center = ratio / 2 - Fraction(epsilon) / ratio
    if center > FAR:
        return 1.0
    if center < -FAR:
        return LEAST
    return _delta(min(float(round_up(_float(ratio))), 1e300), ceil_float(center)) + LEAST  # counts where digits end


def gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """The least sigma whose `gaussian_delta` is at most `delta`, rounded up.

    >>> sigma = gaussian_sigma(1.0, 1.0, 1e-6)
    >>> round(sigma, 6), gaussian_delta(sigma, 1.0, 1.0) <= 1e-6
    (4.224679, True)
    """
    nonnegative("sensitivity", sensitivity)
    nonnegative("epsilon", epsilon)
    probability("delta", delta)
    if sensitivity == 0:
        return LEAST
    return least(lambda sigma: gaussian_delta(sigma, sensitivity, epsilon) <= delta, sensitivity)


@functools.lru_cache(maxsize=256)  # of each claim it is asked again and again, and takes milliseconds
def gaussian_amount(epsilon: float, delta: float) -> float:
    """The greatest (moved / sigma)^2 / 2 of Gaussian noise whose delta at `epsilon` is at most `delta`, rounded down.

    >>> round(gaussian_amount(1.0, 1e-6), 6)
    0.028014
    """
    if not epsilon and delta < NEXT_TO_NONE:
        return 0.0
    sigma = gaussian_sigma(1.0, epsilon, delta)
    amount = 0.5 / sigma / sigma
    while amount > 0 and gaussian_delta(1.0, normal_mu(amount), epsilon) > delta:
        amount = round_down(amount)
    return amount


def gaussian_pure(mu: float) -> float:
    """The greatest epsilon whose pure claims no test tells better than normal laws mu apart, rounded down.

    Below `FEW_DIGITS` sqrt(2 / pi) mu, which is less, by under mu^2 / 20 of it (docs/proofs/selection.md).
    """
    from scipy.special import log_ndtr

    if mu < FEW_DIGITS:
        return mu * 0.797884560802
    return max(0.0, float(log_ndtr(mu / 2) - log_ndtr(-mu / 2)) * (1 - 1e-13))


def discrete_gaussian_delta(sigma: float, sensitivity: int, epsilon: float) -> float:
    """The least delta at `epsilon` of integer noise with weights exp(-z^2 / (2 sigma^2)), rounded up.

    One dimension, integer shifts up to `sensitivity`; the largest shift is the worst.
    """
    positive("sigma", sigma)
    whole("sensitivity", sensitivity, 0)
    nonnegative("epsilon", epsilon)
    if sensitivity == 0:
        return 0.0
    if sigma > SUMMED_UP_TO:
        return _wide_delta(sigma, sensitivity, epsilon)
    return _summed_delta(sigma, sensitivity, epsilon)


def discrete_gaussian_sigma(sensitivity: int, epsilon: float, delta: float) -> float:
    """A sigma whose `discrete_gaussian_delta` is at most `delta`, least where that is monotone."""
    whole("sensitivity", sensitivity, 0)
    nonnegative("epsilon", epsilon)
    probability("delta", delta)
    if sensitivity == 0:
        return LEAST
    start = gaussian_sigma(float(sensitivity), epsilon, delta)
    return least(lambda sigma: discrete_gaussian_delta(sigma, sensitivity, epsilon) <= delta, start)


def least(holds: Callable[[float], bool], start: float) -> float:
    """The least float at which a monotone condition holds, found by doubling and halving.

    >>> least(lambda x: x >= 2.0, 1.0)
    2.0
    """
    low = high = start
    while not holds(high):
        low, high = high, 2 * high
    while low == high or holds(low):
        low, high = low / 2, low
        if low == 0:
            return high
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return high
        low, high = (low, middle) if holds(middle) else (middle, high)


def _delta(mu: float, a: float) -> float:
    """Phi(a) - phi(a) m(mu - a), rounded up; increasing in both arguments."""
    phi = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    upper = _mills(mu - a)
    if a > 1:
        value = 1 - math.erfc(a / math.sqrt(2)) / 2 - phi * upper
        return min(1.0, value + SPECIAL_ERROR * (1 + phi * upper))
    lower = _mills(-a)
    difference = lower - upper + SPECIAL_ERROR * (lower + upper)
    if mu < 1e-2:  # the trapezoid is above the integral of the convex -m' = 1 - x m(x)
        slopes = (1 + a * lower) + (1 - (mu - a) * upper)
        slack = SPECIAL_ERROR * (2 + abs(a) * lower + abs(mu - a) * upper)
        difference = min(difference, mu / 2 * (slopes + slack))
    return min(1.0, round_up(phi * difference * (1 + 1e-12)))


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * _erfcx(x / math.sqrt(2))


def _erfcx(x: float) -> float:
    """e^(x^2) erfc(x) of any x above -1: what rounding takes off the square is put back, or all of it is a series."""
    if x > ASYMPTOTIC:
        total = term = 1.0
        for k in range(1, 9):
            term *= (1 - 2 * k) / (2 * x * x)
            total += term
        return total / (x * math.sqrt(math.pi))
    square, high = x * x, SPLIT * x - (SPLIT * x - x)
    low = x - high
    lost = ((high * high - square) + 2 * high * low) + low * low  # exactly the square's rounding [Dekker1971]
    return math.exp(square) * (1 + lost) * math.erfc(x)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return 1e300


def _summed_delta(sigma: float, shift: int, epsilon: float) -> float:
    """Sum over losses above epsilon of w(z) (1 - e^(epsilon - loss(z))), z descending."""
    variance = Fraction(sigma) ** 2
    last = math.ceil(Fraction(shift, 2) - Fraction(epsilon) * variance / shift) - 1
    if last < -FAR * sigma:
        return LEAST
    first = -math.ceil(math.sqrt(min(last, 0) ** 2 + 2 * SMALL * sigma * sigma)) - 1
    z = np.arange(first, min(last, math.ceil(FAR * sigma)) + 1, dtype=np.float64)
    loss = shift * (shift - 2 * z) / (2 * sigma * sigma)
    weights = np.exp(-((z / sigma) ** 2) / 2)
    missing = np.maximum(loss - epsilon, 0.0) + 8 * np.spacing(np.maximum(loss, epsilon))
    total = float(np.sum(weights * -np.expm1(-missing)))
    # weights below `first`, by the integral; and those above FAR sigma
    tail = float(weights[0]) * (1 + sigma * sigma / -first)
    tail += 2 * (sigma + 1) * math.exp(-FAR * FAR / 2) if last > FAR * sigma else 0.0
    return min(1.0, (total * (1 + 1e-12) + tail) / _normalizer(sigma))


def _normalizer(sigma: float) -> float:
    """A lower bound of the sum of exp(-z^2 / (2 sigma^2)) over the integers."""
    if sigma >= 3:  # Poisson summation: sqrt(2 pi) sigma (1 + 2 e^(-2 pi^2 sigma^2) + ...)
        return math.sqrt(2 * math.pi) * sigma * (1 - 1e-15)
    z = np.arange(1, 121)
    return float(1 + 2 * np.sum(np.exp(-((z / sigma) ** 2) / 2))) * (1 - 1e-14)


def _wide_delta(sigma: float, shift: int, epsilon: float) -> float:
    """The continuous value plus the error of the midpoint rule, an eighth of the integral of |h''|."""
    continuous = gaussian_delta(sigma, float(shift), epsilon)
    end = (shift / 2 - epsilon * sigma * sigma / shift + 0.5) / sigma
    ends = (end, end - shift / sigma)
    bends = [abs(x) * math.exp(-x * x / 2) if x <= -1 else 4 * math.exp(-0.5) for x in ends]
    growth = bends[0] + (math.exp(min(epsilon, 700.0)) * bends[1] if bends[1] else 0.0)
    correction = growth / (8 * sigma * sigma * math.sqrt(2 * math.pi))
    return min(1.0, (continuous + correction) * (1 + 1e-12))
