"""Smooth queries asked of synthetic points [Huang2014]: tables 3.1 to 3.3 and figures 3.1, 3.2, with two controls.

Each query is a convex mixture of ten Gaussian kernels with uniform centers; all are of one fixed seed; the figure is
the worst absolute error, averaged over runs.  Every table has both controls: the uniform cube, which reads no data, and
a noisy mean with a guessed spread of 0.3.  `min-max` scaling reads the data and is for comparison with the document
only; `public` uses bounds.csv.  WDBC, PKS and watch_imu: bounds chosen by someone who saw the data, and rows that are
not persons: comparison only.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from lines import Figure, Lines, Setting, check, row, seconds
from scipy.optimize import linprog
from smooth_tables import KERNELS, LATTICE, SETS, SIGMAS, Queries, Table, read, scaled, table

from sfumato.mechanisms.synthetic.smooth import SmoothSynthesis
from sfumato.privacy.guarantees import Approximate, Pure

GUESS = 0.3  # the spread of the second control
POINTS = 600
KNOWN = 1e-5  # how far the true answers of long tables are known themselves
PURE, APPROXIMATE = Pure(1.0), Approximate(1.0, 1e-3)
PRINTED_SIZES = {"CRM": (1993, 101), "CSN": (100_000, 8), "CTG": (2126, 28), "PAM": (19_870, 28), "PKS": (5875, 19),
                 "WDBC": (569, 30)}  # fmt: skip
COMPARED = {name: document for name, (_, _, document) in SETS.items() if document}
DOCUMENT = {  # worst absolute errors at the five widths, and seconds: pure (table 3.2), approximate (table 3.3)
    "CRM": ((0.002, 0.010, 0.070, 0.074, 0.041), 2.5, (0.000, 0.070, 0.059, 0.111, 0.097), 6.5),
    "CSN": ((0.053, 0.011, 0.011, 0.009, 0.003), 1.7, (0.039, 0.026, 0.008, 0.008, 0.003), 7.2),
    "CTG": ((0.053, 0.199, 0.031, 0.054, 0.056), 0.7, (0.036, 0.130, 0.062, 0.064, 0.033), 10.5),
    "PAM": ((0.239, 0.278, 0.175, 0.107, 0.065), 0.9, (0.190, 0.205, 0.164, 0.089, 0.071), 12.8),
    "PKS": ((0.075, 0.030, 0.049, 0.023, 0.015), 0.7, (0.115, 0.033, 0.060, 0.025, 0.023), 5.4),
    "WDBC": ((0.049, 0.167, 0.154, 0.041, 0.024), 0.7, (0.063, 0.213, 0.089, 0.069, 0.042), 10.7),
}


def noisy_means(made: Table, runs: int, seed: int, epsilon: float = 1.0) -> np.ndarray:
    """The second control: Laplace noise on every column's mean, and a normal law of a guessed spread around it."""
    n, d = made.x.shape
    out = []
    for run in range(runs):
        mean = made.x.mean(axis=0) + np.random.default_rng(1000 * seed + run).laplace(0, 2 * d / (n * epsilon), d)
        out.append(made.worst(made.queries.ask_normal(np.clip(mean, -1, 1), GUESS**2)))
    return np.mean(out, axis=0)


def ours(about: Table, target: Pure | Approximate, runs: int, setting: Setting) -> dict[str, Any]:
    """The mechanism, run after run; what it predicted before, and what it said afterwards."""
    n, d = about.x.shape
    plan = SmoothSynthesis.plan([LATTICE] * d, rows=n, target=target, points=POINTS)
    assert plan.guarantee().implies(target)
    rows = np.rint((about.x + 1) / 2 * (LATTICE - 1)).astype(np.int64)
    worst, relative, covered, spent = [], [], [], []
    for run in range(runs):
        started = time.process_time()
        made = plan.release(plan.box(rows), setting.rng(1000 + run))
        spent.append(time.process_time() - started)
        answers = about.queries.ask(made.points, made.weights)
        worst.append(about.worst(answers))
        relative.append(about.relative(answers))
        covered.append(coverage(about, made))
    return {"worst": np.mean(worst, axis=0), "relative": np.mean(relative, axis=0), "seconds": max(spent),
            "coverage": np.mean(covered, axis=0)}  # fmt: skip


def coverage(about: Table, made: Any) -> np.ndarray:
    """The part of 200 queries, at each width, whose error is within twice what the release says of it."""
    few = Queries(about.queries.centers[: 200 * KERNELS], about.queries.weights[:200])
    far = (few.centers**2).sum(axis=1)[:, None] + (made.points**2).sum(axis=1) - 2 * few.centers @ made.points.T
    out = []
    for width, sigma in enumerate(SIGMAS):
        values = np.exp(-far / (2 * sigma * sigma)).reshape(200, KERNELS, -1)
        values = (values * few.weights[:, :, None]).sum(axis=1)
        gap = np.abs(made.answers(values) - about.truth[width, :200])
        out.append(float((gap <= 2 * made.deviations(values) + KNOWN).mean()))
    return np.array(out)


def table_sizes(setting: Setting) -> Lines:
    """Rows and columns of the sets, and of those that stand for sets that are not public as the document used them."""
    for name, document in COMPARED.items():
        n, d = read(setting.data, name)[0].shape
        yield row(set=document, printed_rows=PRINTED_SIZES[document][0], printed_columns=PRINTED_SIZES[document][1],
                  ours=name, rows=n, columns=d)  # fmt: skip


def compared(setting: Setting, target: Pure | Approximate, scaling: str, names: tuple[str, ...], asked: int) -> Lines:
    """One row a set: printed, ours, both controls; ours must beat the better control at every width."""
    for name in names:
        made, gap = table(setting.data, name, asked, scaling)
        document = DOCUMENT[COMPARED[name]][0 if target is PURE else 2]
        found = ours(made, target, setting.runs(4, 2), setting)
        controls = {"no data": made.worst(made.queries.ask_cube()), "noisy mean": noisy_means(made, 10, setting.seed)}
        printed = {"printed": document} if scaling == "min-max" else {}
        yield row(**{"set": COMPARED[name], "ours is of": name, **printed, "ours": rounded(found["worst"]),
                     **{control: rounded(errors) for control, errors in controls.items()},
                     "ours, relative": rounded(found["relative"])})  # fmt: skip
        ratio = float((found["worst"] / np.minimum(*controls.values())).max())
        yield check(f"{name}: worst ratio to the better control", ratio, 1.05, ratio <= 1.05)
        low = float(found["coverage"].min())
        yield check(f"{name}: errors within twice the release's own statement", low, 0.9, low >= 0.9)
        if gap:
            yield check(f"{name}: true answers are known within", gap, KNOWN, gap <= KNOWN)
        yield seconds(f"{name}: one release", found["seconds"], DOCUMENT[COMPARED[name]][1 if target is PURE else 3])


def rounded(values: Any) -> list[float]:
    """For reading."""
    return [float(f"{value:.3g}") for value in np.asarray(values)]


def table_pure(setting: Setting) -> Lines:
    """Six sets at epsilon 1."""
    yield from compared(setting, PURE, "min-max", _sets(setting), setting.runs(2000, 300))


def table_approximate(setting: Setting) -> Lines:
    """Six sets at epsilon 1, delta 1e-3."""
    yield from compared(setting, APPROXIMATE, "min-max", _sets(setting), setting.runs(2000, 300))


def table_public(setting: Setting) -> Lines:
    """The same with bounds that do not follow from the rows."""
    yield from compared(setting, PURE, "public", ("WDBC", "CRM", "CTG"), setting.runs(2000, 300))


def _sets(setting: Setting) -> tuple[str, ...]:
    return ("WDBC",) if setting.quick else tuple(COMPARED)


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


def slope(sizes: tuple[float, ...], errors: list[float]) -> float:
    """Of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def growth(setting: Setting) -> Lines:
    """A family with known truth, sigma = 4: the error falls in n and in epsilon."""
    d, runs = 10, setting.runs(5, 2)
    queries = Queries.random(d, 300)
    population = family_truth(queries, d)
    sizes, epsilons = (250, 1000, 4000, 16000), (0.05, 0.1, 0.2, 0.4, 0.8)
    in_n = [family_error(n, 1.0, runs, queries, population, setting) for n in sizes]
    in_epsilon = [family_error(4000, epsilon, runs, queries, None, setting) for epsilon in epsilons]
    for n, error in zip(sizes, in_n, strict=True):
        yield row(n=n, epsilon=1.0, worst_error=error, against="the population")
    for epsilon, error in zip(epsilons, in_epsilon, strict=True):
        yield row(n=4000, epsilon=epsilon, worst_error=error, against="the table")
    yield check("slope in n", slope(sizes, in_n), -0.5, slope(sizes, in_n) <= -0.5)
    yield check("slope in epsilon", slope(epsilons, in_epsilon), -0.9, slope(epsilons, in_epsilon) <= -0.9)


def family_error(
    n: int, epsilon: float, runs: int, queries: Queries, truth: np.ndarray | None, setting: Setting
) -> float:
    """The worst error at sigma = 4, against the population or the table itself."""
    found = []
    plan = SmoothSynthesis.plan([LATTICE] * 10, rows=n, target=Pure(epsilon))
    for run in range(runs):
        x = scaled(family(n, run), -np.ones(10), np.ones(10))
        made = plan.release(x, setting.rng(run))
        true = queries.ask(x, np.full(n, 1 / n)) if truth is None else truth
        found.append(np.abs(queries.ask(made.points, made.weights) - true)[1].max())
    return float(np.mean(found))


def document_mechanism(
    about: Table, delta: float, features: int, steps: int, k: int, kappa: float, count: int, seed: int
) -> np.ndarray:
    """Algorithms 9 and 10, corrected: right sensitivities, uncentered second moment, uniform ellipsoid, weights."""
    rng, (n, d) = np.random.default_rng(seed), about.x.shape
    part = 1 / 3
    mean = about.x.mean(axis=0) + rng.laplace(0, 2 * d / (n * part), d)
    moment, basis = about.x.T @ about.x / n, np.linalg.qr(rng.standard_normal((d, k)))[0]
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
    goals = measured(about.x).mean(axis=0) + rng.laplace(0, scale, size)
    return about.queries.ask(points, least_misfit(measured(points).T, np.clip(goals, -1, 1)))


def least_misfit(features: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """The document's linear program: weights on the candidates with the least l1 misfit."""
    size, count = features.shape
    eye = np.eye(size)
    equal = np.block([[features, eye, -eye], [np.ones((1, count)), np.zeros((1, 2 * size))]])
    cost = np.concatenate([np.zeros(count), np.ones(2 * size)])
    weights = linprog(cost, A_eq=equal, b_eq=np.append(goals, 1.0), method="highs").x[:count]
    return weights / weights.sum()


def figure_kappa(setting: Setting) -> Lines:
    """Error against kappa; flights stand for the census, which is not public as the document used it."""
    made, _ = table(setting.data, "flights", setting.runs(1000, 100))
    for kappa in (1, 2, 4, 7, 10):
        yield row(kappa=kappa, worst_error=drawn(made, setting, 0.0, 50, 10, 2, float(kappa)))


def figure_dimension(setting: Setting) -> Lines:
    """Error against the dimension of the private components."""
    made, _ = table(setting.data, "CRM", setting.runs(1000, 100))
    for k in (1, 2, 5, 10, 20):
        yield row(components=k, worst_error=drawn(made, setting, 1e-3, 102, 10, k, 7.0))


def drawn(made: Table, setting: Setting, *shape: Any) -> float:
    """The document's mechanism, corrected, at sigma = 4."""
    runs, count = setting.runs(3, 1), setting.runs(1000, 200)
    errors = [made.worst(document_mechanism(made, *shape, count, 1000 * setting.seed + run)) for run in range(runs)]
    return float(np.mean(errors, axis=0)[1])


FILES = {name: (f"{file}.csv.gz", "bounds.csv") for name, (file, _, _) in SETS.items()}
ALL = tuple(sorted({file for name in COMPARED for file in FILES[name]}))
FIGURES = {
    "smooth-table-3-2": Figure("Table 3.2: worst errors at sigma 2, 4, 6, 8, 10, epsilon 1", table_pure, ALL),
    "smooth-table-3-3": Figure("Table 3.3: the same with delta = 0.001", table_approximate, ALL),
    "smooth-public": Figure("The same at epsilon 1 with public bounds", table_public, ALL),
    "smooth-table-3-1": Figure("Table 3.1: the six sets", table_sizes, ALL),
    "smooth-figure-3-1": Figure("Figure 3.1: error against kappa, pure, sigma 4", figure_kappa, FILES["flights"]),
    "smooth-figure-3-2": Figure("Figure 3.2: error against the number of components, delta = 0.001, sigma 4",
                                figure_dimension, FILES["CRM"]),
    "smooth-growth": Figure("Smooth synthesis where the truth is known: slopes in n and epsilon", growth),
}  # fmt: skip
