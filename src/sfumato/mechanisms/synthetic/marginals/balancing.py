r"""Rows that have the model's tables of all pairs, not of measured ones alone.

Rows drawn from a model scatter about it: tables on the tree are met to within a row a cell, those of other pairs err as
a random sample's do.  So values of one column are swapped between two rows, which keeps the column's own counts,
wherever that brings the tables of all pairs nearer to what the model expects: sum (made - expected)^2 / (expected + 1)
falls.  Swaps are tried some rows at a time, and judged by the counts before them.

Pairs alone would be met by rows that the model hardly knows: relations of three and more columns would wear off with
every swap.  So a swap is tried with probability min(1, odds), the odds of the two rows after it over those before, as
the model has them [MetropolisEtAl1953]: such moves by themselves keep rows that follow the model following it.  Rows
that agree in the columns that share a bag with this one may swap it freely, and rows that agree in some of them are
tried together.  All of it is public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.generation import Whole
from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.model import Model, Reals
from sfumato.mechanisms.synthetic.marginals.tree import Bag, Pair

__all__ = ["balanced"]

SWEEPS = 4  # over all columns; from Adult and flights, as is how many swaps are judged by the same counts
LEAST, PARTS = 64, 32  # a part of all rows, but no fewer
WIDEST, LARGEST = 1200, 5e7  # groups of all columns, and rows times squared columns, that it is done for
NEVER = 1e-12  # the probability of what the model rules out


def balanced(
    rows: Whole,
    owners: Sequence[Groups],
    model: Model,
    expected: Callable[[], Mapping[Pair, Reals]],
    chance: np.random.Generator,
) -> Whole:
    """The rows with some values swapped; `expected` has the counts that tables of all pairs should be in ratio to.

    Rows have groups of every column, and `owners` the group of the model that each of them lies in.
    """
    many, columns = rows.shape
    sizes = [len(owner) for owner in owners]
    if many < 2 or columns < 2 or sum(sizes) > WIDEST or many * columns**2 > LARGEST:
        return rows
    starts = np.cumsum([0, *sizes])
    wanted, weights = _wanted(starts, expected(), many)
    places, odds = rows + starts[:-1], _Odds.of(model)
    held = np.stack([owner[own] for owner, own in zip(owners, rows.T, strict=True)], axis=1)
    counts = _counted(places, starts)
    for _ in range(SWEEPS):
        for column in chance.permutation(columns):
            own = slice(starts[column], starts[column + 1])
            made, order = counts[own], odds.alike(held, column, chance)
            parts, tried = max(1, min(PARTS, order.shape[1] // LEAST)), odds.tried(held, order, column, chance)
            for part, chosen in zip(*(np.array_split(one, parts, axis=-1) for one in (order, tried)), strict=True):
                _swap(places, part[:, chosen], int(column), int(own.start), made, wanted[own], weights[own])
            held[:, column] = owners[column][places[:, column] - own.start]
            counts[:, own] = made.T
    return np.asarray(places - starts[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class _Odds:
    """For each column the bags that hold it, with the logarithms of their tables, given what they share above."""

    sizes: tuple[int, ...]
    bags: tuple[tuple[tuple[Bag, Reals], ...], ...]

    @classmethod
    def of(cls, model: Model) -> _Odds:
        """The factors of a model."""
        tree, found = model.tree, []
        for place, bag in enumerate(tree.bags):
            shared = tree.separator(place)
            above = model.sum(place, shared).reshape([tree.sizes[c] if c in shared else 1 for c in bag])
            given = np.log(np.maximum(model.sum(place, bag), NEVER)) - np.log(np.maximum(above, NEVER))
            found.append((bag, np.ascontiguousarray(given)))
        bags = (tuple(one for one in found if column in one[0]) for column in range(len(tree.sizes)))
        return cls(tree.sizes, tuple(bags))

    def alike(self, held: Whole, column: int, chance: np.random.Generator) -> Whole:
        """Rows two by two, in random order, that agree in some columns beside this one, or in none."""
        near = sorted({other for bag, _ in self.bags[column] for other in bag} - {column})
        beside = chance.permutation(np.array(near, dtype=np.int64))
        some = beside[: chance.integers(0, len(beside), endpoint=True)]
        ranks = np.cumprod([1.0, *(float(self.sizes[other]) for other in some)])[:-1]
        code = held[:, some] @ ranks  # one number for what they have there, in which the last column counts most
        order = np.argsort(code + chance.random(len(held)))[: len(held) - len(held) % 2].reshape(-1, 2)
        return np.asarray(order[chance.permutation(len(order))].T)

    def tried(self, held: Whole, some: Whole, column: int, chance: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Which swaps the model would make."""
        one, two = held[some]
        gain = np.zeros(some.shape[1])
        for bag, table in self.bags[column]:
            steps = np.cumprod([1, *table.shape[:0:-1]])[::-1]
            first, second = (rows[:, bag] @ steps for rows in (one, two))  # places of the rows' cells,
            apart = (two - one)[:, column] * steps[bag.index(column)]  # and how far the swap moves them
            flat = table.reshape(-1)
            gain += flat[first + apart] - flat[first] + flat[second - apart] - flat[second]
        return np.asarray(np.log(1.0 - chance.random(len(gain))) <= gain)


def _swap(places: Whole, some: Whole, column: int, start: int, made: Reals, wanted: Reals, weights: Reals) -> None:
    """Swap a column's values between two rows each, in place, where all tables together come nearer."""
    some = some[:, places[some[0], column] != places[some[1], column]]
    gap, wide = 2 * weights * (made - wanted), made.shape[1]
    one, two = places[some]
    value, other = (rows[:, column, np.newaxis] - start for rows in (one, two))
    come, gone = np.stack([other * wide + one, value * wide + two]), np.stack([value * wide + one, other * wide + two])
    change = (weights + gap).ravel()[come].sum(axis=0) + (weights - gap).ravel()[gone].sum(axis=0)
    change[one == two] = 0.0
    better = np.flatnonzero(change.sum(axis=1) < 0)
    moved = _moved(come[:, better], gone[:, better], made.shape)
    bend = 2 * float((weights * moved**2).sum())
    if bend > 0:  # as many as bring the sum of squares to its lowest: swaps that mend the same gap go too far together
        better = better[: int(min(1.0, -float((gap * moved).sum()) / bend) * len(better))]
        made += _moved(come[:, better], gone[:, better], made.shape)
        places[some[:, better], column] = np.stack([other, value])[:, better, 0] + start


def _moved(come: Whole, gone: Whole, shape: tuple[int, ...]) -> Reals:
    """What the counts of one column's groups with all groups gain when rows come to these cells and leave those."""
    cells = int(np.prod(shape))
    found = np.bincount(come.ravel(), minlength=cells) - np.bincount(gone.ravel(), minlength=cells)
    return found.reshape(shape).astype(np.float64)


def _wanted(starts: Whole, expected: Mapping[Pair, Reals], rows: int) -> tuple[Reals, Reals]:
    """All tables beside one another, in rows, and what the square of a gap counts; nothing for a column with itself."""
    wanted, weights = np.zeros((2, starts[-1], starts[-1]))
    for (one, other), table in expected.items():
        left, right = slice(starts[one], starts[one + 1]), slice(starts[other], starts[other + 1])
        wanted[left, right] = table * (rows / table.sum())
        weights[left, right] = 1 / (1 + wanted[left, right])
    return wanted + wanted.T, weights + weights.T


def _counted(places: Whole, starts: Whole) -> Reals:
    """How many rows have each two groups."""
    counts = np.zeros((starts[-1], starts[-1]))
    for column in range(places.shape[1]):
        cells = places[:, column, np.newaxis] * starts[-1] + places
        counts += np.bincount(cells.ravel(), minlength=counts.size).reshape(counts.shape)
    return counts
