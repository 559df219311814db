r"""Noise on the lattice Z^d with weight exp(-||z||_inf / scale): the cube.

With P(R) proportional to (2R + 1)^d q^R, q = exp(-1 / scale), and then z uniform on {-R..R}^d, the weight
of z is the sum over R >= ||z||_inf of q^R, proportional to q^{||z||_inf}.  Since
sum_R (2R + 1)^d x^R = B_d(x) / (1 - x)^{d+1}, B_d the Eulerian polynomial of type B (Brenti1994), R is a
sum of d + 1 geometric variables and one with P(E = j) proportional to [x^j]B_d q^j.
Proof: docs/proofs/sampling-cube.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.drawing import Shape
from sfumato.sampling.fixedpoint import exp_minus
from sfumato.sampling.geometric import Geometric
from sfumato.sampling.law import check_beta, check_scale, least_integer
from sfumato.sampling.table import WIDTH, Outcome, TabulatedLaw, tabulate
from sfumato.sampling.uniform import below

__all__ = ["CubeNoise"]

LARGEST = 10_000  # dimensions; the weights of E take seconds there
STEP = 2.0**-50  # relative error of one step of their recurrence
TINY = 2.0**-900  # of the largest weight
DIRECT = 2e5  # radii summed one by one below this many
SPREAD = 800  # scales beyond the mean, where doubles end
REACH = 2**55  # of (dimension + 1) * scale, so that draws stay inside int64

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CubeNoise:
    """Cube noise in `dimension` coordinates; `scale` is the exact double.

    >>> CubeNoise(2.0, 3).pmf([1, -4, 0]) == CubeNoise(2.0, 3).pmf([4, 4, 4])
    True
    """

    scale: float
    dimension: int

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)
        if not (isinstance(self.dimension, int) and 1 <= self.dimension <= LARGEST):
            raise ParameterError(f"dimension must be from 1 to {LARGEST}, got {self.dimension!r}")
        if (self.dimension + 1) * self.scale > REACH:
            raise ParameterError("(dimension + 1) * scale must be at most 2**55; coarsen the lattice")

    def sample(self, shape: Shape, rng: Rng) -> Integers:
        """Independent vectors: an int64 array of this shape followed by the dimension."""
        lead = () if shape is None else shape if isinstance(shape, tuple) else (shape,)
        count = math.prod(lead)
        radius = Geometric(self.scale).sample((count, self.dimension + 1), rng).sum(axis=1)
        radius += _extra(_eulerian_table(self.scale, self.dimension), count, rng)
        wide = np.repeat(radius[:, None], self.dimension, axis=1)
        coordinates: Integers = below((2 * wide + 1).astype(np.uint64), rng) - wide
        return coordinates.reshape((*lead, self.dimension))

    def pmf(self, z: npt.ArrayLike) -> float:
        """P(Z = z)."""
        norm = int(np.abs(np.asarray(z)).max())
        return math.exp(-norm / self.scale - self._log_total())

    def tail(self, t: int) -> float:
        """P(||Z||_inf > t), rounded up; within a factor exp(1 / scale) above DIRECT lattice points.

        A shell of radius r is the integral of 2 d (2x)^{d-1} over |x - r| <= 1/2, and exp(-r / scale)
        differs from exp(-x / scale) there by a factor exp(1 / (2 scale)) at most: so the norm's tail is
        at most exp(1 / scale) times that of a gamma variable at t + 1/2.
        """
        if t < 0:
            return 1.0
        if self.scale * (self.dimension + SPREAD) > DIRECT:
            from scipy.special import gammaincc

            above = float(gammaincc(self.dimension, (t + 0.5) / self.scale))
            return min(1.0, above * math.exp(1 / self.scale) * (1 + 1e-9) + 5e-324)
        tails = _norm_tails(self.scale, self.dimension)
        return float(tails[t + 1]) if t + 1 < tails.size else float(tails[-1])

    def quantile(self, beta: float) -> int:
        """The least integer t with tail(t) <= beta."""
        guess = self.scale * (self.dimension + math.log(1 / beta)) if 0 < beta < 1 else 0.0
        return least_integer(self.tail, beta, guess)

    def coordinate_quantile(self, beta: float) -> int:
        """An integer t with P(|Z_i| > t) <= beta for each i: the least, but for the rounding of wide laws.

        Given R, one coordinate is uniform on -R..R.  Wide noise is within a factor exp(1 / (2 scale)) of its continuous
        law, cell by cell, and that is a stretched narrow one.
        """
        check_beta(beta)
        narrow = min(self.scale, DIRECT / (self.dimension + SPREAD))
        wide = narrow < self.scale
        least = beta * math.exp(-1 / self.scale - 1 / narrow) if wide else beta
        tails = _coordinate_tails(narrow, self.dimension)
        place = int(np.searchsorted(-tails, -least))
        return math.ceil((place + 0.5 + 1e-6) * (self.scale / narrow) - 0.5) if wide else place

    @property
    def mean_norm(self) -> float:
        """E ||Z||_inf."""
        q, fall = math.exp(-1 / self.scale), -math.expm1(-1 / self.scale)
        return _moments(self.scale, self.dimension)[0] + self.dimension * q / fall

    @property
    def variance(self) -> float:
        """E Z_i^2 of one coordinate, the mean of R (R + 1) / 3."""
        q, fall = math.exp(-1 / self.scale), -math.expm1(-1 / self.scale)
        mean, spread = _moments(self.scale, self.dimension)
        mean += (self.dimension + 1) * q / fall
        spread += (self.dimension + 1) * q / fall**2
        return (spread + mean * mean + mean) / 3

    def _log_total(self) -> float:
        """ln of the sum of exp(-||z||_inf / scale) over the lattice: B_d(q) / (1 - q)^d."""
        weights, top = _tilted(self.scale, self.dimension)
        total = math.log(math.fsum(weights.tolist())) + top * math.log(2)
        return total - self.dimension * math.log(-math.expm1(-1 / self.scale))


@lru_cache(maxsize=16)
def _norm_tails(scale: float, dimension: int) -> npt.NDArray[np.float64]:
    """Entry r is P(||Z||_inf >= r), rounded up, as far as doubles reach."""
    r = np.arange(math.ceil(scale * (dimension + SPREAD)) + 2, dtype=np.float64)
    shells = dimension * np.log(2 * r + 1)
    shells[1:] += np.log1p(-(((2 * r[1:] - 1) / (2 * r[1:] + 1)) ** dimension))
    logs = shells - r / scale
    masses = np.exp(logs - logs.max())
    tails = np.cumsum(masses[::-1])[::-1] / masses.sum()
    upper: npt.NDArray[np.float64] = np.minimum(tails * (1 + 1e-9) + 1e-300, 1.0)
    return upper


@lru_cache(maxsize=16)
def _coordinate_tails(scale: float, dimension: int) -> npt.NDArray[np.float64]:
    """Entry t is P(|Z_i| > t), rounded up: the mean of 2 (R - t) / (2 R + 1) over R > t."""
    r = np.arange(math.ceil(scale * (dimension + SPREAD)) + 2, dtype=np.float64)
    logs = dimension * np.log(2 * r + 1) - r / scale
    masses = np.exp(logs - logs.max())
    shares = masses / masses.sum() / (2 * r + 1)
    above = np.append(np.cumsum(shares[:0:-1])[::-1], 0.0)
    tails = 2 * np.cumsum(above[::-1])[::-1]  # R - t is the number of whole s from t up to R
    upper: npt.NDArray[np.float64] = np.minimum(tails * (1 + 1e-9) + 1e-300, 1.0)
    return upper


def _moments(scale: float, dimension: int) -> tuple[float, float]:
    """Mean and variance of E; weights that are too small for doubles count as large as they may be."""
    held = _tilted(scale, dimension)[0]
    weights = np.where(held > 0, held, 2 * TINY)
    weights = weights / weights.sum()
    j = np.arange(dimension + 1)
    mean = float(weights @ j)
    return mean, float(weights @ (j - mean) ** 2)


@lru_cache(maxsize=16)
def _tilted(scale: float, dimension: int) -> tuple[npt.NDArray[np.float64], int]:
    """(w, top) with w[j] 2**top = [x^j]B_d exp(-j / scale) within a relative STEP * dimension.

    The recurrence has positive terms and at most five roundings a step (one of them that of q).  Each entry
    carries its own exponent, since neighbors may differ by any power; w is 0 below TINY.
    """
    q, _ = exp_minus(1 / Fraction(scale), 1600)  # at least exp(-1000), about 2**-1443
    shift = q.bit_length() - 1600
    tilt = (q >> q.bit_length() - 64) * 2.0**-64  # q = tilt 2**shift, beyond the range of doubles
    size, power = np.ones(1), np.zeros(1, dtype=np.int64)
    odd = 2.0 * np.arange(dimension + 1) + 1
    for n in range(1, dimension + 1):
        stay, move = np.append(odd[:n] * size, 0.0), np.append(0.0, odd[n - 1 :: -1] * size * tilt)
        here, there = np.append(power, power[-1] + shift), np.append(power[0], power + shift)
        top = np.maximum(here, there)
        total = np.ldexp(stay, np.maximum(here - top, -1000)) + np.ldexp(move, np.maximum(there - top, -1000))
        size, change = np.frexp(total)
        power = top + change
    highest = int(power.max())
    weights = np.where(power - highest >= -900, np.ldexp(size, np.maximum(power - highest, -900)), 0.0)
    return weights, highest


def _extra(table: TabulatedLaw, count: int, rng: Rng) -> Integers:
    """Draw E `count` times."""
    out = table.alias.picks(rng.bits64(count))
    for i in np.flatnonzero(out == len(table.outcomes)).tolist():
        index = len(table.outcomes)
        outcome: Outcome | None = None
        while outcome is None:
            outcome = table.outcomes[index] if index < len(table.outcomes) else table.remainder(rng)
            index = table.alias.pick(rng.word())
        out[i] = outcome[0]
    return out


@lru_cache(maxsize=64)
def _eulerian_table(scale: float, dimension: int) -> TabulatedLaw:
    """P(E = j) proportional to [x^j]B_d exp(-j / scale): from doubles, and exactly where they do not decide."""
    near, top = _tilted(scale, dimension)
    error = STEP * dimension

    def weigh(bits: int) -> Iterator[tuple[Outcome, int, int, int]]:
        if bits <= WIDTH:
            low = [int(math.ldexp(w * (1 - error), bits)) for w in near.tolist()]
            high = [int(math.ldexp(w * (1 + error) + TINY, bits)) + 1 for w in near.tolist()]
        else:
            low, high = _exact_weights(scale, dimension, top, bits)
        later = sum(high)
        for j in range(dimension + 1):
            later -= high[j]
            yield (j, 0), low[j], high[j], later

    return tabulate(weigh)


def _exact_weights(scale: float, dimension: int, top: int, bits: int) -> tuple[list[int], list[int]]:
    """Enclosures of 2**bits [x^j]B_d exp(-j / scale) 2**-top from the Eulerian numbers themselves."""
    low, high = [], []
    for j, number in enumerate(eulerian(dimension)):
        guard = max(0, number.bit_length() - top) + 8  # the weight is below 2; its number may not be
        less, more = exp_minus(j / Fraction(scale), bits + guard)
        low.append(less * number >> guard + top)
        high.append((more * number >> guard + top) + 1)
    return low, high


@lru_cache(maxsize=64)
def eulerian(dimension: int) -> tuple[int, ...]:
    """The Eulerian numbers of type B: B(n, k) = (2k+1) B(n-1, k) + (2n-2k+1) B(n-1, k-1).

    >>> eulerian(2), eulerian(3)
    ((1, 6, 1), (1, 23, 23, 1))
    """
    row = [1]
    for n in range(1, dimension + 1):
        row = [
            (2 * k + 1) * (row[k] if k < n else 0) + (2 * n - 2 * k + 1) * (row[k - 1] if k else 0)
            for k in range(n + 1)
        ]
    return tuple(row)
