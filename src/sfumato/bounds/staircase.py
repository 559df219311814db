r"""What no pure mechanism can beat on one sum: the staircase laws attain it.

Whole sums of unbounded tables, where one unit can change the sum by every integer in -s..s: the best discrete
staircase.  Real sums: mean absolute error s / (2 sinh(epsilon / 2)) [GengViswanath2014].
Proof: docs/proofs/bounds-staircase.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sfumato.bounds.arguments import positive
from sfumato.sampling import Staircase

__all__ = ["integer_sum_mean_absolute", "integer_sum_mean_square", "real_sum_mean_absolute"]


def real_sum_mean_absolute(sensitivity: float, epsilon: float) -> float:
    """The least worst-case mean absolute error of a real sum.

    >>> round(real_sum_mean_absolute(1.0, 1.0), 3)
    0.96
    """
    return positive("sensitivity", sensitivity) / (2 * math.sinh(positive("epsilon", epsilon) / 2))


def integer_sum_mean_absolute(sensitivity: int, epsilon: float) -> float:
    """The least worst-case mean absolute error of a whole sum: over all widths of the discrete staircase."""
    return _least(sensitivity, positive("epsilon", epsilon), "mean_absolute")


def integer_sum_mean_square(sensitivity: int, epsilon: float) -> float:
    """The least worst-case mean square of a whole sum's error: over all widths of the discrete staircase."""
    return _least(sensitivity, positive("epsilon", epsilon), "variance")


@lru_cache(maxsize=1024)
def _least(sensitivity: int, epsilon: float, moment: str) -> float:
    """The least moment over the widths, which has one valley: ternary search, then a look at what remains."""
    low, high = 1, sensitivity

    def cost(width: int) -> float:
        return float(getattr(Staircase(sensitivity, epsilon, width), moment))

    while high - low > 2:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, right) if cost(left) <= cost(right) else (left, high)
    return min(cost(width) for width in range(low, high + 1))
