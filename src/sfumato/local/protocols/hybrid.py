r"""The hybrid mechanism: by a coin, Duchi's bit or the piecewise number.

Definition.  With probability `mixture` report as the piecewise mechanism does, else Duchi's bit after its reports.

Guarantee.   The larger epsilon of the two: the coin says nothing, and their reports differ.     [WangEtAl2019]
Proof: docs/proofs/local-numbers.md.

Accuracy.    Both parts are unbiased, so the variance is the mixture of theirs: one grows away from the middle, the
other falls, and the coin balances them.

Assumes.     Nothing beyond random bits.

Differs.     The coin minimizes the worst variance, for the window that is best alone; the paper takes
1 - e^(-epsilon/2) above 0.61.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.local.protocols.coercion import numbers
from sfumato.local.protocols.drawing import check_coin, coins, grains
from sfumato.local.protocols.duchi import Duchi
from sfumato.local.protocols.layouts import unsigned
from sfumato.local.protocols.linear import check_reports
from sfumato.local.protocols.numbers import STEPS, Number, Places
from sfumato.local.protocols.owned import Names, number
from sfumato.local.protocols.piecewise import Piecewise
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Hybrid"]

LEAST = 2.0**-20  # share of either part: a coin must be a coin


@dataclass(frozen=True, slots=True)
class Hybrid(LocalProtocol):
    """Piecewise with probability `mixture`, else Duchi; both on the same interval and lattice.

    Proof: docs/proofs/local-numbers.md.

    >>> hybrid = Hybrid.calibrate(-1, 1, Pure(2.0))
    >>> hybrid.guarantee().implies(Pure(2.0)), round(hybrid.risk(1), 3)
    (True, 0.983)
    """

    name: ClassVar[str] = "hybrid"
    goal: ClassVar[str] = "mean"

    low: float
    high: float
    steps: int
    tilt: int
    window: int
    informed: Fraction
    mixture: Fraction

    def __post_init__(self) -> None:
        check_coin("mixture", self.mixture)
        _ = self.parts  # their refusals

    @classmethod
    def calibrate(cls, low: float, high: float, target: Pure | Approximate, steps: int = STEPS) -> Hybrid:
        """The mixture whose worst variance is least."""
        wave = Piecewise.calibrate(low, high, target, steps)
        bit = Duchi.calibrate(low, high, target, steps)
        spots = np.array(
            [0, steps // 2]
        )  # each variance is a quadratic in the value: the worst is an end or the middle
        (wave_end, wave_middle), (bit_end, bit_middle) = _units(wave, spots), _units(bit, spots)
        level = (bit_middle - bit_end) / (bit_middle - bit_end + wave_end - wave_middle)
        share = min(
            (LEAST, min(max(level, LEAST), 1 - LEAST), 1 - LEAST),
            key=lambda a: max(a * wave_end + (1 - a) * bit_end, a * wave_middle + (1 - a) * bit_middle),
        )
        return cls(float(low), float(high), steps, bit.tilt, wave.window, wave.informed, grains(Fraction(share)))

    @property
    def parts(self) -> tuple[Piecewise, Duchi]:
        """The two mechanisms."""
        wave = Piecewise(self.low, self.high, self.steps, self.window, self.informed)
        return wave, Duchi(self.low, self.high, self.steps, self.tilt)

    @property
    def _size(self) -> int:
        """The number of reports of the piecewise part; Duchi's two follow."""
        return self.steps + self.window

    def guarantee(self) -> Pure:
        """What one report costs."""
        return Pure(max(part.guarantee().epsilon for part in self.parts))

    def owned(self, value: object, names: Names) -> float:
        """A number."""
        return number(value)

    def coerce(self, values: npt.ArrayLike) -> Places:
        """Places on the lattice: clipped, rounded to the nearest; what is not a number counts as the middle."""
        return self.parts[0].coerce(values)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """One number each."""
        data = numbers(values)
        wave, bit = (part.randomize(data, bits).astype(np.int64) for part in self.parts)
        return np.where(coins(self.mixture, data.size, bits), wave, self._size + bit).astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One number."""
        return unsigned(self._size + 2)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Numbers below steps + window + 2."""
        return np.asarray(reports < self._size + 2)

    @property
    def cells(self) -> int:
        """How many piecewise reports, their sum, and how many ones of Duchi's."""
        return 3

    def tally(self, reports: Reports) -> Tally:
        """How many piecewise reports, their sum, and how many ones of Duchi's."""
        waves = reports < self._size
        total = np.where(waves, reports, 0).sum(dtype=np.int64)
        ones = np.count_nonzero(reports == self._size + 1)
        return np.array([np.count_nonzero(waves), total, ones], dtype=np.int64)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """The unbiased mean."""
        check_reports(n)
        count, total, ones = np.asarray(tally, dtype=np.float64)
        (wave_offset, wave_slope), (bit_offset, bit_slope) = (part.line() for part in self.parts)
        places = (total - count * float(wave_offset)) / float(wave_slope)
        places += (ones - (n - count) * float(bit_offset)) / float(bit_slope)
        return np.array([self.low + places / n * (self.high - self.low) / self.steps])

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of the mean; `truth` holds values, each standing for an equal share of the people."""
        check_reports(n)
        if truth is None:
            return np.array([self.peak() / n])
        return np.array([float(self._spread(self.coerce(truth)).mean()) / n])

    def _spread(self, place: Places) -> Floats:
        """The variance of one estimate from each place."""
        share, (wave, bit) = float(self.mixture), self.parts
        steps = share * _units(wave, place) + (1 - share) * _units(bit, place)
        return np.asarray(steps * ((self.high - self.low) / self.steps) ** 2)

    def peak(self, share: float = 1.0) -> float:
        """The greatest mean square of one estimate around the middle, minus `share` of its squared mean.

        A quadratic in the value, symmetric around the middle: the greatest is there or at an end.
        """
        ends = self._spread(np.array([0, self.steps // 2]))
        return float(max(ends[0] + (1 - share) * ((self.high - self.low) / 2) ** 2, ends[1]))

    def risk(self, n: int) -> float:
        """The variance of the mean at its worst."""
        return float(self.variance(n)[0])

    def outputs(self) -> Reports:
        """All numbers, in order."""
        return np.arange(self._size + 2).astype(self.dtype)

    def channel(self) -> Matrix:
        """A row for each place."""
        self.check_entries((self.steps + 1) * (self._size + 2))
        a, (wave, bit) = self.mixture, self.parts
        rows = zip(wave.channel(), bit.channel(), strict=True)
        return [[a * p for p in first] + [(1 - a) * p for p in second] for first, second in rows]

    def words(self) -> str:
        """What leaves the device."""
        wave, bit = self.parts
        return f"with probability {float(self.mixture):.4g} {wave.words()}; else {bit.words()}"


def _units(part: Number, place: Places) -> Floats:
    """The variance of one estimate from each place, in steps of the lattice."""
    return part.spread(place) / float(part.line()[1]) ** 2
