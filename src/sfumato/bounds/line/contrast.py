r"""Short chains of tables: what no mechanism can beat whose neighbors have chi-square divergence at most C.

Tables 0..K, consecutive ones neighbors, with true answers a_0, ..., a_K.  On average over the prior with weights
sqrt(1 + C), sqrt(C), ..., sqrt(C), 1 the mean square is at least

    (a_K - a_0)^2 / ((K - 1) sqrt(C) + sqrt(1 + C) + 1)^2,

whatever the mechanism and however biased: Hammersley, Chapman and Robbins along the chain.  C is e^{2 rho} - 1 for
concentrated mechanisms.  Proof: docs/proofs/bounds-contrast.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["contrasted_mean_square"]

Array = npt.NDArray[np.float64]
ROUNDING = 1e-12  # far above what a few roots and sums lose
LARGEST = 300.0  # rho, beyond which the divergence overflows


def contrasted_mean_square(rho: float, answers: Array) -> tuple[float, Array]:
    """The bound for concentrated mechanisms, rounded down, and the prior on average over which it holds.

    >>> round(contrasted_mean_square(0.1, np.arange(11.0))[0], 3)
    2.488
    """
    divergence = math.expm1(2 * min(rho, LARGEST))
    weights = np.full(len(answers), math.sqrt(divergence))
    weights[0], weights[-1] = math.sqrt(1 + divergence), 1.0
    total = float(weights.sum())
    least = 0.0 if rho > LARGEST else float((answers[-1] - answers[0]) / total) ** 2
    return least * (1 - ROUNDING), weights / total
