"""Uniform integers below any bound: floor(u high), u a uniform real of which 128 bits are drawn at once.

No rejection, so every draw takes the same two words; when 128 bits do not decide the floor (once in 2**64),
more are drawn.  Proof: docs/proofs/sampling-lazy.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng, Words
from sfumato.sampling.fixedpoint import LazyUniform

__all__ = ["below", "floor_scaled", "uniform_integers"]

HALF = np.uint64(32)
LOW = np.uint64(2**32 - 1)
ALL = np.uint64(2**64 - 1)
CHUNK = 1 << 14  # integers at a time: the working set stays in the cache


def uniform_integers(high: int, shape: int | tuple[int, ...] | None, rng: Rng) -> Any:
    """Independent uniform integers in [0, high), an int64 array; an int for () and None."""
    if isinstance(high, bool) or not 1 <= high <= 2**63:
        raise ParameterError(f"high must be an integer from 1 to 2**63, got {high!r}")
    if shape is None or shape == ():
        return floor_scaled(LazyUniform(rng.word(), 64), int(high), rng)
    return below(np.full(shape, high, dtype=np.uint64), rng)


def below(high: npt.NDArray[np.uint64], rng: Rng) -> npt.NDArray[np.int64]:
    """One uniform integer below each entry of `high` (entries from 1 to 2**63)."""
    out = np.empty(high.size, dtype=np.int64)
    bounds = high.reshape(-1)
    for start in range(0, out.size, CHUNK):
        out[start : start + CHUNK] = _floors(bounds[start : start + CHUNK], rng)
    return out.reshape(high.shape)


def _floors(bound: Words, rng: Rng) -> npt.NDArray[np.int64]:
    words = rng.bits64(2 * bound.size)
    first, second = words[: bound.size], words[bound.size :]
    low = first * bound
    total = low + multiply_high(second, bound)
    out = (multiply_high(first, bound) + (total < low)).astype(np.int64)
    for i in np.flatnonzero(total == ALL).tolist():
        seen = LazyUniform(int(first[i]) << 64 | int(second[i]), 128)
        out[i] = floor_scaled(seen, int(bound[i]), rng)
    return out


def multiply_high(a: Words, b: Words) -> Words:
    """The upper 64 of the 128 bits of each product."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW, b >> HALF, b & LOW
    middle = a_high * b_low + ((a_low * b_low) >> HALF)
    other = a_low * b_high + (middle & LOW)
    result: Words = a_high * b_high + (middle >> HALF) + (other >> HALF)
    return result


def floor_scaled(u: LazyUniform, high: int, rng: Rng) -> int:
    """floor(u high), drawing bits of u until it is decided."""
    while True:
        left, right = u.value * high >> u.bits, ((u.value + 1) * high - 1) >> u.bits
        if left == right:
            return left
        u.refine(rng)
