"""Tallies on the server's side: bitmaps are counted by compiled carry-save adders, all else by the protocol itself.

Fifteen rows of bits are added, 64 columns at a time, into four words that hold the binary digits of the column sums;
their bits are gathered in bytes, and the bytes in integers before they can overflow.  The result is that of
`protocol.tally`, to the last count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.deferred import compiled, njit
from sfumato.local.protocols.protocol import LocalProtocol, Reports, Tally

__all__ = ["column_sums", "tally"]

Words = npt.NDArray[np.uint64]
GROUP = 15  # rows that four digits can count
ROUND = 255  # groups that a byte can count
LANES = 0x0101010101010101
BITMAPS = {"oue", "sue", "rappor", "subset"}  # protocols whose tally is the sums of the columns of bitmaps


def tally(protocol: LocalProtocol, reports: Reports) -> Tally:
    """The sufficient statistics of valid reports, as `protocol.tally`, faster where reports are bitmaps."""
    rows = protocol.name in BITMAPS and not getattr(protocol, "listed", False) and reports.ndim == 2
    if rows and compiled() and protocol.cells <= 8 * protocol.columns < protocol.cells + 8:
        return column_sums(reports, protocol.cells)
    return protocol.tally(reports)


def column_sums(rows: npt.NDArray[Any], k: int) -> Tally:
    """How many rows have each of the first k bits, lowest bit first.

    >>> column_sums(np.array([[3], [2], [6]], dtype=np.uint8), 3).tolist()
    [1, 3, 1]
    """
    height, width = rows.shape
    words = -(-width // 8)
    padded: npt.NDArray[np.uint8] = rows
    if width % 8 or not rows.flags.c_contiguous:
        padded = np.zeros((height, 8 * words), dtype=np.uint8)
        padded[:, :width] = rows
    counts = np.zeros((words, 64), dtype=np.int64)
    _add_rows(padded.view("<u8").astype(np.uint64, copy=False), counts)
    return counts.reshape(-1)[:k]


@njit(cache=True)
def _add_rows(rows: Words, counts: npt.NDArray[np.int64]) -> None:  # pragma: no cover - compiled
    height, width = rows.shape
    lanes = np.zeros((4, 8, width), dtype=np.uint64)
    groups, held = height // GROUP, 0
    for group in range(groups):
        _add_group(rows[group * GROUP : (group + 1) * GROUP], lanes)
        held += 1
        if held == ROUND or group == groups - 1:
            _empty(lanes, counts)
            held = 0
    for row in range(groups * GROUP, height):
        for word in range(width):
            for bit in range(64):
                counts[word, bit] += np.int64((rows[row, word] >> np.uint64(bit)) & np.uint64(1))


@njit(cache=True)
def _add_group(r: Words, lanes: Words) -> None:  # pragma: no cover - compiled
    mask = np.uint64(LANES)
    for j in range(r.shape[1]):
        s0, c0 = _add(r[0, j], r[1, j], r[2, j])
        s1, c1 = _add(r[3, j], r[4, j], r[5, j])
        s2, c2 = _add(s0, s1, r[6, j])
        s3, c3 = _add(r[7, j], r[8, j], r[9, j])
        s4, c4 = _add(r[10, j], r[11, j], r[12, j])
        s5, c5 = _add(s3, s4, r[13, j])
        ones, c6 = _add(s2, s5, r[14, j])
        t0, f0 = _add(c0, c1, c2)
        t1, f1 = _add(c3, c4, c5)
        twos, f2 = _add(t0, t1, c6)
        fours, eights = _add(f0, f1, f2)
        for bit in range(8):
            lanes[0, bit, j] += (ones >> np.uint64(bit)) & mask
            lanes[1, bit, j] += (twos >> np.uint64(bit)) & mask
            lanes[2, bit, j] += (fours >> np.uint64(bit)) & mask
            lanes[3, bit, j] += (eights >> np.uint64(bit)) & mask


@njit(inline="always")
def _add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:  # pragma: no cover - compiled
    """The two binary digits of the sum of three bits, in every column."""
    either = a ^ b
    return either ^ c, (a & b) | (either & c)


@njit(cache=True)
def _empty(lanes: Words, counts: npt.NDArray[np.int64]) -> None:  # pragma: no cover - compiled
    for digit in range(4):
        for bit in range(8):
            for j in range(lanes.shape[2]):
                for byte in range(8):
                    held = (lanes[digit, bit, j] >> np.uint64(8 * byte)) & np.uint64(255)
                    counts[j, 8 * byte + bit] += np.int64(held) << digit
                lanes[digit, bit, j] = np.uint64(0)
