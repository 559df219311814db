r"""The scores and the window that make the worst variance of a one-dimensional mean least, by descent.

The best unbiased channel has, for its base law mu, a window of constant mass that slides with the value (for a given
mu and value, the least second moment puts the likelier reports where z^2 - a z - b < 0: an interval).  With mu uniform
on M cells and W of them in the window, only the scores z are free.  They minimize F(z) = max over windows s of
(S_s - x_s^2) / x_last^2, with x_s the mean and S_s the second moment of a report from window s.  Any z gives a private,
unbiased protocol: the descent decides the variance and nothing else.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.local.protocols.protocol import Floats

__all__ = ["CELLS", "best_design"]

CELLS = 128  # M; a report is one byte
COARSE, FINE = 250, 1500  # steps of the descent while windows are compared, and for the best one
RATE, MEMORY, SQUARES = 0.006, 0.9, 0.99  # of the moving averages that scale the steps
SHARPEST = 600.0  # the maximum is softened, less and less


@lru_cache(maxsize=64)
def best_design(ratio: float) -> tuple[int, tuple[float, ...]]:
    """The window W and the M scores for a likelihood ratio e^epsilon."""
    start, found = CELLS // 2, {}

    def value(window: int) -> float:
        if window not in found:
            found[window] = descend(ratio, window, COARSE)[0]
        return found[window]

    for stride in (8, 3, 1):
        while start - stride >= 2 and value(start - stride) < value(start):
            start -= stride
        while start + stride <= CELLS // 2 and value(start + stride) < value(start):
            start += stride
    return start, tuple(descend(ratio, start, FINE)[1].tolist())


def descend(ratio: float, window: int, steps: int) -> tuple[float, Floats]:
    """The least F found, and its scores, from evenly spaced ones."""
    half = (2 * np.arange(CELLS) + 1) / CELLS - 1
    z, mean, square = half, np.zeros(CELLS), np.zeros(CELLS)
    best = (np.inf, z)
    for t in range(1, steps + 1):
        sharpness = min(20 + SHARPEST * t / steps, SHARPEST)
        worst, gradient, scale = _worst_and_gradient(z, ratio, window, sharpness)
        if worst < best[0]:
            best = (worst, z / scale)
        mean = MEMORY * mean + (1 - MEMORY) * gradient
        square = SQUARES * square + (1 - SQUARES) * gradient**2
        move = mean / (1 - MEMORY**t) / (np.sqrt(square / (1 - SQUARES**t)) + 1e-12)
        z = z - RATE * min(1.0, 1.5 * (1 - t / steps)) * np.abs(z).max() * move
    return best


def _worst_and_gradient(z: Floats, ratio: float, window: int, sharpness: float) -> tuple[float, Floats, float]:
    """F(z), the gradient of the logarithm of its softened form (odd, as the scores), and x_last."""
    c = (ratio - 1) * window / (CELLS + (ratio - 1) * window)
    inside, outside = c / window, (1 - c) / CELLS
    last = CELLS - window
    x, second = inside * _window_sums(z, window), inside * _window_sums(z * z, window) + outside * (z @ z)
    variance = second - x * x
    weight = np.exp(sharpness * (variance / variance.max() - 1))
    weight /= weight.sum()
    gradient = 2 * z * (inside * _cover(weight, window) + outside) - 2 * inside * _cover(weight * x, window)
    gradient /= weight @ variance
    gradient[last:] -= 2 * inside / x[-1]
    return float(variance.max() / x[-1] ** 2), (gradient - gradient[::-1]) / 2, float(x[-1])


def _window_sums(z: npt.NDArray[np.float64], window: int) -> Floats:
    """The sum of each window."""
    total = np.concatenate([[0.0], np.cumsum(z)])
    return np.asarray(total[window:] - total[:-window])


def _cover(weight: Floats, window: int) -> Floats:
    """For each cell the weight of the windows over it."""
    pad = np.zeros(window - 1)
    return _window_sums(np.concatenate([pad, weight, pad]), window)
