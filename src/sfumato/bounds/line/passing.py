r"""What no mechanism can beat on a chain of tables, on average over a prior on them.

Tables 0..K, consecutive ones neighbors, with true answers a_0 < ... < a_K; w a prior.  Let c be any numbers, and for
each possible answer y let every table's  d_t(y) = w_t (y - a_t)^2 - c_t  be passed on toward one table, the root of y.
What a table holds, its own d_t and what it received, is exchanged for what the next one receives, at the rate that
the guarantee allows (`Rule`); the root must not hold less than nothing.  Then the mean over w of the mean square is
at least

    sum_t c_t - the price of all exchanges.

Where a table holds less than it passes on, or a root less than nothing, its c is lowered, so that the value is a bound
whatever the c were.  Answers are those of a lattice of spacing h that holds both ends: less h^2 / 4.
Proof: docs/proofs/bounds-passing.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Guess", "Rule", "passed_mean_square"]

Array = npt.NDArray[np.float64]
ROUNDING = 1e-13  # of sums of a few products each, far above what they lose


class Rule(Protocol):
    """At what rate a guarantee exchanges what a table holds."""

    @property
    def price(self) -> float:
        """Of all exchanges together, but for what `exchange` says."""

    def exchange(self, table: int, held: Array, step: int) -> tuple[Array, float, float]:
        """What table + step receives for what `table` holds, the least it keeps, if below 0, and what that costs."""


@dataclass(frozen=True, slots=True)
class Guess:
    """For each table, the answer whose root it is, and its level c."""

    centers: Array
    levels: Array


def passed_mean_square(rule: Rule, answers: Array, prior: Array, guess: Guess, spacing: float) -> float:
    """The bound for one prior, rule, and guess of the levels."""
    width = float(answers[-1] - answers[0])
    count = max(2, math.ceil(width / spacing) + 1)
    outputs = np.linspace(answers[0], answers[-1], count)
    roots = np.searchsorted((guess.centers[1:] + guess.centers[:-1]) / 2, outputs)
    levels, last = guess.levels.copy(), len(answers) - 1
    held, price = prior[roots] * (outputs - answers[roots]) ** 2, rule.price
    tables = np.arange(last + 1)
    ends = np.searchsorted(roots, tables, side="left")  # of the outputs whose roots lie before a table
    firsts = np.searchsorted(roots, tables, side="right")  # and of those beyond it
    for step in (1, -1):
        received = np.zeros(count)
        for table in range(last) if step > 0 else range(last, 0, -1):
            beyond = slice(firsts[table], None) if step > 0 else slice(0, ends[table])
            there = received[beyond]
            if not len(there):
                break
            here = outputs[beyond] - answers[table]  # in place from here on: there are many tables
            here *= here
            here *= prior[table]
            here -= levels[table]
            here += there
            there[:], short, paid = rule.exchange(table, here, step)
            levels[table] += short
            price += paid
        held += received
    np.minimum.at(levels, roots, levels[roots] + np.minimum(held - levels[roots], 0.0))
    size = width**2 + float(abs(levels).sum()) + price
    return float(levels.sum() - price - (width / (count - 1)) ** 2 / 4 - ROUNDING * (last + 1) * size)
