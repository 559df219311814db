"""Survey weights: each row counts as often as a declared column says.

With u the weight's lattice index counted from its lower bound l, a row of weight (l + u) steps adds that many times
what it would add alone.  So a weighted sum follows from two sums, that of u times the summand and l times that of the
summand, and one row moves it by at most the largest weight times what it would move alone.  A row without a weight does
not count.  Proof: docs/proofs/contributions.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.queries.aggregation import Measure
from sfumato.spaces import Lattice, numeric
from sfumato.spaces.schema import Schema

__all__ = ["Weights", "weights_of"]

LARGEST = 2**62  # a summand, times the largest weight, must fit in 64 bits


@dataclass(frozen=True, slots=True)
class Weights:
    """A column of weights that are not negative."""

    column: str
    lattice: Lattice

    @property
    def most(self) -> int:
        """The largest weight, in steps."""
        return self.lattice.high

    @property
    def step(self) -> float:
        """What one step is worth."""
        return float(self.lattice.step)

    def measures(self, plain: Iterable[Measure]) -> tuple[Measure, ...]:
        """What the engine computes for the weighted sums: each summand, alone and times the weight's index."""
        return tuple(replace(one, times=self.column, times_power=power) for one in plain for power in (0, 1))

    def combined(self, totals: np.ndarray) -> np.ndarray:
        """The weighted sums, in steps of the weight."""
        found = np.asarray(totals, dtype=object)
        return np.asarray(found[1::2] + self.lattice.low * found[0::2], dtype=object)


def weights_of(kind: str, column: str | None, schema: Schema, largest: int) -> Weights | None:
    """The weights of a question, whose summands are at most `largest`; a column that cannot be one is refused."""
    if column is None:
        return None
    space = schema.space(column)
    if not numeric(space) or space.decodes or space.lattice.low < 0:
        raise UnsupportedQuery(
            f"the weight of a {kind} is a column of numbers that are not negative; declare {column!r} as "
            "Interval(0, ...) or Integers(0, ...)"
        )
    if largest * max(1, space.lattice.high) > LARGEST:
        raise UnsupportedQuery(
            f"the weight {column!r} times what a {kind} adds up needs at most 2^62 steps; declare larger steps"
        )
    return Weights(column, space.lattice)
