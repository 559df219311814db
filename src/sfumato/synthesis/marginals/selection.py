r"""Which pairs of columns to measure, and how finely: the exponential mechanism over pairs and resolutions.

The score of a candidate is how much nearer the model would come to the pair's counts, in l1, if the counts merged into
the candidate's groups were known, less the error that measuring them would add.  The model and that error are public.
One row moves the misfit by at most 1 and what remains unexplained by at most 2, so one unit moves a score by at most
three times its l1 reach.  Scores are whole numbers in `UNITS` to a count, so that the choice is exact; rounding, and
the floating sums before it, move them by less than 2 units more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.randomness import Rng
from sfumato.sampling import choose
from sfumato.synthesis.marginals.levels import Groups
from sfumato.synthesis.marginals.tree import JunctionTree, Pair

__all__ = ["MOVES", "ROUNDING", "UNITS", "Candidate", "Scores", "candidates", "picks"]

UNITS = 16  # to one count
MOVES, ROUNDING = 3, 2  # one row moves a score by MOVES counts and ROUNDING units
NOISE = 0.5  # of a cell's standard deviation remains, on average, after fitting; measured on Adult
LARGEST_TREE = 400_000  # cells of all bags together
LARGEST_BAG = 100_000
NOTHING = 1e-200  # rows: where the model expects no more, it has no shape, and a share of it could overflow

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair of columns and the place of its two resolutions in their chains of nested groups."""

    pair: Pair
    fineness: tuple[int, int]


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
            table, model = counts[held].astype(np.float64), expected[held]
            misfit = float(np.abs(table - model).sum())
        left, right = (merging[c][f] for c, f in zip(candidate.pair, candidate.fineness, strict=True))
        gain = misfit - unexplained(table, model, left, right)
        values[place] = math.floor(UNITS * (gain - NOISE * sigma * left.shape[0] * right.shape[0]))
    return Scores(tuple(offered), values)


def unexplained(table: Reals, model: Reals, left: Reals, right: Reals) -> float:
    """The l1 distance that would remain if the merged counts were known and the model kept its shape inside groups."""
    groups = left @ model @ right.T
    even = np.outer(left.sum(axis=1), right.sum(axis=1))
    known = left @ table @ right.T
    shaped = groups > NOTHING  # public, as the model is; counts never decide it
    inside = left.T @ np.divide(known, groups, out=np.zeros_like(known), where=shaped) @ right
    spread = left.T @ np.where(shaped, 0.0, known / even) @ right
    return float(np.abs(table - model * inside - spread).sum())


def picks(
    scores: Scores, tree: JunctionTree, count: int, rate: float, rng: Rng
) -> tuple[list[Candidate], JunctionTree]:
    """Up to `count` candidates of different pairs, one after another, and the tree that holds them."""
    chosen: list[Candidate] = []
    taken: set[Pair] = set()
    for _ in range(count):
        growth, room = tree.growth(), LARGEST_TREE - tree.cells
        fits = {pair for pair, (more, bag) in growth.items() if more <= room and bag <= LARGEST_BAG} - taken
        left = [place for place, candidate in enumerate(scores.candidates) if candidate.pair in fits]
        if not left:
            break
        values = scores.values[left]
        best = scores.candidates[left[choose(values.max() - values, rate, rng)]]
        chosen.append(best)
        taken.add(best.pair)
        tree = tree.including(best.pair)
    return chosen, tree
