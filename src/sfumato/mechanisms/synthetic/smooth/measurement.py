"""One block measured once: its exact sum plus exact noise, and what that costs.

A unit moves the sum of a block by at most `moved` in the norm of the noise's law.  Costs of measurements add: epsilons
of pure laws, squared ratios moved / scale of normal ones (docs/proofs/synthesis-smooth.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.noise.gauges import gauge_cost
from sfumato.mechanisms.noise.law import Drawn, NoiseLaw
from sfumato.mechanisms.noise.normals import normal_cost
from sfumato.mechanisms.synthetic.smooth.features import QUANTUM, dimension
from sfumato.randomness import Rng

__all__ = ["Measurement", "moved"]


def moved(block: str, columns: int, norm: str, rows: int, exchanged: bool, ball: bool) -> int:
    """How far `rows` rows, added or removed, or exchanged for as many others, move a block's sum in a norm.

    >>> moved("mean", 30, "linf", 1, exchanged=True, ball=False) // QUANTUM
    2
    """
    if block == "radius":  # the pair s, s^2 / 2: in l1 one exchange moves it by 2, one row by 3/2
        return rows * (2 * QUANTUM + 1 if exchanged else 3 * QUANTUM // 2 + 1)
    times = 2 * rows if exchanged else rows
    size, longest = dimension(block, columns), QUANTUM * QUANTUM
    if norm == "linf" or (norm == "l2" and ball):
        return times * QUANTUM
    if norm == "l2":
        return times * (math.isqrt(size * longest) + 1)
    return times * (math.isqrt(size * longest) + 1 if ball else size * QUANTUM)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A block of `size` numbers under noise of the given law and scale, in multiples of 1 / QUANTUM."""

    block: str
    size: int
    law: NoiseLaw
    scale: float
    moved: int

    @property
    def epsilon(self) -> Fraction:
        """The pure cost; none for normal noise."""
        return gauge_cost(self.moved, self.scale) if self.law.pure else Fraction(0)

    @property
    def ratio(self) -> Fraction:
        """The squared ratio of sensitivity to standard deviation, for normal noise."""
        return Fraction(0) if self.law.pure else 2 * normal_cost(self.moved, self.scale)

    @property
    def noise(self) -> Drawn:
        """The noise of the whole block."""
        return self.law.on(self.scale, self.size)

    @property
    def deviation(self) -> float:
        """The standard deviation of one number's noise, in multiples of 1 / QUANTUM."""
        return math.sqrt(self.noise.variance)

    def release(self, total: npt.NDArray[np.int64], rng: Rng) -> npt.NDArray[np.int64]:
        """The sum with noise.  `total` is exact and secret."""
        return np.asarray(total + self.noise.sample(1, rng)[0])

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"block": self.block, "size": self.size, "law": self.law.name, "scale": self.scale, "moved": self.moved}
