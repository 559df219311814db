r"""What no pure mechanism can beat on one sum: the staircase laws attain it.

Whole sums of unbounded tables, where one unit can change the sum by every integer in -s..s: the best discrete
staircase [GengViswanath2016].  Its mean absolute error cannot be beaten by any answer; its mean square by no whole
answer (answers between the integers can be a little better for s > 1: rounding one changes no mean absolute error).
Real sums: mean absolute error s / (2 sinh(epsilon / 2)) [GengViswanath2014].
Proof: docs/proofs/bounds-staircase.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sfumato.bounds.arguments import positive, rounded_down, whole
from sfumato.sampling import Staircase

__all__ = ["integer_sum_mean_absolute", "integer_sum_mean_square", "real_sum_mean_absolute"]

LARGEST = 1000.0  # beyond this epsilon the least error is 0 in double precision


def real_sum_mean_absolute(sensitivity: float, epsilon: float) -> float:
    """The least worst-case mean absolute error of a real sum.

    >>> round(real_sum_mean_absolute(1.0, 1.0), 3)
    0.96
    """
    positive("sensitivity", sensitivity)
    positive("epsilon", epsilon)
    return rounded_down(sensitivity * math.exp(-epsilon / 2) / -math.expm1(-epsilon))


def integer_sum_mean_absolute(sensitivity: int, epsilon: float) -> float:
    """The least worst-case mean absolute error of a whole sum: over all widths of the discrete staircase."""
    return _least(sensitivity, positive("epsilon", epsilon), "mean_absolute")


def integer_sum_mean_square(sensitivity: int, epsilon: float) -> float:
    """The least worst-case mean square of a whole sum's error: over all widths of the discrete staircase."""
    return _least(sensitivity, positive("epsilon", epsilon), "variance")


@lru_cache(maxsize=1024)
def _least(sensitivity: int, epsilon: float, moment: str) -> float:
    """The least moment over the widths, which falls and then rises: ternary search, then a look at what remains."""
    whole("sensitivity", sensitivity)
    low, high = 1, sensitivity

    def cost(width: int) -> float:
        return float(getattr(Staircase(sensitivity, min(epsilon, LARGEST), width), moment))

    while high - low > 2:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, right) if cost(left) <= cost(right) else (left, high)
    return rounded_down(min(cost(width) for width in range(low, high + 1)))
