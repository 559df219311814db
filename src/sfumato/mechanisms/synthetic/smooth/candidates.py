"""Candidate points: an elliptic law folded into the box, placed so that its first features are the ones asked for.

The points are public: pairs m + z, m - z, z normal times an independent random length (of squared length two halves of
a gamma variable of shape two: tables have heavier tails than normal laws), whitened, so that the covariance is met
exactly, not on average.  Points outside the box are pulled to its faces; center and scale are then corrected until the
mean of y and of s, as the view sees them, are the goals.  They come from a fixed seed, as post-processing.  For tables
that fill the box evenly there are points that do.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.smooth.features import View

__all__ = ["candidates", "even"]

Reals = npt.NDArray[np.float64]

SEED = 20141  # of a public design, not of any noise
ROUNDS = 60
FARTHEST = 3.0  # where a center may go to put most of a column on a face


def candidates(view: View, mean: Reals, radius: float, covariance: Reals, count: int) -> Reals:
    """`count` points (rounded up to pairs) of the box; `mean` and `radius` are the goals for y and s in the view."""
    values, vectors = np.linalg.eigh(covariance)
    steps = _white((count + 1) // 2, mean.size) @ (np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
    aim = view.center + view.reach * mean
    center, scale = aim, 1.0
    points = np.clip(center + steps, -1.0, 1.0)
    for _ in range(ROUNDS):
        y, s = view.seen(points)
        free = (np.abs(points) < 1).mean(axis=0)
        center = center + view.reach * (mean - y.mean(axis=0)) / np.maximum(free, 0.1)
        center = np.clip(center, -FARTHEST, FARTHEST)
        spread, here = float(points.var(axis=0).sum()), points.mean(axis=0)
        drift = float(here @ here - aim @ aim)  # of |mean|^2, which the center will put right
        wanted = spread + view.width * (radius - float(s.mean())) + drift
        scale *= float(np.sqrt(np.clip(wanted / max(spread, 1e-12), 0.25, 4.0)))
        scale = min(max(scale, 1e-3), 30.0)
        points = np.clip(center + scale * steps, -1.0, 1.0)
    return np.asarray(points)


def even(count: int, columns: int) -> Reals:
    """`count` points that fill the box evenly: the first of a Sobol sequence, in the middle of their cells.

    >>> even(4, 2).mean(axis=0).tolist()
    [0.0, 0.0]
    """
    from scipy.stats import qmc

    power = max(count - 1, 1).bit_length()
    points = qmc.Sobol(columns, scramble=False).random_base2(power)[:count]
    return np.asarray(2 * points + 2.0**-power - 1)


def _white(pairs: int, columns: int) -> Reals:
    """Steps and their mirror images, with unit covariance where there are enough of them."""
    rng = np.random.default_rng(SEED)
    lengths = np.sqrt(rng.gamma(2.0, 0.5, (pairs, 1)))
    z = lengths * rng.standard_normal((pairs, columns))
    if pairs > columns + 1:
        z = np.linalg.solve(np.linalg.cholesky(z.T @ z / pairs), z.T).T
    return np.concatenate([z, -z])
