r"""The piecewise mechanism on a lattice: a window that moves with the number is the likelier part of the line.

Definition.  Reports are 0, ..., steps + window - 1.  From place s report uniformly from s, ..., s + window - 1 with
probability c, else uniformly from all.

Guarantee.   epsilon = ln( 1 + c (steps + window) / ((1 - c) window) ), pure  [WangEtAl2019].
Proof: docs/proofs/local-numbers.md.

Accuracy.    (mean report - offset)/c is unbiased; its variance grows with the distance from the middle.

Assumes.     Nothing beyond random bits: c is a multiple of 2^-62.

Differs.     The lattice makes the channel finite, and the window is the best one: the paper's, e^(-epsilon/2) of the
interval, has up to half again the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.local.protocols.drawing import check_coin, check_count, coins, grains, loss, meet, uniform
from sfumato.local.protocols.layouts import unsigned
from sfumato.local.protocols.numbers import STEPS, Number, Places, check_interval
from sfumato.local.protocols.protocol import Bits, Floats, Matrix, Reports
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Piecewise"]


@dataclass(frozen=True, slots=True)
class Piecewise(Number):
    """A window of `window` reports, hit on purpose with probability `informed`.

    Proof: docs/proofs/local-numbers.md.

    >>> piecewise = Piecewise.calibrate(-1, 1, Pure(4.0))
    >>> piecewise.guarantee().implies(Pure(4.0)), round(piecewise.risk(1), 4)
    (True, 0.1618)
    """

    name: ClassVar[str] = "piecewise"

    low: float
    high: float
    steps: int
    window: int
    informed: Fraction

    def __post_init__(self) -> None:
        check_interval(self.low, self.high)
        check_count("steps", self.steps, 1, 1 << 20)
        check_count("window", self.window, 1, 1 << 20)
        check_coin("informed", self.informed)

    @classmethod
    def calibrate(cls, low: float, high: float, target: Pure | Approximate, steps: int = STEPS) -> Piecewise:
        """The window of least variance at the ends."""
        check_count("steps", steps, 1, 1 << 20)

        def build(ratio: Fraction) -> Piecewise:
            window = best_window(steps, float(ratio))
            return cls(float(low), float(high), steps, window, informed(ratio, window, steps + window))

        return meet(build, target)

    @property
    def lattice(self) -> int:
        """Steps from low to high."""
        return self.steps

    def guarantee(self) -> Pure:
        """What one report costs: inside a window against outside."""
        return Pure(loss(window_ratio(self.informed, self.window, self.steps + self.window)))

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """One number each."""
        drawn = draw(self.coerce(values), self.informed, self.window, self.steps + self.window, bits)
        return drawn.astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One number."""
        return unsigned(self.steps + self.window)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Numbers below steps + window."""
        return np.asarray(reports < self.steps + self.window)

    def line(self) -> tuple[Fraction, Fraction]:
        """c (s + (window - 1)/2) + (1 - c)(steps + window - 1)/2."""
        c = self.informed
        return c * Fraction(self.window - 1, 2) + (1 - c) * Fraction(self.steps + self.window - 1, 2), c

    def scores(self, reports: Reports) -> Places:
        """The reports themselves."""
        return np.asarray(reports, dtype=np.int64)

    def spread(self, place: Places) -> Floats:
        """The variance of a mixture of two uniform laws."""
        c, size = float(self.informed), self.steps + self.window
        apart = place + (self.window - 1) / 2 - (size - 1) / 2
        return np.asarray(c * (self.window**2 - 1) / 12 + (1 - c) * (size**2 - 1) / 12 + c * (1 - c) * apart**2)

    def outputs(self) -> Reports:
        """All numbers, in order."""
        return np.arange(self.steps + self.window).astype(self.dtype)

    def channel(self) -> Matrix:
        """A row for each place."""
        self.check_entries((self.steps + 1) * (self.steps + self.window))
        return window_channel(self.informed, self.window, self.steps + self.window)

    def words(self) -> str:
        """What leaves the device."""
        size = self.steps + self.window
        return (
            f"one of {size} numbers: with probability {float(self.informed):.4g} one of {self.window} around the "
            f"number (clipped to [{self.low:g}, {self.high:g}]), otherwise any"
        )


def informed(ratio: Fraction, window: int, size: int) -> Fraction:
    """The greatest coin c whose window is at most `ratio` times likelier than the rest."""
    return grains((ratio - 1) * window / (size + (ratio - 1) * window))


def window_ratio(c: Fraction, window: int, size: int) -> Fraction:
    """How much likelier a report inside the window is than one outside."""
    return 1 + c * size / ((1 - c) * window)


def draw(start: Places, c: Fraction, window: int, size: int, bits: Bits) -> Places:
    """Uniform in [start, start + window) with probability c, else in [0, size)."""
    inside = start + uniform(window, start.size, bits)
    return np.where(coins(c, start.size, bits), inside, uniform(size, start.size, bits))


def window_channel(c: Fraction, window: int, size: int) -> Matrix:
    """The rows of all windows in [0, size)."""
    low = (1 - c) / size
    high = low + c / window
    return [[high if s <= z < s + window else low for z in range(size)] for s in range(size - window + 1)]


def best_window(steps: int, ratio: float) -> int:
    """The window whose variance at the ends, over the squared slope, is least."""
    window = np.arange(1, 2 * steps + 1, dtype=np.float64)
    size = steps + window
    c = (ratio - 1) * window / (size + (ratio - 1) * window)
    spread = c * (window**2 - 1) / 12 + (1 - c) * (size**2 - 1) / 12 + c * (1 - c) * (steps / 2) ** 2
    return int(np.argmin(spread / c**2)) + 1
