"""AIM over mbi, run by `benchmarks/adult.py` in whatever environment holds mbi; needs no more of ours than numpy.

The loop of [McKennaEtAl2022] as it stands there: one-way marginals first, then rounds of selection (a tenth of the
budget) and measurement, noise halved when a round taught nothing, model size rationed by the budget spent, and the
maximum-entropy model fitted by mbi's mirror descent with a warm start.

One kindness: mbi sums a model to an unmeasured pair by a program compiled for each pair in each round, which took a
minute a round on Adult.  The same sums are taken here by numpy in about a second, so AIM is timed well below what it
takes by itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

SELECTING = 0.1  # the share of a round's budget that selects
BIAS = math.sqrt(2 / math.pi)  # mean size of a standard normal


def closure(workload: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """Every subset of a workload marginal, with its weight: how much of the workload it touches."""
    pairs = list(workload)
    below = {part for pair in pairs for size in (1, 2) for part in itertools.combinations(pair, size)}
    return {part: sum(len(set(part) & set(pair)) for pair in pairs) for part in sorted(below)}


class Aim:
    """The state of one run."""

    def __init__(self, mbi: Any, data: Any, rho: float, size: float, iterations: int, seed: int) -> None:
        self.mbi, self.data, self.domain, self.rho = mbi, data, data.domain, rho
        self.size, self.iterations = size, iterations
        self.noise = np.random.default_rng(seed)
        self.weights = closure(itertools.combinations(data.domain.attributes, 2))
        self.exact = {part: np.asarray(data.project(part).datavector()) for part in self.weights}
        self.measured: list[Any] = []
        self.model: Any = None

    def measure(self, part: tuple[str, ...], sigma: float) -> None:
        noisy = self.exact[part] + self.noise.normal(0, sigma, self.exact[part].size)
        self.measured.append(self.mbi.LinearMeasurement(noisy, part, stddev=sigma))

    def fit(self) -> None:
        self.model = self.mbi.estimation.MirrorDescent().estimate(
            self.domain, self.measured, iters=self.iterations, warm_start=self.model
        )

    def affordable(self, limit: float) -> list[tuple[str, ...]]:
        """Candidates that keep the model small enough, or are in it already."""
        cliques = list(self.model.potentials.cliques)
        inside = {part for clique in cliques for size in (1, 2) for part in itertools.combinations(clique, size)}
        size = self.mbi.junction_tree.hypothetical_model_size
        return [part for part in self.weights if part in inside or size(self.domain, [*cliques, part]) <= limit]

    def worst(self, candidates: list[tuple[str, ...]], epsilon: float, sigma: float) -> tuple[str, ...]:
        scores, expected = [], self.expected()
        for part in candidates:
            gap = np.abs(self.exact[part] - expected[part]).sum()
            scores.append(self.weights[part] * (float(gap) - BIAS * sigma * self.exact[part].size))
        scaled = np.array(scores) * epsilon / (2 * max(self.weights[part] for part in candidates))
        chances = np.exp(scaled - scaled.max())
        return candidates[self.noise.choice(len(candidates), p=chances / chances.sum())]

    def expected(self) -> dict[tuple[str, ...], Any]:
        """The model's counts of every column and pair."""
        from sfumato.mechanisms.synthetic.marginals.model import Model
        from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree

        names = list(self.domain.attributes)
        tree, potentials = JunctionTree.of(self.domain[name] for name in names), {}
        for factor in self.model.potentials.tables.values():
            places = [names.index(name) for name in factor.domain.attributes]
            table = np.transpose(np.asarray(factor.datavector(flatten=False), dtype=float), np.argsort(places))
            key = tuple(sorted(places))
            tree = tree.including(key) if len(key) == 2 else tree
            potentials[key] = potentials.get(key, 0) + table
        model, total = Model.calibrated(tree, potentials), float(self.model.total)
        found = {(name,): total * model.marginal((place,)) for place, name in enumerate(names)}
        return found | {(names[a], names[b]): total * table.ravel() for (a, b), table in model.pairs()}

    def run(self, seconds: float) -> float:
        """Rounds until the budget or the time is used up; the part of the budget that whole rounds used.

        When the time is over, what is left of the budget goes into one last round, which is AIM's own way to end.
        """
        start = time.perf_counter()
        rounds = 16 * len(self.domain.attributes)
        sigma = math.sqrt(rounds / (2 * (1 - SELECTING) * self.rho))
        epsilon = math.sqrt(8 * SELECTING * self.rho / rounds)
        singles = [part for part in self.weights if len(part) == 1]
        for part in singles:
            self.measure(part, sigma)
        spent, last, turn = len(singles) * 0.5 / sigma**2, False, 0
        self.fit()
        while not last:
            turn += 1
            last = self.rho - spent < 2 * (0.5 / sigma**2 + epsilon**2 / 8) or time.perf_counter() - start > seconds
            if last:
                left, used = self.rho - spent, spent / self.rho
                sigma, epsilon = math.sqrt(1 / (2 * (1 - SELECTING) * left)), math.sqrt(8 * SELECTING * left)
            spent += 0.5 / sigma**2 + epsilon**2 / 8
            part = self.worst(self.affordable(self.size * spent / self.rho), epsilon, sigma)
            before = np.asarray(self.model.project(part).datavector())
            self.measure(part, sigma)
            self.fit()
            moved = np.abs(np.asarray(self.model.project(part).datavector()) - before).sum()
            print(f"round {turn}: {part}, spent {spent / self.rho:.3f}, sigma {sigma:.1f}", file=sys.stderr, flush=True)
            if moved <= BIAS * sigma * before.size:
                sigma, epsilon = sigma / 2, epsilon * 2
        self.fit()
        return used


def main() -> None:
    """Read integer columns, write synthetic ones, print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="an .npz with `rows` (n, d), `sizes` (d,)")
    parser.add_argument("target", type=Path, help="where the synthetic rows go (.npy)")
    parser.add_argument("--rho", type=float, required=True)
    parser.add_argument("--size", type=float, default=80.0, help="largest model, MB")
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which a last round ends it")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    import warnings

    warnings.simplefilter("ignore")
    import mbi

    held = np.load(wanted.source)
    names = [f"c{place}" for place in range(held["rows"].shape[1])]
    domain = mbi.Domain(names, [int(size) for size in held["sizes"]])
    start = time.perf_counter()
    data = mbi.Dataset({name: held["rows"][:, place] for place, name in enumerate(names)}, domain)
    aim = Aim(mbi, data, wanted.rho, wanted.size, wanted.iterations, wanted.seed)
    used = aim.run(wanted.seconds)
    synthetic = aim.model.synthetic_data(rows=len(held["rows"]))
    seconds = time.perf_counter() - start
    rows = np.stack([np.asarray(synthetic.to_dict()[name]) for name in names], axis=1)
    np.save(wanted.target, rows.astype(np.int64))
    print(json.dumps({"seconds": seconds, "measured": len(aim.measured), "used": used}))


if __name__ == "__main__":
    main()
