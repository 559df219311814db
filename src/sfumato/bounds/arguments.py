"""Checks of what bounds are asked about."""

from __future__ import annotations

import math

from sfumato.errors import ParameterError

__all__ = ["positive", "probability"]


def positive(name: str, value: float) -> float:
    """The value, if it is a finite number above 0."""
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be finite and positive, got {value!r}")
    return value


def probability(name: str, value: float) -> float:
    """The value, if it lies in [0, 1)."""
    if not (isinstance(value, int | float) and 0 <= value < 1):
        raise ParameterError(f"{name} must lie in [0, 1), got {value!r}")
    return value
