"""K-norm noise: errors on sign matrices, checks of the walk, and seconds per effective sample against hit-and-run.

Run `python benchmarks/geometry.py --json [--quick | --full]`: one JSON object per line with the figure, its value, the
target and whether it holds.  Without `--json` a table.  Times are processor times of one thread, and ratios come from
rounds in which both walks run in turn.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
from figures import Figure

from sfumato.randomness import Rng, secure
from sfumato.sampling.bodies import Hull, knorm, sampler
from sfumato.sampling.bodies.bouncing import Path, bounce
from sfumato.sampling.bodies.diagnostics import diagnose, effective_size, features
from sfumato.sampling.bodies.hit_and_run import hit_and_run

Reals = npt.NDArray[np.float64]

LEVEL = 1e-6  # of each two-sample test
ERRORS = [(50, 5, 7.5, 0.2), (1000, 10, 20.0, 0.4), (200, 20, 41.9, 1.0), (200, 40, 78.0, 2.0)]
MORE = {5: 20, 10: 6, 20: 2, 40: 1}  # draws in small dimension, where norms vary more and draws cost less


@dataclass(frozen=True)
class Size:
    """How much to measure."""

    draws: int
    compared: int
    twenty: int
    rounds: int
    redraws: int  # of the bouncy-particle sampler in a timed round
    steps: int  # of hit-and-run


SIZES = {
    "quick": Size(draws=1000, compared=5_000, twenty=600, rounds=1, redraws=4_000, steps=10_000),
    "usual": Size(draws=6000, compared=20_000, twenty=2000, rounds=3, redraws=8_000, steps=30_000),
    "full": Size(draws=10_000, compared=50_000, twenty=10_000, rounds=7, redraws=20_000, steps=100_000),
}


def signs(n: int, d: int) -> Hull:
    """The hull of a sign matrix, always the same one."""
    return Hull(np.random.default_rng(1).choice([-1.0, 1.0], size=(d, n)))


def errors(size: Size, rng: Rng) -> Iterator[Figure]:
    """Mean l2 errors at rate 1, by the walk; and by the exact sampler where that is quick."""
    for n, d, target, within in ERRORS:
        hull = signs(n, d)
        methods = ["walk"] if sampler(hull) == "walk" or d == 20 else ["walk", sampler(hull)]
        for method in methods:
            draws, _ = knorm(hull, 1.0, MORE[d] * size.draws, rng, method=method)
            mean = float(np.linalg.norm(draws, axis=1).mean())
            name = f"K-norm mean l2 error, n={n}, d={d}, {method}"
            yield Figure(name, round(mean, 3), f"{target:g} +- {within:g}", abs(mean - target) <= within)


def checks(size: Size, rng: Rng) -> Iterator[Figure]:
    """The identities of the walk, and its gauges by an independent linear program."""
    for n, d in [(200, 20), (200, 40)]:
        hull = signs(n, d)
        paths = [bounce(hull.frame, size.draws // 4, 6, rng) for _ in range(4)]
        points, normals = (np.stack([getattr(path, name) for path in paths]) for name in ("points", "normals"))
        moment = np.einsum("cti,ctj->ij", points, normals) / (points.shape[0] * points.shape[1])
        # an entry's standard error is at most sqrt(E z_i^2 y_j^2 / effective), and there are d^2 of them
        spread = math.sqrt(float(np.einsum("cti,ctj->ij", points**2, normals**2).max()) / points[..., 0].size)
        found = diagnose(points, normals, "walk")
        gap, allowed = float(np.abs(moment - np.eye(d)).max()), 6 * spread / math.sqrt(found.effective or 1)
        yield Figure(f"largest entry of E[z y^T] - I, d={d}", round(gap, 4), f"<= {allowed:.3f}", gap <= allowed)
        yield Figure(f"split R-hat, d={d}", round(found.rhat or 9, 4), "<= 1.05", (found.rhat or 9) <= 1.05)
        tested = points[0, :40] @ hull.frame.lift.T
        program = hull.gauge_by_program(tested)
        worst = float(np.abs((points[0, :40] * normals[0, :40]).sum(axis=1) / program - 1).max())
        yield Figure(f"gauges against a linear program, relative, d={d}", worst, "<= 1e-9", worst <= 1e-9)


def agreement(size: Size, rng: Rng) -> Iterator[Figure]:
    """The walk against the exact sampler: the largest Kolmogorov-Smirnov distance over the critical one."""
    for n, d, count in [(50, 5, size.compared), (200, 20, size.twenty)]:
        hull = signs(n, d)
        exact, found = knorm(hull, 1.0, count, rng)
        paths = [bounce(hull.frame, count // 4, 12, rng) for _ in range(4)]
        walk = np.concatenate([path.points for path in paths]) @ hull.frame.lift.T
        name = f"walk against {found.method}, n={n}, d={d}, {count} draws each: distance over critical"
        ratio, control = (distance(exact, factor * walk) for factor in (1.0, 1.1))
        yield Figure(name, round(ratio, 3), "<= 1", ratio <= 1)
        powerful = f"{name}, walk 10 % too large"
        enough = size.rounds > 1  # a quick run draws too few to demand it
        yield Figure(powerful, round(control, 3), "> 1" if enough else "", control > 1 if enough else None)


def distance(first: Reals, second: Reals) -> float:
    """The largest distance of the laws of a watched figure, over the critical distance of all together."""
    ours, theirs = features(first), features(second)
    share = LEVEL / ours.shape[1]
    critical = math.sqrt(math.log(2 / share) / 2) * math.sqrt(1 / len(ours) + 1 / len(theirs))
    largest = 0.0
    for a, b in zip(ours.T, theirs.T, strict=True):
        both = np.concatenate([a, b])
        left, right = (np.searchsorted(np.sort(x), both, side="right") / len(x) for x in (a, b))
        largest = max(largest, float(np.abs(left - right).max()))
    return largest / critical


def speed(size: Size, rng: Rng) -> Iterator[Figure]:
    """Seconds per effective sample: the worst of coordinates, their squares and norms."""
    for d, target in [(20, 20), (40, 30)]:
        hull = signs(200, d)
        bounce(hull.frame, 10, 1, rng)
        hit_and_run(hull.frame, 10, 1, 10, rng)
        thin = d // 4
        rounds = []
        for _ in range(size.rounds):
            ours = seconds_per_effective(hull, lambda h: bounce(h.frame, size.redraws, 1, rng))
            theirs = seconds_per_effective(hull, lambda h, t=thin: hit_and_run(h.frame, size.steps // t, t, 0, rng))
            rounds.append((ours, theirs, theirs / ours))
        ours, theirs, ratio = (statistics.median(column) for column in zip(*rounds, strict=True))
        yield Figure(f"seconds per effective sample, bouncy particle, n=200, d={d}", round(ours, 6), "", None)
        yield Figure(f"seconds per effective sample, hit-and-run, n=200, d={d}", round(theirs, 5), "", None)
        name = f"hit-and-run over bouncy particle, n=200, d={d}"
        yield Figure(name, round(ratio, 1), f">= {target}", ratio >= target)


def seconds_per_effective(hull: Hull, walk: object) -> float:
    """Processor time of a chain, its start and burn-in included, over its least effective size."""
    start = time.process_time()
    path: Path = walk(hull)  # type: ignore[operator]
    spent = time.process_time() - start
    series = features(path.points @ hull.frame.lift.T)[None]
    return spent / float(effective_size(series).min())


def release_times(rng: Rng) -> Iterator[Figure]:
    """How long one independent draw takes, with a chain of its own where it is a walk."""
    for n, d, _, _ in ERRORS:
        hull = signs(n, d)
        sampler(hull)
        knorm(hull, 1.0, 1, rng)
        start = time.process_time()
        for _ in range(5):
            knorm(hull, 1.0, 1, rng)
        spent = (time.process_time() - start) / 5
        yield Figure(f"seconds for one independent draw, n={n}, d={d}, {sampler(hull)}", round(spent, 5), "", None)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", dest="size", action="store_const", const="quick")
    amount.add_argument("--full", dest="size", action="store_const", const="full")
    options = parser.parse_args()
    size, rng = SIZES[options.size or "usual"], secure()
    for part in (errors(size, rng), checks(size, rng), agreement(size, rng), speed(size, rng), release_times(rng)):
        for figure in part:
            if options.json:
                print(json.dumps(asdict(figure)), flush=True)
            else:
                verdict = {True: "holds", False: "FAILS", None: ""}[figure.holds]
                print(f"{figure.figure:84} {figure.value:>12g}  {figure.target:14} {verdict}", flush=True)


if __name__ == "__main__":
    main()
