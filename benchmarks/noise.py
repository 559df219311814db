"""Exact noise against the unsafe floor and against hardened peers, in one run.

Run `python benchmarks/noise.py --json [--quick | --full]`: one JSON object per line with the figure, its
value, the target and whether it holds.  Without `--json` a table; `--plot noise.svg` also draws it.  Speeds
are ratios within this run, in processor time of one thread.  Peers that are not installed are named with
the way to install them; a peer too slow for the full number of draws is measured on fewer and marked
`extrapolated`.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from figures import Figure
from scipy import stats

from sfumato.randomness import secure
from sfumato.sampling import (
    CubeNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    RoundedNormal,
    Staircase,
    choose,
    permute_and_flip,
)

INSTALL = "pip install 'sfumato[bench]' 'scikit-learn<1.8'"
SCALES = (10.0, 1e6)


@dataclass(frozen=True)
class Size:
    """How much to measure."""

    draws: int
    repeats: int
    peer: int
    singles: int
    selections: int


SIZES = {
    "quick": Size(draws=200_000, repeats=5, peer=2_000, singles=4_000, selections=1_000),
    "usual": Size(draws=1_000_000, repeats=15, peer=20_000, singles=20_000, selections=5_000),
    "full": Size(draws=1_000_000, repeats=60, peer=1_000_000, singles=100_000, selections=50_000),
}


@dataclass(frozen=True)
class Speed:
    """Draws per second of one package."""

    package: str
    law: str
    scale: float
    per_second: float
    kind: str  # exact, hardened, floating
    extrapolated: bool = False


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """The processor time of one call: everything here is one thread, and other work does not count."""
    start = clock()
    work()
    return clock() - start


def side_by_side(works: list[Callable[[], object]], repeats: int) -> list[float]:
    """The median time of each, measured in turns so that a busy machine hurts all alike."""
    for work in works:
        work()
    rounds = [[seconds(work) for work in works] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def own_speeds(size: Size) -> Iterator[Speed]:
    """Ours and numpy's at both scales."""
    rng, floating = secure(), np.random.default_rng()
    n = size.draws
    for scale in SCALES:
        entries = [
            ("sfumato", "laplace", "exact", lambda s=scale: DiscreteLaplace(s).sample(n, rng)),
            ("numpy", "laplace", "floating", lambda s=scale: floating.laplace(0.0, s, n)),
            ("sfumato", "gaussian", "exact", lambda s=scale: DiscreteGaussian(s).sample(n, rng)),
            ("numpy", "gaussian", "floating", lambda s=scale: floating.normal(0.0, s, n)),
            ("sfumato", "rounded normal", "exact", lambda s=scale: RoundedNormal(s).sample(n, rng)),
            ("sfumato", "geometric", "exact", lambda s=scale: Geometric(s).sample(n, rng)),
            ("sfumato", "staircase", "exact", lambda s=scale: Staircase(int(s), 1.0, 3).sample(n, rng)),
            ("sfumato", "cube, d = 10", "exact", lambda s=scale: CubeNoise(s, 10).sample(n // 10, rng)),
        ]
        times = side_by_side([entry[3] for entry in entries], size.repeats)
        for (package, law, kind, _), spent in zip(entries, times, strict=True):
            yield Speed(package, law, scale, n / spent, kind)


def peer_samplers(missing: list[str]) -> Iterator[tuple[str, str, float, str, Callable[[int], object]]]:
    """Package, law, scale, kind and a function that draws n times, for each installed peer."""
    for load in (_opendp, _diffprivlib, _python_dp):
        try:
            yield from load()
        except ImportError as error:
            missing.append(f"{load.__name__[1:]} ({error.name or 'not importable'})")


def _opendp() -> Iterator[tuple[str, str, float, str, Callable[[int], object]]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    for scale in SCALES:
        integers = dp.vector_domain(dp.atom_domain(T=int))
        reals = dp.vector_domain(dp.atom_domain(T=float, nan=False))
        laplace = dp.m.make_laplace(integers, dp.l1_distance(T=int), scale=scale)
        on_floats = dp.m.make_laplace(reals, dp.l1_distance(T=float), scale=scale)
        gaussian = dp.m.make_gaussian(integers, dp.l2_distance(T=float), scale=scale)
        yield "opendp", "laplace", scale, "exact", lambda n, m=laplace: m([0] * n)
        yield "opendp on floats", "laplace", scale, "hardened", lambda n, m=on_floats: m([0.0] * n)
        yield "opendp", "gaussian", scale, "exact", lambda n, m=gaussian: m([0] * n)


def _diffprivlib() -> Iterator[tuple[str, str, float, str, Callable[[int], object]]]:
    from diffprivlib.mechanisms import GaussianDiscrete, Geometric, Laplace, Snapping

    for scale in SCALES:
        for law, name, kind in [
            (Laplace(epsilon=1 / scale, delta=0.0, sensitivity=1), "laplace", "hardened"),
            (Geometric(epsilon=1 / scale, sensitivity=1), "laplace", "floating"),
            (
                Snapping(epsilon=max(1 / scale, 1e-3), sensitivity=1.0, lower=-1e9, upper=1e9),
                "laplace",
                "hardened",
            ),
        ]:
            package = f"diffprivlib {type(law).__name__}"
            yield package, name, scale, kind, lambda n, m=law: [m.randomise(0) for _ in range(n)]
    gaussian = GaussianDiscrete(epsilon=0.5, delta=1e-5, sensitivity=1)  # scale about 7
    yield (
        "diffprivlib GaussianDiscrete", "gaussian", SCALES[0], "hardened",
        lambda n: [gaussian.randomise(0) for _ in range(n)],
    )  # fmt: skip


def _python_dp() -> Iterator[tuple[str, str, float, str, Callable[[int], object]]]:
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism, LaplaceMechanism

    for scale in SCALES:
        laplace = LaplaceMechanism(epsilon=1 / scale, sensitivity=1.0)
        gaussian = GaussianMechanism(4.0 / scale, 1e-5, 1.0)
        yield "python-dp", "laplace", scale, "hardened", lambda n, m=laplace: [m.add_noise(0) for _ in range(n)]
        yield "python-dp", "gaussian", scale, "hardened", lambda n, m=gaussian: [m.add_noise(0) for _ in range(n)]


def peer_speeds(size: Size, missing: list[str]) -> Iterator[Speed]:
    """Every installed peer; fewer draws than ours, and marked so, unless the run is full."""
    for package, law, scale, kind, sampler in peer_samplers(missing):
        sampler(100)
        spent = min(seconds(lambda s=sampler: s(size.peer)) for _ in range(2))
        yield Speed(package, law, scale, size.peer / spent, kind, size.peer < size.draws)


def throughput(speeds: list[Speed], missing: list[str]) -> Iterator[Figure]:
    """Ratios to the floating floor and to the fastest peer that resists the known attacks."""
    for law, least in (("laplace", 1 / 2), ("gaussian", 1 / 6)):
        for scale in SCALES:
            here = {s.package: s for s in speeds if (s.law, s.scale) == (law, scale)}
            ratio = here["sfumato"].per_second / here["numpy"].per_second
            name = f"discrete {law} / numpy, scale {scale:g}"
            yield Figure(name, round(ratio, 3), f">= {least:.3g}", ratio >= least)
            peers = [s for s in here.values() if s.package not in ("sfumato", "numpy") and s.kind != "floating"]
            name = f"discrete {law} / fastest hardened peer, scale {scale:g}"
            if not peers:
                yield Figure(name, f"no peer here; {INSTALL}", ">= 50", None)
                continue
            best = max(peers, key=lambda s: s.per_second)
            ratio = here["sfumato"].per_second / best.per_second
            mark = " (extrapolated)" if best.extrapolated else ""
            yield Figure(f"{name}: {best.package}{mark}", round(ratio, 1), ">= 50", ratio >= 50)
    for name in missing:
        yield Figure(f"peer missing: {name}", INSTALL, "installed", None)


def singles(size: Size) -> Iterator[Figure]:
    """One draw at a time, warm; and what the first draw of a scale costs."""
    rng = secure()
    laws = [law(scale) for law in (DiscreteLaplace, DiscreteGaussian, RoundedNormal) for scale in SCALES]
    for law in [*laws, Staircase(1000, 1.0, 300)]:
        fresh = Staircase(1001, 1.0, 300) if isinstance(law, Staircase) else type(law)(_scale(law) * 1.001)
        first = seconds(lambda one=fresh: one.sample((), rng), time.perf_counter)
        spent = [seconds(lambda one=law: one.sample((), rng), time.perf_counter) for _ in range(size.singles)]
        middle = statistics.median(spent) * 1e6
        yield Figure(f"one warm draw of {law}, microseconds", round(middle, 2), "< 20", middle < 20)
        yield Figure(f"first draw of {fresh}, milliseconds", round(first * 1e3, 2), "", None)


def _scale(law: DiscreteLaplace | DiscreteGaussian | RoundedNormal) -> float:
    return law.scale if isinstance(law, DiscreteLaplace) else law.sigma


def selection(size: Size) -> Iterator[Figure]:
    """Selections among 1,000 scored candidates, and one pass over a million."""
    rng, scores = secure(), np.random.default_rng(1).integers(0, 1000, 1000)
    many = np.random.default_rng(2).integers(0, 1000, 10**6)
    for select in (choose, permute_and_flip):
        chunk = max(1, size.selections // 10)
        spent = min(seconds(lambda s=select, k=chunk: [s(scores, 0.05, rng) for _ in range(k)]) for _ in range(10))
        rate = chunk / spent
        yield Figure(f"{select.__name__} among 1,000, per second", round(rate), ">= 20000", rate >= 20_000)
        spent = min(seconds(lambda s=select: s(many, 0.05, rng)) for _ in range(size.repeats))
        yield Figure(f"{select.__name__} among 1,000,000, milliseconds", round(spent * 1e3, 2), "", None)


def peer_selection(size: Size) -> Iterator[Figure]:
    """The same selection by the installed peers; only opendp's resists floating-point attacks."""
    scores = np.random.default_rng(1).integers(0, 1000, 1000).tolist()
    for load in (_opendp_selection, _diffprivlib_selection):
        try:
            peers = list(load(scores))
        except ImportError:
            continue  # already reported among the missing
        for name, select in peers:
            count = max(20, size.selections // 50)
            spent = min(seconds(lambda s=select, k=count: [s() for _ in range(k)]) for _ in range(2))
            yield Figure(f"peer: {name} among 1,000, per second", round(count / spent), "", None)


def _opendp_selection(scores: list[int]) -> Iterator[tuple[str, Callable[[], object]]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain, metric = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    flip = dp.m.make_noisy_max(domain, metric, dp.max_divergence(), scale=20.0)
    gumbel = dp.m.make_noisy_max(domain, metric, dp.zero_concentrated_divergence(), scale=20.0)
    yield "opendp noisy max (permute and flip)", lambda: flip(scores)
    yield "opendp noisy max (Gumbel)", lambda: gumbel(scores)


def _diffprivlib_selection(scores: list[int]) -> Iterator[tuple[str, Callable[[], object]]]:
    from diffprivlib.mechanisms import Exponential, PermuteAndFlip

    for kind in (Exponential, PermuteAndFlip):
        mechanism = kind(epsilon=0.1, sensitivity=1, utility=[-score for score in scores])
        yield f"diffprivlib {kind.__name__} (floating)", mechanism.randomise


def coin_by_coin(scale: float, rng: object) -> int:
    """The textbook exact sampler, one coin a unit: its time is its value."""
    heads, z = math.floor(2**64 * math.exp(-1 / scale)), 0
    while rng.word() < heads:  # type: ignore[attr-defined]
        z += 1
    return z


def timing(size: Size) -> Iterator[Figure]:
    """Rank correlation between the time of a single draw and its size; and of a batch and its mean size.

    A single draw may show less than one percent of the variance of its size (Python's integers have one
    or two digits); for batches the target is 4.9 standard errors, a false alarm in a million.
    """
    rng = secure()
    for law in (DiscreteLaplace(10.0), DiscreteLaplace(1e6), DiscreteGaussian(1e6), RoundedNormal(1e6)):
        rho = rank_correlation(lambda one=law: one.sample((), rng), size.singles)
        yield Figure(f"time of one draw and its size, {law}", round(rho, 4), "< 0.1", abs(rho) < 0.1)
        count = size.singles // 20
        rho = rank_correlation(lambda one=law: float(np.abs(one.sample(1000, rng)).mean()), count)
        limit = 4.9 / math.sqrt(count)
        name = f"time of 1,000 draws and their mean size, {law}"
        yield Figure(name, round(rho, 4), f"< {limit:.3f}", abs(rho) < limit)
    rho = rank_correlation(lambda: coin_by_coin(10.0, rng), size.singles // 4)
    yield Figure("control: coin by coin, time and size", round(rho, 4), "> 0.5", rho > 0.5)


def rank_correlation(draw: Callable[[], float], count: int) -> float:
    """Spearman's correlation of time and absolute value."""
    spent, sizes = np.empty(count), np.empty(count)
    for i in range(count):
        start = time.perf_counter_ns()
        z = draw()
        spent[i] = time.perf_counter_ns() - start
        sizes[i] = abs(z)
    return float(stats.spearmanr(spent, sizes).statistic)


def importing() -> Iterator[Figure]:
    """What `import sfumato.sampling` adds to numpy; nothing is compiled."""
    code = "import time, numpy; t = time.perf_counter(); import sfumato.sampling; print(time.perf_counter() - t)"
    found = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3)]
    yield Figure("import of sfumato.sampling beyond numpy, milliseconds", round(min(found) * 1e3, 1), "", None)


def plot(speeds: list[Speed], path: str) -> None:
    """Draws per second, one point a package, law and scale, on a logarithmic axis."""
    import altair as alt

    rows = [asdict(s) | {"scale": f"scale {s.scale:g}"} for s in speeds if s.law in ("laplace", "gaussian")]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X("per_second:Q", title="draws per second", scale=alt.Scale(type="log")),
            y=alt.Y("package:N", title=None, sort="-x"),
            color=alt.Color("kind:N", title=None),
            shape=alt.Shape("scale:N", title=None),
            column=alt.Column("law:N", title=None),
        )
        .properties(width=280)
    )
    chart.save(path)


def show(speeds: list[Speed], figures: list[Figure]) -> None:
    """The same as two tables for a person."""
    print(f"{'package':30} {'law':16} {'scale':>8} {'per second':>14}  kind")
    for s in sorted(speeds, key=lambda s: (s.law, s.scale, -s.per_second)):
        mark = " (extrapolated)" if s.extrapolated else ""
        print(f"{s.package:30} {s.law:16} {s.scale:8g} {s.per_second:14,.0f}  {s.kind}{mark}")
    print()
    for f in figures:
        verdict = {True: "holds", False: "FAILS", None: ""}[f.holds]
        print(f"{f.figure:84} {f.value!s:>10}  {f.target:9} {verdict}")


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", metavar="FILE")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", dest="size", action="store_const", const="quick")
    amount.add_argument("--full", dest="size", action="store_const", const="full")
    options = parser.parse_args()
    size = SIZES[options.size or "usual"]
    missing: list[str] = []
    speeds = [*own_speeds(size), *peer_speeds(size, missing)]
    parts = (
        throughput(speeds, missing),
        singles(size),
        selection(size),
        peer_selection(size),
        timing(size),
        importing(),
    )
    figures = [figure for part in parts for figure in part]
    if options.json:
        for figure in figures:
            print(json.dumps(asdict(figure)))
        for speed in speeds:
            name = f"draws per second: {speed.package}, {speed.law}, scale {speed.scale:g}, {speed.kind}"
            mark = "extrapolated" if speed.extrapolated else ""
            print(json.dumps(asdict(Figure(name, round(speed.per_second), mark, None))))
    else:
        show(speeds, figures)
    if options.plot:
        plot(speeds, options.plot)


if __name__ == "__main__":
    main()
