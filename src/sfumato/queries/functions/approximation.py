r"""How far a truncated, gridded, rounded kernel estimate may be from the estimate it stands for, for any table.

Proof of each term: docs/proofs/functions-density.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sfumato.queries.functions.density import Density

__all__ = ["density_bias"]


def density_bias(question: Density) -> float:
    """A bound of the supremum over the declared bounds, for the mean over any rows, of the distance to the estimate."""
    level = 1 / math.prod(axis.high - axis.low for axis in question.axes)
    rounding = float(np.abs(question.worth * question.reading.heights).sum())
    per_row = rounding * _rounding_share(question)
    if question.kind == "distribution":
        return (_truncated_integral(question) + _gridded_integral(question) + _wrapped(question) + per_row) * (1 + 1e-9)
    return (_truncated(question) * level + _gridded(question) + _wrapped(question) + per_row) * (1 + 1e-9)


def _rounding_share(question: Density) -> float:
    """What rounding moves each number of a row by, in steps of the output."""
    features = question.features
    if features.shift == 0:
        return 0.5
    others = (2.0 ** features.axes[0].bits * math.sqrt(2) + 1) ** (len(features.axes) - 1)
    return len(features.axes) * 0.51 * others / 2.0**features.shift + 0.5  # the last rounding is of the sum, not a row


def _gammas(question: Density, index: int) -> tuple[float, float]:
    """On one axis: 1 + 2 sum of gamma_k kept, and 2 sum of those left out."""
    axis, h = question.axes[index], question.bandwidths[index]
    rate = 2 * (math.pi * h / (axis.high - axis.low)) ** 2
    kept = 1 + 2 * sum(math.exp(-rate * k * k) for k in axis.waves)
    last = len(axis.waves)
    tail = math.exp(-rate * (last + 1) ** 2) / -math.expm1(-rate * (2 * last + 3))
    return kept, 2 * tail


def _truncated(question: Density) -> float:
    """Products of all waves less products of those kept."""
    parts = [_gammas(question, index) for index in range(len(question.axes))]
    return math.prod(kept + tail for kept, tail in parts) - math.prod(kept for kept, _ in parts)


def _truncated_integral(question: Density) -> float:
    """Integrals of the waves left out: each within 2 gamma_k / (pi k)."""
    _, tail = _gammas(question, 0)
    return tail * 2 / (math.pi * (len(question.axes[0].waves) + 1))


def _radii(question: Density) -> list[float]:
    """How far a row may lie from its grid point."""
    return [
        lattice.value(1) * (width - 1) / 2 for lattice, width in zip(question.lattices, question._widths, strict=True)
    ]


def _peak(h: float) -> float:
    return 1 / (h * math.sqrt(2 * math.pi))


def _gridded(question: Density) -> float:
    """The kernel's largest slope along each axis, times the distance."""
    peaks = math.prod(_peak(h) for h in question.bandwidths)
    slopes = zip(_radii(question), question.bandwidths, strict=True)
    return peaks * sum(radius / (h * math.sqrt(math.e)) for radius, h in slopes)


def _gridded_integral(question: Density) -> float:
    return _radii(question)[0] * _peak(question.bandwidths[0])


def _wrapped(question: Density) -> float:
    """What comes around the circle: inside the bounds the copies of a kernel are at least 8 bandwidths away, and less
    than P(N > 4) of its mass lies beyond either margin.
    """
    if question.kind == "distribution":
        return math.erfc(4 / math.sqrt(2))
    peaks = math.prod(_peak(h) for h in question.bandwidths)
    return peaks * len(question.bandwidths) * 2.1 * math.exp(-32)
