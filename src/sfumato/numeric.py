"""Outward rounding: privacy losses round up, noise scales round up, and decimals are read exactly."""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.errors import ParameterError

__all__ = ["ceil_float", "exact", "floor_float", "round_down", "round_up"]


def round_up(value: float, steps: int = 1) -> float:
    """The float `steps` above `value`: covers that many correctly rounded operations.

    >>> round_up(1.0)
    1.0000000000000002
    """
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


def round_down(value: float, steps: int = 1) -> float:
    """The float `steps` below `value`."""
    return -round_up(-value, steps)


def ceil_float(value: Fraction) -> float:
    """The least float not below a rational.

    >>> ceil_float(Fraction(1, 2)), ceil_float(Fraction(1, 10)) >= Fraction(1, 10)
    (0.5, True)
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else round_up(nearest)


def floor_float(value: Fraction) -> float:
    """The greatest float not above a rational."""
    return -ceil_float(-value)


def exact(value: float | int | str | Fraction, name: str = "value") -> Fraction:
    """The decimal a person wrote, as a rational: 0.1 is one tenth, not its binary neighbor.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    try:
        return Fraction(repr(float(value)) if isinstance(value, float) else str(value))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} must be a finite number, got {value!r}") from None
