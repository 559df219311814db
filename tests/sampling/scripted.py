"""Generators for tests: one that replays given words, one that counts what is taken."""

from __future__ import annotations

import numpy as np

from sfumato.randomness import Rng


class Scripted:
    """Hands out the given words, then those of another generator."""

    def __init__(self, script: np.ndarray, after: Rng) -> None:
        self.script, self.next, self.after = script, 0, after

    def bits64(self, count: int) -> np.ndarray:
        taken = self.script[self.next : self.next + count]
        self.next += taken.size
        return np.concatenate([taken, self.after.bits64(count - taken.size)])

    def word(self) -> int:
        return int(self.bits64(1)[0])


class Counting:
    """Counts the words taken from another generator."""

    def __init__(self, rng: Rng) -> None:
        self.rng, self.taken = rng, 0

    def bits64(self, count: int) -> np.ndarray:
        self.taken += count
        return self.rng.bits64(count)

    def word(self) -> int:
        self.taken += 1
        return self.rng.word()
