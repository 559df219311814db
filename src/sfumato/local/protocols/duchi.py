r"""Duchi's one-bit mean: a coin whose bias is the number.

Definition.  Report one with probability 1/2 + t (s - steps/2)/2^62 for the value at place s of a lattice.

Guarantee.   epsilon = ln( (1/2 + b)/(1/2 - b) ), b = t steps/2^63, pure  [DuchiJordanWainwright2018].
Proof: docs/proofs/local-numbers.md.

Accuracy.    On [-1, 1] the variance is ((e^epsilon + 1)/(e^epsilon - 1))^2 - x^2, over n; best for small epsilon.

Assumes.     Nothing beyond random bits: all probabilities are multiples of 2^-62, exactly linear in the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.drawing import GRAIN, SHIFT, check_count, loss, meet
from sfumato.local.protocols.numbers import STEPS, Number, Places, check_interval
from sfumato.local.protocols.protocol import Bits, Floats, Matrix, Reports
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Duchi"]


@dataclass(frozen=True, slots=True)
class Duchi(Number):
    """One bit, its probability growing by `tilt` units of 2^-62 with each step; an even number of steps.

    Proof: docs/proofs/local-numbers.md.

    >>> one_bit = Duchi.calibrate(-1, 1, Pure(1.0))
    >>> one_bit.guarantee().implies(Pure(1.0)), round(one_bit.risk(1), 4)
    (True, 4.6827)
    """

    name: ClassVar[str] = "duchi"

    low: float
    high: float
    steps: int
    tilt: int

    def __post_init__(self) -> None:
        check_interval(self.low, self.high)
        check_count("steps", self.steps, 2, 1 << 20)
        check_count("tilt", self.tilt, 1, (2**GRAIN - 1) // self.steps)
        if self.steps % 2:
            raise ParameterError("steps must be even, so that the middle is on the lattice")

    @classmethod
    def calibrate(cls, low: float, high: float, target: Pure | Approximate, steps: int = STEPS) -> Duchi:
        """The steepest coin that meets `target`."""
        check_count("steps", steps, 2, 1 << 20)
        return meet(lambda ratio: cls(float(low), float(high), steps, steepest(ratio, steps)), target)

    @property
    def lattice(self) -> int:
        """Steps from low to high."""
        return self.steps

    def chances(self, place: Places) -> Places:
        """The probability of a one, in units of 2^-62."""
        return (1 << (GRAIN - 1)) + self.tilt * (place - self.steps // 2)

    def guarantee(self) -> Pure:
        """What one report costs."""
        bias = Fraction(self.tilt * self.steps, 2 ** (GRAIN + 1))
        return Pure(loss((Fraction(1, 2) + bias) / (Fraction(1, 2) - bias)))

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """One bit each."""
        chance = self.chances(self.coerce(values)).view(np.uint64)
        return ((bits.bits64(chance.size) >> SHIFT) < chance).astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Zero or one."""
        return np.dtype(np.uint8)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Zeros and ones."""
        return np.asarray(reports < 2)

    def line(self) -> tuple[Fraction, Fraction]:
        """The probability of a one."""
        slope = Fraction(self.tilt, 2**GRAIN)
        return Fraction(1, 2) - slope * self.steps / 2, slope

    def scores(self, reports: Reports) -> Places:
        """The bits."""
        return np.asarray(reports, dtype=np.int64)

    def spread(self, place: Places) -> Floats:
        """p (1 - p)."""
        p = self.chances(place) / 2.0**GRAIN
        return np.asarray(p * (1 - p))

    def outputs(self) -> Reports:
        """Zero and one."""
        return np.arange(2).astype(self.dtype)

    def channel(self) -> Matrix:
        """A row for each place."""
        self.check_entries(2 * (self.steps + 1))
        ones = [Fraction(chance, 2**GRAIN) for chance in self.chances(np.arange(self.steps + 1)).tolist()]
        return [[1 - p, p] for p in ones]

    def words(self) -> str:
        """What leaves the device."""
        ends = [float(Fraction(c, 2**GRAIN)) for c in self.chances(np.array([0, self.steps])).tolist()]
        return (
            f"one bit, a one with probability {ends[0]:.4g} for {self.low:g} and {ends[1]:.4g} for {self.high:g}, "
            "and in proportion between them"
        )


def steepest(ratio: Fraction, steps: int) -> int:
    """The greatest tilt whose likelihood ratio is at most `ratio`."""
    return int((ratio - 1) / (ratio + 1) * 2**GRAIN) // steps
