r"""The optimized window: the mean of numbers with practically the least worst variance that privacy allows.

Definition.  M reports with odd, integer scores z; window s holds reports s, ..., s + W - 1, whose scores sum to A_s.
The value, an integer a in [A_first, A_last], goes to one of the two windows with A_s <= a <= A_(s+1), to the second
with probability (a - A_s)/(A_(s+1) - A_s).  Report uniformly from that window with probability c, else from all M.

Guarantee.   epsilon = ln( 1 + c M / ((1 - c) W) ), pure, whatever the scores.   Proof: docs/proofs/local-numbers.md.

Accuracy.    The mean score is c a / W, so that W/c times it is unbiased.  The scores that `calibrate` finds have a
worst variance within 2 % of the least of any unbiased protocol (a linear program gives it), for epsilon from 0.1 to 5.

Assumes.     Nothing beyond random bits: c is a multiple of 2^-62, the window's coin a ratio of integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.designing import best_design
from sfumato.local.protocols.drawing import check_coin, loss, meet, ratios, uniform_below
from sfumato.local.protocols.layouts import unsigned
from sfumato.local.protocols.numbers import Number, Places, check_interval
from sfumato.local.protocols.piecewise import draw, informed, window_channel, window_ratio
from sfumato.local.protocols.protocol import Bits, Floats, Matrix, Reports
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["OptimizedWindow"]

FINEST = 1 << 20  # scores are rounded to whole numbers up to this size
MOST = 1 << 24  # a score


@dataclass(frozen=True, slots=True)
class OptimizedWindow(Number):
    """Reports with `scores`, a window of `window` of them, hit on purpose with probability `informed`.

    Proof: docs/proofs/local-numbers.md.

    Calibrate once and send the record: the descent's last digits may differ between machines.

    >>> best = OptimizedWindow.calibrate(-1, 1, Pure(1.0))
    >>> best.guarantee().implies(Pure(1.0)), round(best.risk(1), 2), best.report_bytes
    (True, 4.0, 1)
    """

    name: ClassVar[str] = "window"

    low: float
    high: float
    window: int
    informed: Fraction
    scores_of: tuple[int, ...]

    def __post_init__(self) -> None:
        check_interval(self.low, self.high)
        check_coin("informed", self.informed)
        z = self.scores_of
        if not (2 <= len(z) <= 1 << 16 and 1 <= self.window < len(z)):
            raise ParameterError("window must be at least 1 and below the number of scores")
        if any(a + b for a, b in zip(z, reversed(z), strict=True)) or max(z) > MOST:
            raise ParameterError(f"scores_of must be odd (z and -z mirrored), none above {MOST}")
        if min(np.diff(self._sums)) <= 0:
            raise ParameterError("scores_of must make the sums of windows rise")

    @classmethod
    def calibrate(cls, low: float, high: float, target: Pure | Approximate) -> OptimizedWindow:
        """The scores and the window of practically least worst variance."""
        window, free = best_design(float(next(ratios(target))))
        z = np.rint(np.array(free) / max(free) * FINEST).astype(np.int64)
        z = _rising((z - z[::-1]) // 2, window)

        def build(ratio: Fraction) -> OptimizedWindow:
            return cls(float(low), float(high), window, informed(ratio, window, z.size), tuple(z.tolist()))

        return meet(build, target)

    @property
    def _sums(self) -> Places:
        """A: the sums of the windows."""
        total = np.concatenate([[0], np.cumsum(np.array(self.scores_of, dtype=np.int64))])
        return np.asarray(total[self.window :] - total[: -self.window])

    @property
    def lattice(self) -> int:
        """A_last - A_first: places are sums, counted from the first."""
        sums = self._sums
        return int(sums[-1] - sums[0])

    def guarantee(self) -> Pure:
        """What one report costs: inside a window against outside; a choice of windows only mixes."""
        return Pure(loss(window_ratio(self.informed, self.window, len(self.scores_of))))

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """One number each."""
        place, sums = self.coerce(values), self._sums
        sums = sums - sums[0]
        first = np.clip(np.searchsorted(sums, place, side="right") - 1, 0, sums.size - 2)
        gap = sums[first + 1] - sums[first]
        start = first + (uniform_below(gap, bits) < place - sums[first])
        return draw(start, self.informed, self.window, len(self.scores_of), bits).astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One number."""
        return unsigned(len(self.scores_of))

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Numbers below M."""
        return np.asarray(reports < len(self.scores_of))

    def line(self) -> tuple[Fraction, Fraction]:
        """c/W (A_first + place)."""
        slope = self.informed / self.window
        return slope * int(self._sums[0]), slope

    def scores(self, reports: Reports) -> Places:
        """z of each report."""
        return np.array(self.scores_of, dtype=np.int64)[reports]

    def _seconds(self) -> Floats:
        """The mean squared score from each window."""
        squares = np.array(self.scores_of, dtype=np.float64) ** 2
        total = np.concatenate([[0.0], np.cumsum(squares)])
        c = float(self.informed)
        inside = total[self.window :] - total[: -self.window]
        return np.asarray(c / self.window * inside + (1 - c) * squares.mean())

    def spread(self, place: Places) -> Floats:
        """The mean square, linear between two windows, minus the square of the mean."""
        sums = self._sums
        mean = float(self.informed) / self.window * (place + sums[0])
        return np.asarray(np.interp(place, sums - sums[0], self._seconds()) - mean**2)

    def worst(self, share: float = 1.0) -> float:
        """Between two windows the mean square minus a share of the squared mean is a parabola: its top, or an end."""
        sums, slope = self._sums, float(self.informed) / self.window
        second, mean = self._seconds(), slope * sums.astype(np.float64)
        rise = np.diff(second) / np.diff(mean)
        top = np.clip(rise / (2 * share), mean[:-1], mean[1:])
        return float((second[:-1] + rise * (top - mean[:-1]) - share * top**2).max())

    def outputs(self) -> Reports:
        """All numbers, in order."""
        return np.arange(len(self.scores_of)).astype(self.dtype)

    def channel(self) -> Matrix:
        """A row for each window: every other value mixes two of them."""
        size = len(self.scores_of)
        self.check_entries(size * size)
        return window_channel(self.informed, self.window, size)

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"one of {len(self.scores_of)} marks: with probability {float(self.informed):.4g} one of {self.window} "
            f"near the number (clipped to [{self.low:g}, {self.high:g}]), otherwise any"
        )


def _rising(z: Places, window: int) -> Places:
    """The scores, pushed apart by the least that makes window sums rise; the sign pattern stays odd."""
    lag = z[window:] - z[:-window]
    if lag.min() > 0:
        return z
    return z + (1 - int(lag.min())) * (2 * np.arange(z.size) + 1 - z.size)
