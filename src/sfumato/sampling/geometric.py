"""The geometric law, P(k) proportional to exp(-k / scale) on 0, 1, 2, ...: one half-line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.randomness import Rng
from sfumato.sampling.drawing import Plan, Shape, draw, plan
from sfumato.sampling.envelope import Branch, Envelope
from sfumato.sampling.laplace import cell_exponent
from sfumato.sampling.law import check_scale, least_integer, outward

__all__ = ["Geometric"]


@dataclass(frozen=True, slots=True)
class Geometric:
    """One-sided geometric noise; `scale` is the exact double.

    >>> Geometric(1.0).tail(0) >= math.exp(-1)
    True
    """

    scale: float

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)

    def sample(self, shape: Shape, rng: Rng) -> Any:
        """Independent draws, an int64 array of this shape; an int for () and None."""
        return draw(_plan(self.scale), shape, rng)

    def pmf(self, z: int) -> float:
        """P(Z = z) = (1 - q) q**z with q = exp(-1 / scale)."""
        return -math.expm1(-1 / self.scale) * math.exp(-z / self.scale) if z >= 0 else 0.0

    def tail(self, t: int) -> float:
        """P(Z > t), rounded up."""
        x = max(t + 1, 0) / self.scale
        return outward(math.exp(-x), x)

    def quantile(self, beta: float) -> int:
        """The least integer t with P(Z > t) <= beta, never too small."""
        return least_integer(self.tail, beta, self.scale * math.log(1 / beta) if beta > 0 else 0)

    @property
    def variance(self) -> float:
        """q / (1 - q)^2."""
        return math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2

    @property
    def mean_absolute(self) -> float:
        """q / (1 - q)."""
        return -math.exp(-1 / self.scale) / math.expm1(-1 / self.scale)


@lru_cache(maxsize=64)
def _plan(scale: float) -> Plan:
    return plan(Envelope(1 / Fraction(scale), Fraction(0), cell_exponent(scale), (Branch(0),)))
