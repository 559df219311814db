r"""Exact noise on the integer vectors of sum zero with weight exp(-||z||_1 / (2 scale)): a histogram under replacement.

Let m = ||z||_1 / 2 be the total of the positive cells, n the number of cells, q = exp(-1 / scale).  Vectors with k
positive cells number C(n, k) C(m-1, k-1) C(m+n-k-1, m): a set of cells, positive parts of m on it, any elsewhere.
The generating function of their sum over k is sum_j C(n-1, j)^2 x^j / (1 - x)^{n-1} [ConwaySloane1997], so m is the sum
of n - 1 geometric variables and one with P(E = j) proportional to C(n-1, j)^2 q^j; given m all vectors are equally
likely.  Proof: docs/proofs/sampling-bodies.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.fixedpoint import LazyUniform, exp_minus
from sfumato.sampling.geometric import Geometric
from sfumato.sampling.law import check_scale
from sfumato.sampling.table import Outcome, Table, tabulate
from sfumato.sampling.uniform import floor_scaled

__all__ = ["SumZeroNoise"]

LARGEST = 512  # cells

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
        rows = [_vector(int(total) + _excess(table, rng), self.cells, rng) for total in totals]
        return np.array(rows, dtype=np.int64).reshape(count, self.cells)

    def pmf(self, z: npt.ArrayLike) -> float:
        """P(Z = z) for z of sum zero."""
        half = int(np.abs(np.asarray(z)).sum()) // 2
        q, last = math.exp(-1 / self.scale), self.cells - 1
        total = math.fsum(math.comb(last, j) ** 2 * q**j for j in range(last + 1)) / (1 - q) ** last
        return q**half / total


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


def _excess(table: Table, rng: Rng) -> int:
    """One draw of E."""
    while True:
        index = table.alias.pick(rng.word())
        outcome: Outcome | None = table.outcomes[index] if index < len(table.outcomes) else table.remainder(rng)
        if outcome is not None:
            return outcome[0]


@lru_cache(maxsize=16)
def _excess_table(scale: float, cells: int) -> Table:
    """P(E = j) proportional to C(n-1, j)^2 exp(-j / scale)."""
    numbers, rate = [math.comb(cells - 1, j) ** 2 for j in range(cells)], 1 / Fraction(scale)
    top = round(max(math.log2(number) - j * math.log2(math.e) / scale for j, number in enumerate(numbers)))

    def weigh(bits: int) -> Iterator[tuple[Outcome, int, int, int]]:
        encl = []
        for j, number in enumerate(numbers):
            guard = max(0, number.bit_length() - top) + 8
            low, high = exp_minus(rate * j, bits + guard)
            encl.append((low * number >> guard + top, (high * number >> guard + top) + 1))
        later = sum(high for _, high in encl)
        for j, (low, high) in enumerate(encl):
            later -= high
            yield (j, 0), low, high, later

    return tabulate(weigh)
