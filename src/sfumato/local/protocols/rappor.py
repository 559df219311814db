r"""RAPPOR: a permanent noisy bitmap that its owner keeps, and a fresh noisy copy of it in each report.

Definition.  Flip each bit of the unary encoding with probability f, once, and keep the result.  In each report a kept
one is sent as one with probability p, a kept zero with probability q.

Guarantee.   Any number of reports of one value cost together at most 2 ln((1 - f)/f), being made from the kept bitmap.
A single one costs ln( P (1 - Q) / ((1 - P) Q) ), P = (1 - f) p + f q, Q = f p + (1 - f) q
[ErlingssonPihurKorolova2014].
A value that changes is another permanent bitmap, and costs as much again.  Proof: docs/proofs/local-categories.md.

Accuracy.    (count/n - Q)/(P - Q) is unbiased, if each person reports once in a round.

Assumes.     Nothing beyond random bits: f, p and q have few binary digits.  The kept bitmap stays at its owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.bitmaps import Bitmap, clean_up, random_bits, set_bits
from sfumato.local.protocols.drawing import check_coin, check_count, coins, loss, meet
from sfumato.local.protocols.protocol import Bits, Reports
from sfumato.local.protocols.unary import MOST, Unary, rarest_flip
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Rappor"]


@dataclass(frozen=True, slots=True)
class Rappor(Unary):
    """Permanent flips of probability `flip`; fresh ones with probability p (kept ones) and q (kept zeros).

    >>> rappor = Rappor.calibrate(64, Pure(2.0))
    >>> rappor.forever().implies(Pure(2.0)), rappor.guarantee().epsilon < 1.0
    (True, True)
    """

    name: ClassVar[str] = "rappor"

    k: int
    flip: Fraction
    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        check_count("k", self.k, 2, MOST)
        for name in ("flip", "p", "q"):
            check_coin(name, getattr(self, name))
        if not (self.flip < Fraction(1, 2) and self.q < self.p):
            raise ParameterError("flip must be below 1/2 and q below p, so that the true bit is the likelier one")

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate) -> Rappor:
        """The rarest permanent flips whose cost forever meets `target`; fresh coins 3/4 and 1/4."""
        fresh = Fraction(3, 4), Fraction(1, 4)
        return meet(lambda ratio: cls(k, rarest_flip(ratio), *fresh), target, Rappor.forever)

    @property
    def bits(self) -> int:
        """k, the number of categories."""
        return self.k

    @property
    def own(self) -> Fraction:
        """P."""
        return (1 - self.flip) * self.p + self.flip * self.q

    @property
    def other(self) -> Fraction:
        """Q."""
        return self.flip * self.p + (1 - self.flip) * self.q

    def forever(self) -> Pure:
        """What all reports of one value cost together."""
        return Pure(loss(((1 - self.flip) / self.flip) ** 2))

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """First reports: permanent bitmaps that are forgotten, and fresh copies."""
        return self.fresh(self.permanent(values, bits), bits)

    def permanent(self, values: npt.ArrayLike, bits: Bits) -> Bitmap:
        """The bitmaps to keep; values outside [0, k) count as the last category."""
        truth = self.coerce(values)
        rows = random_bits(self.flip, truth.size, self.k, bits)
        set_bits(rows, truth, ~coins(self.flip, truth.size, bits))
        return rows

    def fresh(self, kept: Bitmap, bits: Bits) -> Reports:
        """One report from each kept bitmap."""
        ones = random_bits(self.p, len(kept), self.k, bits)
        zeros = random_bits(self.q, len(kept), self.k, bits)
        return np.asarray(clean_up((kept & ones) | (~kept & zeros), self.k))

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"{self.k} yes-or-no bits, a noisy copy of {self.k} noisy bits that stay on the device; in one report the "
            f"true category says yes with probability {float(self.own):.4g}, every other with {float(self.other):.4g}"
        )
