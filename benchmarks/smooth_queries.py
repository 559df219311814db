"""Smooth queries asked of synthetic tables as sessions make them, under both adjacencies, pure at epsilon 1.

Run `python benchmarks/smooth_queries.py --json [--full] [--data DIR] [--sets NAME ...] [--made tuning|judging]
[--runs N]`: one JSON object per figure; with `--made`, of generated tables, which need no data (`MADE`; constants were
chosen on seeds below 1000, judging seeds lie above); with `--runs`, no more than so many of each.
Queries are mixtures of ten Gaussian kernels with uniform centers, of one fixed seed, at widths .5 to 10 in units where
every column has length 2; errors are the worst over all queries, averaged over runs.  Columns are scaled by the public
bounds of `bounds.csv`.  Beside the default stand tables made for marginals alone, for smooth queries alone, and two
controls: the uniform cube, which reads no data, and a noisy mean of every column with a guessed spread of 0.3, which is
told the number of rows.  Verdicts are over widths at which some query answers more than one row's worth; the others are
listed.  Tables of one run are independent of those of another, so that ratios of few runs are themselves uncertain:
each has its standard error beside it, and the worst of six such ratios tends to lie above what many runs would give.
`least of a split` is the worst ratio that the best share of the budget would leave if the errors of both kinds alone
were noise, each growing as its share falls, and were joined by their inverse variances: where it lies above 1.3, a
table for both meets 1.3 only as far as errors are no noise, or one kind's measurements tell of the other.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

import numpy as np
import pandas as pd
from figures import Figure
from scipy.special import erf
from smooth_tables import LATTICE, SETS, Queries, read, scaled

import sfumato as sf

WIDTHS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
DOCUMENT = ("WDBC", "CTG", "CRM", "PKS")
GUESS = 0.3
LONG = 30_000  # rows, beyond which fewer queries are asked
MADE = (  # rows, columns, kind, runs
    (100, 3, "clusters", 16), (100, 9, "normal", 16), (1000, 4, "factor", 12), (1000, 9, "discrete", 12),
    (3000, 5, "skewed", 10), (8000, 3, "clusters", 8), (8000, 7, "factor", 8), (8000, 12, "discrete", 8),
    (8000, 20, "normal", 6), (20_000, 5, "normal", 6), (50_000, 3, "skewed", 5), (50_000, 6, "clusters", 5),
    (1000, 4, "uniform", 12), (20_000, 5, "discrete", 6),
)  # fmt: skip
SEEDS = {"tuning": 1, "judging": 1001}
# Table, then the worst over told widths of the ratio to the better control and to the better of smooth and marginals,
# under replacement and under add-remove.  Of few runs, worst ratios are uncertain by a tenth to a third.
RUNS = {
    # Generated, earlier; references were made with points drawn more evenly, moments had three quarters of the budget,
    # and columns were counted in more groups.
    "judging, 2026-11-16": [
        ("clusters, 100 x 3", 1.58, 1.62, 1.89, 1.89),
        ("normal, 100 x 9", 1.29, 1.53, 1.64, 2.27),
        ("factor, 1000 x 4", 0.37, 1.47, 0.30, 2.20),
        ("discrete, 1000 x 9", 0.26, 1.16, 0.25, 1.28),
        ("skewed, 3000 x 5", 0.06, 1.21, 0.08, 1.85),
        ("clusters, 8000 x 3", 0.92, 2.33, 0.32, 2.75),
        ("factor, 8000 x 7", 0.45, 1.79, 0.44, 2.64),
        ("discrete, 8000 x 12", 0.51, 1.74, 0.51, 1.90),
        ("normal, 8000 x 20", 0.51, 1.07, 0.46, 1.09),
        ("normal, 20000 x 5", 0.64, 2.91, 0.36, 1.44),
        ("skewed, 50000 x 3", 0.05, 2.01, 0.04, 1.16),
    ],
    # Once, three or four runs a case.  Marginals alone are up to twice as good as they were, so that the second ratio
    # is harder to meet.  Moments have five sixths of the budget and a fortieth judges the rows: with noise alone to
    # tell them apart, wide kernels are 1.23 times as far off as from moments alone; and where marginals alone are more
    # than 1.3 times as good for the narrowest ones as moments alone are, only what they share meets 1.3 for both.
    "judging, 2026-11-17": [
        ("factor, 1000 x 4", 0.37, 1.41, 0.33, 1.28),
        ("clusters, 8000 x 3", 0.65, 2.17, 0.24, 1.23),
        ("normal, 20000 x 5", 0.51, 1.66, 0.34, 2.05),
        ("factor, 8000 x 7", 0.38, 1.50, 0.26, 1.94),
        ("skewed, 50000 x 3", 0.04, 2.34, 0.05, 1.66),
        ("clusters, 50000 x 6", 0.15, 1.16, 0.06, 0.96),
        ("discrete, 20000 x 5", 0.10, 1.96, 0.07, 1.76),
        ("skewed, 3000 x 5", 0.05, 1.23, 0.05, 1.10),
        ("discrete, 1000 x 9", 0.72, 2.98, 0.71, 2.71),
        ("discrete, 8000 x 12", 0.52, 1.99, 0.51, 2.15),
        ("uniform, 1000 x 4", 1.43, 1.34, 1.31, 1.04),
        ("normal, 8000 x 20", 0.46, 1.17, 0.46, 1.13),
        ("normal, 100 x 9", 1.30, 1.23, 1.55, 1.44),
    ],
    # Once, four runs a case (`--runs 4`), stopped for time before the larger tables: points of moments alone stand for
    # tables that noisy marginals do not tell from them, tables of ten columns and more are counted, too, and rows come
    # closer to the moments.  The least of a split is 1.8 to 1.9 in nine of these cases, and 1.0 to 1.2 in the others
    # but factor, 1000 x 4 under add-remove (1.74).
    "judging, 2026-11-18": [
        ("clusters, 100 x 3", 1.02, 0.92, 1.33, 1.54),
        ("normal, 100 x 9", 0.60, 0.88, 0.88, 1.09),
        ("factor, 1000 x 4", 0.38, 1.24, 0.41, 1.63),
        ("discrete, 1000 x 9", 0.77, 2.44, 0.71, 2.72),
        ("skewed, 3000 x 5", 0.07, 2.14, 0.10, 2.15),
        ("clusters, 8000 x 3", 0.29, 1.18, 0.22, 1.40),
        ("factor, 8000 x 7", 0.30, 0.82, 0.22, 1.79),
        ("discrete, 8000 x 12", 0.32, 1.29, 0.31, 1.81),
        ("uniform, 1000 x 4", 1.08, 0.76, 1.27, 1.29),
    ],
    # Once, four runs a case: rows in three ways, of which a fortieth of the budget chooses one, second moments of more
    # tables, and marginals beside moments up to eight times the noise of counts.  Better where values are few or one
    # factor drives all columns under add-remove; worse on a uniform table and most others of 3000 rows or fewer, where
    # the choice is hardly better than chance.  Both tables of 100 rows are made by moments alone, as the one for smooth
    # queries is: 0.88 to 1.74 is chance alone.  The least of a split is 1.8 to 2.0 in eleven of 28 cases.  Worse on the
    # whole than the run above, so that this way was taken back.
    "judging, 2026-11-18, a choice of three": [
        ("clusters, 100 x 3", 0.77, 0.88, 1.09, 1.64),
        ("normal, 100 x 9", 1.00, 1.22, 1.27, 1.74),
        ("factor, 1000 x 4", 0.40, 1.51, 0.34, 2.67),
        ("discrete, 1000 x 9", 0.24, 1.57, 0.23, 1.61),
        ("skewed, 3000 x 5", 0.11, 3.21, 0.07, 3.02),
        ("clusters, 8000 x 3", 0.34, 1.71, 0.29, 1.30),
        ("factor, 8000 x 7", 0.30, 1.41, 0.19, 1.44),
        ("discrete, 8000 x 12", 0.34, 1.57, 0.36, 1.35),
        ("normal, 8000 x 20", 0.49, 1.22, 0.48, 1.49),
        ("normal, 20000 x 5", 0.43, 1.56, 0.36, 1.59),
        ("skewed, 50000 x 3", 0.03, 1.28, 0.05, 2.06),
        ("clusters, 50000 x 6", 0.11, 1.02, 0.06, 1.41),
        ("uniform, 1000 x 4", 1.55, 0.76, 3.38, 3.27),
        ("discrete, 20000 x 5", 0.08, 1.49, 0.06, 1.83),
    ],
    # All runs of `MADE`, since rows far from the others are left out only where noise makes as many.  The least of a
    # split is above 1.3 in 15 of 28 cases, 1.8 or more in 13.
    "judging, 2026-11-19, last": [
        ("clusters, 100 x 3", 0.79, 0.89, 0.99, 1.12),
        ("normal, 100 x 9", 0.86, 0.88, 1.15, 1.28),
        ("factor, 1000 x 4", 0.34, 1.45, 0.37, 1.41),
        ("discrete, 1000 x 9", 0.68, 3.01, 0.68, 2.67),
        ("skewed, 3000 x 5", 0.05, 1.41, 0.10, 2.25),
        ("clusters, 8000 x 3", 0.32, 1.94, 0.31, 1.92),
        ("factor, 8000 x 7", 0.22, 1.36, 0.19, 1.90),
        ("discrete, 8000 x 12", 0.31, 1.27, 0.33, 1.20),
        ("normal, 8000 x 20", 0.47, 1.06, 0.45, 1.97),
        ("normal, 20000 x 5", 0.41, 1.48, 0.34, 1.09),
        ("skewed, 50000 x 3", 0.05, 1.02, 0.04, 1.44),
        ("clusters, 50000 x 6", 0.19, 1.32, 0.11, 1.27),
        ("uniform, 1000 x 4", 1.22, 0.80, 1.24, 0.91),
        ("discrete, 20000 x 5", 0.09, 1.75, 0.05, 1.71),
    ],
    # All runs of `MADE`, since points may stand for a share of the rows.  The least of a split is above 1.3 in 16 of 28
    # cases, 1.85 to 1.98 in ten of them.
    "judging, 2026-11-19": [
        ("clusters, 100 x 3", 0.96, 1.04, 1.09, 1.27),
        ("normal, 100 x 9", 1.12, 1.04, 1.54, 1.30),
        ("factor, 1000 x 4", 0.38, 1.19, 0.36, 1.34),
        ("discrete, 1000 x 9", 0.69, 2.77, 0.66, 2.69),
        ("skewed, 3000 x 5", 0.06, 1.39, 0.07, 2.02),
        ("clusters, 8000 x 3", 0.36, 2.34, 0.28, 2.10),
        ("factor, 8000 x 7", 0.24, 0.96, 0.19, 1.66),
        ("discrete, 8000 x 12", 0.37, 1.47, 0.33, 1.19),
        ("normal, 8000 x 20", 0.47, 1.04, 0.51, 1.24),
        ("normal, 20000 x 5", 0.30, 0.79, 0.30, 1.70),
        ("skewed, 50000 x 3", 0.04, 0.81, 0.03, 0.81),
        ("clusters, 50000 x 6", 0.17, 1.34, 0.11, 1.07),
        ("uniform, 1000 x 4", 1.22, 1.31, 1.11, 1.37),
        ("discrete, 20000 x 5", 0.07, 1.40, 0.06, 1.53),
    ],
    # The same with four runs a case, just before: worst ratios of so few are up to twice these, and half.
    "judging, 2026-11-19, four runs": [
        ("clusters, 100 x 3", 0.75, 0.76, 0.94, 1.00),
        ("normal, 100 x 9", 1.61, 2.24, 1.58, 1.75),
        ("factor, 1000 x 4", 0.36, 1.29, 0.37, 1.52),
        ("discrete, 1000 x 9", 0.66, 3.16, 0.65, 2.74),
        ("skewed, 3000 x 5", 0.09, 3.35, 0.11, 3.40),
        ("clusters, 8000 x 3", 0.29, 1.54, 0.32, 2.51),
        ("factor, 8000 x 7", 0.18, 2.27, 0.18, 1.77),
        ("discrete, 8000 x 12", 0.36, 1.38, 0.30, 1.13),
        ("normal, 8000 x 20", 0.52, 1.30, 0.46, 1.23),
        ("normal, 20000 x 5", 0.34, 1.32, 0.29, 1.41),
        ("skewed, 50000 x 3", 0.04, 1.30, 0.04, 1.16),
        ("clusters, 50000 x 6", 0.18, 1.29, 0.13, 1.71),
        ("uniform, 1000 x 4", 1.01, 0.73, 1.22, 0.92),
        ("discrete, 20000 x 5", 0.08, 1.42, 0.05, 1.35),
    ],
    # Three runs or six.  Before rows far from the others were left out only where noise makes as many, one run in four
    # of Adult lost a column: 0.13, 0.98 under replacement, 0.79, 73 under add-remove.
    "sets, 2026-11-19": [
        ("WDBC, 569 x 30", 0.61, 1.38, 0.56, 1.09),
        ("CTG, 2126 x 28", 0.28, 1.06, 0.28, 1.06),
        ("CRM, 1993 x 101", 0.35, 1.17, 0.32, 1.06),
        ("PKS, 5875 x 19", 0.14, 1.56, 0.13, 1.43),
        ("flights, 100000 x 8", 0.04, 1.50, 0.03, 2.26),
        ("Adult, 48842 x 6", 0.16, 1.08, 0.17, 1.23),
    ],
    # Three runs or four, with a share of four fifths and kernels of width 5 in balance.
    "sets, 2026-11-17": [
        ("flights, 100000 x 8", 0.05, 1.69, 0.03, 1.47),
        ("Adult, 48842 x 6", 0.13, 1.55, 0.09, 1.58),
    ],
    # Known while constants were chosen; the documents' four together, add-remove: .16 of the noisy mean.
    "sets, 2026-11-16": [
        ("WDBC, 569 x 30", 0.57, 1.01, 0.66, 1.19),
        ("CTG, 2126 x 28", 0.28, 0.67, 0.33, 1.15),
        ("CRM, 1993 x 101", 0.42, 1.22, 0.33, 1.05),
        ("PKS, 5875 x 19", 0.14, 1.01, 0.12, 1.15),
        ("flights, 100000 x 8", 0.04, 2.15, 0.03, 1.83),
        ("Adult, 48842 x 6", 0.12, 1.80, 0.12, 1.53),
    ],
}


def asked(queries: Queries, points: Any) -> Any:
    """The means of all mixtures over the points, one row a width."""
    centers = queries.centers.astype(np.float32)
    squares, out = (centers**2).sum(axis=1), np.zeros((len(WIDTHS), len(centers)))
    for start in range(0, len(points), 1000):
        part = points[start : start + 1000].astype(np.float32)
        own = (part**2).sum(axis=1)[:, None]
        for first in range(0, len(centers), 1000):
            far = np.maximum(own + squares[first : first + 1000] - 2 * part @ centers[first : first + 1000].T, 0)
            for row, width in enumerate(WIDTHS):
                out[row, first : first + 1000] += np.exp(far * np.float32(-0.5 / width**2)).sum(axis=0)
    return queries.mixed(out / len(points))


def of_cube(queries: Queries) -> Any:
    """The means over the uniform cube, exactly."""
    rows = []
    for width in WIDTHS:
        ends = sum(erf((1 + sign * queries.centers) / (2**0.5 * width)) for sign in (1, -1))
        rows.append(np.exp(np.log((np.pi / 2) ** 0.5 * width / 2 * ends).sum(axis=1)))
    return queries.mixed(np.array(rows))


def of_normal(queries: Queries, mean: Any) -> Any:
    """The means over the normal law of the guessed spread, exactly."""
    far, variance = ((queries.centers - mean) ** 2).sum(axis=1), GUESS**2
    rows = [(w * w / (w * w + variance)) ** (mean.size / 2) * np.exp(-far / (2 * (w * w + variance))) for w in WIDTHS]
    return queries.mixed(np.array(rows))


def made(x: Any, exchanged: bool, good_for: str, folder: Path) -> tuple[Any, str]:
    """A synthetic table from a session, as points, and its mechanism."""
    names = [f"c{place}" for place in range(x.shape[1])]
    known = {"adjacency": sf.Replace() if exchanged else sf.AddRemove(), "size": len(x)}  # or a guess
    schema = sf.Schema({name: sf.Interval(-1.0, 1.0, step=2 / (LATTICE - 1), missing=0.0) for name in names}, **known)
    table = sf.read(pd.DataFrame(x, columns=names), schema=schema)
    session = sf.Session(table, budget=sf.Pure(1.0), ledger=folder / f"{os.urandom(8).hex()}.ledger")
    found = session.synthesize(spend=sf.Pure(1.0), good_for=good_for)
    return found.to_pandas()[names].to_numpy(float), str(found.method["type"])


def generated(kind: str, n: int, d: int, seed: int) -> Any:
    """A table of the cube: one normal law, clusters, long tails and an atom, a uniform law, few levels, one factor."""
    chance = np.random.default_rng([seed, n, d])
    mix = np.linalg.qr(chance.normal(size=(d, d)))[0] * chance.uniform(0.05, 0.4, d)
    middle, noise = chance.uniform(-0.5, 0.5, d), chance.normal(size=(n, d)) @ mix.T
    if kind == "clusters":
        centers = chance.uniform(-0.6, 0.6, (chance.integers(2, 5), d))
        x = centers[chance.choice(len(centers), n, p=chance.dirichlet(np.full(len(centers), 2.0)))] + 0.6 * noise
    elif kind == "skewed":
        x = np.exp(chance.uniform(-2.5, -0.5, d) + 2.5 * noise) - 1
        x[:, 0] = np.where(chance.random(n) < 0.5, -1, x[:, 0])
    elif kind == "uniform":
        x = chance.uniform(-1, 1, (n, d))
    elif kind == "discrete":
        steps = chance.integers(1, 11, d)
        x = 2 * np.rint((np.clip(middle + 1.3 * noise, -1, 1) + 1) / 2 * steps) / steps - 1
    elif kind == "factor":
        x = middle + chance.normal(size=(n, 1)) * chance.uniform(-0.35, 0.35, d)
        x = x + chance.normal(size=(n, d)) * chance.uniform(0.03, 0.2, d)
    else:
        x = middle + noise
    return scaled(x, np.full(d, -1.0), np.full(d, 1.0))


def table_figures(x: Any, name: str, runs: int, count: int) -> Iterator[tuple[Figure, Any]]:
    """All figures of one table, with its ratios to the noisy mean where they belong to the verdict on all tables."""
    n, d = x.shape
    queries = Queries.random(d, count if n < LONG else max(100, count // 4))
    truth = asked(queries, x)
    told = truth.max(axis=1) > 1 / n

    def worst(answers: Any) -> Any:
        return np.abs(answers - truth).max(axis=1)

    for exchanged in (True, False):
        label = f"{name} ({n} x {d}), {'replace' if exchanged else 'add-remove'}"
        noise = (2 if exchanged else 1) * d / n
        means = [x.mean(axis=0) + np.random.default_rng(run).laplace(0, noise, d) for run in range(10)]
        mean = np.mean([worst(of_normal(queries, np.clip(mean, -1, 1))) for mean in means], axis=0)
        cube = worst(of_cube(queries))
        control = np.minimum(mean, cube)
        found, kinds, sure = {}, {}, {}
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("both", "smooth", "marginals"):
                tables = [made(x, exchanged, kind, Path(folder)) for _ in range(runs)]
                errors = np.array([worst(asked(queries, points)) for points, _ in tables])
                found[kind], kinds[kind] = errors.mean(axis=0), tables[0][1]
                sure[kind] = rounded(errors.std(axis=0) / (runs**0.5 * found[kind] + 1e-300))
        better = np.minimum(found["smooth"], found["marginals"])
        over, beside = found["both"] / control, found["both"] / better
        near = np.where(found["smooth"] <= found["marginals"], sure["smooth"], sure["marginals"])
        details = {"widths": WIDTHS, "told": told.tolist(), "runs": runs, "mechanism": kinds["both"],
                   "noisy mean": rounded(mean), "no data": rounded(cube),
                   **{kind: rounded(errors) for kind, errors in found.items()}, "standard errors": sure,
                   "over control": rounded(over), "over the better": rounded(beside),
                   "standard errors of over the better": rounded(beside * np.hypot(sure["both"], near)),
                   "least of a split": split(found["smooth"][told], found["marginals"][told])}  # fmt: skip
        print(json.dumps({"table": label, **details}), flush=True)
        yield _most(f"{label}: worst ratio to the better control", float(over[told].max()), 1.05), None
        figure = _most(f"{label}: worst ratio to the better of smooth and marginals", float(beside[told].max()), 1.3)
        yield figure, None if exchanged else (found["both"] / mean)[told]


def split(smooth: Any, marginals: Any) -> float:
    """The worst ratio to the better of both, over widths, that the best split of the budget leaves if all is noise."""
    shares = np.linspace(0.005, 0.995, 199)[:, np.newaxis]
    joined = ((shares / smooth) ** 2 + ((1 - shares) / marginals) ** 2) ** -0.5
    return float(f"{(joined / np.minimum(smooth, marginals)).max(axis=1).min():.3g}")


def rounded(values: Any) -> list[float]:
    """For reading."""
    return [float(f"{value:.3g}") for value in values]


def _most(name: str, value: float, target: float) -> Figure:
    return Figure(name, value, f"at most {target:g}", value <= target)


def measured(options: argparse.Namespace) -> Iterator[Figure]:
    """Table by table; at the end the documents' tables together."""
    for n, d, kind, runs in MADE if options.made else ():
        x = generated(kind, n, d, SEEDS[options.made])
        for figure, _ in table_figures(x, f"{kind}, {options.made}", min(runs, options.runs), 100):
            yield figure
    ratios = []
    names = [] if options.made else [name for name in SETS if name != "watch" or options.full]
    for name in options.sets or names:
        rows, bounds = read(options.data, name)
        long = name in ("Adult", "flights", "watch")
        runs, count = (10, 10_000) if options.full else (6, 300)
        runs = max(3, runs // 3) if long else runs
        for figure, ratio in table_figures(scaled(rows, *bounds.T), name, min(options.runs, runs), count):
            yield figure
            if ratio is not None and name in DOCUMENT:
                ratios += ratio.tolist()
    if ratios:
        mean = float(np.exp(np.log(ratios).mean()))
        yield _most("the documents' tables, add-remove: over the noisy mean, geometric mean", mean, 0.5)


def main() -> None:
    """One line a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--made", choices=list(SEEDS))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--sets", nargs="*", choices=list(SETS))
    for figure in measured(parser.parse_args()):
        print(json.dumps(asdict(figure)), flush=True)


if __name__ == "__main__":
    main()
