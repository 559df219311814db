"""The data sets of the smooth-query experiments, their queries, and the queries' true answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import erf

SIGMAS = (2, 4, 6, 8, 10)
KERNELS, SEED = 10, 1
LATTICE = 2001  # points a column, for the lattice that rows are rounded to
DROPPED = {"wdbc": ["benign"], "cardiotocography": ["LBE", "DR"],
           "parkinsons_telemonitoring": ["subject", "sex", "test_time"],
           "watch_imu": ["subject", "exercise", "side"]}  # fmt: skip
SETS = {  # code: file, at most so many columns, the document's table it is compared with
    "WDBC": ("wdbc", 30, "WDBC"),
    "CRM": ("communities_crime", 101, "CRM"),
    "CTG": ("cardiotocography", 28, "CTG"),
    "PKS": ("parkinsons_telemonitoring", 19, "PKS"),
    "Adult": ("adult", 6, None),
    "flights": ("flights_100k", 8, "CSN"),
    "watch": ("watch_imu", 28, "PAM"),
}


@dataclass
class Queries:
    """Mixtures of Gaussian kernels; one set of centers and weights for all widths."""

    centers: np.ndarray
    weights: np.ndarray

    @classmethod
    def random(cls, columns: int, count: int) -> Queries:
        rng = np.random.default_rng(SEED)
        centers = rng.uniform(-1, 1, (count * KERNELS, columns))
        return cls(centers, rng.dirichlet(np.ones(KERNELS), count))

    def mixed(self, kernels: np.ndarray) -> np.ndarray:
        """Means of single kernels (widths, centers) to means of mixtures (widths, queries)."""
        return (kernels.reshape(len(kernels), -1, KERNELS) * self.weights).sum(axis=2)

    def ask(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Of weighted points; single precision, whose errors are below 1e-6."""
        centers = self.centers.astype(np.float32)
        squares = (centers**2).sum(axis=1)
        out = np.zeros((len(SIGMAS), len(centers)))
        for i in range(0, len(points), 512):
            p, w = points[i : i + 512].astype(np.float32), weights[i : i + 512].astype(np.float32)
            own = (p**2).sum(axis=1)[:, None]
            for j in range(0, len(centers), 500):
                far = (p @ centers[j : j + 500].T) * np.float32(-2) + own + squares[j : j + 500]
                kernel = np.exp(far * np.float32(-1 / 128))  # width 8, then its fourth powers: 4 and 2
                out[3, j : j + 500] += w @ kernel
                for row in (1, 0):
                    kernel *= kernel
                    kernel *= kernel
                    out[row, j : j + 500] += w @ kernel
                for row, sigma in ((2, 6), (4, 10)):
                    out[row, j : j + 500] += w @ np.exp(far * np.float32(-1 / (2 * sigma * sigma)))
        return self.mixed(out)

    def ask_normal(self, mean: np.ndarray, variance: float) -> np.ndarray:
        """Of the normal law with independent columns, exactly."""
        far = ((self.centers - mean) ** 2).sum(axis=1)
        rows = [
            (s * s / (s * s + variance)) ** (mean.size / 2) * np.exp(-far / (2 * (s * s + variance))) for s in SIGMAS
        ]
        return self.mixed(np.array(rows))

    def ask_cube(self) -> np.ndarray:
        """Of the uniform law on the cube, exactly."""
        rows = []
        for s in SIGMAS:
            ends = erf((1 - self.centers) / (math.sqrt(2) * s)) + erf((1 + self.centers) / (math.sqrt(2) * s))
            rows.append(np.exp(np.log(math.sqrt(math.pi / 2) * s / 2 * ends).sum(axis=1)))
        return self.mixed(np.array(rows))


@dataclass
class Table:
    """A scaled table, its queries and their true answers."""

    name: str
    scaling: str
    x: np.ndarray
    queries: Queries
    truth: np.ndarray

    def worst(self, answers: np.ndarray) -> np.ndarray:
        return np.abs(answers - self.truth).max(axis=1)

    def relative(self, answers: np.ndarray) -> np.ndarray:
        return (np.abs(answers - self.truth) / self.truth).max(axis=1)


def read(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and public bounds of the numeric columns."""
    file, most, _ = SETS[name]
    frame = pd.read_csv(data / f"{file}.csv.gz")
    bounds = pd.read_csv(data / "bounds.csv").query("dataset == @file").set_index("column")
    kept = [c for c in bounds.index if c in frame and c not in DROPPED.get(file, []) and frame[c].dtype.kind in "if"]
    return frame[kept[:most]].dropna().to_numpy(float), bounds.loc[kept[:most], ["lower", "upper"]].to_numpy(float)


def scaled(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """To the cube, on a lattice of LATTICE points a column; constant columns lie in its middle."""
    part = np.where(high > low, (rows - low) / np.where(high > low, high - low, 1), 0.5)
    return 2 * np.rint(np.clip(part, 0, 1) * (LATTICE - 1)) / (LATTICE - 1) - 1


def table(data: Path, name: str, count: int, scaling: str = "min-max") -> tuple[Table, float]:
    """A data set in one scaling, and how far its true answers are known."""
    rows, bounds = read(data, name)
    low, high = (rows.min(axis=0), rows.max(axis=0)) if scaling == "min-max" else bounds.T
    x = scaled(rows, low, high)
    queries = Queries.random(x.shape[1], count)
    truth, gap = true_answers(x, queries)
    return Table(name, scaling, x, queries, truth), gap


def true_answers(x: np.ndarray, queries: Queries) -> tuple[np.ndarray, float]:
    """Directly, or for long tables of few columns through 3,000 weighted rows with the same kernel means.

    With the largest gap between the two ways on 100 queries.
    """
    n, d = x.shape
    if n < 30_000 or d > 10:
        return queries.ask(x, np.full(n, 1 / n)), 0.0
    chosen = np.unique(x[np.random.default_rng(SEED).choice(n, 3000, replace=False)], axis=0)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T) / (2 * SIGMAS[0] ** 2))

    means = sum(kernel(chosen, part).sum(axis=1) for part in np.array_split(x, 40)) / n
    weights = np.linalg.solve(kernel(chosen, chosen) + 1e-10 * np.eye(len(chosen)), means)
    few = Queries(queries.centers[: 100 * KERNELS], queries.weights[:100])
    gap = float(np.abs(direct(few, chosen, weights) - direct(few, x, np.full(n, 1 / n))).max())
    parts = [queries.centers[i : i + 5000] for i in range(0, len(queries.centers), 5000)]
    out = np.concatenate([kernels(part, chosen, weights) for part in parts], axis=1)
    return queries.mixed(out), gap


def kernels(centers: np.ndarray, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means of single kernels, in double precision."""
    far = (centers**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2 * centers @ points.T
    return np.array([np.exp(-far / (2 * s * s)) @ weights for s in SIGMAS])


def direct(queries: Queries, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """As `ask`, in double precision."""
    split = range(0, len(points), 5000)
    return queries.mixed(sum(kernels(queries.centers, points[i : i + 5000], weights[i : i + 5000]) for i in split))
