"""Bounded numbers with the absolute difference as metric."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.numerals import number_in

__all__ = ["Integers", "Interval", "number"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers from `low` to `high`, known to the nearest multiple of `step`.

    Coercion: out of range and infinite values clip; null, NaN and what is not a number are missing.
    So are codes in `na`, such as 99: they are compared before anything is clipped or rounded.
    Missing values are left out (also of counts), or stand for the public value `missing`.

    >>> age = Interval(0, 120, step=1)
    >>> age.coerce(37.4), age.coerce(float("inf")), age.coerce(float("nan"))
    (37.0, 120.0, None)
    >>> age.diameter
    120.0
    """

    low: float
    high: float
    step: float | None = field(default=None, compare=False)  # the lattice is compared
    missing: float | None = field(default=None, kw_only=True)
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    lattice: Lattice = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, self.step))
        object.__setattr__(self, "na", codes.checked(self.na))
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
        found = number(value)
        if found is None or found in codes.numbers_of(self.na):
            return None if self.missing is None else self.lattice.value(self.lattice.index(self.missing))
        return self.lattice.value(self.lattice.index(found))

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "interval",
            "low": self.low,
            "high": self.high,
            "step": float(self.lattice.step),
            "missing": self.missing,
            **codes.in_record(self.na),
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
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if not isinstance(bound, int) or isinstance(bound, bool):
                raise ParameterError(f"{name} must be a whole number, got {bound!r}; for others use Interval")
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, 1))
        object.__setattr__(self, "na", codes.checked(self.na))
        _check_missing(self.missing, self.low, self.high)
        if self.missing is not None and self.missing != int(self.missing):
            raise ParameterError(f"missing must be a whole number, got {self.missing!r}")

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return float(self.high - self.low)

    def distance(self, one: int, other: int) -> float:
        """The absolute difference."""
        return float(abs(one - other))

    def coerce(self, value: Any) -> int | None:
        """The whole number that stands for `value`, or None if it is missing."""
        found = number(value)
        if found is None or found in codes.numbers_of(self.na):
            return self.missing
        return self.lattice.index(found)

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        record = {"type": "integers", "low": self.low, "high": self.high, "missing": self.missing}
        return record | codes.in_record(self.na)


def number(value: Any) -> float | None:
    """The number that a value is, or that a text stands for; None for NaN and all else."""
    if isinstance(value, str):
        return number_in(value)
    if not isinstance(value, Real | Decimal) or isinstance(value, bool | np.bool_):
        return None
    try:
        found = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):  # a signaling NaN
        return None
    return None if math.isnan(found) else found


def _check_missing(missing: Any, low: float, high: float) -> None:
    if missing is None:
        return
    if number(missing) is None or isinstance(missing, str):
        raise ParameterError(f"missing must be a number between low={low} and high={high}, got {missing!r}")
    if not low <= missing <= high:
        raise ParameterError(f"missing={missing} must lie between low={low} and high={high}")
