"""Rows 14, 15, 21 to 23 and the errata: thresholds, Wishart noise, and the claims of the documents."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from corpus.case import Case, clip, laplace
from sfumato.auditing import GaussianNoise, LaplaceNoise, audit_accounting, audit_law, audit_sensitivity
from sfumato.privacy.guarantees import Approximate, Pure

REAL = frozenset({"real-arithmetic"})
THRESHOLD = 5
TAIL = math.exp(-(THRESHOLD - 1)) / (1 + math.exp(-1))  # P(1 + Z >= 5), Z geometric of both signs


def _whole(rng: Any) -> int:
    p = 1 - math.exp(-1)
    return int(rng.geometric(p)) - int(rng.geometric(p))


def keys_at(data: list[str], rng: Any) -> set[str]:
    """Keys whose noisy count reaches the threshold; delta counted only what exceeds it."""
    return {key for key, count in sorted(Counter(data).items()) if count + _whole(rng) >= THRESHOLD}


def keys_above(data: list[str], rng: Any) -> set[str]:
    """Keys whose noisy count exceeds the threshold."""
    return {key for key, count in sorted(Counter(data).items()) if count + _whole(rng) > THRESHOLD}


def _unit_rows(data: np.ndarray) -> np.ndarray:
    rows = np.clip(np.nan_to_num(data, nan=0.0, posinf=0.0, neginf=0.0), -1e3, 1e3)
    norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.maximum(norms, 1.0))


def wishart(data: np.ndarray, rng: Any) -> np.ndarray:
    """Second moments with Wishart noise of 3 degrees of freedom and scale 3 / 2 over epsilon."""
    rows = _unit_rows(data)
    noise = rng.normal(size=(3, 2)) * math.sqrt(1.5)
    return np.round((rows.T @ rows + noise.T @ noise) * 2**16) / 2**16


def symmetric(data: np.ndarray, rng: Any) -> np.ndarray:
    """Second moments with Laplace noise on the three entries, whose l1 norm is at most 3 / 2."""
    rows = _unit_rows(data)
    a, b, c = rng.laplace(0, 1.5, 3)
    return np.round((rows.T @ rows + np.array([[a, b], [b, c]])) * 2**16) / 2**16


SIGNS = np.where(np.random.default_rng(40).random((40, 200)) < 0.5, -1.0, 1.0)


class Queries:
    """Forty sign queries on a histogram of 200 cells, with Laplace noise of a given scale."""

    def __init__(self, name: str, scale: float) -> None:
        self.name, self.scale = name, scale

    def __call__(self, data: np.ndarray, rng: Any) -> np.ndarray:
        return self.batch(data, 1, rng)[0]

    def batch(self, data: np.ndarray, count: int, rng: Any) -> np.ndarray:
        return np.asarray(SIGNS @ data + rng.laplace(0, self.scale, (count, 40)))


GRID = np.linspace(0.0, 1.0, 9)
WIDTH = 0.05
KERNEL = np.exp(-(np.subtract.outer(GRID, GRID) ** 2) / (2 * WIDTH**2))
ROOT = np.linalg.cholesky(KERNEL + 1e-12 * np.eye(9))


class Density:
    """A kernel density of one value with Gaussian-process noise, seen at nine points.

    The constant 1 / (n sqrt(2 pi h^2)) multiplies curve and noise alike and is left out.
    """

    def __init__(self, name: str, epsilon: float, delta: float, part: float) -> None:
        self.name = name
        self.size = part * 2 * math.sqrt(math.log(2 / delta)) / epsilon

    def __call__(self, data: list[float], rng: Any) -> np.ndarray:
        return self.batch(data, 1, rng)[0]

    def batch(self, data: list[float], count: int, rng: Any) -> np.ndarray:
        center = clip(data[0], 0.0, 1.0)
        curve = np.exp(-((GRID - center) ** 2) / (2 * WIDTH**2))
        return np.asarray(curve + self.size * rng.normal(size=(count, 9)) @ ROOT.T)


def diameter_from_data(data: list[float], rng: Any) -> list[float]:
    """Every value with noise of the diameter of the data."""
    values = [clip(x, -1e6, 1e6) for x in data]
    width = max(values, default=0.0) - min(values, default=0.0)
    return [laplace(x, width, rng) for x in values]


def diameter_declared(data: list[float], rng: Any) -> list[float]:
    """Every value with noise of the declared diameter."""
    return [laplace(clip(x, -1e6, 1e6), 2e6, rng) for x in data]


class Features:
    """Noisy means of the four features of degree one, of n = 2 rows."""

    def __init__(self, name: str, scale: float) -> None:
        self.name, self.scale = name, scale

    def __call__(self, data: np.ndarray, rng: Any) -> np.ndarray:
        return self.batch(data, 1, rng)[0]

    def batch(self, data: np.ndarray, count: int, rng: Any) -> np.ndarray:
        mean = np.clip(np.nan_to_num(data, nan=0.0), -1.0, 1.0).sum(axis=0) / 2
        return np.asarray(mean + rng.laplace(0, self.scale, (count, len(mean))))


def cosines(data: np.ndarray) -> np.ndarray:
    """Means of cos(r arccos x), r = 0..7, of n = 2 rows."""
    rows = np.clip(np.nan_to_num(data, nan=0.0), -1.0, 1.0)
    return np.asarray(np.cos(np.arange(8) * np.arccos(rows[:, None])).sum(axis=0) / 2)


def noisy_scale(data: np.ndarray, rng: Any) -> np.ndarray:
    """Second moments of rows with the noise scaled by a noisy mean of their squares."""
    rows = np.clip(np.nan_to_num(data, nan=0.0), -10.0, 10.0)
    size = abs(float((rows * rows).sum()) / 10 + rng.laplace(0, 20.0))
    noise = rng.laplace(0, 1, 3) * size / 10
    moments = np.array([*(rows * rows).sum(axis=0), (rows[:, 0] * rows[:, 1]).sum()]) / 10
    return np.round((moments + noise) * 2**12) / 2**12


def public_scale(data: np.ndarray, rng: Any) -> np.ndarray:
    """Second moments with noise by a public bound: three entries of at most 100 / 10 each."""
    rows = np.clip(np.nan_to_num(data, nan=0.0), -10.0, 10.0)
    moments = np.array([*(rows * rows).sum(axis=0), (rows[:, 0] * rows[:, 1]).sum()]) / 10
    return np.round((moments + rng.laplace(0, 30.0, 3)) * 2**12) / 2**12


def median_scores(score: Any) -> Any:
    """The scores of all answers of the exponential mechanism for the median."""
    return lambda table: [score(table, answer) for answer in (0.0, 0.5, 1.0)]


def signed(table: list[float], answer: float) -> float:
    """The score without its absolute value: sensitivity 2 under replacement."""
    return float(sum(x >= answer for x in table) - sum(x <= answer for x in table))


def tie_safe(table: list[float], answer: float) -> float:
    """The tie-safe score: sensitivity 1."""
    half = len(table) / 2
    more, less = sum(x >= answer for x in table), sum(x <= answer for x in table)
    return -abs(min(half, more) - min(half, less))


def keep(epsilon: float, delta: float, part: float) -> np.ndarray:
    """Keep one of five categories, else a uniform other one; `part` of the least change probability."""
    m = 4
    p = part * (1 - delta) / (m + math.exp(epsilon))
    return np.full((5, 5), p) + np.eye(5) * (1 - p * (m + 1))


def player(data: np.ndarray) -> np.ndarray:
    """Forty sign queries of the ages (22 to 38) of 200 players: what one player moves."""
    return np.asarray(SIGNS @ np.clip(np.nan_to_num(data, nan=22.0), 22, 38))


AGES = np.full(200, 30.0)
ONE = {"inputs": [0.5], "records": [0.0, 1.0], "adjacency": "replace"}
CELLS = {"inputs": np.zeros(200), "adjacency": "l1"}
CUBE = {"inputs": np.array([[0.5] * 4, [0.1] * 4]), "adjacency": "replace"}
LINE = {"inputs": np.array([0.5, 0.1]), "adjacency": "replace", "records": [*np.linspace(-1, 1, 41)]}
MOMENTS = {"inputs": np.array([[0.5, -0.5], [1.0, 0.0]])}
RETURNED = {"inputs": [0.5, 0.25], "adjacency": "replace"}

K, EPSILON, DELTA = 1000, 10.0, 1e-3
PRINTED = math.sqrt(2 * K * math.log(1 / DELTA)) / EPSILON  # the scale of Laplace II
SECOND = Approximate(EPSILON, DELTA)
CALIBRATED = 1.10 * PRINTED


def by_accounting(parts: Any, claim: Any, **_: Any) -> Any:
    """The accounting door in the order of arguments of a case."""
    return audit_accounting(parts, claim)


def by_law(laws: Any, claim: Any, neighbors: Any = None, **_: Any) -> Any:
    """The door for exact laws."""
    return audit_law(laws, claim, neighbors=neighbors)


def by_sensitivity(function: Any, claimed: float, norm: str = "l1", **options: Any) -> Any:
    """The door for exact parts."""
    known = ("inputs", "adjacency", "bounds", "records")
    kept = {key: value for key, value in options.items() if key in known}
    part, limit = function
    return audit_sensitivity(part, limit, norm, **kept)


CASES = [
    Case(
        "keys at the threshold",
        14,
        keys_at,
        keys_above,
        Approximate(1.0, TAIL * math.exp(-1) * 1.001),
        {"inputs": ["a", "a", "b"]},
    ),
    Case("Wishart noise", 15, wishart, symmetric, Pure(1.0), {"inputs": np.array([[0.5, 0.5], [1.0, 0.0]])}),
    Case(
        "Laplace scale 2 for 40 queries",
        21,
        Queries("2 / eps", 2.0),
        Queries("d / eps", 40.0),
        Pure(1.0, assumptions=REAL),
        CELLS,
    ),
    Case(
        "half the density noise at (3, .1)",
        22,
        Density("half", 3.0, 0.1, 0.5),
        Density("full", 3.0, 0.1, 1.0),
        Approximate(3.0, 0.1, assumptions=REAL),
        ONE,
    ),
    Case(
        "half the density noise at (1, 1e-3)",
        22,
        Density("half", 1.0, 1e-3, 0.5),
        Density("full", 1.0, 1e-3, 1.0),
        Approximate(1.0, 1e-3, assumptions=REAL),
        ONE,
        heavy=True,
    ),
    Case("diameter from the data", 22, diameter_from_data, diameter_declared, Pure(1.0), RETURNED),
    Case(
        "feature noise d / n, degree one",
        23,
        Features("d / n", 4 / 2),
        Features("2 d / n", 8 / 2),
        Pure(1.0, assumptions=REAL),
        CUBE,
    ),
    Case("feature noise t / n", 23, (cosines, 8 / 2), (cosines, 16 / 2), 1.0, LINE, by=by_sensitivity),
    Case(
        "Laplace II",
        23,
        [(LaplaceNoise(1.0, PRINTED), K)],
        [(LaplaceNoise(1.0, CALIBRATED), K)],
        SECOND,
        by=by_accounting,
    ),
    Case(
        "1.5 delta of algorithm 10",
        23,
        [Approximate(0.5, 5e-4), Approximate(0.5, 1e-3)],
        [Approximate(0.5, 5e-4), Approximate(0.5, 5e-4)],
        Approximate(1.0, 1e-3),
        by=by_accounting,
    ),
    Case("noise scaled by a noisy mean", 23, noisy_scale, public_scale, Pure(1.0), MOMENTS, heavy=True),
    Case(
        "Gauss beyond epsilon 1",
        0,
        [GaussianNoise(1.0, math.sqrt(2 * math.log(1.25 / 0.5)) / 6)],
        [GaussianNoise(1.0, 0.6)],
        Approximate(6.0, 0.5),
        by=by_accounting,
    ),
    Case(
        "median score without absolute value",
        0,
        (median_scores(signed), 1.0),
        (median_scores(tie_safe), 1.0),
        1.0,
        {"inputs": [0.0, 0.5, 1.0], "adjacency": "replace", "norm": "linf", "bounds": (0.0, 1.0)},
        by=by_sensitivity,
    ),
    Case("category kept too often", 0, keep(1.0, 0.1, 0.8), keep(1.0, 0.1, 1.0), Approximate(1.0, 0.1), by=by_law),
    Case(
        "one year instead of one player",
        0,
        (player, 40.0),
        (player, 16 * 40.0),
        1.0,
        {"inputs": AGES, "adjacency": "replace", "bounds": (22.0, 38.0)},
        by=by_sensitivity,
    ),
]
