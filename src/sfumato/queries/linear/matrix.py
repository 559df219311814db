"""A workload as a matrix of whole numbers: weighted products of factors, stacked, never written out unless small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.queries.linear.factors import EACH, TOTAL, WIDE, Factor, Floats, Whole

__all__ = ["Block", "Linear"]

LARGEST_DENSE = 30_000_000  # entries that are written out at most
LARGEST_GRAM = 4096  # cells


@dataclass(frozen=True, slots=True)
class Block:
    """`weight` times the Kronecker product of one factor for each axis."""

    factors: tuple[Factor, ...]
    weight: int = 1

    def rows(self, shape: tuple[int, ...]) -> int:
        """How many rows the product has."""
        return math.prod(factor.rows(cells) for factor, cells in zip(self.factors, shape, strict=True))

    def marginal(self) -> tuple[int, ...] | None:
        """The axes that are kept, if every factor is each cell or the total; else None."""
        if all(factor in (EACH, TOTAL) for factor in self.factors):
            return tuple(i for i, factor in enumerate(self.factors) if factor == EACH)
        return None


@dataclass(frozen=True, slots=True)
class Linear:
    """Rows over the cells of a product, in row-major order.

    >>> from sfumato.queries.linear.factors import UPTO
    >>> Linear((3,), (Block((UPTO,)),)).apply(np.array([5, 0, 2])).tolist()
    [5, 5, 7]
    """

    shape: tuple[int, ...]
    blocks: tuple[Block, ...]

    @property
    def cells(self) -> int:
        """The number of columns."""
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(block.rows(self.shape) for block in self.blocks)

    @property
    def counts(self) -> tuple[int, ...]:
        """The rows of each block."""
        return tuple(block.rows(self.shape) for block in self.blocks)

    def apply(self, x: Whole) -> Whole:
        """The exact product with a vector of counts (weights included)."""
        parts = []
        for block in self.blocks:
            part = x.reshape(self.shape)
            for axis, factor in enumerate(block.factors):
                part = np.moveaxis(factor.apply(np.moveaxis(part, axis, 0)), 0, axis)
            if block.weight >= WIDE and part.dtype.kind == "i":
                part = part.astype(object)  # times counts, beyond int64
            parts.append(block.weight * part.reshape(-1))
        return np.concatenate(parts)

    def adjoint(self, y: Floats) -> Floats:
        """The transpose times a vector of rows."""
        total = np.zeros(self.shape)
        ends = np.cumsum([0, *self.counts])
        for block, start, end in zip(self.blocks, ends[:-1], ends[1:], strict=True):
            part = y[start:end].reshape([f.rows(n) for f, n in zip(block.factors, self.shape, strict=True)])
            for axis, factor in enumerate(block.factors):
                part = np.moveaxis(factor.adjoint(np.moveaxis(part, axis, 0)), 0, axis)
            total += block.weight * part  # a total's single entry is broadcast over its axis
        return total.reshape(-1)

    def powers(self, power: int) -> Floats:
        """For each column the sum of |entry| ** power."""
        total = np.zeros(self.shape)
        for block in self.blocks:
            columns = [f.powers(n, power) for f, n in zip(block.factors, self.shape, strict=True)]
            total += float(block.weight) ** power * reduce(np.multiply.outer, columns)
        return total.reshape(-1)

    @property
    def is_small(self) -> bool:
        """Whether the matrix may be written out."""
        return self.rows * self.cells <= LARGEST_DENSE

    def dense(self) -> Whole:
        """The matrix written out."""
        if not self.is_small:
            raise UnsupportedQuery(f"the workload has {self.rows} x {self.cells} entries, too many to write out")
        parts = []
        for block in self.blocks:
            matrices = [f.dense(n) for f, n in zip(block.factors, self.shape, strict=True)]
            parts.append(block.weight * reduce(np.kron, matrices))
        return np.concatenate(parts)

    def gram(self) -> Floats:
        """The transpose times the matrix, dense: n by n, from the factors' own."""
        if self.cells > LARGEST_GRAM:
            raise UnsupportedQuery(f"a square of {self.cells} cells is too large to write out, at most {LARGEST_GRAM}")
        total = np.zeros((self.cells, self.cells))
        for block in self.blocks:
            grams = [f.gram(n) for f, n in zip(block.factors, self.shape, strict=True)]
            total += float(block.weight) ** 2 * reduce(_kron, grams)
        return total


def _kron(one: Floats, other: Floats) -> Floats:
    return np.asarray(np.kron(one, other))
