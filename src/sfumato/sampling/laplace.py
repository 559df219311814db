"""The discrete Laplace law, P(z) proportional to exp(-|z| / scale) on the integers.

Sampled exactly: nonnegative and negative integers are two geometric half-lines under one envelope
(GhoshRoughgardenSundararajan2012 for the law; docs/proofs/sampling-laplace.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.randomness import Rng
from sfumato.sampling.drawing import Plan, Shape, draw, plan
from sfumato.sampling.envelope import Branch, Envelope
from sfumato.sampling.law import check_scale, least_integer, outward

__all__ = ["DiscreteLaplace"]

TWO_SIDED = (Branch(0), Branch(1, -1))


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Two-sided geometric noise; `scale` is the exact double.

    >>> DiscreteLaplace(1.0).pmf(0) == math.tanh(0.5)
    True
    """

    scale: float

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)

    def sample(self, shape: Shape, rng: Rng) -> Any:
        """Independent draws, an int64 array of this shape; an int for () and None."""
        return draw(_plan(self.scale), shape, rng)

    def pmf(self, z: int) -> float:
        """P(Z = z) = tanh(1 / (2 scale)) exp(-|z| / scale)."""
        return math.tanh(0.5 / self.scale) * math.exp(-abs(z) / self.scale)

    def tail(self, t: int) -> float:
        """P(|Z| > t), rounded up."""
        if t < 0:
            return 1.0
        x = (t + 1) / self.scale
        return outward(2 * math.exp(-x) / (1 + math.exp(-1 / self.scale)), x)

    def quantile(self, beta: float) -> int:
        """The least integer t with P(|Z| > t) <= beta, never too small."""
        return least_integer(self.tail, beta, self.scale * math.log(1 / beta) if beta > 0 else 0)

    @property
    def variance(self) -> float:
        """1 / (2 sinh(1 / (2 scale))^2)."""
        half = 0.5 / self.scale
        return 2 * math.exp(-2 * half) / math.expm1(-2 * half) ** 2

    @property
    def mean_absolute(self) -> float:
        """1 / sinh(1 / scale)."""
        return -2 * math.exp(-1 / self.scale) / math.expm1(-2 / self.scale)


@lru_cache(maxsize=64)
def _plan(scale: float) -> Plan:
    return plan(Envelope(1 / Fraction(scale), Fraction(0), cell_exponent(scale), TWO_SIDED))


def cell_exponent(scale: float) -> int:
    """Cells of a sixteenth to an eighth of the scale; of one integer below scale 16."""
    return max(0, math.frexp(scale)[1] - 4)
