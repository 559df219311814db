r"""What no pure mechanism can beat on counts of unbounded tables: the two-sided geometric law attains it.

For a count that one unit changes by one, every epsilon-private mechanism has, on its worst table, mean
absolute error at least 1 / sinh(epsilon) and mean square at least 1 / (2 sinh^2(epsilon / 2)); over d cells the
sums of these [GhoshRoughgardenSundararajan2012].  Proof: docs/proofs/bounds-counting.md.
"""

from __future__ import annotations

import math

from sfumato.bounds.arguments import positive, rounded_down

__all__ = ["count_mean_absolute", "count_mean_square"]


def count_mean_absolute(epsilon: float) -> float:
    """The least worst-case mean absolute error of one count.

    >>> round(count_mean_absolute(1.0), 3)
    0.851
    """
    positive("epsilon", epsilon)
    return rounded_down(-2 * math.exp(-epsilon) / math.expm1(-2 * epsilon))


def count_mean_square(epsilon: float) -> float:
    """The least worst-case mean square of one count's error."""
    positive("epsilon", epsilon)
    return rounded_down(2 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2)
