r"""Square wave: a whole distribution of numbers, through a window around the number.

Definition.  The channel of the piecewise mechanism, with the window that lets most information through: reports
0, ..., steps + window - 1; from place s uniformly from s, ..., s + window - 1 with probability c, else from all.

Guarantee.   epsilon = ln( 1 + c (steps + window) / ((1 - c) window) ), pure  [LiEtAl2020].
Proof: docs/proofs/local-numbers.md.

Accuracy.    The distribution is estimated by expectation maximization, smoothed after each step: consistent in
practice, but biased, with no exact variance.

Assumes.     Nothing beyond random bits: c is a multiple of 2^-62.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols.coercion import numbers
from sfumato.local.protocols.drawing import check_coin, check_count, check_target, loss, meet
from sfumato.local.protocols.layouts import counts, unsigned
from sfumato.local.protocols.linear import check_reports
from sfumato.local.protocols.numbers import Places, check_interval, places
from sfumato.local.protocols.owned import Names, number
from sfumato.local.protocols.piecewise import draw, informed, window_channel, window_ratio
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["SquareWave"]

ROUNDS = 5_000  # of expectation maximization at most
SETTLED = 1e-3  # gain of log-likelihood at which it stops: far below what noise moves


@dataclass(frozen=True, slots=True)
class SquareWave(LocalProtocol):
    """Numbers in [low, high] on `steps` steps; `estimate` is a distribution over the steps + 1 points.

    Proof: docs/proofs/local-numbers.md.

    >>> wave = SquareWave.calibrate(0, 100, Pure(1.0), steps=64)
    >>> wave.window, wave.guarantee().implies(Pure(1.0)), wave.report_bytes
    (33, True, 1)
    """

    name: ClassVar[str] = "square"
    goal: ClassVar[str] = "distribution"

    low: float
    high: float
    steps: int
    window: int
    informed: Fraction

    def __post_init__(self) -> None:
        check_interval(self.low, self.high)
        check_count("steps", self.steps, 1, 1 << 16)
        check_count("window", self.window, 1, 1 << 16)
        check_coin("informed", self.informed)

    @classmethod
    def calibrate(cls, low: float, high: float, target: Pure | Approximate, steps: int = 256) -> SquareWave:
        """The window of greatest mutual information, 2 b steps wide [LiEtAl2020, 5.3]."""
        check_target(target)
        check_count("steps", steps, 1, 1 << 16)
        a = min(target.epsilon, 40.0)
        b = (a * math.exp(a) - math.expm1(a)) / (2 * math.exp(a) * (math.expm1(a) - a)) if a > 1e-3 else 0.5
        window = max(1, round(2 * b * steps))

        def build(ratio: Fraction) -> SquareWave:
            return cls(float(low), float(high), steps, window, informed(ratio, window, steps + window))

        return meet(build, target)

    @property
    def points(self) -> Floats:
        """The numbers that the entries of an estimate belong to."""
        return np.linspace(self.low, self.high, self.steps + 1)

    def guarantee(self) -> Pure:
        """What one report costs: inside a window against outside."""
        return Pure(loss(window_ratio(self.informed, self.window, self.cells)))

    def owned(self, value: object, names: Names) -> float:
        """A number."""
        return number(value)

    def coerce(self, values: npt.ArrayLike) -> Places:
        """Places on the lattice: clipped, rounded to the nearest; what is not a number counts as the middle."""
        return places(numbers(values), self.low, self.high, self.steps)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """One number each."""
        return draw(self.coerce(values), self.informed, self.window, self.cells, bits).astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One number."""
        return unsigned(self.cells)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Numbers below steps + window."""
        return np.asarray(reports < self.cells)

    @property
    def cells(self) -> int:
        """A count for each report."""
        return self.steps + self.window

    def tally(self, reports: Reports) -> Tally:
        """How often each number was reported."""
        return counts(reports, self.cells)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """The distribution over `points`, by smoothed expectation maximization: not unbiased."""
        check_reports(n)
        counts = np.asarray(tally, dtype=np.float64)
        low = float((1 - self.informed) / self.cells)
        more, f, before = float(self.informed) / self.window, np.full(self.steps + 1, 1 / (self.steps + 1)), -np.inf
        for _ in range(ROUNDS):
            chance = low + more * _covered(f, self.window)
            gain = counts / chance
            f = _smooth(f * (low * gain.sum() + more * _summed(gain, self.window)))
            f /= f.sum()
            fit = float(counts @ np.log(chance))
            if fit - before < SETTLED:
                break
            before = fit
        return f

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Refused: a maximum of likelihood has no exact variance."""
        raise UnsupportedQuery(
            "square wave estimates a distribution by expectation maximization, which has no exact variance; "
            "for a mean or frequencies with error bars use a protocol made for them"
        )

    def risk(self, n: int) -> float:
        """Refused: a maximum of likelihood has no exact variance."""
        return float(self.variance(n).sum())

    def quantiles(self, tally: Tally, n: int, probabilities: npt.ArrayLike) -> Floats:
        """Quantiles of the estimated distribution."""
        chosen = np.asarray(probabilities, dtype=np.float64)
        if not np.all((chosen >= 0) & (chosen <= 1)):
            raise ParameterError("probabilities must lie in [0, 1]")
        below = np.cumsum(self.estimate(tally, n))
        return self.points[np.minimum(np.searchsorted(below, chosen), self.steps)]

    def moments(self, tally: Tally, n: int) -> tuple[float, float]:
        """Mean and variance of the estimated distribution."""
        f = self.estimate(tally, n)
        mean = float(f @ self.points)
        return mean, float(f @ (self.points - mean) ** 2)

    def outputs(self) -> Reports:
        """All numbers, in order."""
        return np.arange(self.cells).astype(self.dtype)

    def channel(self) -> Matrix:
        """A row for each place."""
        self.check_entries((self.steps + 1) * self.cells)
        return window_channel(self.informed, self.window, self.cells)

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"one of {self.cells} numbers: with probability {float(self.informed):.4g} one of {self.window} around the "
            f"number (clipped to [{self.low:g}, {self.high:g}]), otherwise any"
        )


def _covered(f: Floats, window: int) -> Floats:
    """For each report the mass of the places whose window holds it."""
    total = np.concatenate([np.zeros(window), np.cumsum(f), np.full(window - 1, f.sum())])
    return np.asarray(total[window:] - total[:-window])


def _summed(gain: Floats, window: int) -> Floats:
    """For each place the sum over its window."""
    total = np.concatenate([[0.0], np.cumsum(gain)])
    return np.asarray(total[window:] - total[:-window])


def _smooth(f: Floats) -> Floats:
    """Weights 1, 2, 1 over neighbors; at the ends what falls out stays."""
    padded = np.concatenate([f[:1], f, f[-1:]])
    return np.asarray((padded[:-2] + 2 * f + padded[2:]) / 4)
