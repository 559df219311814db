"""The lattice of a numeric column: whole multiples of a public step between two public bounds."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.numeric import exact

__all__ = ["Lattice", "entries_of"]

LARGEST_INDEX = 2**52  # an index, and one half added to it, is still exact as a float


@dataclass(frozen=True, slots=True)
class Lattice:
    """The points `low * step, ..., high * step`, all known exactly.

    >>> cents = Lattice.between(0, 10, 0.01)
    >>> cents.low, cents.high, cents.value(250)
    (0, 1000, 2.5)
    """

    step: Fraction
    low: int
    high: int

    @classmethod
    def between(cls, low: float, high: float, step: float | None) -> Lattice:
        """The lattice from `low` to `high`; both must be multiples of `step`."""
        for name, given in (("low", low), ("high", high), ("step", 1 if step is None else step)):
            if not isinstance(given, Real | Decimal) or isinstance(given, bool):
                raise ParameterError(f"{name} must be a finite number, got {given!r}")
            if abs(exact(given, name)) > sys.float_info.max:
                raise ParameterError(f"{name} must be a finite number of at most {sys.float_info.max:.1g}")
        bottom, top = exact(low, "low"), exact(high, "high")
        if not bottom < top:
            raise ParameterError(f"low must be below high, got low={low} and high={high}")
        if not sys.float_info.min <= top - bottom <= sys.float_info.max:
            raise ParameterError(
                f"low and high must lie between {sys.float_info.min:.1g} and {sys.float_info.max:.1g} apart; "
                "choose other bounds, or another unit of measurement"
            )
        width = _default_step(bottom, top) if step is None else exact(step, "step")
        if width <= 0:
            raise ParameterError(f"step must be positive, got {step}")
        if max(width.numerator, width.denominator) > sys.float_info.max:  # engines multiply by one, divide by the other
            raise ParameterError(
                f"step={float(width):g} is too fine or too large to count in; "
                "choose one between 1e-308 and 1e308, or another unit of measurement"
            )
        for name, bound in (("low", bottom), ("high", top)):
            if (bound / width).denominator != 1:
                raise ParameterError(
                    f"{name}={float(bound):g} is not a multiple of step={float(width):g}; "
                    "choose a step that divides both bounds"
                )
        lattice = cls(width, int(bottom / width), int(top / width))
        if max(abs(lattice.low), abs(lattice.high)) > LARGEST_INDEX:
            raise ParameterError(
                f"step={float(width):g} is too fine for bounds {low} to {high}: "
                "at most 2^52 steps on either side of 0; choose a larger step"
            )
        return lattice

    def is_default(self, least: int) -> bool:
        """Whether the step is what it is where none is said, and at least so much."""
        return self.step >= least and self.step == _default_step(self.low * self.step, self.high * self.step)

    @property
    def width(self) -> int:
        """How many steps lie between the bounds."""
        return self.high - self.low

    def value(self, index: int | Fraction) -> float:
        """The number at an index (which may lie between points or outside the bounds)."""
        return float(index * self.step)

    def values(self, indices: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The numbers at many indices."""
        scaled = np.asarray(indices, dtype=np.float64) * self.step.numerator
        return np.asarray(scaled / self.step.denominator, dtype=np.float64)

    def index(self, value: float) -> int:
        """The nearest point's index, clipped: the rule every engine follows, step by step.

        A value at or beyond a bound takes that bound; any other is divided by the step in double
        precision, one half is added, and the result is rounded down.
        """
        if value <= self.low_value:
            return self.low
        if value >= self.high_value:
            return self.high
        nearest = math.floor(self.scaled(value) + 0.5)
        return min(max(nearest, self.low), self.high)

    def places(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """`index` less `low` of many values, -1 for NaN.

        >>> Lattice.between(0, 1, 0.5).places(np.array([0.3, np.nan, np.inf])).tolist()
        [1, -1, 2]
        """
        inside = np.clip(np.nan_to_num(values, nan=self.low_value), self.low_value, self.high_value)
        numerator, denominator = float(self.step.numerator), float(self.step.denominator)
        scaled = inside if denominator == 1 else inside * denominator
        scaled = scaled if numerator == 1 else scaled / numerator
        nearest = np.clip(np.floor(scaled + 0.5), self.low, self.high).astype(np.int64) - self.low
        return np.where(np.isnan(values), -1, nearest)

    def scaled(self, value: float) -> float:
        """A value in steps: one correctly rounded operation when the step or its inverse is whole."""
        if self.step.numerator == 1:
            return value * float(self.step.denominator)
        if self.step.denominator == 1:
            return value / float(self.step.numerator)
        return value * float(self.step.denominator) / float(self.step.numerator)

    @property
    def low_value(self) -> float:
        """The lower bound as a float."""
        return float(self.low * self.step)

    @property
    def high_value(self) -> float:
        """The upper bound as a float."""
        return float(self.high * self.step)

    @property
    def rounding_stays_inside(self) -> bool:
        """Whether `floor(scaled + 1/2)` never leaves the lattice, so that engines need no second clip.

        Each operation is monotone, so it is enough to look at the two bounds.
        """
        ends = (math.floor(self.scaled(bound) + 0.5) for bound in (self.low_value, self.high_value))
        return tuple(ends) == (self.low, self.high)


def entries_of(lattice: Lattice, size: int) -> tuple[list[float], list[float], list[float], list[float]]:
    """Lists of points: all lowest, all highest, these in turn, and rising.

    >>> entries_of(Lattice.between(0, 4, 1), 3)[2:]
    ([0.0, 4.0, 0.0], [0.0, 2.0, 4.0])
    """
    low, high = lattice.low_value, lattice.high_value
    rising = [lattice.value(lattice.low + lattice.width * place // max(size - 1, 1)) for place in range(size)]
    return [low] * size, [high] * size, [(low, high)[place % 2] for place in range(size)], rising


def _default_step(low: Fraction, high: Fraction) -> Fraction:
    """A power of ten that divides both bounds and cuts the range into at least ten thousand steps."""
    exponent = math.floor(math.log10(high - low)) - 4
    step = Fraction(10) ** exponent
    while (low / step).denominator != 1 or (high / step).denominator != 1:
        exponent -= 1
        if exponent < -18:
            raise ParameterError(
                f"no power of ten divides both low={float(low):g} and high={float(high):g}; give step="
            )
        step = Fraction(10) ** exponent
    return step
