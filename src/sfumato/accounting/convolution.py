r"""Composed losses: sums of independent grid losses by one tilted Fourier transform, errors bounded.

Every grid is tilted by e^(tilt loss), so that the tail of interest is the bulk and carries full
relative precision; the transforms are multiplied and turned back on a circle of N points.  Three
errors are bounded in l1 and carried by `error`: mass outside the window of N points (Chernoff),
rounding of the transforms [Higham2002, Theorem 24.2] and rounding of the powers.
Proof: docs/proofs/accounting-loss.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import MASS_ERROR, Array
from sfumato.accounting.loss import Grid

__all__ = ["Part", "Sum", "convolve", "cumulants"]

ULP = 2.0**-53
ROUNDING = 10 * ULP  # relative l2 error of a transform per doubling of its length
OUTSIDE = 1e-8  # tilted mass that may fall outside the window
WIDEST = 1 << 22  # points of a window; what then stays outside widens the bounds
NEGLIGIBLE = 200.0  # Fourier coefficients below e^-200 are dropped

STEEP = 600.0  # largest exponent of a weight, short of overflow

Part = tuple[Grid, int]
Transform = npt.NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """The summed loss above each grid point s = step (first + i), s counted from `center`.

    above[i] is the tilted sum over j >= i of masses[j] e^(-tilt s_j), below likewise with tilt + 1,
    both times e^-scale; `error` bounds the tilted masses in l1 and `relative` every factor.
    """

    step: float
    first: int
    above: Array
    beyond: Array
    tilt: float
    center: float
    scale: float
    error: float
    relative: float
    infinity: float
    top: float

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds from below and above of the hockey-stick divergence of the summed grids."""
        if epsilon >= self.top:
            return self.infinity * (1 - 1e-12), self.infinity * (1 + 1e-12)
        index = min(max(math.floor(epsilon / self.step) + 1 - self.first, 0), len(self.above) - 1)
        ahead = epsilon - self.center
        if -(self.tilt + 1) * ahead > STEEP:
            return self.infinity * (1 - 1e-12), 1.0  # too far from the tilt to say anything
        high, low = float(self.above[index]), math.exp(min(ahead, 700.0)) * float(self.beyond[index])
        rounding = 4 * len(self.above) * ULP * (abs(high) + abs(low))
        wrong = rounding + self.error * self._peak() * math.exp(min(-self.tilt * ahead, 700.0))
        factor = math.exp(min(self.scale, 700.0))
        least = (high - low - wrong) * factor * (1 - self.relative) + self.infinity * (1 - 1e-12)
        most = (high - low + wrong) * factor * (1 + self.relative) + self.infinity * (1 + 1e-12)
        return max(0.0, min(1.0, least)), max(0.0, min(1.0, most))

    def _peak(self) -> float:
        """The greatest value of e^(-tilt x) (1 - e^-x) over x > 0."""
        if self.tilt <= 0:
            return 1.0
        return math.exp(-self.tilt * math.log1p(1 / self.tilt)) / (1 + self.tilt)


def cumulants(parts: Sequence[Part], tilt: float) -> tuple[float, float, float]:
    """ln E e^(tilt loss) of the sum, and its tilted mean and variance."""
    each = [(grid.cumulants(tilt), count) for grid, count in parts]
    total, mean, variance = (math.fsum(n * values[i] for values, n in each) for i in range(3))
    return total, mean, variance


def convolve(parts: Sequence[Part], tilt: float) -> Sum:
    """The sum of `count` independent losses of each grid, all on one step, precise near its tilt."""
    step, units = parts[0][0].step, sum(count for _, count in parts)
    log_total, center, variance = cumulants(parts, tilt)
    size, first, outside = _window(parts, tilt, center, math.sqrt(variance))
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    noise = largest = 0.0
    for grid, count in parts:
        one, wrong, exponent = _transform(grid, tilt, size)
        transform *= _power(one, count)
        noise += count * wrong
        largest = max(largest, exponent)
    bottom = sum(grid.first * count for grid, count in parts)
    masses = np.roll(np.fft.irfft(transform, size), (bottom - first) % size)
    # powers, products and the inverse transform err relatively in l2, hence sqrt(size) in l1
    powers = ULP * (20 * units + 1000 * len(parts)) + 2 * ROUNDING * math.log2(size)
    wide = math.sqrt(size) * _norm(masses)
    error = 2 * outside + noise * math.exp(min(noise, 700.0)) + powers * wide
    scale = log_total - tilt * center
    relative = units * (MASS_ERROR + 4 * ULP * largest) + 8 * ULP * (abs(log_total) + 2 * abs(tilt * center) + 100)
    points = step * np.arange(first, first + size) - center
    powers_of = (np.exp(np.minimum(-slope * points, STEEP + 40)) for slope in (tilt, tilt + 1))
    above, beyond = (_sums_from(masses * power) for power in powers_of)
    lost = -math.expm1(math.fsum(count * math.log1p(-grid.infinity) for grid, count in parts))
    top = math.fsum(count * grid.top for grid, count in parts) * (1 + 1e-12)
    return Sum(step, first, above, beyond, tilt, center, scale, error, relative, lost, max(top, 0.0))


def _norm(values: Array) -> float:
    return math.sqrt(float(np.sum(values * values)))  # a BLAS norm would wake threads for this


def _sums_from(values: Array) -> Array:
    return np.append(np.cumsum(values[::-1])[::-1], 0.0)


def _transform(grid: Grid, tilt: float, size: int) -> tuple[Transform, float, float]:
    """The transform of the tilted grid, wrapped to `size`; its l2 error; its largest exponent."""
    log_total = grid.cumulants(tilt)[0]
    exponents = tilt * grid.step * np.arange(grid.first, grid.first + len(grid.masses))
    with np.errstate(divide="ignore"):
        tilted = np.exp(exponents - log_total + np.log(grid.masses))
    wrapped = np.zeros(size)
    for start in range(0, len(tilted), size):
        piece = tilted[start : start + size]
        wrapped[: len(piece)] += piece
    wrong = ROUNDING * math.log2(size) * math.sqrt(size) * _norm(wrapped)
    return np.fft.rfft(wrapped), wrong, float(np.abs(exponents).max()) + abs(log_total)


def _power(values: Transform, count: int) -> Transform:
    """values ** count, by logarithms where the result is not negligible."""
    if count == 1:
        return values
    result = np.zeros_like(values)
    kept = np.flatnonzero(np.abs(values) > math.exp(-NEGLIGIBLE / count))
    result[kept] = np.exp(count * np.log(values[kept]))
    return result


def _window(parts: Sequence[Part], tilt: float, center: float, deviation: float) -> tuple[int, int, float]:
    """Size, first index and outside mass of a window around the tilted mean."""
    step = parts[0][0].step
    bottom = sum(grid.first * count for grid, count in parts)
    total = sum((len(grid.masses) - 1) * count for grid, count in parts) + 1
    whole = 1 << max(4, (total - 1).bit_length())
    reach = max(6.2 * deviation, step)  # a tilt may leave a point all mass but what rounds to none
    while True:
        size = 1 << max(4, math.ceil(math.log2(2 * reach / step + 2)))
        if size >= whole:
            return whole, bottom, 0.0
        first = math.floor(center / step) - size // 2
        ends = (step * (first + size), step * first)
        outside = sum(_chernoff(parts, tilt, center, deviation, end) for end in ends)
        if outside <= OUTSIDE or size >= WIDEST:
            return size, first, outside
        reach *= 1.3


def _chernoff(parts: Sequence[Part], tilt: float, center: float, deviation: float, limit: float) -> float:
    """Chernoff's bound of the tilted mass beyond `limit`, by the best of a few exponents."""
    base = cumulants(parts, tilt)[0]
    guess = (limit - center) / max(deviation**2, 1e-300)
    logs = [0.0]
    for factor in (1.0, 0.75, 0.5, 0.3, 0.15, 0.07):
        move = factor * guess
        logs.append(cumulants(parts, tilt + move)[0] - base - move * limit)
    return math.exp(min(logs)) * 1.0001
