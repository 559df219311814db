r"""What no mechanism can beat on one number of a table of fixed size, when neighbors are close in chi-square.

If n replacements, one after another, move the number from f_0 to f_n, and neighbors have chi-square divergence at most
c (e^{2 rho} - 1 for concentrated mechanisms, 4 sinh^2(epsilon / 2) for pure ones), then the worst root mean square
error is at least  |f_n - f_0| / ((n - 1) sqrt(c) + sqrt(1 + c) + 1),  whatever the mechanism and however biased.
For large n this is Hammersley, Chapman and Robbins' bound of unbounded tables; for c = 0 it is half of the range, which
a constant attains.  Proof: docs/proofs/bounds-fixed_size.md.
"""

from __future__ import annotations

import math

from sfumato.bounds.arguments import nonnegative, rounded_down, whole

__all__ = ["fixed_size_mean_square"]


def fixed_size_mean_square(spread: float, steps: int, divergence: float) -> float:
    """The least worst-case mean square of one number that `steps` replacements can move by `spread` in all.

    >>> fixed_size_mean_square(10.0, 1000, 0.0) <= 25.0
    True
    """
    nonnegative("spread", spread)
    whole("steps", steps)
    nonnegative("divergence", divergence)
    widest = (steps - 1) * math.sqrt(divergence) + math.sqrt(1 + divergence) + 1
    return rounded_down((spread / widest) ** 2)
