r"""What no mechanism can beat when a single record is published: document 001, 5.3 and 5.5, corrected.

5.3 with its true constant: the worst mean distance of the published record from the true one is at least
(1 - delta) diam / (1 + e^epsilon); two-point randomized response attains it (the printed bound is half of
this).  5.5: in a discrete space of m + 1 points at mutual distance at least kappa, for answers inside the
space, at least (1 - delta) kappa m / (m + e^epsilon); half of that if answers may lie outside it.
Proof: docs/proofs/bounds-record.md.
"""

from __future__ import annotations

import math

from sfumato.bounds.arguments import nonnegative, positive, probability, rounded_down, whole

__all__ = ["discrete_record_error", "printed_record_error", "record_error"]


def record_error(diameter: float, epsilon: float, delta: float = 0.0) -> float:
    """The least worst-case mean distance, by the diameter alone.

    >>> round(record_error(1.0, 1.0), 4)
    0.2689
    """
    probability("delta", delta)
    decay = math.exp(-nonnegative("epsilon", epsilon))
    return rounded_down((1 - delta) * positive("diameter", diameter) * decay / (1 + decay))


def printed_record_error(diameter: float, epsilon: float, delta: float = 0.0) -> float:
    """Document 001's own 5.3: valid, and half of what is true."""
    return record_error(diameter, epsilon, delta) / 2


def discrete_record_error(others: int, epsilon: float, delta: float = 0.0, kappa: float = 1.0) -> float:
    """The least worst-case mean distance among `others` + 1 points, answers inside the space."""
    probability("delta", delta)
    m, decay = whole("others", others), math.exp(-nonnegative("epsilon", epsilon))
    return rounded_down((1 - delta) * positive("kappa", kappa) * m * decay / (1 + m * decay))
