"""Outward rounding: privacy losses round up, noise scales round up, and decimals are read exactly."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from statistics import NormalDist

from sfumato.errors import ParameterError

__all__ = [
    "PI",
    "ceil_float",
    "exact",
    "floor_float",
    "normal_point",
    "round_down",
    "round_up",
    "shown_down",
    "shown_up",
]

PI = Fraction(355, 113)  # above pi, by less than a ten-millionth of it


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


def normal_point(tail: float) -> float:
    """What a standard normal variable exceeds with this probability, to the last digits of a float.

    >>> round(normal_point(0.025), 9)
    1.959963985
    """
    if not 0 < tail < 1:
        return math.inf if tail <= 0 else -math.inf
    return -NormalDist().inv_cdf(tail)


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


def shown_up(value: float, digits: int) -> str:
    """The number in at most `digits` significant digits, rounded up: what a claim may print.

    >>> shown_up(1.10517, 4), shown_up(0.1, 6), shown_up(3.6849e-7, 3)
    ('1.106', '0.1', '3.69e-07')
    """
    return _shown(value, digits, ROUND_CEILING)


def shown_down(value: float, digits: int) -> str:
    """The same rounded down, for what is at least so large.

    >>> shown_down(1.2399, 3)
    '1.23'
    """
    return _shown(value, digits, ROUND_FLOOR)


def _shown(value: float, digits: int, rounding: str) -> str:
    """The shortest decimal that reads back as the float stands for it, as with `exact`."""
    if not math.isfinite(value):
        return f"{value:g}"
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(float(value))))
    return f"{float(rounded):.{digits}g}"
