"""Tails of the binomial law with the standard library alone, so that a device decides as the collector does.

P(B >= s) = I_p(s, n - s + 1), the regularized incomplete beta function, by its continued fraction
[PressEtAl2007, 6.4].  Relative error below 1e-7 up to n = 10^8: the logarithms of gamma functions are rounded to 1e-16
of their size, at most 2e9.
"""

from __future__ import annotations

import math

__all__ = ["ERROR", "lower_tail", "upper_tail"]

ERROR = 1e-6  # relative, ten times what the roundings add up to
TINY = 1e-300
SETTLED = 1e-15


def upper_tail(s: int, n: int, p: float) -> float:
    """P(B >= s) for B binomial (n, p).

    >>> round(upper_tail(60, 100, 0.5), 6)
    0.028444
    """
    if s <= 0:
        return 1.0
    if s > n or p <= 0:
        return 0.0
    return 1.0 if p >= 1 else _incomplete_beta(s, n - s + 1, p)


def lower_tail(s: int, n: int, p: float) -> float:
    """P(B <= s) for B binomial (n, p)."""
    return upper_tail(n - s, n, 1 - p)


def _incomplete_beta(a: int, b: int, x: float) -> float:
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(logarithm) if logarithm > -745 else 0.0
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: int, b: int, x: float) -> float:
    """The continued fraction, by Lentz's method; about sqrt(max(a, b)) steps."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 100 + 20 * math.isqrt(a + b)):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):  # fmt: skip
            d = 1 / (1 + term * d or TINY)
            c = 1 + term / c or TINY
            total *= c * d
        if abs(c * d - 1) < SETTLED:
            break
    return total
