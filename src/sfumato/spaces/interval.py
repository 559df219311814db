"""Bounded numbers with the absolute difference as metric."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import ParameterError
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.numerals import number_in

__all__ = ["Integers", "Interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers from `low` to `high`, known to the nearest multiple of `step`.

    Coercion: out of range and infinite values clip; null, NaN and what is not a number are missing.
    Missing values are left out (also of counts), or stand for the public value `missing`.

    >>> age = Interval(0, 120, step=1)
    >>> age.coerce(37.4), age.coerce(float("inf")), age.coerce(float("nan"))
    (37.0, 120.0, None)
    >>> age.diameter
    120.0
    """

    low: float
    high: float
    step: float | None = None
    missing: float | None = field(default=None, kw_only=True)
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, self.step))
        _check_missing(self.missing, self.low, self.high)

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return self.lattice.value(self.lattice.width)

    def distance(self, one: float, other: float) -> float:
        """The absolute difference."""
        return abs(one - other)

    def coerce(self, value: Any) -> float | None:
        """The point of the lattice that stands for `value`, or None if it is missing."""
        number = _number(value)
        if number is None:
            return None if self.missing is None else self.lattice.value(self.lattice.index(self.missing))
        return self.lattice.value(self.lattice.index(number))

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "interval",
            "low": self.low,
            "high": self.high,
            "step": float(self.lattice.step),
            "missing": self.missing,
        }


@dataclass(frozen=True, slots=True)
class Integers:
    """Whole numbers from `low` to `high`; coerced as an `Interval` of step 1.

    >>> Integers(0, 5).coerce("4"), Integers(0, 5).coerce(99)
    (4, 5)
    """

    low: int
    high: int
    missing: int | None = field(default=None, kw_only=True)
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if not isinstance(bound, int) or isinstance(bound, bool):
                raise ParameterError(f"{name} must be a whole number, got {bound!r}; for others use Interval")
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, 1))
        _check_missing(self.missing, self.low, self.high)

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return float(self.high - self.low)

    def distance(self, one: int, other: int) -> float:
        """The absolute difference."""
        return float(abs(one - other))

    def coerce(self, value: Any) -> int | None:
        """The whole number that stands for `value`, or None if it is missing."""
        number = _number(value)
        return self.missing if number is None else self.lattice.index(number)

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {"type": "integers", "low": self.low, "high": self.high, "missing": self.missing}


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return number_in(value)
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return None
    return None if math.isnan(number) else number


def _check_missing(missing: float | None, low: float, high: float) -> None:
    if missing is not None and not low <= missing <= high:
        raise ParameterError(f"missing={missing} must lie between low={low} and high={high}")
