r"""Whole-number Fourier features of rows on a public grid, and how far a row moves their sums.

On one axis a grid point has psi_0 = 2^b and, for each wave k, round(2^b r sqrt(2) cos) and the same with sin; several
axes have their products.  A table's answer is the sum over its rows, in exact integers; with `shift` > 0 it is divided
by 2^shift and rounded.  Norms below are taken of these integers, so nothing is left to floating point
(docs/proofs/functions-density.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves import Floats, Fourier

__all__ = ["Features", "Sampled"]

Whole = npt.NDArray[Any]
BLOCK = 1 << 16  # entries of a block of features: half a megabyte, which stays near the processor
FITS = 2**62
FINE = 1 << 14  # points where the kernel of the features is bounded from below
LOOKED = 513  # points whose features are compared in pairs
UP, DOWN = 1 + 1e-11, 1 - 1e-11  # over the rounding of sums of up to 2^15 terms


@dataclass(frozen=True, slots=True)
class Sampled:
    """One axis: `count` grid points from `first` in steps of `step` (the last one at `last`), functions times `ratios`.

    The cosine and the sine of each wave have a ratio each; where those differ, the axis is `uneven`.
    """

    axis: Fourier
    first: float
    step: float
    count: int
    last: float
    ratios: tuple[float, ...]
    bits: int

    @property
    def uneven(self) -> bool:
        """Whether a cosine and its sine have different ratios."""
        return self.ratios[::2] != self.ratios[1::2]

    @property
    def points(self) -> Floats:
        """The grid points."""
        return np.asarray(np.minimum(self.first + self.step * np.arange(self.count), self.last))

    def matrix(self, places: npt.NDArray[np.intp]) -> Floats:
        """The integers of the grid points at these places, a row each; as floats, which hold integers below 2^53."""
        scale = 2.0**self.bits * np.concatenate([[1.0], np.array(self.ratios)])
        found = self.axis.values(np.minimum(self.first + self.step * places, self.last))
        found *= scale
        return np.asarray(np.rint(found, out=found))

    def blocks(self, wanted: npt.NDArray[np.bool_] | None = None) -> Iterator[tuple[int, Floats]]:
        """All rows, in blocks that are the same for norms and sums, each with its first row's number.

        With `wanted`, a mark for each row, the blocks that hold one of these.
        """
        each = max(1, BLOCK // self.axis.size)
        for start in range(0, self.count, each):
            if wanted is None or wanted[start : start + each].any():
                yield start, self.matrix(np.arange(start, min(start + each, self.count)))


@dataclass(frozen=True, slots=True)
class Norms:
    """Of the rows of one axis: bounds of their squared l2, l1 and largest norms."""

    l2: float
    l1: float
    linf: float


@lru_cache(maxsize=256)
def _norms(sampled: Sampled) -> Norms:
    l2 = l1 = linf = 0.0
    for _, block in sampled.blocks(_foremost(sampled)):
        sizes = np.abs(block, out=block)
        l1 = max(l1, float(sizes.sum(axis=1).max()))
        linf = max(linf, float(sizes.max()))
        sizes *= sizes
        l2 = max(l2, float(sizes.sum(axis=1).max()))
    return Norms(l2 * UP, l1 * UP, linf)


def _foremost(sampled: Sampled) -> npt.NDArray[np.bool_]:
    """Marks on the grid points that may have the largest norms; the others are shown to have none of them.

    Waves are turned on from a few points by products, which takes a third of the time.  An entry so found is within
    `wrong` of the one that `matrix` rounds, and so gives the same integer unless it lies that near to the middle of
    two; then it is off by one (docs/proofs/functions-density.md).
    """
    axis, each = sampled.axis, math.isqrt(sampled.count)
    rate = 2 * math.pi / (axis.high - axis.low)
    waves, starts = np.array(axis.waves, dtype=np.float64), np.arange(0, sampled.count, each)
    scale = math.sqrt(2) * 2.0**sampled.bits * np.array(sampled.ratios)
    length = abs(axis.low) + abs(sampled.first) + abs(sampled.last) + sampled.step * sampled.count
    wrong = np.abs(scale) * (16 * rate * length * np.repeat(waves, 2) + 64) * 2.0**-53
    marked = np.asarray(sampled.first + sampled.step * np.arange(sampled.count) > sampled.last)
    marked[-1] = True  # where the grid ends, points are moved
    if not waves.size or wrong.max() >= 0.25:
        return np.full(sampled.count, True)
    fine = _turned((rate * sampled.step) * np.arange(each), waves)
    coarse = _turned(rate * (sampled.first - axis.low + sampled.step * starts), waves)
    near = np.empty((4, sampled.count))
    for start, turn in zip(starts, coarse, strict=True):
        entries = (fine[: sampled.count - start] * turn).view(np.float64) * scale
        whole = np.rint(entries)
        entries -= whole
        doubtful = np.count_nonzero(np.abs(entries, out=entries) > 0.5 - wrong, axis=1)
        sizes = np.abs(whole, out=whole)
        found = (sizes.sum(axis=1), np.einsum("ij,ij->i", sizes, sizes), sizes.max(axis=1), doubtful)
        near[:, start : start + len(sizes)] = found
    l1, l2, largest, doubts = near
    for norm, each_moves in ((l1, 1.0), (l2, 2 * float(largest.max()) + 3), (largest, 1.0)):
        marked |= norm + doubts * each_moves >= (norm - doubts * each_moves).max()
    return marked


def _turned(angles: npt.NDArray[Any], waves: Floats) -> npt.NDArray[np.complex128]:
    """exp(i k angle), a row for each angle."""
    turns = angles[:, None] * waves
    return np.asarray(np.cos(turns) + 1j * np.sin(turns))


@lru_cache(maxsize=256)
def _least(sampled: Sampled) -> float:
    """A lower bound of the inner product of two rows: 4^b times the kernel of the ratios, less all rounding.

    The kernel 1 + 2 sum r_k^2 cos(2 pi k u / T) is looked at on a grid of differences u, less its slope times half a
    step; r_k^2 is the mean of those of a cosine and its sine, and what they differ by is taken off.  Each integer is
    within 1/2 + 2^-20 of its real number.
    """
    waves, each = np.array(sampled.axis.waves, dtype=np.float64), np.array(sampled.ratios) ** 2
    squares = (each[::2] + each[1::2]) / 2
    reach = (sampled.last - sampled.first) / (sampled.axis.high - sampled.axis.low)
    lowest = math.inf
    for part in np.array_split(np.linspace(0.0, reach, FINE), 16):
        angles = 2 * math.pi * part[:, None] * waves
        lowest = min(lowest, float((1 + 2 * np.cos(angles) @ squares).min()) if waves.size else 1.0)
    slope = float(4 * math.pi * (squares * waves).sum())
    lowest -= float(np.abs(each[::2] - each[1::2]).sum())
    lowest -= slope * reach / (FINE - 1) / 2 + 1e-9 * (1 + 2 * float(squares.sum()))
    return 4.0**sampled.bits * lowest - 0.51 * (2 * _norms(sampled).l1) - sampled.axis.size


@lru_cache(maxsize=256)
def _diameter(sampled: Sampled) -> float:
    """An upper bound of the l2 distance of two rows: of all numbers between the first and the last grid point.

    Between neighbors of LOOKED points the real features are within step^2 / 8 times their largest second derivative of
    a chord, and two points of chords are at most as far apart as two ends.
    """
    ratios = np.array(sampled.ratios)
    rows = sampled.axis.values(np.linspace(sampled.first, sampled.last, LOOKED))[:, 1:] * ratios
    rows = rows - rows[LOOKED // 2]
    squares = (rows**2).sum(axis=1)
    apart = float((squares[:, None] + squares - 2 * rows @ rows.T).max()) + 1e-12 * float(squares.max())
    step = (sampled.last - sampled.first) / (LOOKED - 1)
    rates = 2 * math.pi * np.array(sampled.axis.waves) / (sampled.axis.high - sampled.axis.low)
    bend = math.sqrt(2 * float((rates**4 * np.maximum(ratios[::2], ratios[1::2]) ** 2).sum()))
    real = (math.sqrt(apart) + bend * step**2 / 4) * 2.0**sampled.bits
    return real * (1 + 1e-9) + 1.02 * math.sqrt(sampled.axis.size)


@dataclass(frozen=True, slots=True)
class Features:
    """Products of the features of one to three axes, all but the constant."""

    axes: tuple[Sampled, ...]
    shift: int

    @property
    def size(self) -> int:
        """The number of features."""
        return math.prod(one.axis.size for one in self.axes) - 1

    @property
    def constant(self) -> float:
        """The constant feature before the shift, a power of two."""
        return 2.0 ** sum(one.bits for one in self.axes)

    def alone(self, norm: str) -> float:
        """The largest norm of what one row adds."""
        parts = [_norms(one) for one in self.axes]
        if norm == "l2":
            found = math.sqrt(max(math.prod(p.l2 for p in parts) * UP - self.constant**2 * DOWN, 0.0))
        elif norm == "l1":
            found = math.prod(p.l1 for p in parts) * UP - self.constant * DOWN
        else:
            found = math.prod(p.linf for p in parts)
        return self._shifted(found * UP, norm)

    def apart(self, norm: str) -> float:
        """The largest norm of the difference of what two rows add."""
        if norm != "l2":
            return 2 * self.alone(norm)
        if len(self.axes) == 1 and self.axes[0].uneven:
            return self._shifted(_diameter(self.axes[0]), norm)
        parts = [_norms(one) for one in self.axes]
        most = math.prod(p.l2 for p in parts) * UP
        corners = itertools.product(*((_least(one), p.l2) for one, p in zip(self.axes, parts, strict=True)))
        least = min(math.prod(corner) for corner in corners)
        least -= abs(least) * 1e-11
        return self._shifted(math.sqrt(max(2 * most - 2 * least, 0.0)) * UP, norm)

    def _shifted(self, found: float, norm: str) -> float:
        """After division by 2^shift each number is rounded, which moves a difference by at most 1 in each."""
        if self.shift == 0:
            return found
        extra = {"l2": math.sqrt(self.size) * UP, "l1": float(self.size), "linf": 1.0}[norm]
        return (found / 2.0**self.shift + extra) * UP

    def sums(self, counts: Whole) -> Whole:
        """The exact sums over a grid of counts, in int64 where they fit and in Python's integers where not."""
        total = int(counts.sum())
        bound = total
        tensor: Whole = np.asarray(counts, dtype=np.int64).reshape([one.count for one in self.axes])
        for one in self.axes:
            bound *= int(_norms(one).linf) + 1
            if bound >= FITS:
                tensor = tensor.astype(object)
            tensor = _contracted(tensor, one)
        flat = tensor.reshape(-1)[1:]
        if self.shift:
            flat = (flat + (1 << (self.shift - 1))) >> self.shift
        return np.asarray(flat)


def _contracted(tensor: Whole, sampled: Sampled) -> Whole:
    """The first axis summed against the features, which become the last axis; empty grid points cost nothing."""
    flat = tensor.reshape(len(tensor), -1)
    out = np.zeros((flat.shape[1], sampled.axis.size), dtype=tensor.dtype)
    for start, block in sampled.blocks():
        part = flat[start : start + len(block)]
        held = np.flatnonzero((part != 0).any(axis=1))
        if held.size:
            out += part[held].T @ block[held].astype(np.int64).astype(tensor.dtype)
    return out.reshape(*tensor.shape[1:], sampled.axis.size)
