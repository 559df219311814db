"""Private functions: paths of a million points, how their cost grows, and how much noise exact calibration saves.

Run `python benchmarks/functions.py --json [--quick | --full]`: one JSON object per line with the figure, its value, the
target and whether it holds.  Without `--json` a table; `--plot growth.svg` draws the cost of a path against its points.
Paths of a million points are drawn in processes of their own, whose processor time and peak memory are reported.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from curve_figures import covering, densities
from figures import Figure

from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate
from sfumato.randomness import Rng, secure
from sfumato.reference.process_path import FunctionQuery, ProcessPath, density_sensitivity
from sfumato.sampling.processes import MarkovPath, Torus, grid_path, series_path, supremum_quantile
from sfumato.sampling.processes.kernels import Gaussian, Matern12, Matern32, Matern52, Tensor

MILLION = 1_000_000
SECONDS, GIGABYTES = 10.0, 2.0
GROWTH = 2.0  # of the time per point and level, from 2^17 points to 2^20


@dataclass(frozen=True)
class Size:
    """How much to measure."""

    largest: int  # exponent of the number of points
    repeats: int
    paths: int  # of the coverage of bands
    runs: int  # of the coverage of released curves
    peer: tuple[int, int]  # rows and points of the kernel estimate that is extrapolated


SIZES = {
    "quick": Size(largest=18, repeats=3, paths=4000, runs=1000, peer=(20_000, 1000)),
    "usual": Size(largest=20, repeats=5, paths=10_000, runs=2000, peer=(50_000, 2000)),
    "full": Size(largest=22, repeats=11, paths=40_000, runs=10_000, peer=(200_000, 5000)),
}


def _line(kernel: object, count: int, rng: Rng) -> None:
    grid_path(kernel, (0.0,), (1.0,), (count,), rng)  # type: ignore[arg-type]


def _markov(kernel: object, count: int, rng: Rng) -> None:
    MarkovPath(kernel).at(np.linspace(0, 1, count), rng)  # type: ignore[arg-type]


def _series(count: int, rng: Rng) -> None:
    basis = Torus((0.0,), (1.0,), (1.2,), (160,))
    series_path(Gaussian(0.01), basis, rng).on_grid((count,))


def _solid(count: int, rng: Rng) -> None:
    side = round(count ** (1 / 3))
    kernel = Tensor((Gaussian(0.1), Matern32(0.1), Matern52(0.1)))
    grid_path(kernel, (0.0,) * 3, (1.0,) * 3, (side,) * 3, rng)


def _plane(kernel: object, count: int, rng: Rng) -> None:
    side = round(math.sqrt(count))
    grid_path(kernel, (0.0,) * 2, (1.0,) * 2, (side,) * 2, rng)  # type: ignore[arg-type]


# ways to draw a path on a grid of `count` points of the unit interval, square or cube
WAYS: dict[str, Callable[[int, Rng], None]] = {
    "circulant, Gaussian kernel": lambda count, rng: _line(Gaussian(0.01), count, rng),
    "circulant, Matern 1/2": lambda count, rng: _line(Matern12(0.1), count, rng),
    "Markov, Matern 1/2": lambda count, rng: _markov(Matern12(0.1), count, rng),
    "Markov, Matern 5/2": lambda count, rng: _markov(Matern52(0.1), count, rng),
    "series of 321 waves, Gaussian kernel": lambda count, rng: _series(count, rng),
    "square, circulant, Matern 3/2": lambda count, rng: _plane(Matern32(0.1, 2), count, rng),
    "square, Kronecker, Gaussian kernel": lambda count, rng: _plane(Gaussian(0.05, 2), count, rng),
    "cube, Kronecker, three kernels": lambda count, rng: _solid(count, rng),
}
GROWING = ["circulant, Gaussian kernel", "Markov, Matern 5/2", "series of 321 waves, Gaussian kernel"]


def millions() -> Iterator[Figure]:
    """A path on a million points: seconds and memory of a process that draws one."""
    for way in WAYS:
        command = [sys.executable, __file__, "--alone", way]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds, memory = found["seconds"], found["gigabytes"]
        yield Figure(f"seconds for 10^6 points: {way}", seconds, f"< {SECONDS:g}", seconds < SECONDS)
        yield Figure(f"gigabytes at the peak: {way}", memory, f"< {GIGABYTES:g}", memory < GIGABYTES)


def alone(way: str) -> None:
    """Draw one path and print what it took; runs in a process of its own."""
    rng = secure()
    start = time.process_time()
    WAYS[way](MILLION, rng)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"seconds": round(seconds, 3), "gigabytes": round(memory, 3)}))


def growth(size: Size, rng: Rng, points: list[dict[str, object]]) -> Iterator[Figure]:
    """Time over n log2 n at the largest size, against that three doublings before."""
    exponents = range(12, size.largest + 1)
    for way in GROWING:
        taken = {}
        for exponent in exponents:
            times = []
            for _ in range(size.repeats):
                start = time.process_time()
                WAYS[way](1 << exponent, rng)
                times.append(time.process_time() - start)
            taken[exponent] = statistics.median(times)
            points.append({"points": 1 << exponent, "seconds": taken[exponent], "way": way})
        late, early = (taken[e] / (e * 2.0**e) for e in (size.largest, size.largest - 3))
        name = f"time over n log n, 2^{size.largest} points against 2^{size.largest - 3}: {way}"
        yield Figure(name, round(late / early, 2), f"<= {GROWTH:g}", late / early <= GROWTH)


def later(rng: Rng) -> Iterator[Figure]:
    """Points asked after a path of a million was shown, each given its two neighbors."""
    path = MarkovPath(Matern52(0.1))
    start = time.process_time()
    path.at(np.linspace(0, 1, MILLION), rng)
    whole = time.process_time() - start
    start = time.process_time()
    path.at(np.random.default_rng(1).random(1000), rng)
    part = (time.process_time() - start) / whole
    yield Figure("1,000 new points after 10^6, over the time of those 10^6", round(part, 4), "<= 0.2", part <= 0.2)


def constants() -> Iterator[Figure]:
    """Exact calibration against the classical bound, and what the printed half-size noise really gives."""
    query = FunctionQuery("density", Gaussian(0.5), density_sensitivity(0.5, 1000))
    worst = 0.0
    for delta in (1e-9, 1e-6, 1e-3, 0.1):
        for epsilon in (0.01, 0.03, 0.1, 0.3, 1.0):
            classical = math.sqrt(2 * math.log(2 / delta)) * query.norm / epsilon
            worst = max(worst, ProcessPath.calibrate(query, Approximate(epsilon, delta)).sigma / classical)
    yield Figure("exact noise over the classical bound, worst of epsilon <= 1", round(worst, 3), "< 1", worst < 1)
    for epsilon, delta, printed in [(3.0, 0.1, 0.357), (1.0, 1e-3, 8.0e-3)]:
        half = math.sqrt(2 * math.log(2 / delta)) * query.norm / epsilon / 2
        found = gaussian_delta(half, query.norm, epsilon)
        name = f"true delta of the printed half-size noise at ({epsilon:g}, {delta:g})"
        yield Figure(name, float(f"{found:.3g}"), f"{printed:g}, above {delta:g}", abs(found / printed - 1) < 0.01)
    three = ProcessPath.calibrate(query, Approximate(3.0, 0.1)).sigma / query.norm
    yield Figure("noise over sensitivity at (3, 0.1), exact", round(three, 4), "", None)


def bands(size: Size, rng: Rng) -> Iterator[Figure]:
    """How often a path leaves its simultaneous 95 % band, on a fine grid."""
    for name, basis, kernel in [
        ("Gaussian kernel, length 0.05", Torus((0.0,), (1.0,), (1.5,), (40,)), Gaussian(0.05)),
        ("Matern 5/2, length 0.2", Torus((0.0,), (1.0,), (2.0,), (80,)), Matern52(0.2)),
    ]:
        band = supremum_quantile(basis, tuple(np.sqrt(basis.weights(kernel)).tolist()), 0.05)
        inside = sum(
            float(np.abs(series_path(kernel, basis, rng).on_grid((2001,))).max()) <= band for _ in range(size.paths)
        )
        share = inside / size.paths
        yield Figure(f"paths inside their 95 % band: {name}", share, "0.93 to 0.97", 0.93 <= share <= 0.97)


def curves(size: Size, rng: Rng) -> Iterator[Figure]:
    """Densities of a million rows, and released bands of every kind."""
    for line in (*densities(*size.peer), *covering(size.runs, rng)):
        yield Figure(*line)


def plot(points: list[dict[str, object]], path: str) -> None:
    """Seconds against points, with n log n beside them."""
    import altair as alt

    first = [point for point in points if point["points"] == 1 << 16]
    scale = max(float(str(point["seconds"])) for point in first) / (16 * 2.0**16)
    sizes = sorted({int(str(point["points"])) for point in points})
    rows = points + [{"points": n, "seconds": scale * n * math.log2(n), "way": "n log n"} for n in sizes]
    chart = alt.Chart(alt.InlineData(values=rows)).mark_line(point=True).encode(
        x=alt.X("points:Q", scale=alt.Scale(type="log"), title="grid points"),
        y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="processor seconds for one path"),
        color=alt.Color("way:N", title=None, legend=alt.Legend(labelLimit=300)),
    )  # fmt: skip
    chart.properties(width=520, height=340).save(path)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--alone", choices=list(WAYS), help=argparse.SUPPRESS)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", dest="size", action="store_const", const="quick")
    amount.add_argument("--full", dest="size", action="store_const", const="full")
    options = parser.parse_args()
    if options.alone:
        alone(options.alone)
        return
    size, rng, points = SIZES[options.size or "usual"], secure(), list[dict[str, object]]()
    for part in (millions(), growth(size, rng, points), later(rng), constants(), bands(size, rng), curves(size, rng)):
        for figure in part:
            if options.json:
                print(json.dumps(asdict(figure)), flush=True)
            else:
                verdict = {True: "holds", False: "FAILS", None: ""}[figure.holds]
                print(f"{figure.figure:84} {figure.value:>12g}  {figure.target:18} {verdict}", flush=True)
    if options.plot:
        plot(points, options.plot)


if __name__ == "__main__":
    main()
