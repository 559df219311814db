"""Rows sorted by lattice index, kept as running counts: what rank-based mechanisms look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.spaces.lattice import Lattice

__all__ = ["Ranks"]

DENSE = 2**24  # lattices of fewer points are counted in one array

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Increasing `values` of the lattice and how many rows lie below each: `below[j]`, and `below[-1]` in all."""

    values: Whole
    below: Whole

    @classmethod
    def counted(cls, values: Whole, counts: Whole) -> Ranks:
        """From distinct values in any order and how often each occurs."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], _running(counts[order]))

    @classmethod
    def of(cls, numbers: npt.NDArray[np.float64], lattice: Lattice) -> Ranks:
        """From an array of numbers: clipped and rounded to the lattice, NaN left out."""
        inside = numbers if not np.isnan(numbers).any() else numbers[~np.isnan(numbers)]
        scaled = np.clip(inside, lattice.low_value, lattice.high_value)
        scaled *= float(lattice.step.denominator)
        if lattice.step.numerator != 1:
            scaled /= float(lattice.step.numerator)
        scaled += 0.5
        indices = np.clip(np.floor(scaled, out=scaled).astype(np.int64), lattice.low, lattice.high)
        if lattice.width < DENSE:
            counts = np.bincount(indices - lattice.low, minlength=lattice.width + 1)
            return cls(np.arange(lattice.low, lattice.high + 1), _running(counts))
        return cls.counted(*np.unique(indices, return_counts=True))

    def padded(self, point: int, rows: int) -> Ranks:
        """With so many rows more at a point below or above all others."""
        counts, place = np.diff(self.below), int(np.searchsorted(self.values, point))
        return Ranks(np.insert(self.values, place, point), _running(np.insert(counts, place, rows)))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.below[-1])

    def around(self, point: int) -> tuple[int, int]:
        """How many rows lie below a point, and how many at or below it."""
        first, last = (int(np.searchsorted(self.values, point, side=side)) for side in ("left", "right"))
        return int(self.below[first]), int(self.below[last])


def _running(counts: Whole) -> Whole:
    below = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=below[1:])
    return below
