"""Small alphabets of rows over one axis of cells, never written out: each, and some, sums up to, between, or as listed.

A factor over n cells is a matrix of whole numbers with n columns.  Products of factors over several axes, weighted
and stacked, make a workload (`matrix.Linear`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

__all__ = ["EACH", "RANGES", "TOTAL", "UPTO", "Each", "Factor", "Ranges", "Rows", "Total", "Upto"]

Whole = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

WIDE = 2**22  # larger entries, times counts, are multiplied as Python's own integers


class Factor(Protocol):
    """Rows of whole numbers over one axis."""

    def rows(self, cells: int) -> int:
        """How many rows there are."""
        ...

    def apply(self, x: Whole) -> Whole:
        """The rows times x, along the first axis of x."""
        ...

    def adjoint(self, y: Floats) -> Floats:
        """The transposed rows times y, along the first axis of y."""
        ...

    def powers(self, cells: int, power: int) -> Floats:
        """For each column the sum of |entry| ** power (exact below 2^53)."""
        ...

    def block_norms(self, cells: int, width: int) -> Floats:
        """For each row r the squared length of its mean over blocks of `width` cells: sum_B (r . 1_B)^2 / width."""
        ...

    def block_total(self, cells: int, width: int) -> float:
        """The sum of `block_norms`."""
        ...

    def gram(self, cells: int) -> Floats:
        """The transposed rows times the rows, without writing the rows out where there are many."""
        ...

    def dense(self, cells: int) -> Whole:
        """The matrix itself."""
        ...


@dataclass(frozen=True, slots=True)
class Each:
    """One row for each cell."""

    def rows(self, cells: int) -> int:
        """As many as cells."""
        return cells

    def apply(self, x: Whole) -> Whole:
        """x itself."""
        return x

    def adjoint(self, y: Floats) -> Floats:
        """y itself."""
        return y

    def powers(self, cells: int, power: int) -> Floats:
        """One a column."""
        return np.ones(cells)

    def block_norms(self, cells: int, width: int) -> Floats:
        """1 / width."""
        return np.full(cells, 1 / width)

    def block_total(self, cells: int, width: int) -> float:
        """The sum of `block_norms`."""
        return float(self.block_norms(cells, width).sum())

    def gram(self, cells: int) -> Floats:
        """The identity."""
        return np.eye(cells)

    def dense(self, cells: int) -> Whole:
        """The identity."""
        return np.eye(cells, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Total:
    """One row of ones."""

    def rows(self, cells: int) -> int:
        """One."""
        return 1

    def apply(self, x: Whole) -> Whole:
        """The sum."""
        return x.sum(axis=0, keepdims=True)  # type: ignore[no-any-return]

    def adjoint(self, y: Floats) -> Floats:
        """y, to be repeated: a broadcast over the axis is left to the caller's shape."""
        return y

    def powers(self, cells: int, power: int) -> Floats:
        """One a column."""
        return np.ones(cells)

    def block_norms(self, cells: int, width: int) -> Floats:
        """The squares of the blocks' sizes over the width."""
        full, rest = divmod(cells, width)
        return np.array([full * width + rest * rest / width])

    def block_total(self, cells: int, width: int) -> float:
        """The sum of `block_norms`."""
        return float(self.block_norms(cells, width).sum())

    def gram(self, cells: int) -> Floats:
        """Ones."""
        return np.ones((cells, cells))

    def dense(self, cells: int) -> Whole:
        """A row of ones."""
        return np.ones((1, cells), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Upto:
    """Row t: the cells 0..t; thresholds, a cumulative distribution."""

    def rows(self, cells: int) -> int:
        """As many as cells."""
        return cells

    def apply(self, x: Whole) -> Whole:
        """Running sums."""
        return np.cumsum(x, axis=0)

    def adjoint(self, y: Floats) -> Floats:
        """Running sums from the end."""
        return np.cumsum(y[::-1], axis=0)[::-1]

    def powers(self, cells: int, power: int) -> Floats:
        """Cell j lies in the last n - j rows."""
        return np.arange(cells, 0, -1, dtype=np.float64)

    def block_norms(self, cells: int, width: int) -> Floats:
        """Full blocks, and one cut."""
        last = np.arange(1, cells + 1, dtype=np.float64)
        rest = last % width
        return np.asarray(last - rest + rest * rest / width)

    def block_total(self, cells: int, width: int) -> float:
        """The sum of `block_norms`."""
        return float(self.block_norms(cells, width).sum())

    def gram(self, cells: int) -> Floats:
        """Cells i and j lie together in the last n - max(i, j) rows."""
        j = np.arange(cells, dtype=np.float64)
        return cells - np.maximum.outer(j, j)

    def dense(self, cells: int) -> Whole:
        """A lower triangle of ones."""
        return np.tri(cells, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Ranges:
    """One row for each range i..j, by i and then j."""

    def rows(self, cells: int) -> int:
        """n (n + 1) / 2."""
        return cells * (cells + 1) // 2

    def apply(self, x: Whole) -> Whole:
        """Differences of running sums."""
        first, last = np.triu_indices(x.shape[0])
        sums = np.concatenate([np.zeros((1, *x.shape[1:]), dtype=x.dtype), np.cumsum(x, axis=0)])
        return np.asarray(sums[last + 1] - sums[first])

    def adjoint(self, y: Floats) -> Floats:
        """What each range adds, begun at its first cell and ended after its last."""
        cells = int((np.sqrt(8 * y.shape[0] + 1) - 1) / 2 + 0.5)
        first, last = np.triu_indices(cells)
        steps = np.zeros((cells + 1, *y.shape[1:]))
        np.add.at(steps, first, y)
        np.subtract.at(steps, last + 1, y)
        return np.cumsum(steps, axis=0)[:-1]

    def powers(self, cells: int, power: int) -> Floats:
        """Cell j lies in (j + 1) (n - j) ranges."""
        j = np.arange(cells, dtype=np.float64)
        return np.asarray((j + 1) * (cells - j))

    def block_norms(self, cells: int, width: int) -> Floats:
        """Cut blocks at both ends, full ones between."""
        first, last = np.triu_indices(cells)
        left, right = first // width, last // width
        head = (left + 1) * width - first
        tail = last + 1 - right * width
        apart = (head.astype(np.float64) ** 2 + tail.astype(np.float64) ** 2) / width + (right - left - 1) * width
        return np.where(left == right, (last + 1.0 - first) ** 2 / width, apart)

    def block_total(self, cells: int, width: int) -> float:
        """The sum of `block_norms`: of (i + 1) (n - j), i <= j in one block, those with i < j twice; one pass."""
        j = np.arange(-(-cells // width) * width, dtype=np.float64).reshape(-1, width)
        inside = j < cells
        first, last = np.where(inside, j + 1, 0.0), np.where(inside, cells - j, 0.0)
        return float((last * (2 * np.cumsum(first, axis=1) - first)).sum() / width)

    def gram(self, cells: int) -> Floats:
        """Cells i <= j lie together in (i + 1) (n - j) ranges."""
        j = np.arange(cells, dtype=np.float64)
        return np.asarray((np.minimum.outer(j, j) + 1) * (cells - np.maximum.outer(j, j)))

    def dense(self, cells: int) -> Whole:
        """Every range written out."""
        first, last = np.triu_indices(cells)
        j = np.arange(cells)
        return ((j >= first[:, None]) & (j <= last[:, None])).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as listed."""

    entries: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.entries}
        if len(widths) != 1 or 0 in widths:
            raise ParameterError("a matrix needs at least one row, and rows of equal length of at least 1")

    def rows(self, cells: int) -> int:
        """As many as listed."""
        return len(self.entries)

    def apply(self, x: Whole) -> Whole:
        """The product, exact."""
        matrix = self.dense(x.shape[0])
        if np.abs(matrix).max(initial=0) >= WIDE or x.dtype == object:
            return np.asarray(np.tensordot(matrix.astype(object), x.astype(object), axes=1))
        return np.asarray(np.tensordot(matrix, x, axes=1))

    def adjoint(self, y: Floats) -> Floats:
        """The transposed product."""
        return np.asarray(np.tensordot(self.dense(0).T.astype(np.float64), y, axes=1))

    def powers(self, cells: int, power: int) -> Floats:
        """Column sums."""
        return np.asarray((np.abs(self.dense(cells).astype(np.float64)) ** power).sum(axis=0))

    def block_norms(self, cells: int, width: int) -> Floats:
        """Blocks added up."""
        matrix = self.dense(cells).astype(np.float64)
        padded = np.pad(matrix, ((0, 0), (0, -cells % width)))
        return np.asarray((padded.reshape(len(matrix), -1, width).sum(axis=2) ** 2).sum(axis=1) / width)

    def block_total(self, cells: int, width: int) -> float:
        """The sum of `block_norms`."""
        return float(self.block_norms(cells, width).sum())

    def gram(self, cells: int) -> Floats:
        """The product."""
        matrix = self.dense(cells).astype(np.float64)
        return np.asarray(matrix.T @ matrix)

    def dense(self, cells: int) -> Whole:
        """The entries."""
        return np.array(self.entries, dtype=np.int64)


EACH, TOTAL, UPTO, RANGES = Each(), Total(), Upto(), Ranges()
