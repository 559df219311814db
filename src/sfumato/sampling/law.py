"""What laws share: checks of their parameters, tails rounded up, quantiles never too small."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real

from sfumato.errors import ParameterError

__all__ = ["check_beta", "check_scale", "least_integer", "outward"]

SMALLEST, LARGEST = 1e-3, 1e15  # scales in lattice units


def check_scale(name: str, value: float) -> None:
    """Refuse a scale that is not a number of lattice units within the supported range."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and SMALLEST <= value <= LARGEST):
        advice = "finer lattice (a smaller step)" if number and value < SMALLEST else "coarser lattice (a larger step)"
        raise ParameterError(
            f"{name} must be between {SMALLEST:g} and {LARGEST:g} lattice units, got {value!r}; choose a {advice}"
        )


def check_beta(beta: float) -> None:
    """Refuse a failure probability outside (0, 1)."""
    if not 0 < beta < 1:
        raise ParameterError(f"beta must be strictly between 0 and 1, got {beta!r}")


def outward(value: float, argument: float = 0.0) -> float:
    """Above the true value, after a few correctly rounded steps and one exponential of -argument.

    Rounding the argument of an exponential moves it by a relative argument * 2**-53; the rest is
    below 2**-47.  Probabilities stay at most one.
    """
    return min(1.0, value * (1.0 + (argument + 64.0) * 2.0**-51) + 5e-324)


def least_integer(tail: Callable[[int], float], beta: float, guess: float) -> int:
    """The least t >= 0 with tail(t) <= beta, by doubling away from `guess` and bisection."""
    check_beta(beta)
    if tail(0) <= beta:
        return 0
    low, high, stride = 0, max(1, math.ceil(guess)), 1
    while tail(high) > beta:
        low, high, stride = high, high + stride, 2 * stride
    if (near := high - 2) > low and tail(near) > beta:
        low = near
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(middle) > beta else (low, middle)
    return high
