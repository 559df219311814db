"""Random words from the operating system, and nothing else."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

__all__ = ["SystemBits"]


class SystemBits:
    """`os.urandom` as 64-bit words: no state, safe across threads and forks."""

    __slots__ = ()

    def bits64(self, count: int) -> npt.NDArray[np.uint64]:
        """The next `count` words."""
        if count < 0:
            raise ParameterError(f"count must not be negative, got {count}")
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
