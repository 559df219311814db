r"""One curve as whole coefficients: interpolated, projected on public waves, brought into a ball of public radius.

All of it is a rule for one row, in whole numbers or in IEEE operations on that row's own: no data can raise, and what
a row becomes depends on that row alone.  Proof: docs/proofs/functions-means.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves import Floats
from sfumato.errors import ParameterError
from sfumato.spaces import Lattice

if TYPE_CHECKING:
    from sfumato.queries.functions.means import CurvesDetails

__all__ = ["Projection"]

HOLDS = 1 + 1e-3  # over the rounding of up to 1000 coefficients to whole steps of 2^-15 of the radius
WIDE = 1.01  # times what holds every curve is more than enough
CLAMP = 1 << 26  # a coefficient beyond 64 radii is cut there before the ball
SPARE = 2.0**-40  # the ball is missed by this much, so that no rounding leaves it
WORD = 61  # bits of exact sums

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Projection:
    """From lattice indices of a curve's points to whole coefficients inside a ball of `radius` steps."""

    details: CurvesDetails
    lattice: Lattice
    bits: int

    @property
    def radius(self) -> int:
        """The ball's radius in steps."""
        return 1 << self.bits

    @property
    def unit(self) -> float:
        """What a step is worth."""
        return self.length / self.radius

    @property
    def length(self) -> float:
        """The ball's radius in units of the curves: as asked for, or one that holds every curve."""
        return self.farthest if self.details.radius is None else self.details.radius

    @cached_property
    def farthest(self) -> float:
        """No curve within the declared bounds has coefficients farther from those of the center, rounding included."""
        ends = (self.lattice.low_value, self.lattice.high_value)
        far = max(abs(end - self.center) for end in ends) * math.sqrt(self._inverse.shape[1])
        return float(np.linalg.norm(self._inverse, 2)) * far * HOLDS

    def words(self) -> tuple[str, ...]:
        """What the radius does to curves, where it does something."""
        if self.length < self.farthest / HOLDS:
            return (
                f"curves farther than {self.length:g} from {self.center:g} in root mean square are brought that near "
                "first, which no band covers",
            )
        if self.length > WIDE * self.farthest:
            return (f"no curve is farther than {self.farthest:.3g} from {self.center:g}; radius= may be left out",)
        return ()

    @cached_property
    def _inverse(self) -> Floats:
        """Least squares on the points."""
        values = self.details.axis.values(np.array(self.details.points))
        return np.asarray(np.linalg.pinv(values, rcond=1e-6), dtype=np.float64)

    @cached_property
    def _real(self) -> Floats:
        """The same in steps of a coefficient for a step of the lattice."""
        return np.asarray(self._inverse * (self.lattice.value(1) / self.unit))

    @cached_property
    def _spare(self) -> int:
        """Fractional bits of the whole matrix, so that sums stay within 61 bits."""
        largest = float(np.abs(self._real).sum(axis=1).max()) * (self.lattice.width + abs(self._center) + 1)
        return min(30, WORD - math.ceil(math.log2(max(largest, 1.0))))

    @property
    def _center(self) -> int:
        """The center's index above the lower bound, rounded."""
        return round(self.details.center / self.lattice.value(1)) - self.lattice.low

    @property
    def center(self) -> float:
        """The center on the lattice."""
        return self.lattice.value(self._center + self.lattice.low)

    def check(self) -> None:
        """Refuse a radius too small for exact sums."""
        if self._spare < 1:
            raise ParameterError(
                f"radius={self.length:g} is too small for the range of the columns; choose a larger one"
            )

    @cached_property
    def _matrix(self) -> Integers:
        return np.asarray(np.rint(self._real * 2.0**self._spare), dtype=np.int64)

    def rows(self, batch: Mapping[str, Any]) -> Integers:
        """The coefficients of the curves of a batch that can be read, a row each."""
        values = np.column_stack([np.asarray(batch[column], dtype=np.int64) for column in self.details.columns])
        absent = values < 0
        values = values[2 * absent.sum(axis=1) <= values.shape[1]]
        for i in np.flatnonzero((values < 0).any(axis=1)).tolist():
            values[i] = filled(values[i], np.array(self.details.points))
        sums = (values - self._center) @ self._matrix.T
        steps = (sums + (1 << (self._spare - 1))) >> self._spare
        return self._inside(np.clip(steps, -CLAMP, CLAMP))

    def _inside(self, steps: Integers) -> Integers:
        """Vectors beyond the radius are shrunk and cut toward zero: IEEE operations on each row by itself."""
        squares = (steps * steps).sum(axis=1)
        far = squares > self.radius**2
        factors = self.radius * (1 - SPARE) / np.sqrt(squares[far].astype(np.float64))
        out = steps.copy()
        out[far] = np.trunc(steps[far] * factors[:, None]).astype(np.int64)
        return out


def filled(values: Integers, points: Floats) -> Integers:
    """One curve with its missing points on straight lines between the others, level beyond the ends."""
    held = values >= 0
    filled = np.rint(np.interp(points, points[held], values[held].astype(np.float64)))
    return np.asarray(np.where(held, values, filled.astype(np.int64)))
