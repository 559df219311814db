"""The nearest distribution: non-negative, summing to one.  [DuchiEtAl2008]"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["projected"]

Floats = npt.NDArray[np.float64]


def projected(estimates: npt.ArrayLike, total: float = 1.0) -> Floats:
    """The Euclidean projection onto {x >= 0, sum x = total}: never further from the truth than the estimates were.

    >>> projected([0.5, 0.7, -0.1]).round(6).tolist()
    [0.4, 0.6, 0.0]
    """
    held = np.asarray(estimates, dtype=np.float64)
    falling = np.sort(held)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(held) + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(held - excess[kept], 0.0))
