r"""How far noise on coefficients moves a whole curve at once, and how far it moves one linear reading.

`supremum` is a quantile of the reading's own noise: simulated with public draws, so never of a union bound, with
a confidence limit that is below the true quantile with probability at most 1e-6 over those draws, and an inequality
from the grid to every point (docs/proofs/curves-bands.md).  `margins` are proven, each for one number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves.expansion import Reading
from sfumato.answers.curves.waves import Floats
from sfumato.errors import ParameterError
from sfumato.numeric import normal_point
from sfumato.sampling import DiscreteLaplace, RoundedNormal
from sfumato.sampling.balls import BallVectors
from sfumato.sampling.processes.suprema import CONFIDENCE, supremum_quantile
from sfumato.sampling.weighted_sums import SMALL, discrete_laplace, sum_quantiles

__all__ = ["Padded", "Silence", "margins", "place", "supremum"]

SEED = 20_260_101  # public; of the simulation, not of any noise that protects
MOST_PATHS, FEWEST_PATHS, WORK = 20_000, 400, 4e9  # paths, and multiplications for all of them
HELD = 1 << 23  # numbers held at a time
MOST_WEIGHTS = 40_000  # points times coefficients, beyond which the exact law of sums would take long
MOST_PROBED = 500  # coefficients whose weights are looked at on the whole grid
UP = 1 + 1e-9


class Silence:
    """No noise at all."""

    variance = 0.0


@dataclass(frozen=True, slots=True)
class Padded:
    """A reading as a finite basis for Gaussian processes, with `extra` coefficients that do not show."""

    reading: Reading
    extra: int = 0

    @property
    def features(self) -> int:
        """The number of coefficients."""
        return self.reading.size + self.extra

    def design(self, points: npt.ArrayLike) -> Floats:
        """The weights of the coefficients at points."""
        x = np.asarray(points, dtype=np.float64).reshape(-1, len(self.reading.domain))
        own = self.reading.design(x)
        return np.concatenate([own, np.zeros((len(x), self.extra))], axis=1)

    def suprema(self, coefficients: npt.ArrayLike) -> Floats:
        """For each row of coefficients an upper bound of the largest absolute value."""
        rows = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))[:, : self.reading.size]
        block = max(1, HELD // self.reading.grid_size)
        parts = [rows[start : start + block] for start in range(0, len(rows), block)]
        largest = [np.abs(self.reading.paths(part)).max(axis=1) for part in parts]
        return np.asarray(np.concatenate(largest) * self.reading.stretch)

    def spread(self, units: npt.ArrayLike) -> float:
        """An upper bound of sup_x sqrt(sum_k (units_k w_k(x))^2)."""
        return math.sqrt(float(((self._units(units) * self.reading.heights) ** 2).sum())) * UP

    def reach(self, units: npt.ArrayLike) -> float:
        """An upper bound of sup_x sum_k |units_k w_k(x)|."""
        return float(np.abs(self._units(units) * self.reading.heights).sum()) * UP

    def _units(self, units: npt.ArrayLike) -> Floats:
        return np.asarray(units, dtype=np.float64)[: self.reading.size]


def margins(weights: Floats, law: Any, beta: float) -> Floats:
    """For each row of weights w a distance that |sum_k w_k Z_k| exceeds with probability at most beta."""
    _check(beta)
    spread = np.sqrt((weights**2).sum(axis=1))
    if isinstance(law, RoundedNormal):
        rounding = 0.5 * np.abs(weights).sum(axis=1)
        return np.asarray((normal_point(beta / 2) * law.sigma * spread + rounding) * UP)
    if isinstance(law, DiscreteLaplace):
        return _chernoff(law.scale * spread, law.scale * np.abs(weights).max(axis=1, initial=0.0), beta)
    if isinstance(law, BallVectors):  # alike in all directions
        return np.asarray((law.margin(beta) * spread + 0.5 * np.abs(weights).sum(axis=1)) * UP)
    return np.zeros(len(weights))


def sharp_margins(weights: Floats, law: object, beta: float) -> Floats:
    """The same from the exact law of the sums of Laplace noise, where those are few enough."""
    rough = margins(weights, law, beta)
    if not isinstance(law, DiscreteLaplace) or weights.size > MOST_WEIGHTS:
        return rough
    far = margins(weights, law, SMALL * beta)
    return sum_quantiles(weights, discrete_laplace(law.scale), law.variance, beta, rough, far)


def _chernoff(width: Floats, largest: Floats, beta: float) -> Floats:
    """P(|S| > s) <= 2 exp(-k ln(1 - t^2) - t s / M), M the largest weight, k = (width / M)^2, for 0 < t < 1."""
    most = np.maximum(largest, 1e-300)
    k = (width / most) ** 2
    bounds = np.full(k.shape, np.inf)
    for t in np.linspace(0.02, 0.98, 49).tolist():
        bounds = np.minimum(bounds, (math.log(2 / beta) - k * math.log1p(-t * t)) / t)
    return np.asarray(bounds * most * UP)


def supremum(reading: Reading, units: Floats, law: Any, beta: float) -> float:
    """A distance that the noise of the whole curve, sup over its domain, exceeds with probability at most beta."""
    _check(beta)
    basis = Padded(reading)
    if isinstance(law, RoundedNormal):
        kind, scale, rounding = "normal", law.sigma, 0.5
    elif isinstance(law, DiscreteLaplace):
        kind, scale, rounding = "laplace", law.scale, 1.0  # a discrete Laplace variable is within 1 of a Laplace one
    elif isinstance(law, BallVectors):
        kind, scale, rounding = "ball", law.scale, 0.5
    else:
        return 0.0
    largest = float(units.max())
    relative = units / largest
    degrees = law.dimension if kind == "ball" else 0
    if kind == "normal" and reading.work * MOST_PATHS <= WORK:
        level = supremum_quantile(basis, tuple(relative.tolist()), beta)
    else:
        level = _limit(reading, kind, relative, beta, degrees)
    return largest * (scale * level + rounding * basis.reach(relative)) * UP


def _limit(reading: Reading, kind: str, relative: Floats, beta: float, degrees: int = 0) -> float:
    """The quantile of the supremum for unit noise; of a ball's in so many coordinates."""
    sups = _simulated(reading, kind, relative.tobytes(), degrees)
    rank = place(len(sups), beta)
    if rank < len(sups):
        return float(sups[rank])
    if kind == "normal":  # beyond its median by t deviations as rarely as one normal [Borell1975]
        middle = float(sups[place(len(sups), 0.5)])
        return middle + normal_point(beta) * Padded(reading).spread(relative)
    if kind == "ball":  # a deviation that all share, times the supremum of normal noise
        return BallVectors(1.0, degrees).radius(beta / 2) * _limit(reading, "normal", relative, beta / 2)
    weights = np.abs(reading.paths(np.diag(relative))) if reading.size <= MOST_PROBED else relative[:, None]
    weights = weights if reading.size <= MOST_PROBED else np.abs(weights * reading.heights[:, None])
    width = np.sqrt((weights**2).sum(axis=0))
    return float(_chernoff(width, weights.max(axis=0), beta / reading.grid_size).max()) * reading.stretch


def place(draws: int, beta: float) -> int:
    """The first of sorted draws that but for CONFIDENCE is not below the (1 - beta)-quantile; `draws` if none."""
    from scipy.special import bdtrc  # scipy.stats takes most of a second to import

    low, high = -1, draws
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bdtrc(middle, draws, 1 - beta) <= CONFIDENCE else (middle, high)
    return high


@lru_cache(maxsize=64)
def _simulated(reading: Reading, kind: str, relative: bytes, degrees: int = 0) -> Floats:
    """The sorted suprema of independent public paths with unit noise."""
    units, basis = np.frombuffer(relative), Padded(reading)
    paths = int(min(MOST_PATHS, max(FEWEST_PATHS, WORK / reading.work)))
    rng = np.random.Generator(np.random.PCG64(SEED))
    found: list[Floats] = []
    block = max(1, HELD // max(reading.grid_size, reading.size))
    for start in range(0, paths, block):
        many = (min(block, paths - start), reading.size)
        noise = rng.laplace(size=many) if kind == "laplace" else rng.standard_normal(many)
        if kind == "ball":
            noise *= np.sqrt(2 * rng.gamma(((degrees | 1) + 1) / 2, size=many[0]))[:, None]
        found.append(basis.suprema(noise * units))
    return np.sort(np.concatenate(found))


def _check(beta: float) -> None:
    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
