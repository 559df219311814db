r"""exp of doubles from -700 to 0, from IEEE sums and products alone, within a relative 2^-49 of the truth.

No mathematical library is trusted: x = n ln(2)/64 + r with a whole n, |r| < 0.0055, and
exp(x) = 2^(n >> 6) 2^((n & 63)/64) exp(r), the middle factor from a table made of whole numbers, the last one by six
terms of its series.  Proof: docs/proofs/sampling-selection.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["exp_in_place"]

Floats = npt.NDArray[np.float64]

PARTS = 64  # of a doubling
DIGITS = 140  # binary, of the constants while they are made
HELD = 1 << 12  # entries at a time, which stay in the cache
HIGH_BITS = 35  # of the first part of ln(2)/64: times |n| < 2^17 it is exact


def _step() -> tuple[float, float]:
    """ln(2)/64 as a short double and the rest: ln 2 is the sum of 1/(k 2^k)."""
    whole = sum((1 << DIGITS) // (k << k) for k in range(1, DIGITS))
    step = Fraction(whole, PARTS << DIGITS)
    high = Fraction(math.floor(step * 2 ** (HIGH_BITS + 6)), 2 ** (HIGH_BITS + 6))
    return float(high), float(step - high)


def _roots() -> Floats:
    """2^(j/64), rounded down at 60 digits and then to doubles: six square roots of 2^j."""
    found = []
    for j in range(PARTS):
        root = 1 << (60 * PARTS + j)
        for _ in range(6):
            root = math.isqrt(root)
        found.append(root / 2**60)
    return np.array(found)


HIGH, LOW = _step()
ROOTS = _roots()
TERMS = (1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0)  # of (exp(r) - 1) / r, the last first


def exp_in_place(x: Floats) -> None:
    """Overwrite x, each entry from -700 to 0, with its exponential."""
    for start in range(0, x.size, HELD):
        _exp(x[start : start + HELD])


def _exp(x: Floats) -> None:
    turns = x * (1 / HIGH)
    np.rint(turns, out=turns)
    x -= turns * HIGH
    x -= turns * LOW
    series = x * TERMS[0]
    for term in TERMS[1:]:
        series += term
        series *= x
    series += 1.0
    n = turns.astype(np.int64)
    series *= ROOTS[n & (PARTS - 1)]
    n >>= 6
    n += 1023
    n <<= 52
    np.multiply(series, n.view(np.float64), out=x)  # a power of two: exact
