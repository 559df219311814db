"""The alias method in integers: one word, two look-ups, any integer weights that sum to 2**64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.randomness import Words

__all__ = ["Alias", "alias_table"]


@dataclass(frozen=True, slots=True, eq=False)
class Alias:
    """Column = leading `bits` of a word; below its threshold the column itself, else its alias."""

    bits: int
    threshold: npt.NDArray[np.uint64]
    other: npt.NDArray[np.int64]

    def pick(self, word: int) -> int:
        """The outcome of one word."""
        rest = 64 - self.bits
        column = word >> rest
        below = word & ((1 << rest) - 1) < int(self.threshold[column])
        return column if below else int(self.other[column])

    def picks(self, words: Words) -> npt.NDArray[np.int64]:
        """The outcome of each word."""
        rest = 64 - self.bits
        column = (words >> np.uint64(rest)).view(np.int64)
        below = (words & np.uint64((1 << rest) - 1)) < self.threshold.take(column)
        return np.where(below, column, self.other.take(column))


def alias_table(weights: list[int]) -> Alias:
    """Outcome i for exactly weights[i] of the 2**64 words (Walker1977, Vose1991).

    >>> table = alias_table([2**63, 2**62, 2**62])
    >>> [table.pick(word) for word in (0, 2**62, 2**63, 2**64 - 1)]
    [0, 1, 2, 0]
    """
    if sum(weights) != 1 << 64:
        raise AssertionError("the weights of an alias table sum to 2**64")
    bits = max(1, (len(weights) - 1).bit_length())
    columns, capacity = 1 << bits, 1 << (64 - bits)
    left = weights + [0] * (columns - len(weights))
    threshold, other = [capacity] * columns, list(range(columns))
    small = [i for i, w in enumerate(left) if w < capacity]
    large = [i for i, w in enumerate(left) if w > capacity]
    while small:
        i, j = small.pop(), large[-1]
        threshold[i], other[i] = left[i], j
        left[j] -= capacity - left[i]
        if left[j] <= capacity:
            large.pop()
            if left[j] < capacity:
                small.append(j)
    return Alias(bits, np.array(threshold, dtype=np.uint64), np.array(other, dtype=np.int64))
