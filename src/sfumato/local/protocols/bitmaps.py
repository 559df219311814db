"""Bitmaps, a row a person, lowest bit first: exact random bits many at a time, single bits, sums of columns.

Coins of probability t / 2^b are drawn 64 at a time: reading the binary digits of t from the last, `or` a uniform word
for a one and `and` it for a zero; after each digit the bits are ones with the probability read so far.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.local.protocols.protocol import Bits, Reports, Tally

__all__ = ["Bitmap", "clean", "clean_up", "column_sums", "random_bits", "row_bytes", "set_bits", "unpack"]

Bitmap = npt.NDArray[np.uint8]
BLOCK = 1 << 17  # words at a time: a megabyte
ROWS = 255  # rows whose bits a byte can count
NARROW = 16  # bytes in a row below which columns are counted one by one


def row_bytes(k: int) -> int:
    """Bytes of a bitmap of k bits."""
    return (k + 7) // 8


def random_bits(p: Fraction, n: int, k: int, bits: Bits) -> Bitmap:
    """n rows of k independent bits, each a one with probability exactly p, a dyadic rational below 1."""
    digits = p.denominator.bit_length() - 1
    size = n * row_bytes(k)
    flat = np.zeros((size + 7) // 8, dtype=np.uint64)
    if p:
        for start in range(0, flat.size, BLOCK):
            block = flat[start : start + BLOCK]
            for j in range(digits):
                act = np.bitwise_or if p.numerator >> j & 1 else np.bitwise_and
                act(block, bits.bits64(block.size), out=block)
    rows = flat.view(np.uint8)[:size].reshape(n, row_bytes(k))
    return clean_up(rows, k)


def set_bits(rows: Bitmap, places: npt.NDArray[np.int64], ones: npt.NDArray[np.bool_]) -> None:
    """Write one bit of each row."""
    index, bit = np.arange(len(rows)), np.left_shift(np.uint8(1), (places & 7).astype(np.uint8))
    byte = places >> 3
    rows[index, byte] = (rows[index, byte] & ~bit) | np.where(ones, bit, np.uint8(0))


def clean_up(rows: Bitmap, k: int) -> Bitmap:
    """The same rows, in place, without bits beyond the k-th."""
    if k % 8:
        rows[:, -1] &= np.uint8((1 << k % 8) - 1)
    return rows


def clean(rows: Reports, k: int) -> npt.NDArray[np.bool_]:
    """Which rows have no bits beyond the k-th."""
    if not k % 8:
        return np.ones(len(rows), dtype=bool)
    return np.asarray(rows[:, -1] >> (k % 8) == 0)


def column_sums(rows: Reports, k: int) -> Tally:
    """How many rows have each of the k bits."""
    counts = np.zeros((row_bytes(k), 8), dtype=np.int64)
    if row_bytes(k) < NARROW:
        for byte, column in enumerate(np.ascontiguousarray(rows.T)):
            counts[byte] = [np.count_nonzero(column & np.uint8(1 << bit)) for bit in range(8)]
        return counts.reshape(-1)[:k]
    whole = len(rows) - len(rows) % ROWS
    step = ROWS * max(1, 2 * BLOCK // (ROWS * row_bytes(k)))
    for start in range(0, whole, step):
        counts += _blocks(rows[start : min(start + step, whole)].reshape(-1, ROWS, row_bytes(k)))
    if whole < len(rows):
        counts += _blocks(rows[whole:].reshape(1, -1, row_bytes(k)))
    return counts.reshape(-1)[:k]


def _blocks(blocks: npt.NDArray[Any]) -> Tally:
    """Counts of each bit of each byte, over blocks of at most 255 rows."""
    counts = np.empty((blocks.shape[2], 8), dtype=np.int64)
    room = np.empty_like(blocks)
    for bit in range(8):
        np.right_shift(blocks, np.uint8(bit), out=room)
        np.bitwise_and(room, np.uint8(1), out=room)
        counts[:, bit] = np.add.reduce(room, axis=1, dtype=np.uint8).sum(axis=0, dtype=np.int64)
    return counts


def unpack(rows: Reports, k: int) -> npt.NDArray[np.uint8]:
    """The k bits of each row, as zeros and ones."""
    return np.unpackbits(np.asarray(rows, dtype=np.uint8), axis=1, count=k, bitorder="little")
