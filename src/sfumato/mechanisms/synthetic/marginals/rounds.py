"""One run of marginal synthesis: columns first, then rounds of choosing and measuring pairs, then rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.balancing import balanced
from sfumato.mechanisms.synthetic.marginals.budget import CHOOSING, Split, a_round, for_tables
from sfumato.mechanisms.synthetic.marginals.columns import Columns, Counted, measured, variance
from sfumato.mechanisms.synthetic.marginals.consistency import agreed, remaining, within
from sfumato.mechanisms.synthetic.marginals.counting import Read, pair_counts, single_counts
from sfumato.mechanisms.synthetic.marginals.estimation import Measurement, fitted, merging
from sfumato.mechanisms.synthetic.marginals.generation import opened, refined, sampled, settled, shuffling
from sfumato.mechanisms.synthetic.marginals.levels import Groups, nested
from sfumato.mechanisms.synthetic.marginals.model import Model, Reals
from sfumato.mechanisms.synthetic.marginals.noise import Noise, noisy
from sfumato.mechanisms.synthetic.marginals.room import Room, regrouped
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
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree, Pair
from sfumato.mechanisms.synthetic.marginals.weighing import weighted
from sfumato.progress import tell
from sfumato.queries.encoding import Column
from sfumato.randomness import Rng

__all__ = ["Fitted", "Synthesis", "modelled", "synthesized"]

STEPS, LAST_STEPS = 30, 600  # of fitting, between rounds and at the end
TIES = 4.0  # shrinkage of a table, times the rows in one of its cells: cells are expected to lie about half off
MANY = 256  # cells of a table; of more, most are empty
FULL = 4.0  # rows in a cell, over the scale of its noise, down to which all pairs are measured; from samples of Adult,
BESIDE, ASIDE = 8, 8  # flights and made tables, as are the groups beside that, and the part of the cells they count for
LOOSE = 0.01  # shrinkage of columns, which are smooth already

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
        shapes = _shapes(self.finest, self.levels)
        parts = zip(groups.T, shapes, owners, strict=True)
        fine = np.stack([refined(held, shape, owner, chance) for held, shape, owner in parts], axis=1)
        expected = partial(_expected, self.model, shapes, owners, self.total)
        fine = balanced(fine, owners, self.model, expected, chance)
        return self._values(fine, self.finest, chance)

    def _values(self, groups: Whole, owners: Sequence[Groups], chance: np.random.Generator) -> dict[str, Whole]:
        parts = zip(self.columns, self.levels, owners, groups.T, strict=True)
        return {column.name: opened(held, levels, owner, column, chance) for column, levels, owner, held in parts}


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A measured pair: its noisy counts, the scale and variance of their noise, and the amount spent on it."""

    pick: Candidate
    counts: Reals
    scale: float
    variance: float
    amount: Fraction
    shrinkage: float

    def measurement(self, chains: Sequence[tuple[Groups, ...]], at: Sequence[int]) -> Measurement:
        """The same, of columns that have the groups at these places in their chains."""
        groups = tuple(
            regrouped(chains[c], at[c], place) for c, place in zip(self.pick.pair, self.pick.fineness, strict=True)
        )
        return Measurement(self.pick.pair, groups, self.counts, self.variance, self.shrinkage)


@dataclass(slots=True)
class _Run:
    """What one run has measured so far; everything in it is public."""

    columns: Sequence[Column]
    noise: Noise
    total: float
    smooth: list[Reals]  # counts of each column's levels
    own: list[Counted]  # what they were smoothed from
    room: Room
    tree: JunctionTree
    tables: list[_Table] = field(default_factory=list)
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
        return _expected(self.model, _shapes([chain[0] for chain in self.chains], self.smooth), owners, self.total)

    def measure(self, pick: Candidate, counts: Whole, scale: float, amount: Fraction, rng: Rng) -> None:
        """The counts of a candidate with noise of a scale, which was paid for with an amount."""
        held = noisy(counts, self.noise.law(scale), rng).astype(np.float64)
        shrinkage = min(1 / self.noise.reach.units, TIES * min(MANY, held.size) / self.total)
        self.tables.append(_Table(pick, held, scale, variance(self.noise, scale), amount, shrinkage))

    def telling(self, offered: Sequence[Candidate], amount: Fraction) -> list[Candidate]:
        """The candidates that measuring them for an amount tells more of than one as fine and as dear has told."""
        told: dict[Pair, list[tuple[int, int]]] = {}
        for table in self.tables:
            if amount <= table.amount:
                told.setdefault(table.pick.pair, []).append(table.pick.fineness)
        return [
            candidate
            for candidate in offered
            if candidate.pair not in told or not any(map(candidate.coarser, told[candidate.pair]))
        ]


def synthesized(
    read: Read,
    columns: Sequence[Column],
    noise: Noise,
    amount: Fraction,
    size: int | None,
    rows: Callable[[float], int],
    rng: Rng,
) -> Synthesis:
    """Measure, fit, generate.  `size` is the number of rows where it is public; `rows` says how many to make."""
    found = modelled(read, columns, noise, amount, size, rng)
    tell("generating rows", 0.9)
    chance = shuffling(rng)
    made = found.balanced(settled(sampled(found.model, rows(found.total), chance), found.counts, chance), chance)
    own = found.column_noise
    return Synthesis(made, found.total, found.measured, total_error=found.total_error, column_noise=own)


def modelled(
    read: Read, columns: Sequence[Column], noise: Noise, amount: Fraction, size: int | None, rng: Rng
) -> Fitted:
    """Measure and fit."""
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
    left = tables * (1 - split.singles)
    if split.all and run.room.together:
        _measure_all(run, read, left, rng)
        run.fit(LAST_STEPS)
    elif split.pairs:
        left = _choose_pairs(run, read, split.pairs, left, rng)
        if left:  # no pair is worth its noise: the rest measures the columns once more
            held.again(measured(exact, columns, noise, left, about, rng))
            _renew(run, held)
        tell("fitting pairs", 0.8)
        run.fit(LAST_STEPS)
    return _fitted(run, held.total()[1])


def _started(columns: Sequence[Column], noise: Noise, held: Columns) -> _Run:
    """Smooth the columns, nest their groups, and measure the finest groups by the smoothed counts."""
    total = held.total()[0]
    smooth = _smooth(columns, held, total)
    sizes = (32, 16, 8, 4, 2)[(len(columns) > 100) + (len(columns) > 200) :]
    chains = [nested(levels, column, sizes) for levels, column in zip(smooth, columns, strict=True)]
    room = Room(chains)
    return _Run(columns, noise, total, smooth, held.held, room, room.empty())


def _renew(run: _Run, held: Columns) -> None:
    """Smooth the columns again, within the same groups."""
    run.total = held.total()[0]
    run.smooth, run.own = _smooth(run.columns, held, run.total), held.held


def _smooth(columns: Sequence[Column], held: Columns, total: float) -> list[Reals]:
    return [own.smooth(column, total) for own, column in zip(held.held, columns, strict=True)]


def _measure_all(run: _Run, read: Read, left: Fraction, rng: Rng) -> None:
    """Every pair as finely as rows fill its cells, and in few groups beside that, for all that is left."""
    tell("counting pairs", 0.1)
    counts = pair_counts(read, run.columns, [chain[0] for chain in run.chains])
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


def _choose_pairs(run: _Run, read: Read, pairs: int, left: Fraction, rng: Rng) -> Fraction:
    """Rounds of choosing and measuring, each for an amount fixed before it; what no pair was worth is given back.

    When none is chosen, a pair gets twice or four times as much, so that its noise is halved, until all that is left
    would go to one.
    """
    tell("counting pairs", 0.1)
    counts = pair_counts(read, run.columns, [chain[0] for chain in run.chains])
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


def _chosen(run: _Run, scores: Scores, each: Fraction, count: int, rng: Rng) -> tuple[list[Candidate], int]:
    """Candidates chosen for their share of `each`, and how many choices were made."""
    if not scores.candidates:
        return [], 0
    rate = run.noise.rate(each * CHOOSING, MOVES * UNITS * run.noise.reach.l1 + ROUNDING * run.noise.reach.units, 1)
    chosen, run.tree, choices = picks(scores, run.tree, run.room, count, rate, rng)
    return chosen, choices


def _shapes(finest: Sequence[Groups], levels: Sequence[Reals]) -> list[Reals]:
    """What each column has in its finest groups."""
    parts = zip(finest, levels, strict=True)
    return [np.bincount(owner, weights=held).astype(np.float64) + 1e-9 for owner, held in parts]


def _expected(model: Model, shapes: Sequence[Reals], owners: Sequence[Groups], total: float) -> dict[Pair, Reals]:
    """The model's counts of all pairs of finest groups, each of which lies in a group of the tree."""
    shares = [mass / np.bincount(owner, weights=mass)[owner] for mass, owner in zip(shapes, owners, strict=True)]
    counts = [total * share[:, np.newaxis] for share in shares]
    return {
        (one, other): table[owners[one][:, np.newaxis], owners[other]] * (counts[one] * shares[other])
        for (one, other), table in model.pairs()
    }


def _merging(chains: Sequence[tuple[Groups, ...]]) -> list[list[Reals]]:
    """For each column and place in its chain, the 0-1 matrix that merges the finest groups."""
    return [[merging(regrouped(chain, 0, place)) for place in range(len(chain))] for chain in chains]


def _fitted(run: _Run, error: float) -> Fitted:
    """What the run leaves."""
    assert run.model is not None
    at = run.room.fineness(run.tree)
    groups = tuple(chain[place] for chain, place in zip(run.chains, at, strict=True))
    pairs = tuple(
        {
            "columns": [run.columns[c].name for c in table.pick.pair],
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
