r"""A smooth curve through noisy means of cells, and how far the regression function may be from it.

In pool g of n rows the noisy sum A and number N leave A - p N = n (f - p) + noise, of variance
s^2 sum_k (level_k - p)^2 over its cells for privacy and n v for sampling, v the target's variance there.  With f a
Gaussian process of Matern's kernel 3/2 about an unknown level this is linear: f has a mean, the curve, and a covariance
[RasmussenWilliams2006, 2.7].  Length and amplitude of the process are those under which the noisy sums are likeliest;
p is the curve itself, in turn.  Rows lie about the middle of their pool by an unknown amount, which adds what the
process changes over it.  The deviations that bands use are those of a process of half the length: under the likeliest
one they cover on average over the curve [Nychka1988], not everywhere at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.answers.curves.pooling import Pool, Tallies
from sfumato.answers.curves.waves import Floats

__all__ = ["Process", "smooth"]

LENGTHS = tuple(np.geomspace(0.05, 2.0, 8).tolist())  # of the process, in ranges of the columns
AMPLITUDES = tuple(np.geomspace(0.02, 1.0, 6).tolist())  # in ranges of the target
ROUNDS = 3
ROUGHER = 2.0
LIKELY = 1.0  # processes whose likelihoods are within a factor e of the largest
LEAST_VARIANCE, MOST_VARIANCE = 1e-4, 0.25  # of the target in a pool, in squared ranges


@dataclass(frozen=True, eq=False)
class Process:
    """A Gaussian process given noisy values at places, of known variances, about an unknown level."""

    places: Floats
    values: Floats
    variances: Floats
    spreads: Floats
    length: float
    amplitude: float

    @cached_property
    def _factor(self) -> Floats:
        unknown = 2 * self.amplitude**2 * (1 - _matern(self.spreads / self.length))
        among = self.amplitude**2 * _matern(_apart(self.places, self.places) / self.length)
        return np.asarray(np.linalg.cholesky(among + np.diag(self.variances + unknown)), dtype=np.float64)

    def _solved(self, right: Floats) -> Floats:
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self._factor, right, lower=True))

    @cached_property
    def _ones(self) -> Floats:
        return self._solved(np.ones(len(self.values)))

    @cached_property
    def _level(self) -> float:
        return float(self._ones @ self._solved(self.values) / (self._ones @ self._ones))

    @cached_property
    def _rest(self) -> Floats:
        return self._solved(self.values) - self._level * self._ones

    @cached_property
    def likelihood(self) -> float:
        """The logarithm of the values' density, the level integrated out, up to a constant."""
        determinant = float(np.log(np.diag(self._factor)).sum())
        return -float(self._rest @ self._rest) / 2 - determinant - float(np.log(self._ones @ self._ones)) / 2

    def _seen(self, points: Floats) -> Floats:
        return self._solved(self.amplitude**2 * _matern(_apart(self.places, points) / self.length))

    def mean(self, points: Floats) -> Floats:
        """The curve."""
        return np.asarray(self._level + self._seen(points).T @ self._rest)

    def deviations(self, points: Floats) -> Floats:
        """The standard deviation of what it may be at each point."""
        seen = self._seen(points)
        left = self.amplitude**2 - (seen**2).sum(axis=0) + (1 - self._ones @ seen) ** 2 / (self._ones @ self._ones)
        return np.asarray(np.sqrt(np.maximum(left, 1e-18)))

    def covariance(self, points: Floats) -> Floats:
        """Between points."""
        seen = self._seen(points)
        level = 1 - self._ones @ seen
        prior = self.amplitude**2 * _matern(_apart(points, points) / self.length)
        return np.asarray(prior - seen.T @ seen + np.outer(level, level) / (self._ones @ self._ones))


def smooth(tallies: Tallies, read: Sequence[Pool]) -> tuple[Process, Process]:
    """The process whose mean is the curve, and the rougher one whose deviations bands have."""
    sums = np.array([tallies.sums[pool.cells].sum(axis=0) for pool in read])
    rows, spreads = np.array([pool.rows for pool in read]), np.array([pool.spread for pool in read])
    noise = tallies.variance * np.array([len(pool.cells) for pool in read])
    places = np.stack([pool.place for pool in read])
    apart = _apart(places, places)
    first = np.clip(float((sums @ tallies.levels).sum()) / max(float(sums.sum()), 1.0), 0.0, 1.0)
    fitted = np.full(len(read), first)
    window = np.ones_like(apart)
    best: Process | None = None
    for _ in range(ROUNDS):
        left = sums @ tallies.levels - fitted * sums.sum(axis=1)
        squares = sums[:, -1] - 2 * fitted * (sums @ tallies.levels) + fitted**2 * sums.sum(axis=1)
        within = np.clip(window @ squares / (window @ rows), LEAST_VARIANCE, MOST_VARIANCE)
        private = noise * ((tallies.levels - fitted[:, None]) ** 2).sum(axis=1)
        variances = (private + rows * within) / rows**2
        tried = [
            Process(places, fitted + left / rows, variances, spreads, length, amplitude)
            for length in LENGTHS
            for amplitude in AMPLITUDES
        ]
        best = max(tried, key=lambda one: one.likelihood)
        fitted = np.clip(best.mean(places), 0.0, 1.0)
        window = _matern(apart / (best.length / 3))
    assert best is not None
    likely = [one for one in tried if one.likelihood > best.likelihood - LIKELY]
    widest = max(likely, key=lambda one: float(one.deviations(places).mean()))
    return best, replace(widest, length=widest.length / ROUGHER)


def _apart(some: Floats, others: Floats) -> Floats:
    """Distances in the unit box."""
    return np.asarray(np.sqrt(((some[:, None, :] - others[None, :, :]) ** 2).sum(axis=2)))


def _matern(distance: Floats) -> Floats:
    """Matern's kernel 3/2."""
    scaled = np.sqrt(3.0) * distance
    return np.asarray((1 + scaled) * np.exp(-scaled))
