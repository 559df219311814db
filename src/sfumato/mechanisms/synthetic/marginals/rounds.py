"""One run of marginal synthesis: columns, then rounds of choosing and measuring pairs or three columns, then rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.balancing import balanced
from sfumato.mechanisms.synthetic.marginals.budget import CHOOSING, Split, a_round, for_tables, for_triples
from sfumato.mechanisms.synthetic.marginals.columns import Columns, measured, variance
from sfumato.mechanisms.synthetic.marginals.consistency import agreed, remaining, within
from sfumato.mechanisms.synthetic.marginals.counting import Read, pair_counts, single_counts
from sfumato.mechanisms.synthetic.marginals.estimation import merging
from sfumato.mechanisms.synthetic.marginals.generation import opened, refined, sampled, settled, shuffling
from sfumato.mechanisms.synthetic.marginals.levels import Groups, nested
from sfumato.mechanisms.synthetic.marginals.model import Model, Reals
from sfumato.mechanisms.synthetic.marginals.noise import Noise, noisy
from sfumato.mechanisms.synthetic.marginals.room import Room, regrouped
from sfumato.mechanisms.synthetic.marginals.run import FULL, STEPS, Run, expected_pairs, shapes
from sfumato.mechanisms.synthetic.marginals.selection import (
    MOVES,
    ROUNDING,
    UNITS,
    Candidate,
    Scores,
    candidates,
    picks,
    scored,
)
from sfumato.mechanisms.synthetic.marginals.tree import Pair
from sfumato.mechanisms.synthetic.marginals.triples import measure_triples
from sfumato.mechanisms.synthetic.marginals.weighing import weighted
from sfumato.progress import tell
from sfumato.queries.encoding import Column
from sfumato.randomness import Rng

__all__ = ["Fitted", "Synthesis", "modelled", "synthesized"]

LAST_STEPS = 600  # of fitting, at the end
BESIDE, ASIDE = 8, 8  # groups beside those that rows fill, and the part of the cells they count for; from these tables

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Synthesis:
    """What a run made public: rows as indices, how many rows there are about, and which pairs were measured."""

    rows: dict[str, Whole]
    total: float | None = None  # where counts were measured
    measured: tuple[dict[str, Any], ...] = ()
    judged: dict[str, object] | None = None  # how far the rows are from the table, with noise
    total_error: float = 0.0  # the standard deviation of `total`
    column_noise: tuple[float, ...] = ()  # the standard deviation of a level's count, column by column
    persons: Whole | None = None  # whose each row is, where rows belong to persons
    repeats: dict[str, float] | None = None  # how often two rows of a person agree in a column, with noise
    moments: bool = True  # False where they were to be measured, and marginals turned out to know them
    answered: tuple[dict[str, Any], ...] = ()  # the queries of a workload that were measured, with their noisy answers

    def measurements(self) -> dict[str, object]:
        """What was measured, as plain values."""
        held: dict[str, object] = {}
        if self.total is not None:
            held = {"total": self.total, "measured": list(self.measured)}
        more: dict[str, object] = {"total_error": self.total_error, "column_noise": list(self.column_noise)}
        more |= {"repeats": self.repeats, "answered": list(self.answered)}
        held |= {name: value for name, value in more.items() if value not in (0.0, [], None)}
        held |= {} if self.moments else {"moments": False}
        return held if self.judged is None else {**held, "judged": self.judged}


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The last model of a run, and what opens its groups into values; everything in it is public."""

    columns: tuple[Column, ...]
    model: Model
    levels: tuple[Reals, ...]  # smoothed counts of each column's levels
    groups: tuple[Groups, ...]  # the group in the model of each level
    counts: tuple[Reals, ...]  # of those groups, as all tables together have them
    finest: tuple[Groups, ...]  # the group that pairs could have been measured in
    total: float
    total_error: float
    measured: tuple[dict[str, Any], ...]
    column_noise: tuple[float, ...]  # the standard deviation of a level's count, once all tables agree

    def opened(self, groups: Whole, chance: np.random.Generator) -> dict[str, Whole]:
        """Indices of all columns, from rows of groups."""
        return self._values(groups, self.groups, chance)

    def balanced(self, groups: Whole, chance: np.random.Generator) -> dict[str, Whole]:
        """The same, from rows that meet all pairs of the finest groups as well as they can."""
        owners = [within(fine, owner) for fine, owner in zip(self.finest, self.groups, strict=True)]
        kept = shapes(self.finest, self.levels)
        parts = zip(groups.T, kept, owners, strict=True)
        fine = np.stack([refined(held, shape, owner, chance) for held, shape, owner in parts], axis=1)
        expected = partial(expected_pairs, self.model, kept, owners, self.total)
        fine = balanced(fine, owners, self.model, expected, chance)
        return self._values(fine, self.finest, chance)

    def _values(self, groups: Whole, owners: Sequence[Groups], chance: np.random.Generator) -> dict[str, Whole]:
        parts = zip(self.columns, self.levels, owners, groups.T, strict=True)
        return {column.name: opened(held, levels, owner, column, chance) for column, levels, owner, held in parts}


def synthesized(
    read: Read,
    columns: Sequence[Column],
    noise: Noise,
    amount: Fraction,
    size: int | None,
    rows: Callable[[float], int],
    rng: Rng,
    triples: bool = False,
) -> Synthesis:
    """Measure, fit, generate.  `size` is the number of rows where it is public; `rows` says how many to make."""
    found = modelled(read, columns, noise, amount, size, rng, triples)
    tell("generating rows", 0.9)
    chance = shuffling(rng)
    made = found.balanced(settled(sampled(found.model, rows(found.total), chance), found.counts, chance), chance)
    own = found.column_noise
    return Synthesis(made, found.total, found.measured, total_error=found.total_error, column_noise=own)


def modelled(
    read: Read,
    columns: Sequence[Column],
    noise: Noise,
    amount: Fraction,
    size: int | None,
    rng: Rng,
    triples: bool = False,
) -> Fitted:
    """Measure and fit; with `triples` also relations of three columns."""
    tell("counting columns", 0.0)
    exact = single_counts(read, columns)
    tell("smoothing columns", 0.05)
    tables = for_tables(amount, size)
    first = None
    if size is None:
        scale = noise.scales(amount - tables, [1])[0]
        first = float(noisy(exact[0].sum(keepdims=True), noise.law(scale), rng)[0]), variance(noise, scale)
    about = first[0] if first is not None else float(size or 0)
    split = Split.of(noise, tables, columns, about)
    held = Columns(measured(exact, columns, noise, tables * split.singles, about, rng), first, size)
    run = _started(columns, noise, held)
    run.fit(LAST_STEPS)
    if split.pairs:
        left = tables * (1 - split.singles)
        rest = _measure(run, read, split, left, for_triples(left, len(columns)) if triples else Fraction(0), rng)
        if rest:  # no pair is worth its noise: the rest measures the columns once more
            held.again(measured(exact, columns, noise, rest, about, rng))
            _renew(run, held)
        tell("fitting pairs", 0.8)
        run.fit(LAST_STEPS)
    return _fitted(run, held.total()[1])


def _measure(run: Run, read: Read, split: Split, left: Fraction, share: Fraction, rng: Rng) -> Fraction:
    """Pairs, and three columns for a share; what none is worth goes to pairs again, and what is left comes back."""
    tell("counting pairs", 0.1)
    counts = pair_counts(read, run.columns, [chain[0] for chain in run.chains])
    rest = Fraction(0)
    if split.all and run.room.together:
        _measure_all(run, counts, left - share, rng)
    else:
        rest = _choose_pairs(run, counts, split.pairs, left - share, rng)
    if share:
        run.clear()
        rest = measure_triples(run, read, share + rest, rng)
        if rest:
            rest = _choose_pairs(run, counts, max(1, round(split.pairs * rest / left)), rest, rng)
    return rest


def _started(columns: Sequence[Column], noise: Noise, held: Columns) -> Run:
    """Smooth the columns, nest their groups, and measure the finest groups by the smoothed counts."""
    total = held.total()[0]
    smooth = _smooth(columns, held, total)
    sizes = (32, 16, 8, 4, 2)[(len(columns) > 100) + (len(columns) > 200) :]
    chains = [nested(levels, column, sizes) for levels, column in zip(smooth, columns, strict=True)]
    room = Room(chains)
    return Run(columns, noise, total, smooth, held.held, room, room.empty())


def _renew(run: Run, held: Columns) -> None:
    """Smooth the columns again, within the same groups."""
    run.total = held.total()[0]
    run.smooth, run.own = _smooth(run.columns, held, run.total), held.held


def _smooth(columns: Sequence[Column], held: Columns, total: float) -> list[Reals]:
    return [own.smooth(column, total) for own, column in zip(held.held, columns, strict=True)]


def _measure_all(run: Run, counts: dict[Pair, Whole], left: Fraction, rng: Rng) -> None:
    """Every pair as finely as rows fill its cells, and in few groups beside that, for all that is left."""
    matrices, scale = _merging(run.chains), run.noise.scales(left / len(counts), [1])[0]
    tables, cells = [], []
    for pair, offered in groupby(candidates(run.chains), key=lambda candidate: candidate.pair):
        merged = [(candidate, _merged(counts[pair], candidate, matrices)) for candidate in offered]
        filled = (held for held in merged if run.total >= FULL * scale * held[1].size)
        small = (held for held in merged if max(held[1].shape) <= BESIDE)
        fine, few = next(filled, merged[-1]), next(small, merged[-1])
        tables += [fine] if few[1].size >= fine[1].size else [fine, few]
        cells += [fine[1].size] if few[1].size >= fine[1].size else [fine[1].size, max(1, fine[1].size // ASIDE)]
    for (pick, table), noise in zip(tables, run.noise.scales(left, cells), strict=True):
        run.tree = run.room.including(run.tree, pick.pair, pick.fineness)
        run.measure(pick, table, noise, left / len(tables), rng)


def _merged(counts: Whole, candidate: Candidate, matrices: Sequence[Sequence[Reals]]) -> Whole:
    """The counts of a pair in a candidate's groups, from those in the finest."""
    one, other = (matrices[c][f] for c, f in zip(candidate.pair, candidate.fineness, strict=True))
    return np.rint(one @ counts @ other.T).astype(np.int64)


def _choose_pairs(run: Run, counts: dict[Pair, Whole], pairs: int, left: Fraction, rng: Rng) -> Fraction:
    """Rounds of choosing and measuring, each for an amount fixed before it; what no pair was worth is given back.

    When none is chosen, a pair gets twice or four times as much, so that its noise is halved, until all that is left
    would go to one.
    """
    tell("comparing pairs", 0.2)
    offered, matrices = candidates(run.chains), _merging(run.chains)
    whole, each = left, left / pairs
    while left > 0:
        each = left if 2 * left < 3 * each else each
        count = min(a_round(len(run.columns)), int(left / each))
        tell(f"measuring pairs, {float(left / whole):.0%} of their budget left", 0.2 + 0.6 * (1 - float(left / whole)))
        sigma = math.sqrt(variance(run.noise, run.noise.scales(each * (1 - CHOOSING), [1])[0]))
        new = run.telling(offered, each)
        scores = weighted(scored(new, counts, run.expected(), matrices, sigma), run.columns)
        chosen, choices = _chosen(run, scores, each, count, rng)
        for candidate in chosen:
            merged = _merged(counts[candidate.pair], candidate, matrices)
            run.measure(candidate, merged, run.noise.scales(each * (1 - CHOOSING), [1])[0], each, rng)
        left -= each * (choices * CHOOSING + len(chosen) * (1 - CHOOSING))
        if chosen:
            run.fit(STEPS)
        if len(chosen) < count:
            if each >= left:
                break
            each = min(left, each * run.noise.halving)
    return left


def _chosen(run: Run, scores: Scores[Candidate], each: Fraction, count: int, rng: Rng) -> tuple[list[Candidate], int]:
    """Candidates chosen for their share of `each`, and how many choices were made."""
    if not scores.candidates:
        return [], 0
    rate = run.noise.rate(each * CHOOSING, MOVES * UNITS * run.noise.reach.l1 + ROUNDING * run.noise.reach.units, 1)
    chosen, run.tree, choices = picks(scores, run.tree, run.room, count, rate, rng)
    return chosen, choices


def _merging(chains: Sequence[tuple[Groups, ...]]) -> list[list[Reals]]:
    """For each column and place in its chain, the 0-1 matrix that merges the finest groups."""
    return [[merging(regrouped(chain, 0, place)) for place in range(len(chain))] for chain in chains]


def _fitted(run: Run, error: float) -> Fitted:
    """What the run leaves."""
    assert run.model is not None
    at = run.room.fineness(run.tree)
    groups = tuple(chain[place] for chain, place in zip(run.chains, at, strict=True))
    pairs = tuple(
        {
            "columns": [run.columns[c].name for c in table.pick.columns],
            "cells": list(table.counts.shape),
            "scale": table.scale,
        }
        for table in run.tables
    )
    held = run.held(at)
    left = remaining(held, [sizes[0] for sizes in run.room.sizes])
    counts = tuple(one.counts for one in agreed(held, run.total) if len(one.columns) == 1)
    noise = tuple(part * own.deviation(column) for part, own, column in zip(left, run.own, run.columns, strict=True))
    levels, finest = tuple(run.smooth), tuple(chain[0] for chain in run.chains)
    return Fitted(tuple(run.columns), run.model, levels, groups, counts, finest, run.total, error, pairs, noise)
