r"""Which three columns to measure together, and how finely: as pairs are chosen, once the model knows these.

A candidate is three columns and a place in each one's chain of nested groups, in so few groups that rows fill the cells
well beyond their noise.  Its score is how far the merged counts lie from the model's in l1, less the error that
measuring them would leave: one row moves one merged count by 1, so scores move as those of pairs do and stand in the
same units beside the same choice of none (`selection.py`).  The model, which candidates there are, and for which the
tree has room is public.  What no three columns were worth is given back.  Proof: docs/proofs/synthesis-marginals.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.budget import CHOOSING, TRIPLES
from sfumato.mechanisms.synthetic.marginals.columns import variance
from sfumato.mechanisms.synthetic.marginals.counting import Read, triple_counts
from sfumato.mechanisms.synthetic.marginals.estimation import merging
from sfumato.mechanisms.synthetic.marginals.joint import Joint
from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.model import Reals
from sfumato.mechanisms.synthetic.marginals.room import LARGEST_BAG, LARGEST_TREE, Room, regrouped
from sfumato.mechanisms.synthetic.marginals.run import FULL, STEPS, Run
from sfumato.mechanisms.synthetic.marginals.selection import (
    MOVES,
    ROUNDING,
    UNITS,
    Scores,
    idle,
    remaining,
)
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree
from sfumato.mechanisms.synthetic.marginals.weighing import weighted
from sfumato.progress import tell
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["Triple", "measure_triples", "scored", "triples"]

COARSE = 8  # groups of a column, at most
MOST = 2_000  # triples of columns that are compared; of more, those that a bag of the tree holds
BEFORE = 200  # steps of fitting before: what pairs imply is not to be paid for again

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Triple:
    """Three columns and the place of their resolutions in their chains of nested groups."""

    columns: Bag
    fineness: Bag

    def coarser(self, other: Bag) -> bool:
        """Whether its groups are unions of groups of another resolution, or the same."""
        return all(own >= one for own, one in zip(self.fineness, other, strict=True))


def starts(chains: Sequence[tuple[Groups, ...]]) -> list[int]:
    """The place in each chain of the finest groups that three columns are counted in."""
    sizes = [[int(groups.max()) + 1 for groups in chain] for chain in chains]
    return [next((place for place, size in enumerate(own) if size <= COARSE), len(own) - 1) for own in sizes]


def triples(tree: JunctionTree, weights: Sequence[float]) -> list[Bag]:
    """The columns that are compared: all, or of too many those that share a bag; the heavier, the sooner."""
    many = len(tree.sizes)
    if math.comb(many, 3) <= MOST:
        return list(combinations(range(many), 3))
    found = {some for bag in tree.bags for some in combinations(bag, 3)}
    return sorted(sorted(found, key=lambda some: (-math.prod(weights[c] for c in some), some))[:MOST])


def offered(room: Room, columns: Sequence[Bag]) -> tuple[Triple, ...]:
    """Every triple, from its finest resolution to its coarsest, the larger side coarsened first, as pairs are."""
    found, first = [], starts(room.chains)
    for some in columns:
        at = [first[column] for column in some]
        while True:
            found.append(Triple(some, tuple(at)))
            left = [side for side, column in enumerate(some) if at[side] + 1 < len(room.chains[column])]
            if not left:
                break
            at[max(left, key=lambda side: room.sizes[some[side]][at[side]])] += 1
    return tuple(found)


def scored(
    candidates: Sequence[Triple], counts: Mapping[Triple, Whole], expected: Mapping[Triple, Reals], sigma: float
) -> Scores[Triple]:
    """The scores of all candidates, by their merged counts and the model's."""
    values = [
        math.floor(
            UNITS
            * (float(np.abs(counts[one] - expected[one]).sum()) - float(remaining(expected[one], sigma, axis=None)))
        )
        for one in candidates
    ]
    return Scores(tuple(candidates), np.array(values, dtype=np.int64))


def measure_triples(run: Run, read: Read, left: Fraction, rng: Rng) -> Fraction:
    """Rounds of choosing and measuring three columns, each for a part fixed before; what none is worth is given back.

    The amount of a round does not grow where none is chosen: pairs and columns make more of what is left.
    """
    tell("counting three columns", 0.7)
    run.fit(BEFORE)
    weights = [column.weight for column in run.columns]
    some = triples(run.tree, weights)
    many = TRIPLES[run.noise.apart]
    each = left / many
    scale = run.noise.scales(each * (1 - CHOOSING), [1])[0]
    sigma = math.sqrt(variance(run.noise, scale))
    cell = FULL * scale  # rows that it should have
    new = [one for one in offered(run.room, some) if run.total >= cell * run.room.volume(one.columns, one.fineness)]
    if not new:
        return left
    first = starts(run.chains)
    mergings = _Mergings(run.chains, first)
    finest = triple_counts(
        read, run.columns, [chain[at] for chain, at in zip(run.chains, first, strict=True)],
        list(dict.fromkeys(one.columns for one in new)),
    )  # fmt: skip
    counts = {one: np.rint(mergings.merged(finest[one.columns], one)).astype(np.int64) for one in new}
    rate = run.noise.rate(each * CHOOSING, MOVES * UNITS * run.noise.reach.l1 + ROUNDING * run.noise.reach.units, 1)
    for number in range(many):
        tell("measuring three columns", 0.7 + 0.1 * number / many)
        trees = {one: tree for one in new if (tree := _widened(run, one)) is not None}
        if not trees:
            break
        scores = weighted(scored(list(trees), counts, _expected(run, first, mergings, list(trees)), sigma), run.columns)
        values = np.append(scores.values, idle(len(trees), rate))
        place = choose(values.max() - values, rate, rng)
        if place == len(trees):
            return left - each * CHOOSING
        chosen = list(trees)[place]
        run.tree = trees[chosen]
        run.measure(chosen, counts[chosen], scale, each, rng)
        left -= each
        new = [one for one in new if one.columns != chosen.columns or not one.coarser(chosen.fineness)]
        run.fit(STEPS)
    return left


def _widened(run: Run, one: Triple) -> JunctionTree | None:
    """The tree with these columns in a bag; None where that is too large."""
    tree = run.room.including(run.tree, one.columns, one.fineness)
    fits = tree is run.tree or (tree.largest <= LARGEST_BAG and tree.cells <= LARGEST_TREE)
    return tree if fits else None


def _expected(run: Run, first: Sequence[int], mergings: _Mergings, candidates: Sequence[Triple]) -> dict[Triple, Reals]:
    """The model's counts of all candidates; within the tree's groups each column keeps its own shape."""
    assert run.model is not None
    views, found = [], {}
    for levels, chain, fine, at in zip(run.smooth, run.chains, first, run.room.fineness(run.model.tree), strict=True):
        view = np.zeros((int(chain[fine].max()) + 1, int(chain[at].max()) + 1))
        np.add.at(view, (chain[fine], chain[at]), levels + 1e-9)
        views.append(view / view.sum(axis=0))
    joint, held = Joint(run.model, views), dict[Bag, Reals]()
    for one in candidates:
        if one.columns not in held:
            held[one.columns] = run.total * joint.of(one.columns)
        found[one] = mergings.merged(held[one.columns], one)
    return found


class _Mergings:
    """The 0-1 matrices from the finest groups of each column to its coarser ones."""

    def __init__(self, chains: Sequence[tuple[Groups, ...]], first: Sequence[int]) -> None:
        self.first = first
        self.held = [
            {place: merging(regrouped(chain, at, place)) for place in range(at, len(chain))}
            for chain, at in zip(chains, first, strict=True)
        ]

    def merged(self, table: Whole | Reals, one: Triple) -> Reals:
        """The table of three columns, in their finest groups, merged into a candidate's."""
        found = np.asarray(table, dtype=np.float64)
        for axis, (column, place) in enumerate(zip(one.columns, one.fineness, strict=True)):
            if place > self.first[column]:
                found = np.moveaxis(np.tensordot(self.held[column][place], found, axes=(1, axis)), 0, axis)
        return found
