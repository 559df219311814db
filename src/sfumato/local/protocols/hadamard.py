r"""Hadamard response: one number, from the half of a block that the true category's Hadamard row marks.

Definition.  Categories are dealt to B blocks (x to block x mod B); a block has b reports, b a power of two, and
category x the row r = x // B + 1 of the b x b Hadamard matrix.  With probability c report uniformly from the b/2
reports z of its block with H[r, z] = 1, else uniformly from all B b reports.

Guarantee.   epsilon = ln( 1 + 2 c B / (1 - c) ), pure.                                      [AcharyaSunZhang2019]
Proof: docs/proofs/local-categories.md.

Accuracy.    The sum of H[r, z] over the reports z of the block of x, over n c, is unbiased; the variance is
((1 - c)/B + c F - c^2 f)/n with F the frequency of the block of x.

Assumes.     Nothing beyond random bits: c is a multiple of 2^-62.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.drawing import check_coin, check_count, coins, grains, loss, meet, uniform
from sfumato.local.protocols.layouts import counts, unsigned
from sfumato.local.protocols.linear import check_reports, shares
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.local.protocols.transforms import hadamard
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["HadamardResponse"]

MOST = 1 << 24  # categories


@dataclass(frozen=True, slots=True)
class HadamardResponse(LocalProtocol):
    """One number below `blocks` b; values outside [0, k) count as the last category.

    Proof: docs/proofs/local-categories.md.

    >>> response = HadamardResponse.calibrate(1000, Pure(1.0))
    >>> response.blocks, response.block, response.report_bytes, response.guarantee().implies(Pure(1.0))
    (1, 1024, 2, True)
    """

    name: ClassVar[str] = "hadamard"
    goal: ClassVar[str] = "frequencies"

    k: int
    blocks: int
    informed: Fraction

    def __post_init__(self) -> None:
        check_count("k", self.k, 2, MOST)
        check_count("blocks", self.blocks, 1, self.k)
        check_coin("informed", self.informed)
        if self.blocks & (self.blocks - 1):
            raise ParameterError(f"blocks must be a power of two, got {self.blocks}")

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate) -> HadamardResponse:
        """The number of blocks of least total variance."""
        check_count("k", k, 2, MOST)
        choices = [1 << j for j in range(k.bit_length())]
        found = [meet(partial(cls._of_ratio, k, blocks), target) for blocks in choices]
        return min(found, key=lambda response: response.risk(1))

    @classmethod
    def _of_ratio(cls, k: int, blocks: int, ratio: Fraction) -> HadamardResponse:
        return cls(k, blocks, grains((ratio - 1) / (2 * blocks + ratio - 1)))

    @property
    def block(self) -> int:
        """b: the reports of a block, the least power of two above the rows in use (row 0 is constant)."""
        return 1 << (-(-self.k // self.blocks)).bit_length()

    def guarantee(self) -> Pure:
        """What one report costs: uniform on a half block, against uniform on all."""
        return Pure(loss(1 + 2 * self.informed * self.blocks / (1 - self.informed)))

    def owned(self, value: object, names: Names) -> int:
        """A label, or a position."""
        return names.position(value, self.k)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Positions; everything outside [0, k) counts as the last category."""
        return positions(values, self.k)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """Numbers below blocks x block."""
        truth = self.coerce(values)
        row, block = truth // self.blocks + 1, truth % self.blocks
        place = uniform(self.block, truth.size, bits)
        lowest = row & -row  # flipping this bit of z flips the sign of H[row, z]
        place = np.where(_odd(row & place), place ^ lowest, place)
        kept = coins(self.informed, truth.size, bits)
        anywhere = uniform(self.blocks * self.block, truth.size, bits)
        return np.where(kept, block * self.block + place, anywhere).astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One number."""
        return unsigned(self.blocks * self.block)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Numbers below blocks x block."""
        return np.asarray(reports < self.blocks * self.block)

    @property
    def cells(self) -> int:
        """A sum of signs for each category."""
        return self.k

    def tally(self, reports: Reports) -> Tally:
        """For each category the sum of its row of signs over the reports of its block."""
        size = self.blocks * self.block
        found = counts(reports, size).reshape(self.blocks, self.block)
        return hadamard(found)[:, 1:].T.reshape(-1)[: self.k].copy()

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased frequencies."""
        check_reports(n)
        return np.asarray(tally, dtype=np.float64) / (n * float(self.informed))

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each frequency; the worst case has everybody in the category's block, at another category."""
        check_reports(n)
        c = float(self.informed)
        alone = np.bincount(np.arange(self.k) % self.blocks)[np.arange(self.k) % self.blocks] == 1
        if truth is None:
            spread = (1 - c) / self.blocks + np.where(alone, max(c - c * c, 0.0), c)
        else:
            f = shares(truth, self.k)
            mine = np.bincount(np.arange(self.k) % self.blocks, weights=f)[np.arange(self.k) % self.blocks]
            spread = (1 - c) / self.blocks + c * mine - c * c * f
        return np.asarray(spread / (n * c * c))

    def risk(self, n: int) -> float:
        """The total variance, at its worst when everybody is in the largest block."""
        check_reports(n)
        c, largest = float(self.informed), -(-self.k // self.blocks)
        return (self.k * (1 - c) / self.blocks + c * largest - c * c) / (n * c * c)

    def outputs(self) -> Reports:
        """All numbers, in order."""
        return np.arange(self.blocks * self.block).astype(self.dtype)

    def channel(self) -> Matrix:
        """c over the half block, and (1 - c) over everything."""
        size = self.blocks * self.block
        self.check_entries(self.k * size)
        base, more = (1 - self.informed) / size, 2 * self.informed / self.block
        z = np.arange(self.block)
        rows = []
        for x in range(self.k):
            row = [base] * size
            for place in np.flatnonzero(~_odd((x // self.blocks + 1) & z)).tolist():
                row[x % self.blocks * self.block + place] += more
            rows.append(row)
        return rows

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"one number below {self.blocks * self.block}: with probability {float(self.informed):.4g} drawn from the "
            f"{self.block // 2} that the true category marks, otherwise from all"
        )


def _odd(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether the binary digits of each number sum to an odd number."""
    return (np.bitwise_count(numbers) & 1).astype(bool)
