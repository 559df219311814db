r"""Ranks decided exactly: elimination of whole numbers modulo primes, as many as leave no doubt.

Rows that are independent modulo a prime are independent.  Conversely, let r be the largest rank modulo any of the
primes p_1, ..., p_k.  Every minor of size r + 1 is divisible by all of them, and by Hadamard's inequality at most the
product of its r + 1 longest rows; once p_1 ... p_k exceeds that product the minor is zero, and the rank is r.
Doubles are whole numbers times powers of two, and multiplying a row changes no rank.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["independent_rows", "rank", "spanned"]

Whole = npt.NDArray[np.int64]
BITS = 30  # at least, of each prime; below 2**31, so that products of residues fit into int64


def rank(matrix: npt.ArrayLike) -> int:
    """The rank of a matrix of whole numbers or finite doubles, whatever their sizes.

    >>> rank([[2 * 10**10] * 3, [0, 1, -1]]), rank([[1e300, 1e-300], [2e300, 2e-300]])
    (2, 1)
    """
    rows = np.asarray(matrix)
    return len(independent_rows(rows if rows.shape[0] <= rows.shape[1] else rows.T))


def independent_rows(matrix: npt.ArrayLike) -> list[int]:
    """The first rows, in their order, that are independent and span all others."""
    rows = _Rows.of(matrix)
    best: list[int] = []
    known, needed, most = 0, rows.minor_bits(), min(rows.count, rows.width)
    for prime in _primes():
        found, _ = _eliminate(rows.modulo(prime), rows.count, prime)
        best = max(best, found, key=len)
        known += BITS
        if len(best) == most or known > needed[len(best) + 1]:
            return best
    raise AssertionError("the primes below 2**31 do not end here")


def spanned(matrix: npt.ArrayLike, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """For each row of `points`, whether it is a combination of the rows of `matrix`."""
    rows, others = np.atleast_2d(np.asarray(matrix)), np.atleast_2d(np.asarray(points))
    basis = independent_rows(rows)
    inside = np.ones(len(others), dtype=np.bool_)
    if len(basis) == rows.shape[1]:
        return inside
    both = _Rows.of(np.concatenate([rows[basis], others]))
    known, needed = 0, both.minor_bits()[len(basis) + 1]
    for prime in _primes():
        found, left = _eliminate(both.modulo(prime), len(basis), prime)
        if len(found) == len(basis):  # then a remainder modulo the prime is one in whole numbers
            inside &= ~left
            known += BITS
        if known > needed or not inside.any():
            return inside
    raise AssertionError("the primes below 2**31 do not end here")


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Whole numbers `parts` times 2**`shifts`, row by row divided by what they have in common."""

    parts: npt.NDArray[Any]
    shifts: Whole

    @classmethod
    def of(cls, matrix: npt.ArrayLike) -> _Rows:
        array = np.atleast_2d(np.asarray(matrix))
        if array.dtype.kind in "iub":
            return cls(array.astype(np.int64), np.zeros(array.shape, dtype=np.int64))
        if array.dtype == object:
            return cls(array, np.zeros(array.shape, dtype=np.int64))
        mantissas, exponents = np.frexp(array.astype(np.float64))
        parts = np.ldexp(mantissas, 53).astype(np.int64)
        least = np.where(parts != 0, exponents, 2**20).min(axis=1, keepdims=True)
        return cls(parts, np.where(parts != 0, exponents - least, 0).astype(np.int64))

    @property
    def count(self) -> int:
        return int(self.parts.shape[0])

    @property
    def width(self) -> int:
        return int(self.parts.shape[1])

    def modulo(self, prime: int) -> Whole:
        residues = np.asarray(self.parts % prime, dtype=np.int64)
        if not self.shifts.any():
            return residues
        sizes, places = np.unique(self.shifts, return_inverse=True)
        powers = np.array([pow(2, int(size), prime) for size in sizes], dtype=np.int64)
        return np.asarray(residues * powers[places].reshape(residues.shape) % prime)

    def minor_bits(self) -> list[float]:
        """For each size the log2 of a bound on every minor of that size: the product of the longest rows."""
        parts = self.parts if self.parts.dtype == object else np.abs(self.parts)
        largest = [max(abs(int(row.max())), abs(int(row.min()))) for row in parts]
        shifts = self.shifts.max(axis=1).tolist()
        longest = sorted((part.bit_length() + shift for part, shift in zip(largest, shifts, strict=True)), reverse=True)
        bits = [size + math.log2(self.width) / 2 for size in longest]
        return [0.0, *(1 + total for total in itertools.accumulate(bits)), math.inf]


def _eliminate(residues: Whole, count: int, prime: int) -> tuple[list[int], npt.NDArray[np.bool_]]:
    """Which of the first `count` rows are independent of those before; which rows after them keep a remainder."""
    rows = residues.copy()
    found = []
    for i in range(count):
        places = np.flatnonzero(rows[i])
        if not places.size:
            continue
        found.append(i)
        column = int(places[0])
        pivot = rows[i] * pow(int(rows[i, column]), -1, prime) % prime
        below = np.flatnonzero(rows[i + 1 :, column]) + i + 1
        rows[below] = (rows[below] - rows[below, column][:, None] * pivot % prime) % prime
        if len(found) == rows.shape[1]:
            break
    return found, np.asarray(rows[count:].any(axis=1))


def _primes() -> Iterator[int]:
    """The primes below 2**31, the largest first."""
    return (n for n in range(2**31 - 1, 2**BITS, -2) if _is_prime(n))


def _is_prime(n: int) -> bool:
    """Miller's test with witnesses that suffice below 3.2e9 (Jaeschke1993)."""
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in (2, 3, 5, 7):
        power = pow(witness, odd, n)
        if power not in (1, n - 1) and all((power := power * power % n) != n - 1 for _ in range(twos - 1)):
            return False
    return True
