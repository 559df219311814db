"""Smooth queries asked of synthetic points: tables 3.1 to 3.3 and figures 3.1, 3.2 of document 002, with two controls.

One JSON object a line: figure, value, target, holds.  Each query is a convex mixture of ten Gaussian kernels with
uniform centers; ten thousand of them, of one fixed seed; the figure is the worst absolute error, averaged over runs.
Every table has both controls: the uniform cube, which reads no data, and a noisy mean with a guessed spread of 0.3.
`min-max` scaling reads the data and is for comparison with the document only; `public` uses bounds.csv.  WDBC, PKS and
watch_imu: bounds chosen by someone who saw the data, and rows that are not persons: comparison only.
`--quick` is smaller, `--full` has more runs and the document's 10^4 candidates; `--plots DIR` writes SVG and PNG.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tables are divided among processes

import numpy as np
import pandas as pd
from databases import thresholds
from saying import BROKEN, finish, say
from scipy.optimize import linprog
from smooth_tables import KERNELS, LATTICE, SCALINGS, SETS, SIGMAS, Queries, Table, read, scaled, tables

from sfumato.mechanisms.synthetic.smooth import SmoothSynthesis
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import seeded

GUESS = 0.3  # the spread of the second control
POINTS = 600
KNOWN = 1e-5  # how far the true answers of long tables are known themselves
PURE, APPROXIMATE = Pure(1.0), Approximate(1.0, 1e-3)
DOCUMENT = {  # worst absolute errors at the five widths, and seconds: pure (table 3.2), approximate (table 3.3)
    "CRM": ((0.002, 0.010, 0.070, 0.074, 0.041), 2.5, (0.000, 0.070, 0.059, 0.111, 0.097), 6.5),
    "CSN": ((0.053, 0.011, 0.011, 0.009, 0.003), 1.7, (0.039, 0.026, 0.008, 0.008, 0.003), 7.2),
    "CTG": ((0.053, 0.199, 0.031, 0.054, 0.056), 0.7, (0.036, 0.130, 0.062, 0.064, 0.033), 10.5),
    "PAM": ((0.239, 0.278, 0.175, 0.107, 0.065), 0.9, (0.190, 0.205, 0.164, 0.089, 0.071), 12.8),
    "PKS": ((0.075, 0.030, 0.049, 0.023, 0.015), 0.7, (0.115, 0.033, 0.060, 0.025, 0.023), 5.4),
    "WDBC": ((0.049, 0.167, 0.154, 0.041, 0.024), 0.7, (0.063, 0.213, 0.089, 0.069, 0.042), 10.7),
}


def rounded(values: Any) -> list[float]:
    """For reading."""
    return [float(f"{value:.3g}") for value in np.asarray(values)]


def noisy_means(table: Table, runs: int, epsilon: float = 1.0) -> np.ndarray:
    """The second control: Laplace noise on every column's mean, and a normal law of a guessed spread around it."""
    n, d = table.x.shape
    out = []
    for run in range(runs):
        mean = table.x.mean(axis=0) + np.random.default_rng(run).laplace(0, 2 * d / (n * epsilon), d)
        out.append(table.worst(table.queries.ask_normal(np.clip(mean, -1, 1), GUESS**2)))
    return np.mean(out, axis=0)


def ours(table: Table, target: Pure | Approximate, runs: int) -> dict[str, Any]:
    """The mechanism, run after run; what it predicted before, and what it said afterwards."""
    n, d = table.x.shape
    plan = SmoothSynthesis.plan([LATTICE] * d, rows=n, target=target, points=POINTS)
    assert plan.guarantee().implies(target)
    rows = np.rint((table.x + 1) / 2 * (LATTICE - 1)).astype(np.int64)
    worst, relative, covered, seconds = [], [], [], []
    for run in range(runs):
        started = time.process_time()
        made = plan.release(plan.box(rows), seeded(1000 + run))
        seconds.append(time.process_time() - started)
        answers = table.queries.ask(made.points, made.weights)
        worst.append(table.worst(answers))
        relative.append(table.relative(answers))
        if run < 5:
            covered.append(coverage(table, made))
    return {
        "worst": np.mean(worst, axis=0), "relative": np.mean(relative, axis=0), "seconds": max(seconds),
        "predicted": [plan.predicted(s) for s in SIGMAS], "blocks": plan.design.blocks,
        "coverage": np.mean(covered, axis=0),
    }  # fmt: skip


def coverage(table: Table, made: Any) -> np.ndarray:
    """The part of 200 queries, at each width, whose error is within twice what the release says of it."""
    few = Queries(table.queries.centers[: 200 * KERNELS], table.queries.weights[:200])
    far = (few.centers**2).sum(axis=1)[:, None] + (made.points**2).sum(axis=1) - 2 * few.centers @ made.points.T
    out = []
    for row, sigma in enumerate(SIGMAS):
        values = np.exp(-far / (2 * sigma * sigma)).reshape(200, KERNELS, -1)
        values = (values * few.weights[:, :, None]).sum(axis=1)
        gap = np.abs(made.answers(values) - table.truth[row, :200])
        out.append(float((gap <= 2 * made.deviations(values) + KNOWN).mean()))
    return np.array(out)


def compare(table: Table, runs: int) -> dict[str, Any]:
    """Tables 3.2 and 3.3 for one data set in one scaling, and the verdicts."""
    n, d = table.x.shape
    label = f"{table.name} ({n} x {d}), {table.scaling}" + (" (comparison only)" if table.scaling == "min-max" else "")
    controls = {"no data": table.worst(table.queries.ask_cube()), "noisy mean": noisy_means(table, max(runs, 10))}
    pure, delta = ours(table, PURE, runs), ours(table, APPROXIMATE, runs)
    document = DOCUMENT.get(SETS[table.name][2] or "")
    say(f"worst absolute error, {label}", rounded(pure["worst"]), None, None, sigma=SIGMAS,
        approximate=rounded(delta["worst"]), relative=rounded(pure["relative"]),
        **{name: rounded(errors) for name, errors in controls.items()},
        document=document[0] if document else None, document_approximate=document[2] if document else None,
        blocks=pure["blocks"], blocks_approximate=delta["blocks"], runs=runs)  # fmt: skip
    better = np.minimum(*controls.values())
    for kind, made in (("pure", pure), ("delta = 1e-3", delta)):
        ratio = float((made["worst"] / better).max())
        say(f"{label}, {kind}: worst ratio to the better control", ratio, 1.05, ratio <= 1.05)
        low = float(made["coverage"].min())
        say(f"{label}, {kind}: errors within twice the release's own statement", low, 0.9, low >= 0.9,
            by_width=rounded(made["coverage"]))  # fmt: skip
        say(f"{label}, {kind}: error over its prediction from public quantities",
            rounded(made["worst"] / made["predicted"]))  # fmt: skip
    gain = float((delta["worst"] / pure["worst"]).max())
    mean_gain = float(np.exp(np.log(delta["worst"] / pure["worst"]).mean()))
    say(f"{label}: delta over pure, geometric mean of the widths", mean_gain, 1.0, mean_gain <= 1.0, worst_width=gain)
    if table.name == "WDBC":
        ratios = pure["worst"] / controls["noisy mean"]
        say(f"{label}, pure: over the noisy mean", rounded(ratios), [0.75, 0.75, 0.75, 0.9, 0.9],
            bool((ratios <= [0.75, 0.75, 0.75, 0.9, 0.9]).all()))  # fmt: skip
    if document and table.name in ("WDBC", "CRM", "PKS"):
        large = np.array(document[0]) > 0.01
        half = float((pure["worst"] / document[0])[large].max())
        say(f"{label}, pure: worst ratio to the document where it is above 0.01", half, 0.5, half <= 0.5)
    if document:
        say(f"{label}: seconds, pure", pure["seconds"], document[1], pure["seconds"] <= document[1])
        say(f"{label}: seconds, delta", delta["seconds"], document[3], delta["seconds"] <= document[3])
    return {"set": table.name, "scaling": table.scaling, "ours, pure": pure["worst"], "ours, delta": delta["worst"],
            **controls}  # fmt: skip


def compare_one(data: Path, name: str, scaling: str, asked: int, runs: int) -> dict[str, Any]:
    """`compare` in a process of its own, with the figures that did not hold there."""
    BROKEN.clear()
    found = next(compare(table, runs) for table in tables(data, (name,), asked, (scaling,)))
    return {**found, "broken": list(BROKEN)}


def family(n: int, seed: int, d: int = 10) -> np.ndarray:
    """Rows of a normal law with means in the cube and one strong direction; 5 standard deviations fit."""
    mean, basis = family_law(d)
    return mean + np.random.default_rng(seed).standard_normal((n, d)) @ basis.T


def family_law(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Its mean and a root of its covariance."""
    return np.linspace(-0.4, 0.4, d), 0.08 * np.eye(d) + 0.02 * np.ones((d, d)) / math.sqrt(d)


def family_truth(queries: Queries, d: int) -> np.ndarray:
    """The population's answers, exactly."""
    mean, basis = family_law(d)
    values, vectors = np.linalg.eigh(basis @ basis.T)
    turned = (queries.centers - mean) @ vectors
    rows = []
    for s in SIGMAS:
        wide = s * s + values
        rows.append(np.sqrt((s * s / wide).prod()) * np.exp(-(turned**2 / wide).sum(axis=1) / 2))
    return queries.mixed(np.array(rows))


def slope(sizes: list[float], errors: list[float]) -> float:
    """Of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def growth(runs: int, count: int) -> dict[str, list[dict[str, float]]]:
    """A family with known truth: the error falls in n and in epsilon."""
    d = 10
    queries = Queries.random(d, count)
    population = family_truth(queries, d)
    out: dict[str, list[dict[str, float]]] = {"n": [], "epsilon": []}
    for n in (250, 1000, 4000, 16000, 64000):
        out["n"].append({"n": n, "error": family_error(n, 1.0, runs, queries, population)})
    for epsilon in (0.05, 0.1, 0.2, 0.4, 0.8):
        out["epsilon"].append({"epsilon": epsilon, "error": family_error(4000, epsilon, runs, queries, None)})
    in_n = slope([r["n"] for r in out["n"]], [r["error"] for r in out["n"]])
    in_epsilon = slope([r["epsilon"] for r in out["epsilon"]], [r["error"] for r in out["epsilon"]])
    say(
        "known truth, sigma = 4: slope of the error against the population in n",
        in_n,
        -0.5,
        in_n <= -0.5,
        points=out["n"],
    )
    say("known truth, sigma = 4: slope of the error against the table in epsilon", in_epsilon, -0.9, in_epsilon <= -0.9,
        points=out["epsilon"], theory=-1.0)  # fmt: skip
    return out


def family_error(n: int, epsilon: float, runs: int, queries: Queries, truth: np.ndarray | None) -> float:
    """The worst error at sigma = 4, against the population or the table itself."""
    found = []
    for run in range(runs):
        x = scaled(family(n, run), -np.ones(10), np.ones(10))
        plan = SmoothSynthesis.plan([LATTICE] * 10, rows=n, target=Pure(epsilon))
        made = plan.release(x, seeded(run))
        true = queries.ask(x, np.full(n, 1 / n)) if truth is None else truth
        found.append(np.abs(queries.ask(made.points, made.weights) - true)[1].max())
    return float(np.mean(found))


def document_mechanism(
    table: Table, delta: float, features: int, steps: int, k: int, kappa: float, count: int, seed: int
) -> np.ndarray:
    """Algorithms 9 and 10, corrected: right sensitivities, uncentered second moment, uniform ellipsoid, weights."""
    rng, (n, d) = np.random.default_rng(seed), table.x.shape
    part = 1 / 3
    mean = table.x.mean(axis=0) + rng.laplace(0, 2 * d / (n * part), d)
    moment, basis = table.x.T @ table.x / n, np.linalg.qr(rng.standard_normal((d, k)))[0]
    for _ in range(steps):
        if delta:
            noise = rng.normal(0, 2 * d / n * math.sqrt(2 * steps * math.log(1.25 / (delta / 2))) / part, (d, k))
        else:
            noise = rng.laplace(0, 2 * d**1.5 * k * steps / (n * part), (d, k))
        moved = moment @ basis + noise
        basis = np.linalg.qr(moved)[0]
    ball = rng.standard_normal((count, k))
    ball *= (rng.uniform(size=(count, 1)) ** (1 / k)) / np.linalg.norm(ball, axis=1, keepdims=True)
    axes = kappa * np.sqrt(np.linalg.norm(moved, axis=0))
    points = np.clip(np.clip(mean, -1, 1) + (ball * axes) @ basis.T, -1, 1)
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)][: max(features - d, 0)]
    left, right = (np.array(side, dtype=int) for side in zip(*pairs, strict=True)) if pairs else (np.zeros(0, int),) * 2

    def measured(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:, : min(d, features)], x[:, left] * x[:, right]], axis=1)

    size = min(d, features) + len(pairs)
    scale = 2 * size / (n * part) if not delta else 2 * math.sqrt(2 * size * math.log(2 / delta)) / (n * part)
    goals = measured(table.x).mean(axis=0) + rng.laplace(0, scale, size)
    return table.queries.ask(points, least_misfit(measured(points).T, np.clip(goals, -1, 1)))


def least_misfit(features: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """The document's linear program: weights on the candidates with the least l1 misfit."""
    size, count = features.shape
    eye = np.eye(size)
    equal = np.block([[features, eye, -eye], [np.ones((1, count)), np.zeros((1, 2 * size))]])
    cost = np.concatenate([np.zeros(count), np.ones(2 * size)])
    weights = linprog(cost, A_eq=equal, b_eq=np.append(goals, 1.0), method="highs").x[:count]
    return weights / weights.sum()


def figures(data: Path, runs: int, count: int, quick: bool) -> dict[str, list[dict[str, float]]]:
    """Figure 3.1 (error against kappa, flights for CSN) and 3.2 (error against the PCA's dimension, CRM)."""
    asked = 100 if quick else 1000
    about = f"document's mechanism, corrected, sigma = 4, {count} candidates, {runs} runs, {asked} queries"
    out: dict[str, list[dict[str, float]]] = {"kappa": [], "dimension": []}
    for table in tables(data, ("CRM",) if quick else ("CRM", "flights"), asked, ("min-max",)):
        name = "dimension" if table.name == "CRM" else "kappa"
        for value in (1, 2, 5, 10, 20) if name == "dimension" else (1, 2, 4, 7, 10):
            shape = (1e-3, 102, 10, value, 7.0) if name == "dimension" else (0.0, 50, 10, 2, float(value))
            errors = [table.worst(document_mechanism(table, *shape, count, run)) for run in range(runs)]
            out[name].append({name: value, "error": float(np.mean(errors, axis=0)[1])})
    say("figure 3.1: error against kappa on flights", out["kappa"] or "not in --quick", None, None, about=about)
    say("figure 3.2: error against the PCA's dimension on CRM, delta = 1e-3", out["dimension"], None, None, about=about)
    return out


def plots(place: Path, found: list[dict[str, Any]], grown: dict[str, Any], drawn: dict[str, Any]) -> None:
    """Errors by width, growth with the theory, figures 3.1 and 3.2; each as SVG and PNG."""
    import altair as alt

    place.mkdir(parents=True, exist_ok=True)
    methods = ("ours, pure", "ours, delta", "noisy mean", "no data")
    long = [{"set": f"{r['set']}, {r['scaling']}", "sigma": s, "method": m, "error": float(r[m][i])}
            for r in found for m in methods for i, s in enumerate(SIGMAS)]  # fmt: skip
    log = alt.Scale(type="log")
    charts = {"errors": alt.Chart(pd.DataFrame(long)).mark_line(point=True).encode(
        x="sigma:O", y=alt.Y("error:Q", scale=log, title="worst absolute error"),
        color=alt.Color("method:N", sort=methods),
    ).properties(width=160, height=140).facet("set:N", columns=4)}  # fmt: skip
    for name, theory in (("n", -0.5), ("epsilon", -1.0)):
        rows = grown[name]
        line = [{name: r[name], "error": rows[0]["error"] * (r[name] / rows[0][name]) ** theory} for r in rows]
        curve = alt.Chart(pd.DataFrame(rows)).mark_line(point=True).encode(
            x=alt.X(f"{name}:Q", scale=log), y=alt.Y("error:Q", scale=log))  # fmt: skip
        guide = alt.Chart(pd.DataFrame(line)).mark_line(strokeDash=[4, 4], color="gray").encode(
            x=alt.X(f"{name}:Q", scale=log), y=alt.Y("error:Q", scale=log))  # fmt: skip
        charts[f"growth-{name}"] = (curve + guide).properties(
            width=320, height=220, title=f"measured, and {name}^{theory:g} (dashed)"
        )
    for name in (name for name in ("kappa", "dimension") if drawn[name]):
        charts[f"document-{name}"] = alt.Chart(pd.DataFrame(drawn[name])).mark_line(point=True).encode(
            x=f"{name}:Q", y="error:Q").properties(width=320, height=220)  # fmt: skip
    for name, chart in charts.items():
        chart.save(place / f"synthesis-{name}.svg")
        chart.save(place / f"synthesis-{name}.png", scale_factor=2)


def main() -> None:
    """All tables and figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line (the only form)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--sets", nargs="*", choices=list(SETS), help="only these data sets")
    parser.add_argument("--plots", type=Path)
    chosen = parser.parse_args()
    if not (chosen.data / "bounds.csv").is_file():
        sys.exit(f"no bounds.csv in {chosen.data}; give the folder of the data sets with --data")
    runs, count, asked = (30, 10_000, 10_000) if chosen.full else (2, 200, 300) if chosen.quick else (10, 2000, 10_000)
    names = tuple(chosen.sets or (("WDBC",) if chosen.quick else SETS))
    for name in names:
        rows, _ = read(chosen.data, name)
        say("table 3.1", {"set": name, "rows": rows.shape[0], "columns": rows.shape[1]})
    longest = sorted(names, key=lambda name: name != "watch")
    with ProcessPoolExecutor(2) as pool:
        tasks = [pool.submit(compare_one, chosen.data, n, s, asked, runs) for n in longest for s in SCALINGS]
        later = pool.submit(growth, 3 if chosen.quick else 10, 100 if chosen.quick else 300)
        last = pool.submit(figures, chosen.data, 10 if chosen.full else 1, count, chosen.quick)
        found, grown, drawn = [task.result() for task in tasks], later.result(), last.result()
    BROKEN.extend(figure for one in found for figure in one["broken"])
    if chosen.plots:
        plots(chosen.plots, found, grown, drawn)
    thresholds(5 if chosen.quick else 25)  # more about small databases and components: databases.py
    finish()


if __name__ == "__main__":
    main()
