"""Checks of what bounds are asked about, and their rounding: a lower bound is rounded down."""

from __future__ import annotations

import math

from sfumato.errors import ParameterError

__all__ = ["nonnegative", "positive", "probability", "rounded_down", "whole"]

MARGIN = 1e-12  # far above what the rounding of a closed form loses


def positive(name: str, value: float) -> float:
    """The value, if it is a finite number above 0."""
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be finite and positive, got {value!r}")
    return value


def nonnegative(name: str, value: float) -> float:
    """The value, if it is a finite number of at least 0."""
    if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
        raise ParameterError(f"{name} must be finite and at least 0, got {value!r}")
    return value


def whole(name: str, value: int) -> int:
    """The value, if it is a whole number of at least 1."""
    if not (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    return value


def probability(name: str, value: float) -> float:
    """The value, if it lies in [0, 1)."""
    if not (isinstance(value, int | float) and 0 <= value < 1):
        raise ParameterError(f"{name} must lie in [0, 1), got {value!r}")
    return value


def rounded_down(bound: float) -> float:
    """A bound that rounding has not lifted above its true value."""
    return bound * (1 - MARGIN)
