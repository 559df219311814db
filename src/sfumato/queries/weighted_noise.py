r"""The quantile of a weighted sum of independent noise of one law, cell by cell.

W = sum_i a_i Z_i.  For Laplace noise of scale b and distinct |a_i| the law of W is a signed mixture of Laplace laws:
P(|W| > q) = sum_i w_i e^{-q / (b |a_i|)} with w_i = prod_{j != i} a_i^2 / (a_i^2 - a_j^2).  Weights that nearly agree
are drawn apart first, the larger ones upward: the tail does not fall as a weight grows.  Normal noise: W is normal.
Discrete Laplace noise lies within 1 of a Laplace variable and rounded normal noise within 1/2 of a normal one, so that
W gains that times sum |a_i|.  For other laws each Z_i stays within its own quantile at an equal share of beta.  Laplace
noise that is cut off is nowhere more likely than without the cut, over what that leaves: the lesser of the two.
Proof: docs/proofs/ratio.md.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.numeric import normal_point
from sfumato.queries.vector import Noise
from sfumato.sampling import DiscreteLaplace, RoundedNormal, TruncatedLaplace

__all__ = ["weighted_quantile"]


Floats = npt.NDArray[np.float64]
APART = 1.01  # the least ratio of two weights
LIGHTEST = 1e-6  # of the heaviest; lighter weights are raised to it
HALVINGS = 40


def weighted_quantile(weights: Floats, noise: Noise, beta: float) -> Floats:
    """For each row of weights a bound that |sum_i a_i Z_i| exceeds with probability at most beta."""
    sizes = np.abs(weights)
    total = sizes.sum(axis=1)
    if isinstance(noise, RoundedNormal):
        return np.asarray(normal_point(beta / 2) * noise.sigma * np.sqrt((sizes**2).sum(axis=1)) + total / 2)
    if isinstance(noise, DiscreteLaplace):
        unit = _of_one(tuple(sizes[0].tolist()), beta) if len(sizes) == 1 else _laplace_quantile(sizes, beta)
        return np.asarray(noise.scale * unit + total)
    apart = np.asarray(total * float(noise.quantile(beta / weights.shape[1])))
    if isinstance(noise, TruncatedLaplace):
        uncut = DiscreteLaplace(noise.scale)
        return np.asarray(np.minimum(apart, weighted_quantile(weights, uncut, beta * noise.inside ** weights.shape[1])))
    return apart


def _drawn_apart(sizes: Floats) -> Floats:
    """Weights in rising order, each at least `APART` times the one before."""
    rising = np.sort(sizes, axis=1)
    rising[:, 0] = np.maximum(rising[:, 0], np.maximum(LIGHTEST * rising[:, -1], 1e-100))
    for i in range(1, rising.shape[1]):
        rising[:, i] = np.maximum(rising[:, i], APART * rising[:, i - 1])
    return rising


def _laplace_quantile(sizes: Floats, beta: float) -> Floats:
    """Where the tail of the weighted sum of unit Laplace variables falls to beta, rounded up."""
    rising = _drawn_apart(sizes)
    squares = rising**2
    gaps = squares[:, :, None] - squares[:, None, :]
    gaps += squares[:, :, None] * np.eye(rising.shape[1])  # a ratio of one for itself
    mixture = np.prod(squares[:, :, None] / gaps, axis=2)
    low, high = np.zeros(len(rising)), rising.sum(axis=1) * np.log(rising.shape[1] / beta)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = (mixture * np.exp(-middle[:, None] / rising)).sum(axis=1) > beta
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(high * (1 + 1e-9))


@lru_cache(maxsize=1024)
def _of_one(sizes: tuple[float, ...], beta: float) -> float:
    """The same of one row of weights, whatever the noise's scale: a service is asked at many."""
    return float(_laplace_quantile(np.array([sizes]), beta)[0])
