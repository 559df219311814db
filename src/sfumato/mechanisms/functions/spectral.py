"""Spectral norms of noise matrices: bounds for normal noise, simulated quantiles with proven tails for the rest.

Normal: E of the norm is at most 2 s sqrt(d) for a symmetric matrix with products of standard deviation s and squares of
sqrt(2) s, and s (sqrt(d) + sqrt(k)) for d x k independent entries [DavidsonSzarek2001]; above it the tail is Gaussian.
Cube, ball and Laplace noise: the norm is simulated from a fixed seed; beyond the simulated 90 % the tail falls
exponentially, since the laws are log-concave and even [Borell1974].
Proof: docs/proofs/spectral.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.noise.law import NoiseLaw

__all__ = ["rectangular_normal", "simulated", "symmetric_normal"]

DRAWS = 200  # of matrices up to LARGE; above, FEWER: their norms hardly vary
LARGE = 60
FEWER = 60
SEED = 20140

Floats = npt.NDArray[np.float64]


def symmetric_normal(deviation: float, size: int, beta: float) -> float:
    """Not exceeded by the norm but for `beta`: products have this deviation, squares sqrt(2) times it."""
    return deviation * (2 * math.sqrt(size) + math.sqrt(2) * math.sqrt(2 * math.log(2 / beta)))


def rectangular_normal(deviation: float, rows: int, columns: int, beta: float) -> float:
    """Not exceeded by the norm of independent normal entries but for `beta`."""
    return deviation * (math.sqrt(rows) + math.sqrt(columns) + math.sqrt(2 * math.log(1 / beta)))


def simulated(law: NoiseLaw, shape: tuple[int, int], parts: tuple[float, float], dimension: int, beta: float) -> float:
    """Not exceeded but for `beta` by the norm of noise of scale one, squares and products divided by `parts`.

    `shape` (d, 0) is a symmetric d x d matrix; `dimension` counts all coordinates that share a radius.
    """
    norms = _norms(law, shape, parts, dimension)
    draws = len(norms)
    place = math.ceil(draws * (1 - beta) + 2.33 * math.sqrt(draws * beta * (1 - beta)))  # one-sided 99 %
    direct = float(norms[min(place, draws) - 1])
    if beta >= 0.05:
        return direct
    inner = float(norms[int(0.95 * draws)])  # at least the 90 % quantile, with confidence far above 99 %
    return max(direct, inner * max(1.0, 2 * math.log(0.9 / beta) / math.log(9) - 1))


@lru_cache(maxsize=64)
def _norms(law: NoiseLaw, shape: tuple[int, int], parts: tuple[float, float], dimension: int) -> Floats:
    rng = np.random.default_rng(SEED)
    found = np.empty(DRAWS if shape[0] <= LARGE else FEWER)
    for place in range(len(found)):
        rows, columns = shape[0], shape[1] or shape[0]
        entries = law.rough((rows, columns), dimension, rng)
        if shape[1]:
            found[place] = np.linalg.norm(entries / parts[1], 2)
            continue
        upper = np.triu(entries, 1) / parts[1]
        found[place] = np.abs(np.linalg.eigvalsh(upper + upper.T + np.diag(np.diag(entries)) / parts[0])).max()
    return np.sort(found)
