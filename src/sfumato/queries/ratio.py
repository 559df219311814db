r"""An interval for p = a / (a + b) when both a and b carry independent noise of one law.

For the true p, (1 - p) a - p b = 0, so (1 - p) A - p B is pure noise: W(p) = (1 - p) X - p Y with X, Y
independent.  A value p is kept while |(1 - p) A - p B| <= q(p), where P(|W(p)| > q(p)) <= beta; the kept
set contains the true p with probability at least 1 - beta, whatever the data (test inversion, after
Fieller 1954).  With A + B = N and p' = A / N the condition is N |p' - p| <= q(p).

The quantiles are those of continuous laws.  A discrete Laplace variable is a difference of two
geometric ones, each the whole part of an exponential one, so it lies within 1 of a Laplace variable;
a rounded normal one lies within 1/2 of a normal one.  W(p) then lies within (1 - p) + p times that of
its continuous counterpart, and q gains 1 or 1/2 (docs/proofs/ratio.md).  For other laws q is a union bound; Laplace
noise that is cut off is no more likely anywhere than without the cut, over what that leaves: the lesser q is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.numeric import normal_point
from sfumato.queries.vector import Bounds, Noise
from sfumato.sampling import DiscreteLaplace, RoundedNormal, TruncatedLaplace

__all__ = ["ratio_interval"]


Floats = npt.NDArray[np.float64]
HALVINGS = 32


def ratio_interval(a: Floats, b: Floats, noise: Noise, beta: float) -> Bounds:
    """The lower and upper ends of the kept set, cell by cell; the whole of [0, 1] where the noise wins."""
    total = a + b
    decided = total > 2.0 * noise.quantile(beta / 2)  # elsewhere nothing is learned
    safe = np.where(decided, total, 1.0)
    center = np.clip(np.where(decided, a / safe, 0.5), 0.0, 1.0)  # nearer to every p, so that more are kept
    low = _end(center, safe, noise, beta, -1.0)
    high = _end(center, safe, noise, beta, 1.0)
    return np.where(decided, low, 0.0), np.where(decided, high, 1.0)


def _end(center: Floats, total: Floats, noise: Noise, beta: float, side: float) -> Floats:
    """Bisect outward from the center for the last kept p, rounding outward."""
    reach = side * (2.0 * noise.quantile(beta / 2) + 2.0) / total  # beyond q(p) / total for every p
    inner, outer = center, np.clip(center + reach, 0.0, 1.0)
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2
        kept = _kept(middle, total * np.abs(center - middle), noise, beta)
        inner, outer = np.where(kept, middle, inner), np.where(kept, outer, middle)
    return np.asarray(outer, dtype=np.float64)


def _kept(p: Floats, gap: Floats, noise: Noise, beta: float) -> Any:
    """Whether gap <= q(p): for Laplace noise, whether the tail at the gap is still above beta."""
    if isinstance(noise, RoundedNormal):
        return gap <= normal_point(beta / 2) * noise.sigma * np.hypot(p, 1 - p) + 0.5
    if isinstance(noise, DiscreteLaplace):
        return _laplace_pair_tail(np.minimum(p, 1 - p), np.maximum(gap - 1.0, 0.0) / noise.scale) >= beta
    if isinstance(noise, TruncatedLaplace):
        uncut = _kept(p, gap, DiscreteLaplace(noise.scale), beta * noise.inside**2)
        return uncut & (gap <= float(noise.quantile(beta / 2)))
    return gap <= float(noise.quantile(beta / 2))  # union bound: (1 - p) |X| + p |Y|


def _laplace_pair_tail(light: Floats, q: Floats) -> Floats:
    """An upper bound of P(|heavy X - light Y| > q) for unit Laplace X, Y and heavy = 1 - light >= light.

    The tail is (heavy^2 e^(-q/heavy) - light^2 e^(-q/light)) / (heavy^2 - light^2); where the weights
    nearly agree its limit (1 + q / (2 w)) e^(-q/w), w the heavier weight, bounds it from above.
    """
    heavy = 1 - light
    near = heavy - light < 1e-6
    gap = np.where(near, 1.0, heavy**2 - light**2)
    thin = np.maximum(light, 1e-300)
    with np.errstate(over="ignore"):  # q / thin may be infinite; its exponential is 0
        apart = (heavy**2 * np.exp(-q / heavy) - light**2 * np.exp(-q / thin)) / gap
    return np.asarray(np.where(near, (1 + q / (2 * heavy)) * np.exp(-q / heavy), apart), dtype=np.float64)
