"""Candidate points: a normal law of given mean and covariance, folded into the box without moving its first moments.

The points are public: pairs m + z, m - z with z whitened, so that mean and covariance are met exactly, not on average,
before points outside the box are pulled to its faces; center and spread are then corrected until mean and E|x|^2 agree
again.  They are drawn from a fixed seed and are post-processing of what was released.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["candidates"]

Reals = npt.NDArray[np.float64]

SEED = 20141  # of a public design, not of any noise
INSIDE = 0.999  # means closer to a face leave no room for a spread
CORRECTIONS = 40


def candidates(mean: Reals, covariance: Reals, count: int) -> Reals:
    """`count` points (rounded up to pairs) in the box with this mean and, as far as the box allows, this covariance."""
    goal = np.clip(mean, -INSIDE, INSIDE)
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    steps = _white((count + 1) // 2, goal.size) @ (np.sqrt(values)[:, None] * vectors.T)
    spread = float(values.sum())
    center, scale = goal.copy(), 1.0
    points = np.clip(center + steps, -1.0, 1.0)
    for _ in range(CORRECTIONS):
        free = (np.abs(center + scale * steps) < 1).mean(axis=0)
        center = np.clip(center + (goal - points.mean(axis=0)) / np.maximum(free, 0.1), -3.0, 3.0)
        found = float(points.var(axis=0).sum())
        if found > 0 and spread > 0:
            scale = min(scale * np.sqrt(spread / found), 10.0)
        points = np.clip(center + scale * steps, -1.0, 1.0)
    return np.asarray(points)


def _white(pairs: int, columns: int) -> Reals:
    """Normal points and their mirror images, with unit covariance where there are enough of them."""
    z = np.random.default_rng(SEED).standard_normal((pairs, columns))
    if pairs > columns + 1:
        z = np.linalg.solve(np.linalg.cholesky(z.T @ z / pairs), z.T).T
    return np.concatenate([z, -z])
