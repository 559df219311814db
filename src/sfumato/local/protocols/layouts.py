"""How reports lie in bytes: the smallest unsigned integers, and bitmaps with the lowest bit first."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["unsigned"]


def unsigned(high: int) -> np.dtype[Any]:
    """The smallest little-endian unsigned integers that hold every value below `high`.

    >>> unsigned(256), unsigned(257).itemsize
    (dtype('uint8'), 2)
    """
    size = next(size for size in (1, 2, 4, 8) if high <= 1 << (8 * size))
    return np.dtype(f"<u{size}")
