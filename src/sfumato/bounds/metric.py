r"""What no metric-private mechanism can beat on a linear query: loss at most epsilon times every real distance.

The norm of the noise dominates (vr(K) / epsilon) Gamma(d) stochastically.  So the worst mean error is at least
d vr(K) / epsilon, the mean square at least d (d + 1) vr(K)^2 / epsilon^2, and so on for every quantile; noise of shape
K attains it when K is a ball.  It holds on unbounded real tables, in any norm (with that norm's ball), and for
every orthogonal projection.  Proof: docs/proofs/bounds-metric.md.
"""

from __future__ import annotations

import math

from sfumato.bounds.arguments import positive, probability

__all__ = ["document_volume_bound", "metric_mean_norm", "metric_mean_square", "metric_quantile"]


def metric_mean_norm(radius: float, dimension: int, epsilon: float) -> float:
    """The least worst-case mean l2 error; `radius` is the volume radius of the sensitivity body.

    >>> metric_mean_norm(1.0, 1, 0.5)
    2.0
    """
    return positive("dimension", dimension) * positive("radius", radius) / positive("epsilon", epsilon)


def metric_mean_square(radius: float, dimension: int, epsilon: float) -> float:
    """The least worst-case mean square of the l2 error."""
    return metric_mean_norm(radius, dimension, epsilon) ** 2 * (dimension + 1) / dimension


def metric_quantile(radius: float, dimension: int, epsilon: float, p: float) -> float:
    """The least r such that some mechanism stays within r with probability p on every table."""
    from scipy.special import gammaincinv

    share = float(gammaincinv(positive("dimension", dimension), probability("p", p)))
    return share * positive("radius", radius) / positive("epsilon", epsilon)


def document_volume_bound(volume: float, dimension: int, epsilon: float) -> float:
    """Document 000's VolLB, d^{3/2} Vol(K)^{1/d} / epsilon: right up to a constant it does not give.

    The constant is Gamma(1 + d/2)^{1/d} / sqrt(pi d), from 1/2 at d = 1 down to 1 / sqrt(2 pi e).
    """
    d = positive("dimension", dimension)
    return float(d**1.5) * math.exp(math.log(positive("volume", volume)) / d) / positive("epsilon", epsilon)
