"""AIM [McKennaEtAl2022] over pairs, in numpy on this repository's trees: it ends in minutes, where mbi's takes an hour.

All pairs are the workload.  Sixteen rounds a column are planned; a round spends a tenth of its part on choosing and the
rest on measuring, and noise is halved whenever a measurement changed the model by less than its own noise.  The model
holds a million cells, a part of them open as the budget is spent.  Estimation is mirror descent on the weighted squared
error, each time from where the last ended, until a hundred steps lower it by less than half of one percent: `tables.py`
says what fewer and more do to the rows' error.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.mechanisms.synthetic.marginals.generation import sampled
from sfumato.mechanisms.synthetic.marginals.model import Model
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree

__all__ = ["aim"]

CELLS = 1_000_000
STEPS, LEAST_GAIN, MOST_STEPS = 100, 0.005, 10_000  # what as many steps must gain to be followed by as many more
USUAL = math.sqrt(2 / math.pi)  # the mean absolute value of normal noise


@dataclass(frozen=True)
class Measured:
    """Noisy counts of one column or pair."""

    columns: tuple[int, ...]
    counts: Any
    variance: float


def aim(rows: Any, sizes: list[int], rho: float, seed: int = 0) -> Any:
    """As many synthetic rows as there are, from a run to the end of the budget; normal noise, not drawn exactly."""
    rng, many = np.random.default_rng(seed), len(sizes)
    pairs = list(itertools.combinations(range(many), 2))
    cliques = [*((column,) for column in range(many)), *pairs]
    weights = {clique: sum(len({*clique} & {*pair}) for pair in pairs) for clique in cliques}
    exact = {clique: _counted(rows, sizes, clique) for clique in cliques}
    sigma, epsilon = math.sqrt(16 * many / (1.8 * rho)), math.sqrt(0.8 * rho / (16 * many))
    held = [Measured((c,), exact[c,] + rng.normal(0, sigma, sizes[c]), sigma**2) for c in range(many)]
    spent, tree = many / (2 * sigma**2), JunctionTree.of(sizes)
    total = _total(held)
    model, potentials = _descended(tree, held, total, {})
    last = False
    while not last:
        if rho - spent < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
            sigma, epsilon, last = math.sqrt(1 / (1.8 * (rho - spent))), math.sqrt(0.8 * (rho - spent)), True
        spent += 0.5 / sigma**2 + epsilon**2 / 8
        growth, tables, room = _growth(tree), dict(model.pairs()), CELLS * spent / rho
        open_ = [q for q in cliques if len(q) == 1 or growth[q] == 0 or tree.cells + growth[q] <= room]
        expected = {q: total * (tables[q] if len(q) == 2 else model.marginal(q)) for q in open_}
        scores = np.array(
            [weights[q] * (np.abs(exact[q] - expected[q]).sum() - USUAL * sigma * exact[q].size) for q in open_]
        )
        chosen = open_[int((epsilon / (2 * max(weights.values())) * scores + rng.gumbel(size=len(open_))).argmax())]
        held.append(Measured(chosen, exact[chosen] + rng.normal(0, sigma, exact[chosen].shape), sigma**2))
        tree = tree.including(chosen) if len(chosen) == 2 else tree
        total = _total(held)
        model, potentials = _descended(tree, held, total, potentials)
        if np.abs(total * model.marginal(chosen) - expected[chosen]).sum() <= USUAL * sigma * exact[chosen].size:
            sigma, epsilon = sigma / 2, epsilon * 2
    return sampled(model, len(rows), rng)


def _growth(tree: JunctionTree) -> Any:
    """For each pair the cells that a tree that includes it has more, at most."""
    first, between, _, last = tree.ways()
    sizes = np.array(tree.sizes)
    return np.minimum(sizes[:, np.newaxis] * (between + last), sizes * (first + between))


def _counted(rows: Any, sizes: list[int], clique: tuple[int, ...]) -> Any:
    shape = tuple(sizes[c] for c in clique)
    cells = np.ravel_multi_index(tuple(rows[:, c] for c in clique), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float)


def _total(held: list[Measured]) -> float:
    """The number of rows, by the sums of columns."""
    ones = [m for m in held if len(m.columns) == 1]
    return max(
        1.0, float(np.average([m.counts.sum() for m in ones], weights=[1 / m.counts.size / m.variance for m in ones]))
    )


def _descended(tree: JunctionTree, held: list[Measured], total: float, start: dict) -> tuple[Model, dict]:
    """Mirror descent to its end: each step is kept only if it lowers the loss enough."""
    wanted = sorted({m.columns for m in held})
    potentials = {q: start.get(q, np.zeros(tuple(tree.sizes[c] for c in q))) for q in wanted}
    model = Model.calibrated(tree, potentials)
    loss, slopes = _loss(model, held, total)
    rate = 1.0 / max(1e-300, *(float(np.abs(slope).max()) for slope in slopes.values()))
    before = math.inf
    for step in range(MOST_STEPS):
        if step % STEPS == 0:
            if loss > (1 - LEAST_GAIN) * before:
                break
            before = loss
        moved = {q: table - rate * slopes[q] for q, table in potentials.items()}
        other = Model.calibrated(tree, moved)
        lower, after = _loss(other, held, total)
        gain = sum(float((slopes[q] * (model.marginal(q) - other.marginal(q))).sum()) for q in potentials)
        if lower > loss - 0.5 * gain:
            rate /= 2
            continue
        model, potentials, loss, slopes, rate = other, moved, lower, after, rate * 1.2
    return model, potentials


def _loss(model: Model, held: list[Measured], total: float) -> tuple[float, dict]:
    loss, slopes = 0.0, {}
    for m in held:
        residual = total * model.marginal(m.columns) - m.counts
        loss += 0.5 * float((residual**2).sum()) / m.variance
        slopes[m.columns] = slopes.get(m.columns, 0.0) + total * residual / m.variance
    return loss, slopes
