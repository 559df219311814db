r"""The discrete Laplace law, cut off: P(z) proportional to exp(-|z| / scale) for |z| < reach, at it `edge` times that.

A draw of the law without a cut is kept if it lies within; at the edge, if a coin of probability `edge` says so.  Where
the cut leaves little of that law, a uniform integer within reach is tried by a coin of probability exp(-|z| / scale).
Both are exact, and how many are tried does not depend on what is kept.  Proof: docs/proofs/sampling-truncated.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.bernoulli import bernoulli, bernoulli_exp
from sfumato.sampling.drawing import Integers, Shape
from sfumato.sampling.laplace import DiscreteLaplace
from sfumato.sampling.law import check_scale, least_integer, outward
from sfumato.sampling.uniform import uniform_integers

__all__ = ["TruncatedLaplace"]

LARGEST = 2**50  # reach
SUMMED = 100_000  # places up to which moments are summed one by one
FLAT = 4  # scales so many times the reach are drawn from a uniform law


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """Two-sided geometric noise within `reach`; `scale` and `edge` are the exact doubles.

    >>> law = TruncatedLaplace(2.0, 3, 0.5)
    >>> law.pmf(4), law.pmf(3) / law.pmf(2) == 0.5 * math.exp(-0.5)
    (0.0, True)
    """

    scale: float
    reach: int
    edge: float = 1.0

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)
        if isinstance(self.reach, bool) or not isinstance(self.reach, int) or not 1 <= self.reach <= LARGEST:
            raise ParameterError(f"reach must be a whole number from 1 to 2**50, got {self.reach!r}")
        if not (isinstance(self.edge, int | float) and 0 <= self.edge <= 1):
            raise ParameterError(f"edge must be a probability, got {self.edge!r}")

    def sample(self, shape: Shape, rng: Rng) -> Any:
        """Independent draws, an int64 array of this shape; an int for () and None."""
        if shape is None or shape == ():
            return int(self._kept(1, rng)[0])
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        return self._kept(count, rng).reshape(shape)

    def _kept(self, count: int, rng: Rng) -> Integers:
        """The first draws that are kept."""
        found = np.empty(0, dtype=np.int64)
        while found.size < count:
            tried = self._tried(count - found.size, rng)
            at_edge = np.asarray(bernoulli(Fraction(self.edge), tried.size, rng))
            keep = (abs(tried) < self.reach) | ((abs(tried) == self.reach) & at_edge)
            found = np.concatenate([found, tried[keep]])
        return found

    def _tried(self, count: int, rng: Rng) -> Integers:
        """Draws of a law that is the right one within reach."""
        if FLAT * self.reach > self.scale:
            drawn: Integers = DiscreteLaplace(self.scale).sample(count, rng)
            return drawn
        places: Integers = uniform_integers(2 * self.reach + 1, count, rng) - self.reach
        rate = 1 / Fraction(self.scale)
        return places[[bernoulli_exp(abs(z) * rate, None, rng) for z in places.tolist()]]

    def pmf(self, z: int) -> float:
        """P(Z = z)."""
        return self.weight(z) / self.total

    def weight(self, z: int) -> float:
        """In proportion to which z is drawn: 1 at 0."""
        if abs(z) > self.reach:
            return 0.0
        return math.exp(-abs(z) / self.scale) * (self.edge if abs(z) == self.reach else 1.0)

    @property
    def total(self) -> float:
        """Of all weights."""
        return 1 + 2 * (self.between(1, self.reach - 1) + self.weight(self.reach))

    @property
    def inside(self) -> float:
        """What the cut leaves of the law without it, rounded down: no event is more than 1 / inside times as likely.

        >>> TruncatedLaplace(2.0, 3).inside < 1 - DiscreteLaplace(2.0).tail(3) < TruncatedLaplace(2.0, 3).inside * 1.001
        True
        """
        return self.total * math.tanh(0.5 / self.scale) * (1 - 1e-9)

    def between(self, low: int, high: int) -> float:
        """The sum of exp(-j / scale) over whole j from `low` to `high`, both at least 0."""
        if low > high:
            return 0.0
        fall = 1 / self.scale
        return math.exp(-low * fall) * math.expm1(-(high - low + 1) * fall) / math.expm1(-fall)

    def tail(self, t: int) -> float:
        """P(|Z| > t), rounded up."""
        if t < 0:
            return 1.0
        if t >= self.reach:
            return 0.0
        beyond = 2 * (self.between(t + 1, self.reach - 1) + self.weight(self.reach))
        return outward(beyond / self.total, self.reach / self.scale)

    def quantile(self, beta: float) -> int:
        """The least integer t with P(|Z| > t) <= beta, never too small."""
        guess = self.scale * math.log(1 / beta) if 0 < beta < 1 else 0.0
        return least_integer(self.tail, beta, min(guess, self.reach))

    @property
    def variance(self) -> float:
        """E Z^2."""
        return 2 * (self._moments()[1] + self.reach**2 * self.weight(self.reach)) / self.total

    @property
    def mean_absolute(self) -> float:
        """E |Z|."""
        return 2 * (self._moments()[0] + self.reach * self.weight(self.reach)) / self.total

    def _moments(self) -> tuple[float, float]:
        """The sums of j and j^2 times exp(-j / scale) over 0 < j < reach."""
        last = self.reach - 1
        if last <= SUMMED:
            j = np.arange(1, last + 1, dtype=np.float64)
            weights = np.exp(-j / self.scale)
            return float(j @ weights), float(j**2 @ weights)
        if last < self.scale / 100:
            return self._series(1, last), self._series(2, last)
        q, f = math.exp(-1 / self.scale), -math.expm1(-1 / self.scale)
        left = math.exp(-(last + 1) / self.scale)
        first = (q - left * (last * f + 1)) / f**2
        return first, (q * (1 + q) - left * ((last * f) ** 2 + 2 * last * f + 1 + q)) / f**3

    def _series(self, power: int, last: int) -> float:
        """The sum of j^power exp(-j / scale) over 1..last by the exponential's series, for flat laws."""
        total, factor = 0.0, 1.0
        for i in range(6):
            k = power + i
            total += factor * (last ** (k + 1) / (k + 1) + last**k / 2 + k * last ** (k - 1) / 12)
            factor *= -1 / (self.scale * (i + 1))
        return total
