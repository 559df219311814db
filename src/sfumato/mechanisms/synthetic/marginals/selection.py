r"""Which pairs of columns to measure, and how finely: the exponential mechanism over pairs and resolutions.

The score of a candidate is how far the pair's counts, merged into the candidate's groups, lie from the model's in l1,
less the error that measuring them would leave.  The model and that error are public.  One row moves one merged count
by 1, so one unit moves a score by at most its l1 reach.  Scores are whole numbers in `UNITS` to a count, so that the
choice is exact; rounding, and the floating sums before it, move them by less than 2 units more.  Beside the candidates
stands the choice of none, with a public score: that no pair is worth its noise is chosen too, not looked up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.room import Room
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree, Pair
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["MOVES", "ROUNDING", "UNITS", "Candidate", "Scores", "candidates", "picks"]

UNITS = 16  # to one count
MOVES, ROUNDING = 1, 2  # one row moves a score by MOVES counts and ROUNDING units
NOISE = (
    0.5  # of a cell's standard deviation, where the model's count is large beside it: .8 is noise, the fit leaves less
)
MARGIN = 0.5  # of the logarithm of the candidates, over the rate: what the best of as many idle ones would reach
HIGHEST = 2**45  # the score of none, at most

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair of columns and the place of its two resolutions in their chains of nested groups."""

    pair: Pair
    fineness: tuple[int, int]

    def coarser(self, other: tuple[int, int]) -> bool:
        """Whether its groups are unions of groups of another resolution, or the same."""
        return self.fineness[0] >= other[0] and self.fineness[1] >= other[1]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One whole score for each candidate; the larger, the worse the model fits it."""

    candidates: tuple[Candidate, ...]
    values: npt.NDArray[np.int64]


def candidates(chains: Sequence[tuple[Groups, ...]]) -> tuple[Candidate, ...]:
    """Every pair, from its finest resolution to its coarsest, the larger side coarsened first."""
    found = []
    for one in range(len(chains)):
        for other in range(one + 1, len(chains)):
            at = [0, 0]
            while True:
                found.append(Candidate((one, other), (at[0], at[1])))
                left = [side for side, column in enumerate((one, other)) if at[side] + 1 < len(chains[column])]
                if not left:
                    break
                at[max(left, key=lambda side: chains[(one, other)[side]][at[side]].max())] += 1
    return tuple(found)


def scored(
    offered: Sequence[Candidate],
    counts: dict[Pair, npt.NDArray[np.int64]],
    expected: dict[Pair, Reals],
    merging: Sequence[Sequence[Reals]],
    sigma: float,
) -> Scores:
    """The scores of all candidates."""
    values = np.empty(len(offered), dtype=np.int64)
    held: Pair | None = None
    for place, candidate in enumerate(offered):
        if candidate.pair != held:
            held = candidate.pair
            model = expected[held]
            both = np.stack([counts[held] - model, model])
        left, right = (merging[c][f] for c, f in zip(candidate.pair, candidate.fineness, strict=True))
        apart, groups = left @ both @ right.T
        values[place] = math.floor(UNITS * (float(np.abs(apart).sum()) - remaining(groups, sigma)))
    return Scores(tuple(offered), values)


def remaining(expected: Reals, sigma: float) -> float:
    """The l1 error that noise of this deviation leaves after fitting: less where counts are smaller than the noise."""
    return NOISE * sigma * float((expected / (expected + sigma)).sum())


def picks(
    scores: Scores, tree: JunctionTree, room: Room, count: int, rate: float, rng: Rng
) -> tuple[list[Candidate], JunctionTree, int]:
    """Up to `count` candidates of different pairs, one after another, the tree that holds them, and how many choices
    were made: one more where the last chose none.
    """
    chosen: list[Candidate] = []
    offered = [(one.pair, one.fineness) for one in scores.candidates]
    taken: set[Pair] = set()
    for _ in range(count):
        left = [place for place in room.fitting(tree, offered) if scores.candidates[place].pair not in taken]
        if not left:
            break
        none = min(HIGHEST, round(MARGIN * math.log(1 + len(left)) / rate))
        values = np.append(scores.values[left], none)
        place = choose(values.max() - values, rate, rng)
        if place == len(left):
            return chosen, tree, len(chosen) + 1
        best = scores.candidates[left[place]]
        chosen.append(best)
        taken.add(best.pair)
        tree = room.including(tree, best.pair, best.fineness)
    return chosen, tree, len(chosen)
