"""Exact draws of j with P(j) proportional to N_j exp(-j / scale), the N_j whole numbers, few and possibly large."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from sfumato.randomness import Rng
from sfumato.sampling.fixedpoint import exp_minus
from sfumato.sampling.table import Outcome, TabulatedLaw, tabulate

__all__ = ["draw_tilted", "tilted"]


def tilted(numbers: Sequence[int], scale: float) -> TabulatedLaw:
    """The table to draw from; enclosures of the weights grow as sharp as a draw needs them."""
    rate = 1 / Fraction(scale)
    top = round(max(math.log2(number) - j * math.log2(math.e) / scale for j, number in enumerate(numbers)))

    def weigh(bits: int) -> Iterator[tuple[Outcome, int, int, int]]:
        encl = []
        for j, number in enumerate(numbers):
            guard = max(0, number.bit_length() - top) + 8
            low, high = exp_minus(rate * j, bits + guard)
            encl.append((low * number >> guard + top, (high * number >> guard + top) + 1))
        later = sum(high for _, high in encl)
        for j, (low, high) in enumerate(encl):
            later -= high
            yield (j, 0), low, high, later

    return tabulate(weigh)


def draw_tilted(table: TabulatedLaw, rng: Rng) -> int:
    """One draw."""
    while True:
        index = table.alias.pick(rng.word())
        outcome: Outcome | None = table.outcomes[index] if index < len(table.outcomes) else table.remainder(rng)
        if outcome is not None:
            return outcome[0]
