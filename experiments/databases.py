"""Small databases, the trigonometric mechanism and private components: what their theorems promise, measured.

One JSON object a line: figure, value, target, holds.  `--quick` is smaller, `--full` repeats more.  All tables are
drawn from laws with known truth; nothing is read from `--data`.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from saying import finish, say

import sfumato as sf
from sfumato.mechanisms import NoisyCovariance, SubspaceIteration, ThresholdDatabase
from sfumato.mechanisms.synthetic.query_bounds import query_bound
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.queries.components import UNIT
from sfumato.queries.spectra import DIRECTION, spectrum
from sfumato.randomness import seeded
from sfumato.reference.calculators import (
    net_exponent,
    net_sample_size,
    threshold_sample_size,
    trigonometric_exponents,
)


def thresholds(runs: int) -> None:
    """1,000 grid points, n = 10^4, epsilon 1: how often every threshold is within 0.05."""
    generator = np.random.default_rng(1)
    question = bind(sf.thresholds("x"), sf.Schema({"x": sf.Integers(0, 999)}, size=10_000))
    mechanism = ThresholdDatabase.calibrate(question, sf.Pure(1.0))
    tables = {
        "normal": generator.normal(500, 120, 10_000), "uniform": generator.integers(0, 1000, 10_000),
        "skewed": 999 * generator.beta(0.3, 2, 10_000), "five values": 200 * generator.integers(0, 5, 10_000),
    }  # fmt: skip
    errors = []
    for name, values in tables.items():
        counts = np.bincount(np.clip(values, 0, 999).astype(int), minlength=1000)
        truth = np.cumsum(counts) / 10_000
        found = [np.abs(question.estimate(mechanism.release(counts, seeded(s))) - truth).max() for s in range(runs)]
        errors += found
        say(f"thresholds, {name}: mean worst error", round(float(np.mean(found)), 4), rows=mechanism.rows)
    share = float(np.mean(np.array(errors) <= 0.05))
    say("thresholds: share of runs within 0.05", share, 0.95, share >= 0.95, runs=len(errors))
    say("thresholds: largest worst error", round(float(np.max(errors)), 4), 0.05, bool(np.max(errors) <= 0.05))
    needed = threshold_sample_size(0.05, 1.0, 1000)
    say("thresholds: rows the bound asks for", needed, 10_000, needed <= 10_000,
        any_thousand_queries=net_sample_size(0.05, 1.0, 1000, 1000))  # fmt: skip


def spiked(rows: int, columns: int, spikes: tuple[float, ...], rest: float, seed: int) -> np.ndarray:
    """Rows whose second moment has given leading eigenvalues."""
    generator = np.random.default_rng(seed)
    basis = np.linalg.qr(generator.normal(size=(columns, columns)))[0]
    sizes = np.sqrt(np.array([*spikes, *[rest] * (columns - len(spikes))]))
    return np.clip((generator.choice([-1, 1], size=(rows, columns)) * sizes) @ basis.T, -1, 1)


def asked(columns: int, size: int, k: int, radius: float | None = None) -> Any:
    """Uncentered components under replacement."""
    spaces = {f"c{i}": sf.Interval(-1, 1, step=0.001, missing=0.0) for i in range(columns)}
    schema = sf.Schema(spaces, adjacency=sf.Replace(), size=size)
    return bind(sf.pca(list(spaces), k, center=False, radius=radius), schema)


def sums(question: Any, points: np.ndarray) -> Any:
    """The exact sums of points in [-1, 1]^d."""
    indices = np.rint((points + 1) * 1000).astype(np.int64)
    return question.summed([question.vectors({f"c{i}": indices[:, i] for i in range(question.size)})])


def gap(runs: int) -> None:
    """Theorem 2.11: the angle against sigma sqrt(d) / (lambda g), g = 1 - lambda_2 / lambda_1, as lambda_2 varies."""
    size, columns = 20_000, 10
    question = asked(columns, size, 1, radius=1.5)
    mechanism = SubspaceIteration.calibrate(question, sf.Concentrated(0.5), iterations=20)
    sigma = mechanism.scale / (UNIT**2 * DIRECTION) / size
    ratios = []
    for second in (0.001, 0.1, 0.3):
        points = spiked(size, columns, (0.5, second), 0.0005, 7)
        values, vectors = np.linalg.eigh(points.T @ points / size)
        exact = sums(question, points)
        found = [spectrum(question, mechanism.release(exact, seeded(s))) for s in range(runs)]
        sines = [math.sqrt(max(0.0, 1 - (f.vectors[:, 0] @ vectors[:, -1]) ** 2)) for f in found]
        g = 1 - values[-2] / values[-1]
        promised = sigma * math.sqrt(columns) / (values[-1] * g)
        printed = sigma * math.sqrt(columns) / (values[-1] * (values[-1] / values[-2] - 1))
        ratios.append(float(np.mean(sines)) / promised)
        say(f"angle over its bound, lambda_2 / lambda_1 = {values[-2] / values[-1]:.2g}", round(ratios[-1], 3), 2.0,
            ratios[-1] <= 2, over_the_printed_bound=round(float(np.mean(sines)) / printed, 2))  # fmt: skip


def missing_term(runs: int) -> None:
    """Theorem 2.12: on a table without variance the printed estimate is sigma sqrt(d), not within sigma sqrt(k)."""
    for columns in (10, 40, 90):
        question = asked(columns, 5_000, 1)
        mechanism = SubspaceIteration.calibrate(question, sf.Concentrated(0.5), iterations=2)
        sigma = mechanism.scale / (UNIT**2 * DIRECTION) / 5_000
        exact = sums(question, np.zeros((1, columns)))
        norms, ritz = [], []
        for s in range(runs):
            output = mechanism.release(exact, seeded(s))
            image = np.array(output[2 + columns : 2 + 2 * columns], dtype=float) / (UNIT**2 * DIRECTION)
            norms.append(float(np.linalg.norm(image)) / 5_000 / sigma)
            ritz.append(abs(float(spectrum(question, output).values[0])) / sigma)
        value = float(np.mean(norms)) / math.sqrt(columns)
        say(f"column norm over sigma sqrt(d), d = {columns}", round(value, 3), 1.0, abs(value - 1) < 0.2,
            ritz_value_over_sigma=round(float(np.mean(ritz)), 2))  # fmt: skip


def chooser() -> None:
    """Predicted spectral norms of the noise, in rows, at epsilon 1 (or rho 0.5), and what wins."""
    for columns, radius in ((5, None), (30, None), (30, 2.0), (100, None), (100, 2.0)):
        for target in (sf.Pure(1.0), sf.Concentrated(0.5)):
            ranked = options(asked(columns, 10_000, 2, radius), target)
            say(f"components, d = {columns}, radius {radius}, {target!r}: best", ranked[0].name, None, None,
                predicted={option.name: round(option.predicted, 1) for option in ranked})  # fmt: skip


def bodies(runs: int) -> None:
    """Predicted against measured spectral norm of one-shot noise."""
    for columns, radius, body in ((10, None, "cube"), (10, 1.5, "ball"), (30, 2.0, "ball")):
        question = asked(columns, 10_000, 1, radius)
        mechanism = NoisyCovariance.calibrate(question, sf.Pure(1.0), body)
        exact = sums(question, np.zeros((1, columns)))
        values = []
        for s in range(runs):
            found = spectrum(question, mechanism.release(exact, seeded(s)))
            values.append(max(abs(found.values[0]), abs(found.others).max()) * found.rows)
        ratio = float(np.median(values)) / mechanism.error(0.5)
        say(f"median noise over predicted, {body}, d = {columns}", round(ratio, 3), 1.0, abs(ratio - 1) < 0.25)


def trigonometric(sizes: tuple[int, ...], runs: int) -> None:
    """Worst error over 20 smooth queries against n and epsilon, beside the promised exponent and the net's."""
    generator = np.random.default_rng(3)
    for columns in (1, 2):
        names = [f"c{i}" for i in range(columns)]
        queries = [sf.gaussian_mixture(names, generator.uniform(-1, 1, (10, columns)), 1.0) for _ in range(20)]
        means = []
        for size in sizes:
            frame = pd.DataFrame(100 * np.random.default_rng(4).beta(2, 5, (size, columns)), columns=names)
            spaces = {name: sf.Interval(0, 100, step=0.01, missing=0.0) for name in names}
            schema = sf.Schema(spaces, adjacency=sf.Replace(), size=size)
            means.append(worst(schema, frame, queries, runs))
        slope = float(np.polyfit(np.log(sizes), np.log(means), 1)[0])
        promised = trigonometric_exponents(columns, 4).accuracy
        say(f"trigonometric, d = {columns}: error falls like n^", round(slope, 3), -0.5, slope <= -0.5,
            promised=round(-promised, 3), net=round(-net_exponent(columns, 4), 3), errors=means)  # fmt: skip


def worst(schema: sf.Schema, frame: pd.DataFrame, queries: list[Any], runs: int) -> float:
    """The mean over runs of the worst error; every query's own bound is checked on the way."""
    names = list(frame)
    mechanism = Trigonometric.calibrate(bind(sf.trigonometric(names), schema), sf.Pure(1.0))
    exact = mechanism.take(sf.read(frame, schema=schema))
    truths = [query.details.values(frame.to_numpy() / 50 - 1).mean() for query in queries]
    errors = []
    for s in range(runs):
        output = mechanism.release(exact, seeded(s))
        found = mechanism.distribution(output)
        away = [abs(found.evaluate(q) - truth) for q, truth in zip(queries, truths, strict=True)]
        errors.append(max(away))
    bound = query_bound(mechanism, output, found, queries[0])
    say(f"trigonometric, d = {len(names)}, n = {len(frame)}: bound of a query over its error",
        round(bound / max(away[0], 1e-12), 1), 1.0, bound >= away[0])  # fmt: skip
    return float(np.mean(errors))


def main() -> None:
    """All figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line (the only form)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--data", type=Path, help="not needed: tables are drawn from known laws")
    chosen = parser.parse_args()
    runs = 100 if chosen.full else 3 if chosen.quick else 25
    thresholds(runs)
    gap(min(runs, 20))
    missing_term(min(runs, 20))
    bodies(min(runs, 20))
    chooser()
    trigonometric((300, 3_000) if chosen.quick else (300, 1_000, 3_000, 10_000, 30_000), runs if chosen.full else 5)
    finish()


if __name__ == "__main__":
    main()
