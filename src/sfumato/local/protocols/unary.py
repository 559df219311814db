r"""Unary encodings: a bit for each category, each flipped by its own coin.

Definition.  The bit of the true category is reported as one with probability p, every other bit with probability q,
independently.  Optimized: p near 1/2; symmetric (RAPPOR's single report): p = 1 - q.

Guarantee.   epsilon = ln( p (1 - q) / ((1 - p) q) ), pure [ErlingssonPihurKorolova2014, WangBlockiLiJha2017].
Proof: docs/proofs/local-categories.md.

Accuracy.    (count/n - q)/(p - q) is unbiased; optimized: variance 4 e^epsilon/(e^epsilon - 1)^2 / n at frequency 0.

Assumes.     Nothing beyond random bits: q has few binary digits (64 bits are drawn at once), p is a multiple of 2^-62.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.bitmaps import clean, column_sums, random_bits, row_bytes, set_bits, unpack
from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.drawing import GRAIN, check_coin, check_count, coins, grains, loss, meet
from sfumato.local.protocols.linear import frequencies, frequency_risk, frequency_variance
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["OptimizedUnary", "SymmetricUnary", "Unary", "rarest_flip"]

MOST = 1 << 20  # categories
COARSE, FINE = 6, 12  # binary digits of q (and of 1/2 - q) beyond leading zeros; p makes up for a coarse q


class Unary(LocalProtocol):
    """What the two encodings share: k bits, ones with probability p (own) and q (others).

    Proof: docs/proofs/local-categories.md.
    """

    __slots__ = ()

    goal: ClassVar[str] = "frequencies"

    @property
    @abstractmethod
    def bits(self) -> int:
        """k, the number of categories."""

    @property
    @abstractmethod
    def own(self) -> Fraction:
        """p."""

    @property
    @abstractmethod
    def other(self) -> Fraction:
        """q."""

    def guarantee(self) -> Pure:
        """What one report costs: two categories differ in two bits."""
        p, q = self.own, self.other
        return Pure(loss(p * (1 - q) / ((1 - p) * q)))

    def owned(self, value: object, names: Names) -> int:
        """A label, or a position."""
        return names.position(value, self.bits)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Positions; everything outside [0, k) counts as the last category."""
        return positions(values, self.bits)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """Bitmaps; values outside [0, k) count as the last category."""
        truth = self.coerce(values)
        rows = random_bits(self.other, truth.size, self.bits, bits)
        set_bits(rows, truth, coins(self.own, truth.size, bits))
        return rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes of eight bits, the lowest first."""
        return np.dtype(np.uint8)

    @property
    def columns(self) -> int:
        """Bytes in a report."""
        return row_bytes(self.bits)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """No bits beyond the k-th."""
        return clean(reports, self.bits)

    @property
    def cells(self) -> int:
        """A count for each category."""
        return self.bits

    def tally(self, reports: Reports) -> Tally:
        """How many reports have each bit."""
        return column_sums(reports, self.bits)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased frequencies."""
        return frequencies(tally, n, self.own, self.other)

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each frequency."""
        return frequency_variance(self.bits, n, self.own, self.other, truth)

    def risk(self, n: int) -> float:
        """The total variance, which the data do not change."""
        return frequency_risk(self.bits, n, self.own, self.other)

    def outputs(self) -> Reports:
        """All bitmaps, in the order of the numbers they spell."""
        self.check_entries(self.bits << min(self.bits, 30))
        numbers = np.arange(1 << self.bits, dtype="<u8")
        return numbers.view(np.uint8).reshape(-1, 8)[:, : self.columns]

    def channel(self) -> Matrix:
        """The product of the coins."""
        p, q = self.own, self.other
        found = []
        for z in unpack(self.outputs(), self.bits).tolist():
            rest = q ** (sum(z) - 1) * (1 - q) ** (self.bits - 1 - sum(z))
            found.append([rest * (p * (1 - q) if bit else q * (1 - p)) for bit in z])
        return [list(row) for row in zip(*found, strict=True)]

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"{self.bits} yes-or-no bits, one for each category: the true category says yes with probability "
            f"{float(self.own):.4g}, every other one with probability {float(self.other):.4g}"
        )


@dataclass(frozen=True, slots=True)
class OptimizedUnary(Unary):
    """The least variance for rare categories: p near 1/2, q near 1/(e^epsilon + 1).

    >>> oue = OptimizedUnary.calibrate(1024, Pure(1.0))
    >>> oue.guarantee().implies(Pure(1.0)), round(oue.risk(1) / oue.k, 3), oue.report_bytes
    (True, 3.684, 128)
    """

    name: ClassVar[str] = "oue"

    k: int
    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        _check(self.k, self.p, self.q)

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate) -> OptimizedUnary:
        """Few digits for q, then the greatest p that meets `target`."""

        def build(ratio: Fraction) -> OptimizedUnary:
            q = dyadic(1 / (ratio + 1), COARSE)
            return cls(k, grains(ratio * q / (1 - q + ratio * q)), q)

        return meet(build, target)

    @property
    def bits(self) -> int:
        """k, the number of categories."""
        return self.k

    @property
    def own(self) -> Fraction:
        """p."""
        return self.p

    @property
    def other(self) -> Fraction:
        """q."""
        return self.q


@dataclass(frozen=True, slots=True)
class SymmetricUnary(Unary):
    """Every bit is flipped with the same probability q near 1/(e^(epsilon/2) + 1): RAPPOR's single report.

    >>> sue = SymmetricUnary.calibrate(1024, Pure(1.0))
    >>> sue.guarantee().implies(Pure(1.0)), round(float(sue.variance(1)[0]), 2)
    (True, 3.92)
    """

    name: ClassVar[str] = "sue"

    k: int
    q: Fraction

    def __post_init__(self) -> None:
        _check(self.k, 1 - self.q, self.q)

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate) -> SymmetricUnary:
        """The rarest flips, of few digits, that meet `target`: q >= 1/(e^(epsilon/2) + 1)."""
        return meet(lambda ratio: cls(k, rarest_flip(ratio)), target)

    @property
    def bits(self) -> int:
        """k, the number of categories."""
        return self.k

    @property
    def own(self) -> Fraction:
        """p = 1 - q."""
        return 1 - self.q

    @property
    def other(self) -> Fraction:
        """q."""
        return self.q


def rarest_flip(ratio: Fraction) -> Fraction:
    """The least q of few digits with ((1 - q)/q)^2 <= ratio: a flip of two bits, each with probability q."""
    root = Fraction(math.isqrt(math.floor(ratio * 2**100)), 2**50)  # not above the square root
    q = 1 / (root + 1)
    near_half = max(0, math.floor(-math.log2(max(1 - 2 * q, Fraction(1, 2**40)))))
    return -dyadic(-q, FINE + near_half)


def dyadic(p: Fraction, digits: int) -> Fraction:
    """p rounded down to `digits` binary digits after its leading zeros."""
    scale = 2 ** min(GRAIN, digits + max(0, math.floor(-math.log2(abs(p)))))
    return Fraction(math.floor(p * scale), scale)


def _check(k: int, p: Fraction, q: Fraction) -> None:
    check_count("k", k, 2, MOST)
    check_coin("p", p)
    check_coin("q", q)
    if not q < p:
        raise ParameterError("q must be below p, so that the true bit is the likelier one")
