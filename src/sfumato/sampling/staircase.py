"""The staircase law of GengViswanath2016 on the integers: flat steps, each lower by a factor exp(-epsilon).

P(z) is proportional to exp(-epsilon level(|z|)), level(k) = 0 below `width`, else
1 + floor((k - width) / sensitivity).  The level is drawn under an envelope, as the sum of two geometric
half-lines, then a uniform place on the level (docs/proofs/sampling-staircase.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.drawing import CHUNK, Integers, Plan, Shape, draw, plan
from sfumato.sampling.envelope import Branch, Envelope
from sfumato.sampling.fixedpoint import LazyUniform
from sfumato.sampling.laplace import cell_exponent
from sfumato.sampling.law import check_scale, least_integer, outward
from sfumato.sampling.uniform import below, floor_scaled

__all__ = ["Staircase"]

LARGEST = (
    2**53
)  # of the sensitivity, and of sensitivity / epsilon, so that no draw leaves int64 but with probability e**-500


@dataclass(frozen=True, slots=True)
class Staircase:
    """Staircase noise; `epsilon` is the exact double.

    >>> law = Staircase(sensitivity=2, epsilon=1.0, width=1)
    >>> law.pmf(1) == law.pmf(2) == law.pmf(-2), law.level(3)
    (True, 2)
    """

    sensitivity: int
    epsilon: float
    width: int

    def __post_init__(self) -> None:
        if not (isinstance(self.sensitivity, int) and self.sensitivity >= 1):
            raise ParameterError(f"sensitivity must be a positive integer, got {self.sensitivity!r}")
        if not (isinstance(self.width, int) and 1 <= self.width <= self.sensitivity):
            raise ParameterError(
                f"width must be an integer from 1 to the sensitivity {self.sensitivity}, got {self.width!r}"
            )
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError(f"epsilon must be finite and positive, got {self.epsilon!r}")
        check_scale("1 / epsilon", 1 / self.epsilon)
        if max(self.sensitivity, self.sensitivity / self.epsilon) > LARGEST:
            raise ParameterError("sensitivity and sensitivity / epsilon must be at most 2**53; use a coarser lattice")

    def level(self, z: int) -> int:
        """The step on which z lies."""
        return max(0, 1 + (abs(z) - self.width) // self.sensitivity)

    def sample(self, shape: Shape, rng: Rng) -> Any:
        """Independent draws, an int64 array of this shape; an int for () and None."""
        levels = draw(_levels(self), shape, rng)
        if isinstance(levels, int):
            places = 2 * self.sensitivity if levels else 2 * self.width - 1
            return self._value(levels, floor_scaled(LazyUniform(rng.word(), 64), places, rng))
        flat = levels.reshape(-1)
        for start in range(0, flat.size, CHUNK):
            part = flat[start : start + CHUNK]
            size = np.where(part == 0, 2 * self.width - 1, 2 * self.sensitivity).astype(np.uint64)
            part[:] = self._values(part, below(size, rng))
        return levels

    def _value(self, level: int, place: int) -> int:
        """The integer at a place of a level: first the positive ones, then the negative ones."""
        if level == 0:
            return place - (self.width - 1)
        reach = self.width + (level - 1) * self.sensitivity
        return reach + place if place < self.sensitivity else self.sensitivity - place - reach

    def _values(self, level: Integers, place: Integers) -> Integers:
        negative = place >= self.sensitivity
        reach = self.width + (level - 1) * self.sensitivity + place
        outer = np.where(negative, self.sensitivity - reach, reach)
        values: Integers = np.where(level == 0, place - (self.width - 1), outer)
        return values

    def pmf(self, z: int) -> float:
        """P(Z = z)."""
        return math.exp(-self.epsilon * self.level(z)) / self._total()

    def tail(self, t: int) -> float:
        """P(|Z| > t), rounded up."""
        if t < 0:
            return 1.0
        if t < self.width:
            inner = 2 * (self.width - 1 - t)
            return outward((inner + 2 * self.sensitivity * self._falling()) / self._total(), 1.0)
        level = self.level(t)
        rest = self.sensitivity - 1 - (t - self.width) % self.sensitivity
        above = math.exp(-self.epsilon * level) * 2 * (rest + self.sensitivity * self._falling())
        return outward(above / self._total(), self.epsilon * level)

    def quantile(self, beta: float) -> int:
        """The least integer t with P(|Z| > t) <= beta, never too small."""
        guess = self.sensitivity * math.log(1 / beta) / self.epsilon if 0 < beta < 1 else 0.0
        return least_integer(self.tail, beta, guess)

    @property
    def variance(self) -> float:
        """E Z^2, summed in closed form."""
        w, s, r = self.width, self.sensitivity, math.exp(-self.epsilon)
        fall = -math.expm1(-self.epsilon)
        ones, firsts, squares = r / fall, (r / fall) ** 2, r * r * (1 + r) / fall**3
        starts = w * w * ones + 2 * w * s * firsts + s * s * squares
        linear = (w * ones + s * firsts) * (s - 1)
        inner = (w - 1) * w * (2 * w - 1) / 3
        outer = 2 * s * (starts + linear + (s - 1) * (2 * s - 1) / 6 * ones)
        return (inner + outer) / self._total()

    @property
    def mean_absolute(self) -> float:
        """E |Z|, summed in closed form."""
        w, s, ones = self.width, self.sensitivity, self._falling()
        outer = 2 * s * ((w + (s - 1) / 2) * ones + s * ones**2)
        return (w * (w - 1) + outer) / self._total()

    def _falling(self) -> float:
        """The sum of exp(-epsilon j) over j >= 1."""
        return -math.exp(-self.epsilon) / math.expm1(-self.epsilon)

    def _total(self) -> float:
        return 2 * self.width - 1 + 2 * self.sensitivity * self._falling()


@lru_cache(maxsize=64)
def _levels(law: Staircase) -> Plan:
    """The level: weight 2 width - 1 on level 0 and 2 sensitivity on each later one."""
    everywhere = Branch(0, 1, 2 * law.width - 1)
    from_one = Branch(1, 1, 2 * (law.sensitivity - law.width) + 1)
    exponent = cell_exponent(1 / law.epsilon)
    return plan(Envelope(Fraction(law.epsilon), Fraction(0), exponent, (everywhere, from_one)))
