r"""How far a sum of independent readings strays, with probability at most beta.

Bounded terms: Hoeffding, half-width (high - low) sqrt(n ln(2/beta) / 2); with a bound v on each variance Bernstein,
sqrt(2 n v L) + (high - low) L / 3, L = ln(2/beta).  Discrete Laplace noise: Chernoff with its own moment
generating function (1-q)^2 / ((1 - q e^t)(1 - q e^-t)).  Rounded normal noise: the normal part's own tail and
Hoeffding for the rounding, beta/2 each.  Cube and ball noise: Chebyshev.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.mechanisms.noise.law import Drawn
from sfumato.sampling import DiscreteLaplace, RoundedNormal
from sfumato.sampling.independent import Independent, Single

__all__ = ["bounded_sum", "noise_sum"]


def bounded_sum(count: int, low: float, high: float, beta: float, variance: float | None = None) -> float:
    """The half-width for `count` independent terms in [low, high]."""
    log = math.log(2 / beta)
    hoeffding = (high - low) * math.sqrt(count * log / 2)
    if variance is None:
        return hoeffding
    return min(hoeffding, math.sqrt(2 * count * variance * log) + (high - low) * log / 3)


def noise_sum(noise: Single | Drawn, count: int, beta: float) -> float:
    """The half-width for `count` independent draws of one coordinate.

    >>> noise_sum(DiscreteLaplace(10.0), 1, 0.05) < noise_sum(DiscreteLaplace(10.0), 100, 0.05) < 500
    True
    """
    law = noise.single if isinstance(noise, Independent) else noise
    if isinstance(law, RoundedNormal):
        log = math.log(4 / beta)
        return law.sigma * math.sqrt(2 * count * log) + math.sqrt(count * log / 2)
    if not isinstance(law, DiscreteLaplace):
        return math.sqrt(count * law.variance / beta)
    t = np.geomspace(1e-4, 0.999, 400) / law.scale
    q = math.exp(-1 / law.scale)
    moments = 2 * math.log1p(-q) - np.log1p(-q * np.exp(t)) - np.log1p(-q * np.exp(-t))
    return float(np.min((math.log(2 / beta) + count * moments) / t))
