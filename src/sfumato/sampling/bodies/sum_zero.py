r"""Exact noise on the integer vectors of sum zero with weight exp(-||z||_1 / (2 scale)): a histogram under replacement.

Let m = ||z||_1 / 2 be the total of the positive cells, n the number of cells, q = exp(-1 / scale).  Vectors with k
positive cells number C(n, k) C(m-1, k-1) C(m+n-k-1, m): a set of cells, positive parts of m on it, any elsewhere.
The generating function of their sum over k is sum_j C(n-1, j)^2 x^j / (1 - x)^{n-1} [ConwaySloane1997], so m is the sum
of n - 1 geometric variables and one with P(E = j) proportional to C(n-1, j)^2 q^j; given m all vectors are equally
likely.  One cell is a two-sided geometric variable, given that n of them add up to zero: P(z) is proportional to
a^|z| P(S = z), a = sqrt q, S the sum of n - 1 such variables.  Proof: docs/proofs/sampling-bodies.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.fixedpoint import LazyUniform
from sfumato.sampling.geometric import Geometric
from sfumato.sampling.law import check_scale
from sfumato.sampling.table import TabulatedLaw
from sfumato.sampling.tilted import draw_tilted, tilted
from sfumato.sampling.uniform import floor_scaled

__all__ = ["OneOfSumZero", "SumZeroNoise"]

LARGEST = 512  # cells
FINE = 512.0  # the largest scale at which the law of one cell is tabulated; wider ones are the same but for the unit
NEGLECTED = 1e-12  # how far a tabulated tail may be off

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SumZeroNoise:
    """Noise on `cells` whole numbers of sum zero; `scale` is the exact double."""

    scale: float
    cells: int

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)
        if not (isinstance(self.cells, int) and 2 <= self.cells <= LARGEST):
            raise ParameterError(f"cells must be from 2 to {LARGEST}, got {self.cells!r}")
        if self.cells * self.scale > 2.0**50:
            raise ParameterError("cells * scale must be at most 2**50; coarsen the lattice")

    def sample(self, count: int, rng: Rng) -> Integers:
        """Independent vectors, one a row."""
        totals = Geometric(self.scale).sample((count, self.cells - 1), rng).sum(axis=1)
        table = _excess_table(self.scale, self.cells)
        rows = [_vector(int(total) + draw_tilted(table, rng), self.cells, rng) for total in totals]
        return np.array(rows, dtype=np.int64).reshape(count, self.cells)

    def pmf(self, z: npt.ArrayLike) -> float:
        """P(Z = z) for z of sum zero."""
        half = int(np.abs(np.asarray(z)).sum()) // 2
        q, last = math.exp(-1 / self.scale), self.cells - 1
        total = math.fsum(math.comb(last, j) ** 2 * q**j for j in range(last + 1)) / (1 - q) ** last
        return q**half / total


@dataclass(frozen=True, slots=True)
class OneOfSumZero:
    """The noise of one of the cells."""

    vectors: SumZeroNoise

    @property
    def variance(self) -> float:
        """E Z^2."""
        wide, law = self._law()
        return wide**2 * float(law @ np.arange(len(law)) ** 2.0)

    @property
    def mean_absolute(self) -> float:
        """E |Z|."""
        wide, law = self._law()
        return wide * float(law @ np.arange(len(law)))

    def quantile(self, beta: float) -> int:
        """A whole t with P(|Z| > t) <= beta: the least, but for the rounding of wide laws and of tiny tails."""
        wide, law = self._law()
        tails = np.append(np.cumsum(law[:0:-1])[::-1], 0.0) + NEGLECTED
        known = max(beta, 100 * NEGLECTED)  # beyond, the law is log-concave: P(|Z| > u t) <= P(|Z| > t)^u
        place = int(np.searchsorted(-tails, -known))
        far = (place + (wide > 1)) * wide
        return math.ceil(far if known == beta else (far + 1) * max(1.0, math.log(beta) / math.log(known)))

    def sample(self, shape: int | tuple[int, ...], rng: Rng) -> Integers:
        """Independent draws."""
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        return np.asarray(self.vectors.sample(count, rng)[:, 0].reshape(shape))

    def _law(self) -> tuple[float, npt.NDArray[np.float64]]:
        """How much wider the noise is than what is tabulated, and P(|Z| = t) of that for t = 0, 1, ..."""
        wide = max(1.0, self.vectors.scale / FINE)
        return wide, _one_cell(self.vectors.scale / wide, self.vectors.cells)


@lru_cache(maxsize=64)
def _one_cell(scale: float, cells: int) -> npt.NDArray[np.float64]:
    """P(|Z| = t) of one cell, S by a discrete Fourier transform so long that nothing wraps around."""
    a, last = math.exp(-0.5 / scale), cells - 1
    reach = math.ceil(2 * scale * 40) + 40
    spread = math.sqrt(2 * a * last) / (1 - a)
    points = 2 ** math.ceil(math.log2(2 * (2 * reach + 12 * spread)))
    angles = np.cos(2 * np.pi * np.arange(points // 2 + 1) / points)
    sums = np.fft.irfft(((1 - a) ** 2 / (1 - 2 * a * angles + a * a)) ** last, points)[:reach]
    law = np.maximum(sums, 0.0) * a ** np.arange(reach)
    law[1:] *= 2
    return np.asarray(law / law.sum())


def _vector(m: int, cells: int, rng: Rng) -> list[int]:
    """Uniform among the vectors with positive total m."""
    out = [0] * cells
    if m == 0:
        return out
    weights = [math.comb(cells, k) * math.comb(m - 1, k - 1) * math.comb(m + cells - k - 1, m) for k in range(1, cells)]
    place, k = floor_scaled(LazyUniform(), sum(weights), rng), 0
    while place >= 0:
        place -= weights[k]
        k += 1
    chosen = _subset(cells, k, rng)
    others = sorted(set(range(cells)) - set(chosen))
    cuts = [0, *(cut + 1 for cut in _subset(m - 1, k - 1, rng)), m]  # positive parts of m
    for cell, (low, high) in zip(chosen, pairwise(cuts), strict=True):
        out[cell] = high - low
    bars = [-1, *_subset(m + len(others) - 1, len(others) - 1, rng), m + len(others) - 1]  # parts that may be zero
    for cell, (low, high) in zip(others, pairwise(bars), strict=True):
        out[cell] = -(high - low - 1)
    return out


def _subset(size: int, count: int, rng: Rng) -> list[int]:
    """A uniform set of `count` of the integers below `size`, in order: Floyd's algorithm."""
    chosen: set[int] = set()
    for top in range(size - count, size):
        pick = floor_scaled(LazyUniform(), top + 1, rng)
        chosen.add(top if pick in chosen else pick)
    return sorted(chosen)


@lru_cache(maxsize=16)
def _excess_table(scale: float, cells: int) -> TabulatedLaw:
    """P(E = j) proportional to C(n-1, j)^2 exp(-j / scale)."""
    return tilted([math.comb(cells - 1, j) ** 2 for j in range(cells)], scale)
