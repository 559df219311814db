r"""Local Laplace: the number on its lattice, plus two-sided geometric noise.  The baseline.

Definition.  Report place + Z, P(Z = z) proportional to exp(-|z| / scale), cut 80 scales beyond the lattice.

Guarantee.   epsilon = steps / scale, pure: two values are at most `steps` apart  [GhoshRoughgardenSundararajan2012].
Proof: docs/proofs/local-numbers.md.

Accuracy.    Variance 2 r/(1 - r)^2 steps of the lattice squared, r = exp(-1/scale), whatever the value.

Assumes.     Nothing beyond random bits: the noise is drawn exactly, from integers [CanonneKamathSteinke2020].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.local.protocols.drawing import check_count, check_target, uniform
from sfumato.local.protocols.numbers import STEPS, Number, Places, check_interval
from sfumato.local.protocols.protocol import Bits, Floats, Matrix, Reports
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["LocalLaplace"]

MIDDLE = 1 << 62  # the report of 0
LARGEST = 1 << 24  # scale
REACH = 80  # scales of noise at most; more has probability e^-80, and is cut


@dataclass(frozen=True, slots=True)
class LocalLaplace(Number):
    """Geometric noise of an integer `scale` on places from 0 to `steps`.

    Proof: docs/proofs/local-numbers.md.

    >>> noisy = LocalLaplace.calibrate(-1, 1, Pure(1.0))
    >>> noisy.guarantee(), round(noisy.risk(1), 3)
    (Pure(epsilon=1.0), 8.0)
    """

    name: ClassVar[str] = "laplace"

    low: float
    high: float
    steps: int
    scale: int

    def __post_init__(self) -> None:
        check_interval(self.low, self.high)
        check_count("steps", self.steps, 1, 1 << 20)
        check_count("scale", self.scale, 1, LARGEST)

    @classmethod
    def calibrate(cls, low: float, high: float, target: Pure | Approximate, steps: int = STEPS) -> LocalLaplace:
        """The least scale that meets `target`."""
        check_target(target)
        least = Fraction(steps) / Fraction(target.epsilon)
        return cls(float(low), float(high), steps, max(1, math.ceil(least)))

    @property
    def lattice(self) -> int:
        """Steps from low to high."""
        return self.steps

    def guarantee(self) -> Pure:
        """What one report costs."""
        return Pure(ceil_float(Fraction(self.steps, self.scale)))

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """Places plus noise, shifted by 2^62; cut where nobody comes, so that no report can drown the others."""
        place = self.coerce(values)
        noisy = place + _noise(self.scale, place.size, bits)
        return np.asarray(MIDDLE + np.clip(noisy, -self.reach, self.steps + self.reach), dtype=self.dtype)

    @property
    def reach(self) -> int:
        """The largest noise that is sent."""
        return REACH * self.scale

    @property
    def dtype(self) -> np.dtype[Any]:
        """One number."""
        return np.dtype("<u8")

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Places plus the noise that can occur."""
        inside = reports <= np.uint64(MIDDLE + self.steps + self.reach)
        return np.asarray(inside & (reports >= np.uint64(MIDDLE - self.reach)))

    def line(self) -> tuple[Fraction, Fraction]:
        """The score is the place, on average."""
        return Fraction(0), Fraction(1)

    def scores(self, reports: Reports) -> Places:
        """Noisy places."""
        return np.asarray(reports, dtype=np.int64) - MIDDLE

    def spread(self, place: Places) -> Floats:
        """2 r/(1 - r)^2."""
        return np.full(place.shape, 2 * math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2)

    def outputs(self) -> Reports:
        """Refused: there are infinitely many."""
        raise UnsupportedQuery("local Laplace has infinitely many reports; its channel is not a finite matrix")

    def channel(self) -> Matrix:
        """Refused: there are infinitely many."""
        raise UnsupportedQuery("local Laplace has infinitely many reports; its channel is not a finite matrix")

    def words(self) -> str:
        """What leaves the device."""
        width = (self.high - self.low) * self.scale / self.steps
        return f"the number, clipped to [{self.low:g}, {self.high:g}], plus Laplace noise of scale {width:.4g}"


def _noise(scale: int, count: int, bits: Bits) -> Places:
    """P(z) proportional to exp(-|z| / scale), exactly: a remainder below `scale`, a quotient, a sign."""
    out = np.zeros(count, dtype=np.int64)
    waiting = np.arange(count)
    while waiting.size:
        remainder = uniform(scale, waiting.size, bits)
        kept = _falls(remainder, scale, bits)
        quotient = np.zeros(waiting.size, dtype=np.int64)
        running = np.flatnonzero(kept)
        while running.size:
            running = running[_falls(np.full(running.size, scale), scale, bits)]
            quotient[running] += 1
        size = remainder + scale * np.minimum(quotient, 1 << 37)
        negative = uniform(2, waiting.size, bits) == 1
        kept &= ~(negative & (size == 0))  # zero has one sign
        out[waiting[kept]] = np.where(negative, -size, size)[kept]
        waiting = waiting[~kept]
    return out


def _falls(parts: Places, whole: int, bits: Bits) -> npt.NDArray[np.bool_]:
    """True with probability exp(-parts / whole), exactly: the first failure of coins parts/(whole j), at odd j."""
    result = np.zeros(parts.size, dtype=bool)
    running, j = np.arange(parts.size), 1
    while running.size:
        heads = uniform(whole * j, running.size, bits) < parts[running]
        result[running[~heads]] = j % 2 == 1
        running, j = running[heads], j + 1
    return result
