r"""Noise shaped like a body, on the integer lattice: exact where the body allows it, else drawn in floating point.

`LatticeNoise` maps exact integer noise (cube or Laplace, weight exp(-||g|| / scale)) by an integer matrix.
`RoundedNoise` rounds floating-point draws with density exp(-rate gauge).  Both have log-concave coordinates, up to
rounding, so a tail known at one point bounds it beyond: P(|Z| > t) <= P(|Z| > s)^{t/s} for t >= s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng, seeded
from sfumato.sampling.bodies.body import ORDERS, Body, body_noise
from sfumato.sampling.bodies.hull import Hull
from sfumato.sampling.bodies.knorm import knorm, sampler
from sfumato.sampling.bodies.sum_zero import OneOfSumZero, SumZeroNoise
from sfumato.sampling.cube import CubeNoise
from sfumato.sampling.laplace import DiscreteLaplace
from sfumato.sampling.reals import Reals

__all__ = ["LatticeNoise", "RoundedNoise", "accuracy_draws", "check_reach", "margins", "mean_norm", "rounded"]

SIMULATED = 4000  # draws from which accuracy is computed; it is a public figure, from a fixed seed
CHEAP, FEWEST = 10_000, 400  # entries of a matrix beyond which fewer are drawn, and the least number
SURE = 1e-6  # chance that a simulated quantile is too low, were the draws independent
TAIL = 0.02  # the least tail that is simulated; beyond, log-concavity
FARTHEST = 2.0**45  # lattice units of floating-point noise: a draw, 40 times that at most, keeps digits below one unit

Integers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class LatticeNoise:
    """matrix @ g, g exact integer noise in `degrees` coordinates (of sum zero, or not); no matrix means g itself."""

    law: CubeNoise | DiscreteLaplace | SumZeroNoise
    degrees: int
    matrix: Integers | None = None

    exact = True

    def sample(self, count: int, rng: Rng) -> Integers:
        """Independent vectors, one a row."""
        if isinstance(self.law, CubeNoise | SumZeroNoise):
            noise: Integers = self.law.sample(count, rng)
        else:
            noise = np.asarray(self.law.sample((count, self.degrees), rng))
        if self.matrix is None:
            return noise
        reach = float(np.abs(self.matrix).sum(axis=1).max()) * float(np.abs(noise).max(initial=0))
        kind = np.int64 if reach < 2.0**62 else object
        return np.asarray(noise.astype(kind) @ self.matrix.T.astype(kind))

    @property
    def variances(self) -> Reals:
        """Of each coordinate."""
        one = OneOfSumZero(self.law).variance if isinstance(self.law, SumZeroNoise) else self.law.variance
        if self.matrix is None:
            return np.full(self.degrees, one)
        return np.asarray(one * (self.matrix.astype(np.float64) ** 2).sum(axis=1))

    def margins(self, beta: float) -> Reals:
        """For each coordinate a distance exceeded with probability at most beta."""
        if self.matrix is None:
            return np.full(self.degrees, float(self._quantile(beta)))
        return margins(_simulated(self), beta)

    def _quantile(self, beta: float) -> int:
        """Of one coordinate."""
        if isinstance(self.law, CubeNoise):
            return self.law.coordinate_quantile(beta)
        return (OneOfSumZero(self.law) if isinstance(self.law, SumZeroNoise) else self.law).quantile(beta)

    def mean_norm(self, norm: str) -> float:
        """E ||Z||, simulated from a fixed seed."""
        return mean_norm(_simulated(self), norm)


@dataclass(frozen=True, slots=True)
class RoundedNoise:
    """round(Z), Z with density exp(-rate gauge) or, for linear images, the image of such noise."""

    body: Body
    rate: float
    patient: bool = False  # a hull is drawn by rejection, however rare the points that are kept

    exact = False

    def __post_init__(self) -> None:
        check_reach(self.body.extent * (self.body.degrees + 1) / self.rate)

    def sample(self, count: int, rng: Rng) -> Integers:
        """Vectors, one a row; of a walk each comes from a chain of its own only if count is 1."""
        return rounded(self.reals(count, rng))

    def reals(self, count: int, rng: Rng) -> Reals:
        """The same before rounding."""
        if isinstance(self.body, Hull):
            return knorm(self.body, self.rate, count, rng, method=self.method)[0]
        return body_noise(self.body, self.rate, count, rng)

    @property
    def method(self) -> str | None:
        """How a hull is drawn; None for other bodies."""
        if not isinstance(self.body, Hull):
            return None
        return "rejection" if self.patient else sampler(self.body)

    @property
    def mixing(self) -> bool:
        """Whether the draws come from a walk that is not proven to mix."""
        return self.method == "walk"

    @property
    def variances(self) -> Reals:
        """Of each coordinate; simulated for hulls."""
        covariance = getattr(self.body, "covariance", None)
        if covariance is None:
            return np.asarray((_simulated(self) ** 2).mean(axis=0))
        shape = self.body.degrees
        return np.asarray((shape + 1) * (shape + 2) / self.rate**2 * np.diag(covariance()) + 1 / 12)

    def margins(self, beta: float) -> Reals:
        """For each coordinate a distance exceeded with probability at most beta."""
        return margins(_simulated(self), beta)

    def mean_norm(self, norm: str) -> float:
        """E ||Z||, simulated from a fixed seed."""
        return mean_norm(_simulated(self), norm)


def check_reach(size: float) -> None:
    """Refuse noise of such a size that doubles no longer resolve the lattice, let alone fit into int64."""
    if not size <= FARTHEST:
        raise ParameterError(
            f"noise of this shape would reach {size:.3g} lattice units, doubles can draw at most {FARTHEST:.3g}; "
            "choose a coarser lattice, more equal weights or a larger epsilon"
        )


def rounded(reals: Reals) -> Integers:
    """The nearest whole numbers, exactly: Python's own where int64 ends, never a constant in their place."""
    nearest = np.rint(reals)
    if np.abs(nearest).max(initial=0.0) < 2.0**62:
        return nearest.astype(np.int64)
    return np.array([int(number) for number in nearest.flat], dtype=object).reshape(nearest.shape)


def mean_norm(draws: Reals, norm: str) -> float:
    """The mean norm of the rows."""
    if norm not in ORDERS:
        raise ParameterError(f"norm must be one of {', '.join(ORDERS)}, got {norm!r}")
    return float(np.linalg.norm(draws, ord=ORDERS[norm], axis=1).mean())


def margins(draws: Reals, beta: float) -> Reals:
    """A simulated quantile, chosen so high that it is too low with probability SURE only, and its extrapolation."""
    from scipy.stats import binom

    sizes = np.sort(np.abs(draws), axis=0)
    near = max(beta, TAIL, -math.log(SURE) / len(draws))
    rank = int(binom.isf(SURE, len(draws), 1 - near)) + 1
    known = sizes[min(rank, len(draws)) - 1] + 0.5  # rounding moves a coordinate by at most a half
    return np.asarray(np.ceil(known * max(1.0, math.log(beta) / math.log(near)) + 0.5))


def _simulated(noise: LatticeNoise | RoundedNoise) -> Reals:
    """SIMULATED draws of a fixed seed; a rounded body is drawn once for all rates."""
    if isinstance(noise, RoundedNoise):
        return accuracy_draws(noise.body) / noise.rate  # type: ignore[arg-type]
    return np.asarray(noise.sample(SIMULATED, seeded(0)), dtype=np.float64)


@lru_cache(maxsize=32)
def accuracy_draws(body: Body, seed: int = 0) -> Reals:
    """Draws at rate 1, for accuracy only; hulls by the walk unless a faster sampler is exact, large ones fewer."""
    if isinstance(body, Hull):
        method = "walk" if sampler(body) == "rejection" else sampler(body)
        cost = body.frame.columns.size if method == "walk" else 0  # of a pivot
        count = SIMULATED if cost <= CHEAP else max(FEWEST, SIMULATED * CHEAP // cost)
        return knorm(body, 1.0, count, seeded(seed), method=method, chains=4 if count > 1000 else 2)[0]
    return body_noise(body, 1.0, SIMULATED, seeded(seed))
