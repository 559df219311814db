r"""What a tree of histograms says about ranges, the cumulative distribution and quantiles, with proven intervals.

Intervals are Bernstein's, with the variance bound that holds for every truth.  The interval of a quantile needs no
union over the cells: x* = min{x : F(x) >= p} is a fixed point, and the interval

    from 1 + max{x : U(y) < p for all y <= x}   to   min{x : L(y) >= p for all y >= x}

misses it only if U(x*) < p or L(x* - 1) >= p, two events of probability beta/2 each.
Proof: docs/proofs/local-questions.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.protocol import Floats, Tally
from sfumato.local.questions.limits import bernstein_sum, checked_level
from sfumato.local.questions.ranges import Ranges

__all__ = ["Interval", "Reading"]

MOST_CELLS = 4096  # intervals for all prefixes cost their square
ROWS = 128  # functionals at a time


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, and limits that cover the truth with the stated probability."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A question about ranges and the tally of its reports."""

    question: Ranges
    tally: Tally

    @property
    def counts(self) -> list[int]:
        """How many reports each level has."""
        return [count for count, _ in self.question.pieces(self.tally)]

    def cells(self) -> Floats:
        """Unbiased frequencies of the cells."""
        return self.question.estimate(self.tally, sum(self.counts))

    def between(self, low: int, high: int, level: float = 0.95) -> Interval:
        """The share of values in the cells low, ..., high, both included."""
        if not 0 <= low <= high < self.question.k:
            raise ParameterError(f"a range of cells must satisfy 0 <= low <= high < {self.question.k}")
        cell = np.arange(self.question.k)
        weights = np.asarray((cell >= low) & (cell <= high), dtype=np.float64)
        radius = float(self.radius(weights[None], 1 - checked_level(level))[0])
        found = float(self.cells() @ weights)
        return Interval(found, max(found - radius, 0.0), min(found + radius, 1.0))

    def cdf(self) -> Floats:
        """P(value <= cell) for each cell, made to rise: halfway between the least rising curve above and below.

        Where the unbiased curve is nowhere further than r from the truth, neither is this one.
        """
        raw = np.cumsum(self.cells())
        above, below = np.maximum.accumulate(raw), np.minimum.accumulate(raw[::-1])[::-1]
        rising = np.clip((above + below) / 2, 0.0, 1.0)
        rising[-1] = 1.0
        return np.asarray(rising)

    def quantile(self, probability: float, level: float = 0.95) -> Interval:
        """The least cell with at least that share of values up to it; the interval is in cells."""
        beta = 1 - checked_level(level)
        if not 0 < probability < 1:
            raise ParameterError(f"probability must lie strictly between 0 and 1, got {probability!r}")
        if self.question.k > MOST_CELLS:
            raise ParameterError(f"intervals of quantiles need at most {MOST_CELLS} cells; collect coarser ones")
        raw = np.cumsum(self.cells())
        radius = self.radius(np.tri(self.question.k), beta)
        radius[-1], raw[-1] = 0.0, 1.0  # everything lies at or below the last cell
        surely_below = np.logical_and.accumulate(raw + radius < probability)
        surely_reached = np.logical_and.accumulate((raw - radius >= probability)[::-1])[::-1]
        best = int(np.argmax(self.cdf() >= probability))
        low, high = int(surely_below.sum()), int(np.argmax(surely_reached))
        return Interval(float(min(max(best, low), high)), float(low), float(high))

    def radius(self, weights: Floats, beta: float) -> npt.NDArray[np.float64]:
        """How far weights . estimates stays from the truth with probability 1 - beta, row by row."""
        counts = [float(count) for count in self.counts]
        found = []
        for start in range(0, len(weights), ROWS):
            rows = weights[start : start + ROWS]
            variance = self.question.functional_variance(rows, counts)
            found.append(bernstein_sum(variance, self.question.functional_span(rows, counts), beta))
        return np.concatenate(found)
