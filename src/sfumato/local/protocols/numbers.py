"""What the protocols for means of numbers share: an interval on a lattice, a score, an affine and unbiased estimate.

A value is clipped to [low, high] and rounded to the nearest of lattice + 1 equally spaced points; what is not a number
counts as the middle.  Scores of reports have mean offset + slope x place exactly, so that
(mean score - offset)/slope estimates the mean place without bias.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.coercion import numbers
from sfumato.local.protocols.linear import check_reports
from sfumato.local.protocols.owned import Names, number
from sfumato.local.protocols.protocol import Floats, LocalProtocol, Places, Reports, Tally

__all__ = ["STEPS", "Number", "Places", "check_interval", "places"]

STEPS = 1 << 10  # steps of the lattice where the caller does not say: its rounding is far below any local noise


class Number(LocalProtocol):
    """A protocol for the mean of numbers in [low, high]."""

    __slots__ = ()

    goal: ClassVar[str] = "mean"
    low: float
    high: float

    @property
    @abstractmethod
    def lattice(self) -> int:
        """The number of steps from low to high."""

    @abstractmethod
    def line(self) -> tuple[Fraction, Fraction]:
        """Offset and slope of the mean score, as a function of the place."""

    @abstractmethod
    def scores(self, reports: Reports) -> Places:
        """The score of each report."""

    @abstractmethod
    def spread(self, place: Places) -> Floats:
        """The variance of the score of a report from each of these places."""

    def owned(self, value: object, names: Names) -> float:
        """A number."""
        return number(value)

    def coerce(self, values: npt.ArrayLike) -> Places:
        """Places on the lattice: clipped, rounded to the nearest; what is not a number counts as the middle."""
        return places(numbers(values), self.low, self.high, self.lattice)

    @property
    def cells(self) -> int:
        """The sum of the scores."""
        return 1

    def tally(self, reports: Reports) -> Tally:
        """The sum of the scores."""
        return np.array([self.scores(reports).sum(dtype=np.int64)])

    def estimate(self, tally: Tally, n: int) -> Floats:
        """The unbiased mean."""
        check_reports(n)
        offset, slope = self.line()
        place = (np.asarray(tally, dtype=np.float64)[:1] / n - float(offset)) / float(slope)
        return self.low + place * (self.high - self.low) / self.lattice

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of the mean; `truth` holds values, each standing for an equal share of the people."""
        check_reports(n)
        if truth is None:
            return np.array([self.peak() / n])
        return np.array([float(self.spread(self.coerce(truth)).mean()) * self._unit() ** 2 / n])

    def _unit(self) -> float:
        """What one point of score is worth."""
        return (self.high - self.low) / self.lattice / float(self.line()[1])

    def peak(self, share: float = 1.0) -> float:
        """The greatest mean square of one estimate around the middle, minus `share` of its squared mean."""
        return self.worst(share) * self._unit() ** 2

    def worst(self, share: float = 1.0) -> float:
        """The same of a score: for the whole share, the greatest variance over all places."""
        place = np.arange(self.lattice + 1)
        apart = float(self.line()[1]) * (place - self.lattice / 2)
        return float((self.spread(place) + (1 - share) * apart**2).max())

    def risk(self, n: int) -> float:
        """The variance of the mean at its worst."""
        return float(self.variance(n)[0])


def places(values: Floats, low: float, high: float, lattice: int) -> Places:
    """Nearest points of the lattice."""
    inside = np.where(np.isnan(values), (low + high) / 2, np.clip(values, low, high))
    return np.clip(np.rint((inside - low) / (high - low) * lattice), 0, lattice).astype(np.int64)


def check_interval(low: float, high: float) -> None:
    """Refuse an interval that is not one."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high and math.isfinite(high - low)):
        raise ParameterError(f"low must be below high, both finite, got [{low!r}, {high!r}]")
