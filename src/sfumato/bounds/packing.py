r"""What no pure mechanism can beat on one whole sum of a table of fixed size: a packing argument.

Take tables whose sums are c - reach, ..., c + reach, the one with sum c + j at distance ceil(|j| / s) from the
middle one.  The events "within r of its own sum" overlap at most 2 r + 1 times, so with weights
w_j = exp(-epsilon ceil(|j| / s)):  sum_j w_j P_j(error <= r) <= 2 r + 1.  The w-average of the error, hence the
worst table's, is then at least sum_r (1 - (2 r + 1) / W)^+, and likewise for squares, if answers are whole (for
the mean absolute error any answers: rounding one at random does not change it).  Proof: docs/proofs/bounds-packing.md.
"""

from __future__ import annotations

import math

from sfumato.bounds.arguments import nonnegative, positive, rounded_down, whole

__all__ = ["packed_mean_absolute", "packed_mean_square"]


def packed_mean_absolute(sensitivity: int, epsilon: float, reach: int) -> float:
    """A lower bound on the worst mean absolute error; `reach`: how far the sum can lie from its middle.

    >>> round(packed_mean_absolute(1, 1.0, 1000), 3)
    0.538
    """
    excess = _excess(sensitivity, epsilon, reach)
    terms = math.floor(excess / 2) + 1  # r = 0, 1, ... while 2 r + 1 <= W
    return rounded_down(terms * (excess - (terms - 1)) / (1 + excess))  # = k - k^2 / W


def packed_mean_square(sensitivity: int, epsilon: float, reach: int) -> float:
    """A lower bound on the worst mean square of the error."""
    excess = _excess(sensitivity, epsilon, reach)
    terms = math.floor(excess / 2) + 1
    # the sum of (2 r + 1) (1 - (2 r + 1) / W) over r < k, which is k^2 - k (4 k^2 - 1) / (3 W)
    return rounded_down(terms * (3 * terms * excess - (terms - 1) * (4 * terms + 1)) / (3 * (1 + excess)))


def _excess(sensitivity: int, epsilon: float, reach: int) -> float:
    """W - 1, rounded down: 2 s (q + q^2 + ... + q^k) with q = e^-epsilon and whole steps within reach."""
    positive("epsilon", epsilon)
    whole("sensitivity", sensitivity)
    nonnegative("reach", reach)
    steps = reach // sensitivity
    geometric = -math.exp(-epsilon) * math.expm1(-epsilon * steps) / -math.expm1(-epsilon)
    return 2 * sensitivity * rounded_down(geometric)
