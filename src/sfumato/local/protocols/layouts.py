"""How reports lie in bytes: the smallest unsigned integers, and bitmaps with the lowest bit first."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.local.protocols.protocol import Reports, Tally

__all__ = ["counts", "unsigned"]

BLOCK = 1 << 18  # numbers counted at a time: they stay in the cache


@lru_cache(maxsize=256)
def unsigned(high: int) -> np.dtype[Any]:
    """The smallest little-endian unsigned integers that hold every value below `high`.

    >>> unsigned(256), unsigned(257).itemsize
    (dtype('uint8'), 2)
    """
    size = next(size for size in (1, 2, 4, 8) if high <= 1 << (8 * size))
    return np.dtype(f"<u{size}")


def counts(numbers: Reports, high: int) -> Tally:
    """How often each number below `high` occurs."""
    out = np.zeros(high, dtype=np.int64)
    for start in range(0, numbers.size, max(BLOCK, high)):
        out += np.bincount(numbers[start : start + max(BLOCK, high)], minlength=high)
    return out
