"""Rows sorted by lattice index, kept as running counts: what rank-based mechanisms look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.spaces.lattice import Lattice

__all__ = ["Padded", "Ranks", "Seen", "running"]

DENSE = 2**24  # lattices of fewer points are counted in one array

Whole = npt.NDArray[np.int64]


class Seen(Protocol):
    """What a mechanism that chooses by rank looks at."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def expect(self, first: int, last: int) -> None:
        """Say that these ranks will be looked at, so that what is read for all of them is read together."""

    def near(self, first: int, last: int) -> Ranks:
        """The running counts of the values that hold these ranks, and of at least one more on either side."""

    def around(self, point: int) -> tuple[int, int]:
        """How many rows lie below a point, and how many at or below it."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Increasing `values` of the lattice and how many rows lie below each: `below[j]`, and `below[-1]` in all."""

    values: Whole
    below: Whole

    @classmethod
    def counted(cls, values: Whole, counts: Whole) -> Ranks:
        """From distinct values in any order and how often each occurs."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], running(counts[order]))

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
            return cls(np.arange(lattice.low, lattice.high + 1), running(counts))
        return cls.counted(*np.unique(indices, return_counts=True))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.below[-1])

    def expect(self, first: int, last: int) -> None:
        """Everything is here."""

    def near(self, first: int, last: int) -> Ranks:
        """Everything."""
        return self

    def around(self, point: int) -> tuple[int, int]:
        """How many rows lie below a point, and how many at or below it."""
        first, last = (int(np.searchsorted(self.values, point, side=side)) for side in ("left", "right"))
        return int(self.below[first]), int(self.below[last])


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """With so many rows more at a point below all others, or above them."""

    inner: Seen
    point: int
    more: int
    beneath: bool

    @property
    def rows(self) -> int:
        """How many rows there are with them."""
        return self.inner.rows + self.more

    @property
    def _shift(self) -> int:
        return self.more if self.beneath else 0

    def expect(self, first: int, last: int) -> None:
        """The same of the rows without them."""
        self.inner.expect(first - self._shift, last - self._shift)

    def near(self, first: int, last: int) -> Ranks:
        """The same with them, where the values that are near reach so far."""
        part = self.inner.near(first - self._shift, last - self._shift)
        values, below = part.values, part.below + self._shift
        if self.beneath and part.below[0] == 0:
            return Ranks(np.append(self.point, values), np.append(0, below))
        if not self.beneath and part.below[-1] == self.inner.rows:
            return Ranks(np.append(values, self.point), np.append(below, self.rows))
        return Ranks(values, below)

    def around(self, point: int) -> tuple[int, int]:
        """How many rows lie below a point, and how many at or below it."""
        first, last = (rank + self._shift for rank in self.inner.around(point))
        if self.beneath:
            return (first if point > self.point else 0), (last if point >= self.point else 0)
        return first + self.more * (point > self.point), last + self.more * (point >= self.point)


def running(counts: Whole) -> Whole:
    """How many come before each, and all of them at the end."""
    below = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=below[1:])
    return below
