r"""Prefix sums by the square root of their matrix, its columns brought to one length.

The matrix of all prefix sums is the square of the lower triangular Toeplitz matrix C with c_k = binom(2k, k) / 4^k
(FichtenbergerHenzingerUpadhyay2023).  Measuring C D x, D making all columns equally long, comes close to the least
ellipsoid (HenzingerKalininUpadhyay2025): 1.01 times its radius at any number of cells.  Both are rounded to whole
numbers and charged as such.  Proof: docs/proofs/factorization.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.linear.bodies import largest_column
from sfumato.queries.linear.factors import UPTO, Factor, Floats, Whole
from sfumato.queries.linear.matrix import Linear

__all__ = ["Toeplitz", "square_root"]

LIMB = 21  # bits of the counts that are convolved at a time, so that int64 holds the sums
LARGEST = 2**41  # of the sum of the coefficients times the largest scale
LARGEST_WRITTEN = 4_000_000  # entries of a workload other than the prefix sums


@dataclass(frozen=True)
class Toeplitz:
    """The matrix with entry c_{i-j} d_j in row i and column j <= i, all of them whole and not negative."""

    coefficients: tuple[int, ...]
    scales: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.coefficients or len(self.coefficients) != len(self.scales):
            raise ParameterError("a Toeplitz measurement needs one coefficient and one scale for each cell")
        if min(self.coefficients) < 0 or self.coefficients[0] == 0 or min(self.scales) <= 0:
            raise ParameterError("coefficients must not be negative, scales and the first coefficient must be positive")
        if sum(self.coefficients) * max(self.scales) >= LARGEST:
            raise ParameterError(f"coefficients and scales are too large; their products may add up to {LARGEST}")

    @property
    def cells(self) -> int:
        """Numbers measured from."""
        return len(self.scales)

    @property
    def size(self) -> int:
        """Numbers measured: as many."""
        return self.cells

    def apply(self, x: Whole) -> Whole:
        """The exact measurement of counts, as Python's own integers: sums of parts of 21 bits."""
        kernel, scales = np.array(self.coefficients, dtype=np.int64), np.array(self.scales, dtype=np.int64)
        total, rest, shift = np.zeros(self.cells, dtype=object), np.asarray(x), 0
        for last in (False, False, True):
            part = rest if last else rest & (2**LIMB - 1)
            total += np.convolve(kernel, scales * part.astype(np.int64))[: self.cells].astype(object) << shift
            rest, shift = rest >> LIMB, shift + LIMB
        return total

    def norms(self, norm: str) -> tuple[float, float]:
        """The largest norm of a column; a difference of two has at most both together, since no entry is negative."""
        power = 1 if norm == "l1" else 2
        below = list(accumulate(c**power for c in self.coefficients))
        own = max(d**power * total for d, total in zip(self.scales, reversed(below), strict=True))
        return tuple(largest_column(np.array([float(sums)]), norm) for sums in (own, 2 * own))  # type: ignore[return-value]

    def solve(self, y: Floats) -> Floats:
        """The only counts that give this measurement."""
        found = np.convolve(self._inverse, np.asarray(y, dtype=np.float64))[: self.cells]
        return np.asarray(found / np.array(self.scales))

    def variances(self, linear: Linear) -> Floats:
        """For each row of a workload on one axis, the variance of its answer for noise of variance one."""
        if linear.shape != (self.cells,):
            raise UnsupportedQuery("such a measurement answers workloads over one axis of its own size")
        return np.concatenate([self._block(block.factors[0]) * float(block.weight) ** 2 for block in linear.blocks])

    def _block(self, factor: Factor) -> Floats:
        shares = 1 / np.array(self.scales)
        if factor != UPTO and factor.rows(self.cells) * self.cells > LARGEST_WRITTEN:
            raise UnsupportedQuery(f"rows that are no prefix sums are written out up to {LARGEST_WRITTEN} entries")
        if factor != UPTO:
            rows = factor.dense(self.cells) * shares
            read = [np.convolve(row[::-1], self._inverse)[: self.cells] for row in rows]
            return np.array([float(one @ one) for one in read])
        row, found = np.zeros(self.cells), np.empty(self.cells)
        for last, share in enumerate(shares.tolist()):
            row[: last + 1] += share * self._inverse[last::-1]
            found[last] = row @ row
        return found

    @cached_property
    def _inverse(self) -> Floats:
        """The coefficients of the inverse series."""
        kernel = np.array(self.coefficients, dtype=np.float64)
        found = np.zeros(self.cells)
        found[0] = 1 / kernel[0]
        for k in range(1, self.cells):
            found[k] = -(kernel[1 : k + 1] @ found[k - 1 :: -1]) / kernel[0]
        return found

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": "toeplitz", "coefficients": list(self.coefficients), "scales": list(self.scales)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Toeplitz:
        """What `to_record` wrote."""
        return cls(tuple(record["coefficients"]), tuple(record["scales"]))


def square_root(cells: int, fine: int = 2**20, scales: int = 2**12) -> Toeplitz:
    """The normalized square root of the prefix sums of so many cells, in steps of 1/fine and 1/scales.

    >>> square_root(3, 8, 4)
    Toeplitz(coefficients=(8, 4, 3), scales=(3, 4, 4))
    """
    factors = np.arange(1, cells)
    kernel = np.cumprod(np.concatenate([[1.0], (2 * factors - 1) / (2 * factors)]))
    whole = np.rint(fine * kernel).astype(np.int64)
    lengths = np.sqrt(np.cumsum(whole.astype(np.float64) ** 2))[::-1] / fine
    return Toeplitz(tuple(whole.tolist()), tuple(np.rint(scales / lengths).astype(np.int64).tolist()))
