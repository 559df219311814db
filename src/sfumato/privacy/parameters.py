"""Refusals shared by the accounting functions: each names the argument, the reason and the fix."""

from __future__ import annotations

import math

from sfumato.errors import ParameterError

__all__ = ["nonnegative", "positive", "probability", "whole"]


def positive(name: str, value: float) -> float:
    """The value, if it is a finite number above 0."""
    if not (_numeric(value) and math.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be a finite number above 0, got {value!r}")
    return float(value)


def nonnegative(name: str, value: float) -> float:
    """The value, if it is a finite number of at least 0."""
    if not (_numeric(value) and math.isfinite(value) and value >= 0):
        raise ParameterError(f"{name} must be a finite number of at least 0, got {value!r}")
    return float(value)


def probability(name: str, value: float, *, zero: bool = False) -> float:
    """The value, if it lies strictly between 0 and 1 (or is 0 where `zero` allows it)."""
    if not (_numeric(value) and (0 < value < 1 or (zero and value == 0))):
        bounds = "[0, 1)" if zero else "(0, 1)"
        hint = "" if zero else "; for delta = 0 ask for a pure guarantee"
        raise ParameterError(f"{name} must lie in {bounds}, got {value!r}{hint}")
    return float(value)


def whole(name: str, value: int, least: int = 1) -> int:
    """The value, if it is a whole number of at least `least`."""
    if not (isinstance(value, int) and not isinstance(value, bool) and value >= least):
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return value


def _numeric(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
