r"""Le Cam, Fano and Assouad with explicit constants, for n people and epsilon-private reports.

Two hypotheses at total variation t give outputs whose KL divergence is at most n K(epsilon, t), K the exact supremum of
`privacy.contraction.largest_divergence`; several give at most n tanh(epsilon/2)^2 times their KL divergence.
For any sequentially interactive protocol; losses are squared distances.  Proof: docs/proofs/bounds-minimax.md.
"""

from __future__ import annotations

import math

from sfumato.accounting.contractions import chi_square_contraction, largest_divergence
from sfumato.bounds.arguments import nonnegative, positive, probability, rounded_down, whole

__all__ = ["assouad", "fano", "le_cam"]


def le_cam(distance: float, total_variation: float, n: int, epsilon: float) -> float:
    """The worse of two mean square errors, for parameters at `distance` and laws at `total_variation`.

    (distance/2)^2 / 2 (1 - TV of all reports), TV at most sqrt(KL/2) and sqrt(1 - e^-KL)  [Tsybakov2009].

    >>> round(le_cam(0.02, 0.01, 10**4, 1.0), 9)
    2.2151e-05
    """
    told = whole("n", n) * largest_divergence(
        "kullback-leibler", epsilon, probability("total_variation", total_variation)
    )
    variation = min(math.sqrt(told / 2), math.sqrt(-math.expm1(-told)))
    return rounded_down(positive("distance", distance) ** 2 / 8 * max(0.0, 1 - variation))


def fano(distance: float, count: int, divergence: float, n: int, epsilon: float) -> float:
    """The worst of `count` mean square errors, for parameters `distance` apart and laws within a KL `divergence`.

    (distance/2)^2 (1 - (n tanh(epsilon/2)^2 divergence + ln 2) / ln count)  [Tsybakov2009].
    """
    told = whole("n", n) * chi_square_contraction(epsilon) * nonnegative("divergence", divergence)
    share = 1 - (told + math.log(2)) / math.log(whole("count", count)) if count > 2 else 0.0
    return rounded_down(positive("distance", distance) ** 2 / 4 * max(0.0, share))


def assouad(step: float, dimension: int, total_variation: float, n: int, epsilon: float) -> float:
    """The worst mean square error over the corners of a cube whose edges are `step` and flips `total_variation` apart.

    dimension step^2 / 8 (1 - sqrt(n K / 2)), K for one flip: simple, and looser than `van_trees` where that applies.
    """
    told = whole("n", n) * largest_divergence(
        "kullback-leibler", epsilon, probability("total_variation", total_variation)
    )
    lost = max(0.0, 1 - math.sqrt(told / 2))
    return rounded_down(whole("dimension", dimension) * positive("step", step) ** 2 / 8 * lost)
