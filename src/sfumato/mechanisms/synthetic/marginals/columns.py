r"""Columns by themselves: the noisy counts of their levels, of numbers in bars too, and the number of rows they tell.

A number with many levels is counted twice: level by level, and in the equal bars of a public histogram, for half of its
budget each.  The noise of a bar is then that of two counts at most, not of all of its levels together.  Least squares
bring both together [HayRastogiMiklauSuciu2010]: each level gets its part of what its bar is off by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.budget import counted
from sfumato.mechanisms.synthetic.marginals.judging import coarse
from sfumato.mechanisms.synthetic.marginals.levels import HIDDEN, Groups, smoothed
from sfumato.mechanisms.synthetic.marginals.noise import Noise, noisy
from sfumato.queries.encoding import Column
from sfumato.randomness import Rng

__all__ = ["Columns", "Counted", "measured", "variance"]

LEAST_VARIANCE = 1e-6

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Noisy counts of one column: of its levels, whose sum was `total`, and of its bars, where `spread` is finite."""

    levels: Reals
    variance: float
    total: float
    bars: Reals
    spread: float
    tails: float = 0.0  # of the noise, as `smoothed` has them

    def again(self, other: Counted) -> Counted:
        """Averaged with one more measurement, each weighted by its precision; bars that one of them has are kept."""
        share = other.variance / (self.variance + other.variance)
        bars, spread = (self.bars, self.spread) if math.isfinite(self.spread) else (other.bars, other.spread)
        if math.isfinite(self.spread) and math.isfinite(other.spread):
            part = other.spread / (self.spread + other.spread)
            bars, spread = part * self.bars + (1 - part) * other.bars, self.spread * part
        levels = share * self.levels + (1 - share) * other.levels
        total = share * self.total + (1 - share) * other.total
        return Counted(levels, self.variance * share, total, bars, spread, self.tails)

    def joined(self, column: Column) -> Reals:
        """The counts of levels that fit those of bars as well."""
        if math.isinf(self.spread):
            return self.levels
        owner = column.bars()
        off = self.bars - np.bincount(owner, weights=self.levels)
        return self.levels + (off * self.variance / (np.bincount(owner) * self.variance + self.spread))[owner]

    def smooth(self, column: Column, total: float) -> Reals:
        """Nonnegative counts of the levels that sum to `total`."""
        deviation = math.sqrt(self.variance)
        if math.isinf(self.spread):
            return smoothed(self.levels, deviation, column, total, self.tails)
        owner, counts = column.bars(), self.joined(column)
        levels = smoothed(counts, deviation, column, total, self.tails)
        together = 1 / (1 / self.spread + len(self.bars) / (len(owner) * self.variance))
        sums = np.bincount(owner, weights=counts).astype(np.float64)
        bars = smoothed(sums, math.sqrt(together), column.barred, total, self.tails)
        empty = np.bincount(owner, weights=levels) <= 0  # a bar may show though none of its levels does
        levels = np.where(empty[owner], np.append(column.widths(), [1] * column.nullable), levels)
        return np.asarray(levels * (bars / np.bincount(owner, weights=levels))[owner])

    def noise(self, column: Column, groups: Groups) -> Reals:
        """The variance of the counts of groups of levels."""
        many = np.bincount(groups).astype(np.float64)
        if math.isinf(self.spread):
            return self.variance * many
        owner = column.bars()
        inside = np.zeros((len(many), int(owner.max()) + 1))
        np.add.at(inside, (groups, owner), 1.0)
        known = self.variance**2 / (np.bincount(owner) * self.variance + self.spread)
        return np.asarray(self.variance * many - (inside**2 * known).sum(axis=1))

    def deviation(self, column: Column) -> float:
        """The standard deviation of a level's count, as far as it is left in the groups that rows are judged in."""
        groups = coarse(np.arange(column.size), column)
        held = np.bincount(groups) > 0
        return math.sqrt(float((self.noise(column, groups) / np.maximum(1, np.bincount(groups)))[held].mean()))


@dataclass(slots=True)
class Columns:
    """The noisy counts of all columns, and the number of rows that they and a first count tell."""

    held: list[Counted]
    first: tuple[float, float] | None  # a noisy number of rows and its variance
    size: int | None

    def again(self, measured: Sequence[Counted]) -> None:
        """Average in one more measurement."""
        self.held = [one.again(other) for one, other in zip(self.held, measured, strict=True)]

    def total(self) -> tuple[float, float]:
        """The public number of rows, or the best estimate of it from all sums; and its standard deviation."""
        if self.size is not None:
            return float(self.size), 0.0
        told = [(one.total, len(one.levels) * one.variance) for one in self.held]
        told += [(float(one.bars.sum()), len(one.bars) * one.spread) for one in self.held if len(one.bars)]
        if self.first is not None:
            told.append(self.first)
        whole = math.fsum(1 / spread for _, spread in told)
        return max(1.0, math.fsum(rows / spread for rows, spread in told) / whole), whole**-0.5


def measured(
    exact: Sequence[Whole], columns: Sequence[Column], noise: Noise, amount: Fraction, total: float, rng: Rng
) -> list[Counted]:
    """Noisy counts of every column for an amount; of few rows, in few groups of levels."""
    found = []
    for held, column, plan in zip(exact, columns, counted(noise, amount, columns, total), strict=True):
        own, levels = variance(noise, plan.scale), np.bincount(plan.groups)
        counts = _noisy(held, plan.groups, noise, plan.scale, rng)
        rows, bars, spread = float(counts.sum()), np.zeros(0), math.inf
        if column.nullable and len(levels) < len(held) and counts[-1] < HIDDEN * math.sqrt(own):
            counts[-1] = 0.0  # its noise is more than that of the levels that share a group
        if plan.bars is not None:
            bars, spread = _noisy(held, column.bars(), noise, plan.bars, rng), variance(noise, plan.bars)
        each = own * len(levels) / len(held)
        found.append(Counted((counts / levels)[plan.groups], each, rows, bars, spread, noise.tails))
    return found


def variance(noise: Noise, scale: float) -> float:
    """The noise of one count; next to none counts as a little, so that precisions stay finite."""
    return max(LEAST_VARIANCE, noise.law(scale).variance)


def _noisy(exact: Whole, groups: Groups, noise: Noise, scale: float, rng: Rng) -> Reals:
    """Counts of groups of levels with noise of a scale."""
    counts = np.bincount(groups, weights=exact).astype(np.int64)
    return noisy(counts, noise.law(scale), rng).astype(np.float64)
