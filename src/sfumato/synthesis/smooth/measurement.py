"""One block measured once: its exact sum plus exact noise, and what that costs.

A unit moves the sum of a block by at most `moved` in the norm that belongs to the noise: l-infinity for the cube, l1
for Laplace, l2 for the rounded normal law.  Costs of measurements add: epsilons of the first two kinds, squared
ratios moved / scale of the third (docs/proofs/synthesis-smooth.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.numeric import ceil_float, floor_float, round_up
from sfumato.privacy.conversions import pure_to_concentrated
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import CubeNoise, DiscreteLaplace, RoundedNormal
from sfumato.synthesis.smooth.features import QUANTUM, dimension

__all__ = ["LAWS", "Measurement", "composed", "moved"]

LAWS = ("cube", "laplace", "normal")


def moved(block: str, columns: int, law: str, rows: int, exchanged: bool, ball: bool) -> int:
    """How far `rows` rows, added or removed, or exchanged for as many others, move a block's sum in its law's norm.

    >>> moved("mean", 30, "cube", 1, exchanged=True, ball=False) // QUANTUM
    2
    """
    if block == "radius":  # the pair s, s^2 / 2: in l1 one exchange moves it by 2, one row by 3/2
        return rows * (2 * QUANTUM + 1 if exchanged else 3 * QUANTUM // 2 + 1)
    times = 2 * rows if exchanged else rows
    if law == "cube" or ball:
        return times * QUANTUM
    size = dimension(block, columns)
    return times * (math.isqrt(size * QUANTUM * QUANTUM) + 1 if law == "normal" else size * QUANTUM)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A block of `size` numbers under noise of the given law and scale, in multiples of 1 / QUANTUM."""

    block: str
    size: int
    law: str
    scale: float
    moved: int

    @property
    def epsilon(self) -> Fraction:
        """The pure cost; none for normal noise."""
        return Fraction(self.moved) / Fraction(self.scale) if self.law != "normal" else Fraction(0)

    @property
    def ratio(self) -> Fraction:
        """The squared ratio of sensitivity to standard deviation, for normal noise."""
        return (Fraction(self.moved) / Fraction(self.scale)) ** 2 if self.law == "normal" else Fraction(0)

    @property
    def noise(self) -> CubeNoise | DiscreteLaplace | RoundedNormal:
        """The exact law; the cube's draws are whole vectors."""
        if self.law == "cube":
            return CubeNoise(self.scale, self.size)
        return DiscreteLaplace(self.scale) if self.law == "laplace" else RoundedNormal(self.scale)

    @property
    def deviation(self) -> float:
        """The standard deviation of one number's noise, in multiples of 1 / QUANTUM."""
        return math.sqrt(self.noise.variance)

    def release(self, total: npt.NDArray[np.int64], rng: Rng) -> npt.NDArray[np.int64]:
        """The sum with noise.  `total` is exact and secret."""
        noise = self.noise
        drawn = noise.sample(None, rng) if isinstance(noise, CubeNoise) else noise.sample(self.size, rng)
        return np.asarray(total + drawn)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"block": self.block, "size": self.size, "law": self.law, "scale": self.scale, "moved": self.moved}


def composed(measurements: Sequence[Measurement], extra: Fraction, target: Guarantee) -> Guarantee:
    """What the measurements and pure steps of total `extra` cost together, as a claim of the target's kind."""
    pure = sum((m.epsilon for m in measurements), extra)
    ratio = sum((m.ratio for m in measurements), Fraction(0))
    if isinstance(target, Concentrated):
        return Concentrated(round_up(ceil_float(ratio / 2) + pure_to_concentrated(ceil_float(pure))))
    if not ratio:
        epsilon = ceil_float(pure)
        return Pure(epsilon) if isinstance(target, Pure) else Approximate(epsilon, 0.0)
    rest = Fraction(target.epsilon) - pure
    found = gaussian_delta(1.0, round_up(math.sqrt(ceil_float(ratio))), max(0.0, floor_float(rest)))
    return Approximate(target.epsilon, found)
