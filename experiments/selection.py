"""Choosing instead of adding noise [Stemmer]: medians, popular items and thresholds, beside their bounds."""

from __future__ import annotations

import math

import numpy as np
from lines import Figure, Lines, Setting, check, points, row

import sfumato as sf
from sfumato.mechanisms import ThresholdDatabase
from sfumato.queries import bind
from sfumato.reference.calculators import net_sample_size, threshold_sample_size

GRID = 1001  # candidates in steps of 1/1000


def score(values: np.ndarray, n: int, kind: str) -> np.ndarray:
    """The scores of all points of the grid: as first printed, with an absolute value, and safe for ties."""
    counts = np.bincount(values, minlength=GRID)
    above, below = n - np.cumsum(counts) + counts, np.cumsum(counts)
    if kind == "printed":
        return below - above
    if kind == "absolute":
        return -np.abs(below - above)
    return -np.abs(np.minimum(n / 2, above) - np.minimum(n / 2, below))


def scores(setting: Setting) -> Lines:
    """Three scores of the median on a table with ties: which point wins, and how far replacing one row moves them."""
    n = 100
    tied = np.repeat([0, 1000], [75, 25])
    rng = np.random.default_rng(1)
    for kind in ("printed", "absolute", "safe for ties"):
        found = score(tied, n, kind)
        moved = 0.0
        for _ in range(setting.runs(400, 50)):
            table = rng.choice([0, 250, 500, 1000], n)
            other = table.copy()
            other[rng.integers(n)] = rng.choice([0, 250, 500, 1000])
            moved = max(moved, float(np.abs(score(table, n, kind) - score(other, n, kind)).max()))
        yield row(score=kind, best_point=int(np.argmax(found)) / 1000, its_score=float(found.max()),
                  score_of_the_median=float(found[0]), moves_by=moved)  # fmt: skip
    safe = score(tied, n, "safe for ties")
    yield check("the median, 0, wins by the score that is safe for ties", float(safe[0]), float(safe.max()),
                bool(safe[0] == safe.max() == 0))  # fmt: skip
    yield check("which one replaced row moves by at most 1", moved, 1.0, moved <= 1)


def median(setting: Setting) -> Lines:
    """Error in ranks of the median of a thousand points, beside the lecture's bound and the least possible."""
    n, beta, runs = 1000, 0.05, setting.runs(200, 40)
    rng = np.random.default_rng(2)
    tables = {"uniform": rng.integers(0, GRID, n), "skewed": (1000 * rng.beta(0.5, 3, n)).astype(int),
              "three quarters at 0": np.repeat([0, 1000], [750, 250])}  # fmt: skip
    for epsilon in (0.1, 1.0):
        printed = 4 / epsilon * math.log(GRID / beta)
        ours = sf.reference.exponential(list(range(GRID)), sensitivity=1, epsilon=epsilon)
        flip = sf.reference.permute_and_flip(list(range(GRID)), sensitivity=1, epsilon=epsilon)
        for name, values in tables.items():
            exact = score(values, n, "safe for ties")
            off = np.sort([-exact[ours.release(exact, setting.rng(run)).value] for run in range(runs)])
            quick = np.sort([-exact[flip.release(exact, setting.rng(run)).value] for run in range(runs)])
            at = math.ceil((1 - beta) * runs) - 1
            yield row(
                **{
                    "epsilon": epsilon,
                    "table": name,
                    "printed bound (95 %)": printed,
                    "our bound (95 %)": ours.error(beta),
                    "exponential (95 % of runs)": off[at],
                    "permute and flip": quick[at],
                }
            )
            yield check(f"the printed bound covers 95 %: {name}, epsilon = {epsilon:g}", float(off[at]), printed,
                        bool(off[at] <= printed))  # fmt: skip


def popular(setting: Setting) -> Lines:
    """A film that many like: how many fewer like the chosen one, beside the bound."""
    films, people, epsilon, beta, runs = 50, 2000, 0.5, 0.05, setting.runs(1000, 200)
    rng = np.random.default_rng(3)
    likes = rng.random((people, films)) < np.linspace(0.05, 0.4, films)
    counts = likes.sum(axis=0)
    chosen = sf.reference.exponential(list(range(films)), sensitivity=1, epsilon=epsilon)
    flip = sf.reference.permute_and_flip(list(range(films)), sensitivity=1, epsilon=epsilon)
    printed = 2 / epsilon * math.log(films / beta)
    assert math.isclose(chosen.error(beta), printed, rel_tol=1e-3)  # one bound, of both
    assert math.isclose(flip.error(beta), printed, rel_tol=1e-3)
    at = math.ceil((1 - beta) * runs) - 1
    for name, mechanism in (("exponential", chosen), ("permute and flip", flip)):
        off = np.sort([counts.max() - counts[mechanism.release(counts, setting.rng(run)).value] for run in range(runs)])
        yield row(**{"mechanism": name, "bound (95 %), as printed and ours": printed,
                     "fewer likes, at most, in 95 % of runs": int(off[at])})  # fmt: skip
        yield check(f"within the bound: {name}", int(off[at]), printed, bool(off[at] <= printed))


def thresholds(setting: Setting) -> Lines:
    """1,000 grid points, n = 10^4, epsilon 1: how often every threshold is within 0.05."""
    generator, runs = np.random.default_rng(1), setting.runs(25, 3)
    question = bind(sf.thresholds("x"), sf.Schema({"x": sf.Integers(0, 999)}, size=10_000))
    mechanism = ThresholdDatabase.calibrate(question, sf.Pure(1.0))
    tables = {
        "normal": generator.normal(500, 120, 10_000), "uniform": generator.integers(0, 1000, 10_000),
        "skewed": 999 * generator.beta(0.3, 2, 10_000), "five values": 200 * generator.integers(0, 5, 10_000),
    }  # fmt: skip
    errors: list[float] = []
    for name, values in tables.items():
        counts = np.bincount(np.clip(values, 0, 999).astype(int), minlength=1000)
        truth = np.cumsum(counts) / 10_000
        released = [question.estimate(mechanism.release(counts, setting.rng(s))) for s in range(runs)]
        found = [float(np.abs(one - truth).max()) for one in released]
        errors += found
        yield row(table=name, rows_of_the_small_database=mechanism.rows, mean_worst_error=float(np.mean(found)),
                  largest_worst_error=max(found))  # fmt: skip
        if name == "skewed":
            at = range(0, 1000, 20)
            yield points("thresholds", [{"x": x, "truth": truth[x], "released": float(released[0][x])} for x in at])
    share = float(np.mean(np.array(errors) <= 0.05))
    yield check("share of runs with every threshold within 0.05", share, 0.95, share >= 0.95)
    needed = threshold_sample_size(0.05, 1.0, 1000)
    yield row(table="rows that the bound asks for", rows_of_the_small_database=needed, mean_worst_error=0.05,
              largest_worst_error=None)  # fmt: skip
    yield row(table="the same for any thousand counting queries",
              rows_of_the_small_database=net_sample_size(0.05, 1.0, 1000, 1000), mean_worst_error=0.05,
              largest_worst_error=None)  # fmt: skip
    yield check("rows that the bound asks for", needed, 10_000, needed <= 10_000)


FIGURES = {
    "selection-scores": Figure("The median's scores: as printed, and safe for ties", scores),
    "selection-median": Figure("The median of a thousand points: error in ranks", median),
    "selection-popular": Figure("The most popular of fifty films, epsilon 0.5", popular),
    "selection-thresholds": Figure("A thousand thresholds from a small database", thresholds),
}
