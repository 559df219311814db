r"""Noise on the whole vectors whose numbers are all even or all odd, with weight exp(-||z||_inf / scale).

With P(R) proportional to (R + 1)^d q^R, q = exp(-1 / scale), and then z uniform on {-R, -R + 2, ..., R}^d, the weight
of z is the sum of q^R over R = ||z||_inf, ||z||_inf + 2, ..., proportional to q^{||z||_inf}.  Since
sum_R (R + 1)^d x^R = A_d(x) / (1 - x)^{d+1}, A_d the Eulerian polynomial, R is a sum of d + 1 geometric variables and
one with P(E = j) proportional to A(d, j) q^j.  Proof: docs/proofs/parity_cube.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.geometric import Geometric
from sfumato.sampling.law import check_beta, check_scale
from sfumato.sampling.table import TabulatedLaw
from sfumato.sampling.tilted import draw_tilted, tilted
from sfumato.sampling.uniform import below

__all__ = ["ParityNoise"]

LARGEST = 512  # dimensions
WIDEST = 64.0  # scale; the lattice is not felt beyond
SPREAD = 800  # scales beyond the mean, where doubles end

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ParityNoise:
    """Vectors of `dimension` numbers of one parity; `scale` is the exact double.  Tails and moments of one number."""

    scale: float
    dimension: int

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)
        if not (isinstance(self.dimension, int) and 1 <= self.dimension <= LARGEST):
            raise ParameterError(f"dimension must be from 1 to {LARGEST}, got {self.dimension!r}")
        if self.scale > WIDEST:
            raise ParameterError(
                f"scale must be at most {WIDEST:g}, got {self.scale:g}; use the cube, which is as good"
            )

    def vectors(self, count: int, rng: Rng) -> Integers:
        """Independent vectors, one a row."""
        radius = Geometric(self.scale).sample((count, self.dimension + 1), rng).sum(axis=1)
        table = _eulerian_table(self.scale, self.dimension)
        radius += np.array([draw_tilted(table, rng) for _ in range(count)], dtype=np.int64)
        wide = np.repeat(radius[:, None], self.dimension, axis=1)
        return np.asarray(2 * below((wide + 1).astype(np.uint64), rng) - wide)

    def sample(self, shape: int | tuple[int, ...], rng: Rng) -> Integers:
        """Independent draws of one number."""
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        return np.asarray(self.vectors(count, rng)[:, 0].reshape(shape))

    def pmf(self, z: npt.ArrayLike) -> float:
        """P(Z = z), z of one parity."""
        radius, masses = _radii(self.scale, self.dimension)
        norm = int(np.abs(np.asarray(z)).max())
        return float((masses / (radius + 1) ** self.dimension)[norm::2].sum())

    @property
    def variance(self) -> float:
        """E Z_i^2, the mean of R (R + 2) / 3."""
        radius, masses = _radii(self.scale, self.dimension)
        return float(masses @ (radius * (radius + 2))) / 3

    @property
    def mean_absolute(self) -> float:
        """E |Z_i|, the mean of floor((R + 1)^2 / 2) / (R + 1)."""
        radius, masses = _radii(self.scale, self.dimension)
        return float(masses @ (np.floor((radius + 1) ** 2 / 2) / (radius + 1)))

    def quantile(self, beta: float) -> int:
        """The least t with P(|Z_i| > t) <= beta."""
        check_beta(beta)
        return int(np.searchsorted(-_tails(self.scale, self.dimension), -beta))


@lru_cache(maxsize=16)
def _radii(scale: float, dimension: int) -> tuple[Floats, Floats]:
    """R and its probabilities, as far as doubles reach."""
    radius = np.arange(math.ceil(scale * (dimension + SPREAD)) + 2, dtype=np.float64)
    logs = dimension * np.log(radius + 1) - radius / scale
    masses = np.exp(logs - logs.max())
    return radius, np.asarray(masses / masses.sum())


@lru_cache(maxsize=16)
def _tails(scale: float, dimension: int) -> Floats:
    """Entry t is P(|Z_i| > t), rounded up: 2 ceil((R - t) / 2) / (R + 1) in the mean over R > t."""
    radius, masses = _radii(scale, dimension)
    above = np.append(np.cumsum((masses / (radius + 1))[:0:-1])[::-1], 0.0)  # sums over R > t
    tails = np.zeros_like(above)
    for parity in (0, 1):
        tails[parity::2] = 2 * np.cumsum(above[parity::2][::-1])[::-1]
    return np.asarray(np.minimum(tails * (1 + 1e-9) + 1e-300, 1.0))


@lru_cache(maxsize=16)
def _eulerian_table(scale: float, dimension: int) -> TabulatedLaw:
    """P(E = j) proportional to A(d, j) exp(-j / scale)."""
    return tilted(eulerian(dimension), scale)


@lru_cache(maxsize=64)
def eulerian(dimension: int) -> tuple[int, ...]:
    """The Eulerian numbers: A(n, k) = (k+1) A(n-1, k) + (n-k) A(n-1, k-1).

    >>> eulerian(3), eulerian(4)
    ((1, 4, 1), (1, 11, 11, 1))
    """
    row = [1]
    for n in range(2, dimension + 1):
        row = [(k + 1) * (row[k] if k < n - 1 else 0) + (n - k) * (row[k - 1] if k else 0) for k in range(n)]
    return tuple(row)
