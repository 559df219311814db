r"""What no concentrated mechanism can beat on unbounded tables, by Hammersley, Chapman and Robbins.

The chi-square divergence of a rho-concentrated mechanism between neighbors is at most e^(2 rho) - 1, so a
coordinate that one unit can move by s has mean square error at least s^2 / (e^(2 rho) - 1) on the worst
table; cells that a unit can move one at a time add up.  Proof: docs/proofs/bounds-concentrated.md.
"""

from __future__ import annotations

import math

from sfumato.bounds.arguments import positive, rounded_down

__all__ = ["concentrated_mean_square"]


def concentrated_mean_square(sensitivity: float, rho: float) -> float:
    """The least worst-case mean square of one coordinate's error.

    >>> round(concentrated_mean_square(1.0, 0.1), 3)
    4.517
    """
    positive("sensitivity", sensitivity)
    decay = math.exp(-2 * positive("rho", rho))  # no overflow, however large rho is
    return rounded_down(sensitivity**2 * decay / -math.expm1(-2 * rho))
