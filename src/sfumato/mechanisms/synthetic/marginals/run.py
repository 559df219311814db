"""What one run of marginal synthesis has measured so far, and the model that is fitted to it: all of it is public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.columns import Counted, variance
from sfumato.mechanisms.synthetic.marginals.consistency import agreed
from sfumato.mechanisms.synthetic.marginals.estimation import Measurement, fitted
from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.model import Model, Reals
from sfumato.mechanisms.synthetic.marginals.noise import Noise, noisy
from sfumato.mechanisms.synthetic.marginals.room import Room, regrouped
from sfumato.mechanisms.synthetic.marginals.selection import Candidate, Pick
from sfumato.mechanisms.synthetic.marginals.smoothness import Blocks, neighbors
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree, Pair
from sfumato.queries.encoding import Column
from sfumato.randomness import Rng

__all__ = ["FULL", "STEPS", "Run", "expected_pairs", "shapes"]

STEPS = 30  # of fitting, between rounds
TIES = 4.0  # shrinkage of a table, times the rows in one of its cells: cells are expected to lie about half off
MANY = 256  # cells of a table; of more, most are empty
STEPPING, TOGETHER = 2, 2.0  # how often neighbors are put together, and the same shrinkage of what they depart by then;
# from samples of Adult and flights, and from parkinsons, where errors fall by a fifth
FULL = 4.0  # rows in a cell, over the scale of its noise, down to which all pairs are measured; from samples of Adult
# and flights, and from made tables
IDLE = 2.0  # deviations of the sum of as many squares of noise as a pair has cells, up to which it says nothing
LOOSE = 0.01  # shrinkage of columns, which are smooth already

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns measured together: the noisy counts, the scale and variance of their noise, and what was spent."""

    pick: Pick
    counts: Reals
    scale: float
    variance: float
    amount: Fraction
    shrinkage: float
    blocks: tuple[Blocks, ...]

    def measurement(self, chains: Sequence[tuple[Groups, ...]], at: Sequence[int]) -> Measurement:
        """The same, of columns that have the groups at these places in their chains."""
        groups = tuple(
            regrouped(chains[c], at[c], place) for c, place in zip(self.pick.columns, self.pick.fineness, strict=True)
        )
        return Measurement(self.pick.columns, groups, self.counts, self.variance, self.shrinkage, self.blocks)


@dataclass(slots=True)
class Run:
    """What one run has measured so far; everything in it is public."""

    columns: Sequence[Column]
    noise: Noise
    total: float
    smooth: list[Reals]  # counts of each column's levels
    own: list[Counted]  # what they were smoothed from
    room: Room
    tree: JunctionTree
    tables: list[Table] = field(default_factory=list)
    duals: tuple[Reals, ...] = ()
    model: Model | None = None

    @property
    def chains(self) -> Sequence[tuple[Groups, ...]]:
        """The nested groups of all columns."""
        return self.room.chains

    def fit(self, steps: int) -> Model:
        """Fit the model to everything measured, from where the last fit ended."""
        at = self.room.fineness(self.tree)
        start = list(self.duals)
        if self.model is not None:  # columns that became finer take what their groups had
            before = self.room.fineness(self.model.tree)
            for column, chain in enumerate(self.chains):
                start[column] = start[column].take(regrouped(chain, at[column], before[column]))
        self.model, self.duals = fitted(self.tree, agreed(self.held(at), self.total), self.total, start, steps)
        return self.model

    def held(self, at: Sequence[int]) -> list[Measurement]:
        """Everything measured, of columns that have the groups at these places in their chains."""
        return [*self._singles(at), *(table.measurement(self.chains, at) for table in self.tables)]

    def _singles(self, at: Sequence[int]) -> list[Measurement]:
        """The groups that each column has in the tree, as its smoothed counts have them."""
        found = []
        for place, (levels, chain, own) in enumerate(zip(self.smooth, self.chains, self.own, strict=True)):
            owner = chain[at[place]]
            grouped = np.bincount(owner, weights=levels).astype(np.float64)
            spread, loose = own.noise(self.columns[place], owner), LOOSE / self.noise.reach.units
            found.append(Measurement((place,), (np.arange(len(grouped)),), grouped, spread, loose))
        return found

    def expected(self) -> dict[Pair, Reals]:
        """The model's counts of all pairs of finest groups; within the tree's groups each column keeps its shape."""
        assert self.model is not None
        at = self.room.fineness(self.tree)
        owners = [regrouped(chain, 0, place) for chain, place in zip(self.chains, at, strict=True)]
        return expected_pairs(self.model, shapes([chain[0] for chain in self.chains], self.smooth), owners, self.total)

    def measure(self, pick: Pick, counts: Whole, scale: float, amount: Fraction, rng: Rng) -> None:
        """The counts of a candidate with noise of a scale, which was paid for with an amount."""
        held = noisy(counts, self.noise.law(scale), rng).astype(np.float64)
        spread = variance(self.noise, scale)
        loosely, shrinkage = partial(self._shrinkage, TOGETHER), self._shrinkage(TIES, held.size)
        sides = [
            (self.chains[c], place, self.columns[c].ordered)
            for c, place in zip(pick.columns, pick.fineness, strict=True)
        ]
        blocks = neighbors(sides, spread, loosely, STEPPING)
        self.tables.append(Table(pick, held, scale, spread, amount, shrinkage, blocks))

    def _shrinkage(self, ties: float, cells: int) -> float:
        return min(1 / self.noise.reach.units, ties * min(MANY, cells) / self.total)

    def clear(self) -> None:
        """Leave out the pairs that say no more than noise would if their columns were independent: they take room."""
        held = [one for one in self.tables if not self._idle(one)]
        if len(held) < len(self.tables):
            self.tables, self.duals, self.model, self.tree = held, (), None, self.room.empty()
            for one in held:
                self.tree = self.room.including(self.tree, one.pick.columns, one.pick.fineness)

    def _idle(self, table: Table) -> bool:
        """By the squares of what its counts are off from independence, which add up to one for each cell of noise."""
        alone = [
            np.bincount(self.chains[c][place], weights=self.smooth[c])
            for c, place in zip(table.pick.columns, table.pick.fineness, strict=True)
        ]
        off = table.counts - np.outer(*alone) / self.total
        return bool((off**2).sum() <= table.variance * (off.size + IDLE * math.sqrt(2 * off.size)))

    def telling(self, offered: Sequence[Candidate], amount: Fraction) -> list[Candidate]:
        """The candidates that measuring them for an amount tells more of than one as fine and as dear has told."""
        told: dict[Bag, list[Bag]] = {}
        for table in self.tables:
            if amount <= table.amount:
                told.setdefault(table.pick.columns, []).append(table.pick.fineness)
        return [
            candidate
            for candidate in offered
            if candidate.pair not in told or not any(map(candidate.coarser, told[candidate.pair]))
        ]


def shapes(finest: Sequence[Groups], levels: Sequence[Reals]) -> list[Reals]:
    """What each column has in its finest groups."""
    parts = zip(finest, levels, strict=True)
    return [np.bincount(owner, weights=held).astype(np.float64) + 1e-9 for owner, held in parts]


def expected_pairs(model: Model, shapes: Sequence[Reals], owners: Sequence[Groups], total: float) -> dict[Pair, Reals]:
    """The model's counts of all pairs of finest groups, each of which lies in a group of the tree."""
    shares = [mass / np.bincount(owner, weights=mass)[owner] for mass, owner in zip(shapes, owners, strict=True)]
    counts = [total * share[:, np.newaxis] for share in shares]
    return {
        (one, other): table[owners[one][:, np.newaxis], owners[other]] * (counts[one] * shares[other])
        for (one, other), table in model.pairs()
    }
