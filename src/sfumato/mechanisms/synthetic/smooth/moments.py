"""Mean and covariance from noisy blocks: posterior means, so that noise alone never makes a table.

Column means are drawn toward their common value by what their scatter exceeds the noise (James and Stein), that value
toward the middle of the box; E|x|^2, one precise number, is kept, and the spread is what it leaves over the means.
With noise beyond the box everything tends to the middle of the box with a typical spread: the control without data.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["covariance", "shrunk", "spread"]

Reals = npt.NDArray[np.float64]

TYPICAL, DOUBT = 0.07, 0.06  # the variance of a column before it is measured, and how far that is believed
COMMON = 0.5  # standard deviation of the common mean of all columns before it is measured
LEAST = 5e-4  # variance a column


def shrunk(mean: Reals, error: float) -> Reals:
    """The posterior mean of the column means, whose noise has standard deviation `error`."""
    clipped = np.clip(mean, -1.0, 1.0)
    common = float(clipped.mean())
    scatter = float(np.square(clipped - common).sum()) / max(mean.size - 1, 1)
    signal = max(scatter - error**2, 0.1 * min(error**2, scatter), 1e-12)
    common *= COMMON**2 / (COMMON**2 + error**2 / mean.size)
    kept = signal / (signal + error**2)
    return np.asarray(common + kept * (clipped - float(clipped.mean())))


def spread(mean: Reals, error: float, square: float, square_error: float) -> tuple[Reals, float]:
    """The means and the variance of all columns together, their squares adding up to E|x|^2 as far as it is believed.

    E|x|^2 is one number and far more precise than |mean|^2, so where both leave no room for a variance the means give.
    """
    d = mean.size
    explained = float(mean @ mean)
    prior = explained + TYPICAL * d
    doubt = (DOUBT * d) ** 2 + 4 * explained * error**2
    kept = doubt / (doubt + square_error**2)
    believed = float(np.clip(prior + kept * (square - prior), 2 * LEAST * d, d))
    least = min(max(LEAST * d, error * math.sqrt(explained)), 0.3 * believed)
    if explained > believed - least:
        mean = mean * math.sqrt((believed - least) / explained)
        return mean, least
    return mean, believed - explained


def covariance(second: Reals, error: float, total: float) -> Reals:
    """The covariance of trace `total` nearest to a noisy one in shape, drawn to a ball by what is noise."""
    d = second.shape[0]
    shape = second - np.eye(d) * np.trace(second) / d
    noise = error**2 * d * (d + 1) / 2
    signal = max(float(np.square(shape).sum()) - noise, 0.0)
    mixed = signal / (signal + noise + 1e-300) * shape + np.eye(d) * total / d
    values, vectors = np.linalg.eigh(mixed)
    values = np.maximum(values, 0.05 * total / d)
    return np.asarray((vectors * values) @ vectors.T * (total / values.sum()))
