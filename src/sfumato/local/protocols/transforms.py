"""The Walsh-Hadamard transform of integers, in place and exact."""

from __future__ import annotations

from sfumato.local.protocols.protocol import Tally

__all__ = ["hadamard"]


def hadamard(rows: Tally) -> Tally:
    """Each row multiplied by the Hadamard matrix H[x, z] = (-1)^(number of common bits of x and z).

    >>> import numpy as np
    >>> hadamard(np.array([[1, 2, 3, 4]])).tolist()
    [[10, -2, -4, 0]]
    """
    out, size, half = rows.copy(), rows.shape[-1], 1
    while half < size:
        pairs = out.reshape(-1, size // (2 * half), 2, half)
        first = pairs[:, :, 0].copy()
        pairs[:, :, 0] += pairs[:, :, 1]
        pairs[:, :, 1] = first - pairs[:, :, 1]
        half *= 2
    return out
