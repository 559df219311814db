"""What no sequentially interactive epsilon-private protocol beats for every Lipschitz density on [0, 1].

Densities 1 + sum t_j g_j with m disjoint zigzags of slope L and height a = L/(4 m), |t_j| <= 1: van Trees in m
dimensions, the best m.  They also have a derivative of l2 norm at most L, so the bound holds for that Sobolev
class.  It falls as (n epsilon^2)^(-1/2), against n^(-2/3) without privacy.  Proof: docs/proofs/bounds-minimax.md.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.bounds.arguments import positive, rounded_down, whole
from sfumato.bounds.minimax.information import LARGEST
from sfumato.bounds.minimax.trees import PRIORS
from sfumato.errors import ParameterError

__all__ = ["density_error"]

MOST_CELLS = 4096


def density_error(n: int, epsilon: float, lipschitz: float = 1.0) -> float:
    """The least worst mean integrated square error."""
    whole("n", n)
    positive("lipschitz", lipschitz)
    if positive("epsilon", epsilon) > LARGEST:
        raise ParameterError(f"epsilon must be at most {LARGEST:g}, got {epsilon!r}: beyond it privacy costs nothing")
    grown, best = math.expm1(epsilon), 0.0
    for m in sorted({round(1.15**i) for i in range(1, 61) if 1.15**i <= MOST_CELLS}):
        height = lipschitz / (4 * m)
        if height >= 1:
            continue
        positive_part, square = height / (4 * m), height**2 / (3 * m)
        d = np.arange(1, m + 1, dtype=np.float64)
        information = float((grown**2 * d * positive_part**2 / (1 + grown * d / (4 * m)) ** 2).max()) * (1 + 1e-9)
        told = n * information * (1 + height**2 / (1 - height))
        best = max(best, square * m**2 / float((PRIORS @ [told, m]).min()))
    return rounded_down(best)
