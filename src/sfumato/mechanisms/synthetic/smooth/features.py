"""Features of one row as whole numbers, each block bounded in a norm by construction.

A row is a point x of the box [-1, 1]^d.  A `View` looks at y = (x - center) / reach, pulled back to the unit ball when
`ball` is set, and at s = (|x|^2 - level) / width, clipped to [-1, 1].  Gaussian kernels feel, in this order, the
moments of these blocks (`docs/proofs/synthesis-smooth.md`, section Influence):

    mean    y                            d numbers
    radius  s and s^2 / 2                2 numbers
    radial  y s                          d numbers
    second  y_i y_j, i <= j, off-diagonal times sqrt 2
    third   y_i y_j y_k, i <= j <= k, times the root of its number of orders

Features are truncated to multiples of 1 / QUANTUM and clipped as whole numbers, so that the bounds the privacy proof
uses hold for what is summed.  Every step is elementwise (+, -, *, /, sqrt): a row's features do not depend on its
neighbors in memory.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

__all__ = ["BLOCKS", "QUANTUM", "View", "dimension", "within_ball"]

BLOCKS = ("mean", "radius", "radial", "second", "third")
QUANTUM = 1 << 20
BATCH = 4096  # rows at a time

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def dimension(block: str, columns: int) -> int:
    """How many numbers a block has.

    >>> [dimension(block, 3) for block in BLOCKS]
    [3, 2, 3, 6, 10]
    """
    degree = {"second": 2, "third": 3}.get(block)
    if degree is None:
        return 2 if block == "radius" else columns
    return math.comb(columns + degree - 1, degree)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Where features are measured from, and how far they reach; public once it is known."""

    center: Reals
    reach: float
    level: float
    width: float
    ball: bool

    @classmethod
    def of_box(cls, columns: int) -> View:
        """The whole box: nothing is clipped."""
        return cls(np.zeros(columns), 1.0, columns / 2, columns / 2, ball=False)

    def features(self, points: Reals, blocks: tuple[str, ...]) -> Integers:
        """The blocks of each row side by side, in multiples of 1 / QUANTUM."""
        y, s = self.seen(points)
        parts = [self._block(block, y, s) for block in blocks]
        return np.concatenate(parts, axis=1)

    def totals(self, points: Reals, blocks: tuple[str, ...]) -> Integers:
        """The sum of `features` over all rows, exactly."""
        total = np.zeros(sum(dimension(block, points.shape[1]) for block in blocks), dtype=np.int64)
        for start in range(0, points.shape[0], BATCH):
            total += self.features(points[start : start + BATCH], blocks).sum(axis=0)
        return total

    def distances(self, points: Reals) -> Reals:
        """The distance of each row from the center."""
        return np.sqrt(_squares(points - self.center))

    def seen(self, points: Reals) -> tuple[Reals, Reals]:
        """y and s of each row."""
        y = (points - self.center) / self.reach
        if self.ball:
            y = y / np.maximum(1.0, np.sqrt(_squares(y)))[:, None]
        s = np.clip((_squares(points) - self.level) / self.width, -1.0, 1.0)
        return y, s

    def _block(self, block: str, y: Reals, s: Reals) -> Integers:
        if block == "radius":
            first = _whole(s[:, None])
            return np.concatenate([first, first * first // (2 * QUANTUM)], axis=1)
        if block == "mean":
            values = y
        elif block == "radial":
            values = y * s[:, None]
        else:
            values = _products(y, 2 if block == "second" else 3, weighted=self.ball)
        whole = _whole(values)
        return within_ball(whole) if self.ball else np.clip(whole, -QUANTUM, QUANTUM)


def within_ball(whole: Integers) -> Integers:
    """Rows of whole numbers, those longer than QUANTUM drawn in until they are not."""
    squares = (whole * whole).sum(axis=1)
    long = squares > QUANTUM * QUANTUM
    if not long.any():
        return whole
    out = whole.copy()
    root = np.sqrt(squares[long].astype(np.float64)).astype(np.int64) + 2  # above the root, whatever the rounding
    out[long] = np.sign(whole[long]) * (np.abs(whole[long]) * QUANTUM // root[:, None])
    return out


def _whole(values: Reals) -> Integers:
    """Multiples of 1 / QUANTUM, toward zero."""
    return np.trunc(values * QUANTUM).astype(np.int64)


def _squares(points: Reals) -> Reals:
    """|x|^2 of each row, added up column by column."""
    total = np.zeros(points.shape[0])
    for column in points.T:
        total += column * column
    return total


def _products(y: Reals, degree: int, weighted: bool) -> Reals:
    """Monomials of one degree; weighted, their squares add up to |y|^(2 degree)."""
    out = np.empty((y.shape[0], math.comb(y.shape[1] + degree - 1, degree)))
    for place, chosen in enumerate(combinations_with_replacement(range(y.shape[1]), degree)):
        value = y[:, chosen[0]]
        for column in chosen[1:]:
            value = value * y[:, column]
        orders = math.factorial(degree) // math.prod(math.factorial(k) for k in Counter(chosen).values())
        out[:, place] = value * math.sqrt(orders) if weighted else value
    return out
