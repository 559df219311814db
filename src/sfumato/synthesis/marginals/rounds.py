"""One run of marginal synthesis: columns first, then rounds of choosing and measuring pairs, then rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.randomness import Rng
from sfumato.synthesis.encoding import Column
from sfumato.synthesis.marginals.counting import Read, pair_counts, single_counts
from sfumato.synthesis.marginals.estimation import Measurement, fitted, merging
from sfumato.synthesis.marginals.generation import opened, sampled, shuffling
from sfumato.synthesis.marginals.levels import Groups, Smoothed, nested, smoothed
from sfumato.synthesis.marginals.model import Model, Reals
from sfumato.synthesis.marginals.noise import Noise, PureNoise, noisy
from sfumato.synthesis.marginals.selection import (
    MOVES,
    ROUNDING,
    UNITS,
    Candidate,
    candidates,
    picks,
    scored,
)
from sfumato.synthesis.marginals.tree import Bag, JunctionTree, Pair

__all__ = ["Synthesis", "affordable", "first_scales", "for_tables", "synthesized"]

SINGLES = Fraction(1, 2)  # of the budget measures columns one by one: their errors enter every pair
COUNTING = Fraction(1, 40)  # of a pure budget counts the rows first, where their number is not public
CHOOSING = Fraction(1, 10)  # chooses pairs; the rest, two fifths, measures them
PAIRS_A_COLUMN = 3
MOST_PAIRS = 120
TYPICAL_CELLS = 16  # of a pair that is measured when rows are few
WORTHWHILE = 0.03  # noise in total variation that a measured pair may bring
A_ROUND, MOST_ROUNDS = 10, 6  # pairs in a round, and rounds
STEPS, LAST_STEPS = 60, 200  # of fitting, between rounds and at the end
LEAST_VARIANCE = 1e-6
MOST_TOTAL = 2.0**40  # rows up to which floating scores are as near as the proof says

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Synthesis:
    """What a run made public: rows as indices, how many rows there are about, and which pairs were measured."""

    rows: dict[str, Whole]
    total: float
    measured: tuple[dict[str, Any], ...]


@dataclass(slots=True)
class _Run:
    """What one run has measured so far; everything in it is public."""

    columns: Sequence[Column]
    noise: Noise
    total: float
    smooth: list[Smoothed]
    chains: list[tuple[Groups, ...]]
    tree: JunctionTree
    measurements: list[Measurement]
    potentials: dict[Bag, Reals] = field(default_factory=dict)
    model: Model | None = None
    pairs: list[dict[str, Any]] = field(default_factory=list)

    def fit(self, steps: int) -> Model:
        """Fit the model to everything measured."""
        self.model, self.potentials = fitted(self.tree, self.measurements, self.total, self.potentials, steps)
        return self.model


def for_tables(noise: Noise, amount: Fraction, size: int | None) -> Fraction:
    """What is left for tables: all, but for the share of a pure run that counts the rows before it decides on pairs.

    Two looks with Laplace noise are worth less than one with the budget of both; with normal noise they are worth as
    much, and a first look at the columns counts the rows for nothing.
    """
    return amount * (1 - COUNTING) if size is None and isinstance(noise, PureNoise) else amount


def first_scales(noise: Noise, amount: Fraction, columns: Sequence[Column], pairs: int = 1) -> tuple[float, ...]:
    """The noise of each column's own counts; without pairs all of the budget is theirs."""
    return noise.scales(amount * (SINGLES if pairs else 1), [column.size for column in columns])


def affordable(noise: Noise, amount: Fraction, total: float, columns: int) -> int:
    """How many pairs can be measured so that each is worth its noise, by a public or noisy number of rows."""
    most = min(PAIRS_A_COLUMN * columns, columns * (columns - 1) // 2, MOST_PAIRS) if total <= MOST_TOTAL else 0
    left = amount * (1 - SINGLES - CHOOSING)
    for count in range(most, 0, -1):
        scale = noise.scales(left, [TYPICAL_CELLS] * count)[0]
        if 0.5 * noise.law(scale).mean_absolute * TYPICAL_CELLS <= WORTHWHILE * total:
            return count
    return 0


def rounds_of(pairs: int) -> int:
    """How many rounds that many pairs are measured in."""
    return min(MOST_ROUNDS, -(-pairs // A_ROUND))


def synthesized(
    read: Read,
    columns: Sequence[Column],
    noise: Noise,
    amount: Fraction,
    size: int | None,
    rows: Callable[[float], int],
    rng: Rng,
    progress: Callable[[str, float], None],
) -> Synthesis:
    """Measure, fit, generate.  `size` is the number of rows where it is public; `rows` says how many to make."""
    progress("counting columns", 0.0)
    exact = single_counts(read, columns)
    tables = for_tables(noise, amount, size)
    known = float(size) if size is not None else None
    if tables < amount:
        law = noise.law(noise.scales(amount - tables, [1])[0])
        known = float(noisy(exact[0].sum(keepdims=True), law, rng)[0])
    pairs = None if known is None else affordable(noise, tables, known, len(columns))
    scales = first_scales(noise, tables, columns, 1 if pairs is None else pairs)
    counts = [noisy(held, noise.law(scale), rng).astype(np.float64) for held, scale in zip(exact, scales, strict=True)]
    variances = [_variance(noise, scale) for scale in scales]
    total = _total(counts, variances, size)
    if pairs is None:
        pairs = affordable(noise, tables, total, len(columns))
        if pairs == 0:  # too few rows: the rest of the budget measures the columns once more
            again = noise.scales(tables * (1 - SINGLES), [column.size for column in columns])
            second = [noisy(held, noise.law(scale), rng) for held, scale in zip(exact, again, strict=True)]
            counts, variances = _averaged(counts, variances, second, [_variance(noise, scale) for scale in again])
            total = _total(counts, variances, size)
    run = _started(columns, noise, counts, variances, total)
    run.fit(STEPS)
    if pairs:
        _measure_pairs(run, read, pairs, tables, rng, progress)
    progress("generating rows", 0.9)
    return _finished(run, rows(total), rng)


def _variance(noise: Noise, scale: float) -> float:
    """The noise of one count; next to none counts as a little, so that precisions stay finite."""
    return max(LEAST_VARIANCE, noise.law(scale).variance)


def _total(counts: Sequence[Reals], variances: Sequence[float], size: int | None) -> float:
    """The public number of rows, or the best estimate of it from the sums of all columns."""
    if size is not None:
        return float(size)
    weights = np.array([1 / (len(held) * variance) for held, variance in zip(counts, variances, strict=True)])
    return max(1.0, float(weights @ [held.sum() for held in counts] / weights.sum()))


def _averaged(
    first: Sequence[Reals], noise: Sequence[float], second: Sequence[Any], other: Sequence[float]
) -> tuple[list[Reals], list[float]]:
    """Two measurements of the same counts as one, each weighted by its precision."""
    both = [(a * v + b * u) / (u + v) for a, u, b, v in zip(first, noise, second, other, strict=True)]
    return both, [u * v / (u + v) for u, v in zip(noise, other, strict=True)]


def _started(
    columns: Sequence[Column], noise: Noise, counts: Sequence[Reals], variances: Sequence[float], total: float
) -> _Run:
    """Smooth the columns, nest their groups, and measure the finest groups by the smoothed counts."""
    smooth = [
        smoothed(held, float(np.sqrt(variance)), column, total)
        for held, variance, column in zip(counts, variances, columns, strict=True)
    ]
    sizes = (16, 8, 4, 2) if len(columns) <= 200 else (8, 4, 2)
    chains = [nested(held.counts, column, sizes) for held, column in zip(smooth, columns, strict=True)]
    owners = [chain[0] for chain in chains]
    measurements = []
    for place, (owner, held, variance) in enumerate(zip(owners, smooth, variances, strict=True)):
        levels = np.bincount(owner).astype(np.float64)
        grouped = np.bincount(owner, weights=held.counts).astype(np.float64)
        measurements.append(Measurement((place,), (np.arange(len(levels)),), grouped, variance * levels))
    tree = JunctionTree.of(int(owner.max()) + 1 for owner in owners)
    return _Run(columns, noise, total, smooth, chains, tree, measurements)


def _measure_pairs(
    run: _Run, read: Read, pairs: int, amount: Fraction, rng: Rng, progress: Callable[[str, float], None]
) -> None:
    """Rounds of choosing and measuring; their parts of the budget are fixed before the first."""
    progress("counting pairs", 0.1)
    counts = pair_counts(read, run.columns, [chain[0] for chain in run.chains])
    offered = candidates(run.chains)
    move = MOVES * UNITS * run.noise.reach.l1 + ROUNDING
    rate = run.noise.rate(amount * CHOOSING, move, pairs)
    left = amount * (1 - SINGLES - CHOOSING)
    bounds = np.linspace(0, pairs, rounds_of(pairs) + 1).round().astype(int).tolist()
    for turn, (start, end) in enumerate(pairwise(bounds)):
        progress(f"measuring pairs {start + 1} to {end} of {pairs}", 0.2 + 0.6 * turn / len(bounds))
        _one_round(run, counts, offered, rate, left * Fraction(end - start, pairs), end - start, pairs, rng)
        run.fit(STEPS if end < pairs else LAST_STEPS)


def _one_round(
    run: _Run,
    counts: dict[Pair, Whole],
    offered: Sequence[Candidate],
    rate: float,
    amount: Fraction,
    count: int,
    pairs: int,
    rng: Rng,
) -> None:
    assert run.model is not None
    expected = {pair: run.total * table for pair, table in run.model.pairs()}
    matrices = _merging(run.chains)
    typical = run.noise.scales(amount * Fraction(pairs, count) / pairs, [TYPICAL_CELLS])[0]
    sigma = float(np.sqrt(_variance(run.noise, typical)))
    scores = scored(offered, counts, expected, matrices, sigma)
    chosen, run.tree = picks(scores, run.tree, count, rate, rng)
    if not chosen:
        return
    shapes = [[matrices[c][f] for c, f in zip(pick.pair, pick.fineness, strict=True)] for pick in chosen]
    scales = run.noise.scales(amount, [left.shape[0] * right.shape[0] for left, right in shapes])
    for pick, (left, right), scale in zip(chosen, shapes, scales, strict=True):
        exact = np.rint(left @ counts[pick.pair] @ right.T).astype(np.int64)
        held = noisy(exact, run.noise.law(scale), rng).astype(np.float64)
        groups = tuple(merged_groups(run.chains[c], f) for c, f in zip(pick.pair, pick.fineness, strict=True))
        run.measurements.append(Measurement(pick.pair, groups, held, _variance(run.noise, scale)))
        names = [run.columns[c].name for c in pick.pair]
        run.pairs.append({"columns": names, "cells": list(held.shape), "scale": scale})


def merged_groups(chain: tuple[Groups, ...], fineness: int) -> Groups:
    """From the finest groups to those at a place in the chain."""
    out = np.zeros(int(chain[0].max()) + 1, dtype=np.int64)
    out[chain[0]] = chain[fineness]
    return out


def _merging(chains: Sequence[tuple[Groups, ...]]) -> list[list[Reals]]:
    """For each column and place in its chain, the 0-1 matrix that merges the finest groups."""
    return [[merging(merged_groups(chain, place)) for place in range(len(chain))] for chain in chains]


def _finished(run: _Run, rows: int, rng: Rng) -> Synthesis:
    """Rows from the last model."""
    assert run.model is not None
    chance = shuffling(rng)
    groups = sampled(run.model, rows, chance)
    made = {
        column.name: opened(groups[:, place], run.smooth[place].counts, run.chains[place][0], column, chance)
        for place, column in enumerate(run.columns)
    }
    return Synthesis(made, run.total, tuple(run.pairs))
