"""What to expect of averages of smooth functions of many numbers: predicted, not proven, width by width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

__all__ = ["WIDTHS", "SmoothErrors"]

WIDTHS = (2.0, 3.0, 5.0, 10.0)  # of kernels, in units where every column has length 2
_NAME = "smooth_error at width "


class Predicting(Protocol):
    """A mechanism that measures moments, or its plan."""

    def predicted(self, width: float) -> float:
        """The worst error to expect at this width."""


@dataclass(frozen=True, slots=True)
class SmoothErrors:
    """The worst error to expect over ten thousand mixtures of ten Gaussian kernels, at each width.

    >>> SmoothErrors((0.01, 0.008, 0.004, 0.001)).words()[-48:]
    '0.01 (2), 0.008 (3), 0.004 (5), 0.001 (width 10)'
    """

    errors: tuple[float, ...]

    @classmethod
    def of(cls, mechanism: Predicting) -> SmoothErrors:
        """Those of a mechanism."""
        return cls(tuple(mechanism.predicted(width) for width in WIDTHS))

    @classmethod
    def within(cls, numbers: Mapping[str, object]) -> SmoothErrors | None:
        """Those among the figures of a preview."""
        found = [numbers[_NAME + f"{width:g}"] for width in WIDTHS if _NAME + f"{width:g}" in numbers]
        return cls(tuple(float(str(error)) for error in found)) if found else None

    def numbers(self) -> dict[str, float]:
        """As figures of a preview."""
        return {_NAME + f"{width:g}": error for width, error in zip(WIDTHS, self.errors, strict=True)}

    def words(self) -> str:
        """Readable."""
        parts = [f"{error:.2g} ({width:g})" for width, error in zip(WIDTHS, self.errors, strict=True)]
        *first, last = parts
        last = last.replace("(", "(width ")
        return (
            "averages of smooth functions of the numbers err at worst by about this much, predicted for a typical "
            f"table and not proven, for Gaussian kernels of widths in units of half a column's range: "
            f"{', '.join([*first, last])}"
        )
