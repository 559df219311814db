r"""Rows of one person, by a walk that leaves the model's law as it is.

A first row is drawn from the model.  Others start as copies of it, and some of their columns are drawn again, one after
another, each given all the rest (Gibbs sampling [GemanGeman1984]); parts of rows change places, too, where the model
finds that as likely [MetropolisEtAl1953].  As each row has the model's law at first, it keeps it, whichever columns are
left as they were: so a person's rows share what they should, and single rows relate as was measured.
All of it is computed from what is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.model import Model, Reals, margin
from sfumato.mechanisms.synthetic.marginals.tree import Bag

__all__ = ["walked"]

SWEEPS = 4
AT_ONCE = 1 << 22  # weights held together
TURN = (math.sqrt(5) - 1) / 2  # its multiples fill a circle evenly
LEAST = 1e-300

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Factor:
    """The conditional law of a bag's new columns given what it shares with the one above: rows multiply them."""

    bag: Bag
    table: Reals  # flat
    strides: tuple[int, ...]

    def at(self, rows: Whole, free: int | None = None) -> Whole:
        """Where rows stand in the table, the `free` column at its first group."""
        parts = (rows[:, c] * stride for c, stride in zip(self.bag, self.strides, strict=True) if c != free)
        return np.asarray(sum(parts, np.zeros(len(rows), dtype=np.int64)))


def walked(model: Model, rows: Whole, kept: Flags, chance: np.random.Generator) -> Whole:
    """Rows of groups (rows, columns) whose columns are drawn again where they are not `kept`."""
    rows, factors = rows.copy(), _factors(model)
    moved = np.flatnonzero(~kept.all(axis=0))
    own = np.flatnonzero(kept.all(axis=0))
    for _ in range(SWEEPS):
        for column in chance.permutation(moved):
            chosen = np.flatnonzero(~kept[:, column])
            step = max(1, AT_ONCE // model.tree.sizes[column])
            for part in range(0, len(chosen), step):
                _draw(rows, chosen[part : part + step], int(column), model.tree.sizes[column], factors, chance)
        _exchange(rows, kept, own, factors, chance)
    return rows


def _factors(model: Model) -> list[_Factor]:
    found = []
    for place, bag in enumerate(model.tree.bags):
        shared, belief = model.tree.separator(place), model.beliefs[place]
        below = margin(belief, bag, shared).reshape([model.tree.sizes[c] if c in shared else 1 for c in bag])
        table = belief / np.maximum(below, LEAST) if shared else belief
        strides = np.cumprod([1, *table.shape[:0:-1]])[::-1]
        found.append(_Factor(bag, np.ascontiguousarray(table).reshape(-1), tuple(int(stride) for stride in strides)))
    return found


def _draw(
    rows: Whole, chosen: Whole, column: int, size: int, factors: list[_Factor], chance: np.random.Generator
) -> None:
    """Draw one column of the chosen rows again, given their others, in place: evenly spread over similar rows."""
    weights, levels = np.ones((len(chosen), size)), np.arange(size)
    for factor in factors:
        if column in factor.bag:
            stride = factor.strides[factor.bag.index(column)]
            held = factor.table[factor.at(rows[chosen], column)[:, np.newaxis] + stride * levels]
            weights *= held / np.maximum(held.max(axis=1, keepdims=True), LEAST)
    ends = weights.cumsum(axis=1)
    total = ends[:, -1]
    order = np.lexsort((chance.random(len(chosen)), weights @ levels / np.maximum(total, LEAST)))
    spread = np.empty(len(chosen))
    spread[order] = (np.arange(len(chosen)) * TURN + chance.random()) % 1.0
    found = (ends <= (spread * total)[:, np.newaxis]).sum(axis=1)
    rows[chosen, column] = np.where(total > 0, np.minimum(found, size - 1), rows[chosen, column])


def _exchange(rows: Whole, kept: Flags, own: Whole, factors: list[_Factor], chance: np.random.Generator) -> None:
    """Exchange all that both of two rows may change, in place, between rows that agree in a column of their persons."""
    chosen = np.flatnonzero(~kept.all(axis=1))
    alike = rows[chosen, chance.choice(own)] if len(own) else np.zeros(len(chosen))
    order = chosen[np.lexsort((chance.random(len(chosen)), alike))]
    one, other = order[0 : len(order) - 1 : 2], order[1::2]
    both = ~(kept[one] | kept[other])
    first, second = np.where(both, rows[other], rows[one]), np.where(both, rows[one], rows[other])
    gain = _density(first, factors) + _density(second, factors)
    gain -= _density(rows[one], factors) + _density(rows[other], factors)
    accepted = np.log(np.maximum(chance.random(len(one)), LEAST)) < gain
    rows[one[accepted]], rows[other[accepted]] = first[accepted], second[accepted]


def _density(rows: Whole, factors: list[_Factor]) -> Reals:
    """The logarithm of the model's probability of each row."""
    found = np.zeros(len(rows))
    for factor in factors:
        found += np.log(np.maximum(factor.table[factor.at(rows)], LEAST))
    return found
