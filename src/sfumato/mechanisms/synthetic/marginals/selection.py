r"""Which pairs of columns to measure, and how finely: the exponential mechanism over pairs and resolutions.

The score of a candidate is how far the pair's counts, merged into the candidate's groups, lie from the model's in l1,
less the error that measuring them would leave.  The model and that error are public.  One row moves one merged count
by 1, so one unit moves a score by at most its l1 reach.  Scores are whole numbers in `UNITS` to a count, so that the
choice is exact; rounding, and the floating sums before it, move them by less than 2 units more.  Beside the candidates
stands the choice of none, with a public score: that no pair is worth its noise is chosen too, not looked up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.room import Room
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree, Pair
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = [
    "MOVES", "ROUNDING", "UNITS", "Candidate", "Offer", "Pick", "Scores", "candidates", "idle", "picks", "remaining",
]  # fmt: skip

UNITS = 16  # to one count
MOVES, ROUNDING = 1, 2  # one row moves a score by MOVES counts and ROUNDING units
NOISE = (
    0.5  # of a cell's standard deviation, where the model's count is large beside it: .8 is noise, the fit leaves less
)
MARGIN = 0.5  # of the logarithm of the candidates, over the rate: what the best of as many idle ones would reach
HIGHEST = 2**45  # the score of none, at most
AT_ONCE = 1 << 18  # cells of pairs that are scored together

Reals = npt.NDArray[np.float64]
Offer = TypeVar("Offer", bound="Pick")


class Pick(Protocol):
    """Columns that may be measured together, and the place of their resolutions in their chains of nested groups."""

    @property
    def columns(self) -> Bag:
        """The columns, in order."""

    @property
    def fineness(self) -> Bag:
        """The places."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair of columns and the place of its two resolutions in their chains of nested groups."""

    pair: Pair
    fineness: tuple[int, int]

    @property
    def columns(self) -> Bag:
        """The same by the name that three columns have."""
        return self.pair

    def coarser(self, other: Bag) -> bool:
        """Whether its groups are unions of groups of another resolution, or the same."""
        return self.fineness[0] >= other[0] and self.fineness[1] >= other[1]


@dataclass(frozen=True, slots=True, eq=False)
class Scores(Generic[Offer]):
    """One whole score for each candidate; the larger, the worse the model fits it."""

    candidates: tuple[Offer, ...]
    values: npt.NDArray[np.int64]


def candidates(chains: Sequence[tuple[Groups, ...]]) -> tuple[Candidate, ...]:
    """Every pair, from its finest resolution to its coarsest, the larger side coarsened first."""
    found = []
    sizes = [[int(groups.max()) for groups in chain] for chain in chains]
    for one in range(len(chains)):
        for other in range(one + 1, len(chains)):
            at = [0, 0]
            while True:
                found.append(Candidate((one, other), (at[0], at[1])))
                left = [side for side, column in enumerate((one, other)) if at[side] + 1 < len(chains[column])]
                if not left:
                    break
                at[max(left, key=lambda side: sizes[(one, other)[side]][at[side]])] += 1
    return tuple(found)


def scored(
    offered: Sequence[Candidate],
    counts: dict[Pair, npt.NDArray[np.int64]],
    expected: dict[Pair, Reals],
    merging: Sequence[Sequence[Reals]],
    sigma: float,
) -> Scores[Candidate]:
    """The scores of all candidates; those of a pair follow one another, finest first.  Pairs of a shape go together."""
    alike: dict[tuple[object, ...], tuple[list[int], list[Pair]]] = {}
    resolutions: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    shapes, first = [tuple(len(matrix) for matrix in held) for held in merging], 0
    for pair, some in groupby(offered, key=lambda candidate: candidate.pair):
        held = [candidate.fineness for candidate in some]
        key = shapes[pair[0]], shapes[pair[1]], *held
        resolutions[key] = held
        firsts, pairs = alike.setdefault(key, ([], []))
        firsts.append(first)
        pairs.append(pair)
        first += len(held)
    values, steps = np.empty(len(offered), dtype=np.int64), _Steps(merging)
    for key, (firsts, pairs) in alike.items():
        at_once = max(1, AT_ONCE // counts[pairs[0]].size)
        for start in range(0, len(pairs), at_once):
            part, places = pairs[start : start + at_once], np.array(firsts[start : start + at_once])
            model = np.stack([expected[pair] for pair in part])
            both = np.stack([np.stack([counts[pair] for pair in part]) - model, model])
            for place, (apart, groups) in enumerate(steps.merged(both, part, resolutions[key])):
                score = np.abs(apart).sum(axis=(1, 2)) - remaining(groups, sigma)
                values[places + place] = np.floor(UNITS * score).astype(np.int64)
    return Scores(tuple(offered), values)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The 0-1 matrices from one resolution of a column to a coarser one; `merging` has those from the finest."""

    merging: Sequence[Sequence[Reals]]
    held: dict[tuple[int, int, int], Reals] = field(default_factory=dict)

    def merged(self, tables: Reals, pairs: Sequence[Pair], resolutions: Sequence[tuple[int, int]]) -> Iterator[Reals]:
        """Tables of several pairs, in their finest groups, merged into each of the resolutions, one after another."""
        before = (0, 0)
        for fineness in resolutions:
            for side in (0, 1):
                if fineness[side] > before[side]:
                    steps = np.stack([self._step(pair[side], before[side], fineness[side]) for pair in pairs])
                    tables = tables @ steps.transpose(0, 2, 1) if side else steps @ tables
            before = fineness
            yield tables

    def _step(self, column: int, before: int, after: int) -> Reals:
        key = column, before, after
        if key not in self.held:
            one, other = self.merging[column][before], self.merging[column][after]
            self.held[key] = (other @ one.T > 0).astype(np.float64)
        return self.held[key]


def remaining(expected: Reals, sigma: float, axis: tuple[int, ...] | None = (-2, -1)) -> Reals:
    """The l1 error that noise of this deviation leaves in each table after fitting: less where counts are smaller."""
    return np.asarray(NOISE * sigma * (expected / (expected + sigma)).sum(axis=axis))


def idle(many: int, rate: float) -> int:
    """The score of none beside so many candidates."""
    return min(HIGHEST, round(MARGIN * math.log(1 + many) / rate))


def picks(
    scores: Scores[Candidate], tree: JunctionTree, room: Room, count: int, rate: float, rng: Rng
) -> tuple[list[Candidate], JunctionTree, int]:
    """Up to `count` candidates of different pairs, one after another, the tree that holds them, and how many choices
    were made: one more where the last chose none.
    """
    chosen: list[Candidate] = []
    offered = np.array([(*one.pair, *one.fineness) for one in scores.candidates], dtype=np.int64).reshape(-1, 4)
    free = np.ones(len(offered), dtype=np.bool_)
    for _ in range(count):
        left = room.fitting(tree, offered)
        left = left[free[left]]
        if not len(left):
            break
        values = np.append(scores.values[left], idle(len(left), rate))
        place = choose(values.max() - values, rate, rng)
        if place == len(left):
            return chosen, tree, len(chosen) + 1
        best = scores.candidates[left[place]]
        chosen.append(best)
        free &= (offered[:, :2] != best.pair).any(axis=1)
        tree = room.including(tree, best.pair, best.fineness)
    return chosen, tree, len(chosen)
