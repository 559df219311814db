"""What local privacy costs: every protocol's exact error with the lower bounds, and the figures it must show.

One JSON object a line: figure, value, target, holds.  `--quick` is smaller, `--full` draws more; `--plots DIR` writes
SVG and PNG.  Errors are root mean squares; "population" errors include sampling, as the lower bounds do.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from saying import finish, say

from sfumato.accounting.blankets import Blanket
from sfumato.accounting.channels import Channel
from sfumato.accounting.shuffling import shuffled_epsilon
from sfumato.bounds import count_mean_square
from sfumato.bounds.minimax import (
    asymptotic_frequency_error,
    certify_local,
    density_error,
    frequency_error,
    mean_error,
)
from sfumato.local.choosing import choose, rank
from sfumato.local.interactive.interaction import conducted
from sfumato.local.interactive.strings import FrequentStrings
from sfumato.local.optimal import least_mean_variance
from sfumato.local.protocols import Duchi, Hybrid, LocalLaplace, OptimizedWindow, Piecewise
from sfumato.local.questions import Sets
from sfumato.local.tallying import tally
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import Rng, seeded

NUMBERS = (Duchi, Piecewise, Hybrid, OptimizedWindow, LocalLaplace)
CHUNK = 1 << 20  # people randomized at once


def warner() -> None:
    """Two coins: heads, the truth; tails, the second coin.  It costs ln 3, asked twice ln 9."""
    coins = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
    once, twice = coins.epsilon(), coins.compose(coins).epsilon()
    say("Warner's two coins: epsilon", once, math.log(3), abs(once - math.log(3)) < 1e-12, asked_twice=twice)
    a = math.log(3)
    variance = math.exp(a) / math.expm1(a) ** 2
    say("binary response at ln 3: variance of a frequency, e^a/(e^a-1)^2", variance, 0.75, abs(variance - 0.75) < 1e-12)


def curves() -> list[dict[str, Any]]:
    """Exact errors of frequencies for all protocols, and the bound, against n, k and epsilon."""
    rows: list[dict[str, Any]] = []
    grids = {
        "n": [(n, 16, 1.0) for n in (10**3, 10**4, 10**5, 10**6, 10**7)],
        "k": [(10**6, k, 1.0) for k in (2, 4, 16, 64, 256, 1024, 4096)],
        "epsilon": [(10**6, 64, e) for e in (0.1, 0.3, 1.0, 2.0, 3.0, 5.0)],
    }
    for axis, points in grids.items():
        for n, k, epsilon in points:
            where = {"axis": axis, "n": n, "k": k, "epsilon": epsilon}
            sampling = (1 - 1 / k) / n
            ranked = rank(k, Pure(epsilon), n)
            found = {choice.protocol.name: math.sqrt(choice.total_variance + sampling) for choice in ranked}
            bound, best = math.sqrt(frequency_error(n, epsilon, k)), min(found.values())
            rows += [{**where, "protocol": name, "error": error} for name, error in found.items()]
            rows.append({**where, "protocol": "lower bound", "error": bound})
            say(f"frequencies: best error over the lower bound, n = {n}, k = {k}, epsilon = {epsilon:g}", best / bound,
                1, best >= bound, best=best, bound=bound)  # fmt: skip
    return rows


def means() -> list[dict[str, Any]]:
    """Exact worst errors of the mean on [-1, 1]; ours within 1.1 of the best known."""
    rows, worst = [], 0.0
    for epsilon in (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0):
        exact = {kind.name: kind.calibrate(-1, 1, Pure(epsilon)).risk(1) for kind in NUMBERS}
        program = least_mean_variance(epsilon)
        best = min(program, *exact.values())
        worst = max(worst, exact["window"] / best)
        rows += [{"epsilon": epsilon, "protocol": name, "variance": value} for name, value in exact.items()]
        rows.append({"epsilon": epsilon, "protocol": "linear program", "variance": program})
        say(f"mean: worst variance of one report, epsilon = {epsilon:g}", exact, None, None, linear_program=program)
    say("mean: our worst variance over the best known (a linear program over all channels), worst epsilon", worst, 1.1,
        worst <= 1.1)  # fmt: skip
    return rows


def asymptotics() -> None:
    """The chooser's pick against the least total variance of any protocol, as n grows."""
    worst, at = 0.0, (0, 0.0)
    for k in (2, 3, 4, 5, 8, 13, 16, 31, 64, 100, 256, 700, 1024, 2048, 4096):
        for epsilon in (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0):
            least = asymptotic_frequency_error(1, epsilon, k) - (1 - 1 / k)  # without sampling: the harder comparison
            ratio = choose(k, Pure(epsilon), 10**6).total_variance * 10**6 / least
            worst, at = max((worst, at), (ratio, (k, epsilon)))
    say("frequencies: chooser's total variance over the asymptotic optimum, worst k in [2, 4096], epsilon in [0.1, 5]",
        worst, 1.1, worst <= 1.1, at=at)  # fmt: skip


def measured(protocol: Any, n: int, runs: int, rng: Rng) -> float:
    """The root mean square error of all frequencies over runs, each with n people."""
    base = (np.arange(n) ** 2) % protocol.k
    shares = np.bincount(base, minlength=protocol.k) / n
    total, done = 0.0, 0
    while done < runs:
        block = min(runs - done, max(1, CHUNK // n))
        reports = protocol.randomize(np.tile(base, block), rng)
        for run in range(block):
            estimate = protocol.estimate(tally(protocol, reports[run * n : (run + 1) * n]), n)
            total += float(((estimate - shares) ** 2).sum())
        done += block
    return math.sqrt(total / runs)


def chooser(sizes: tuple[tuple[int, int], ...], epsilons: tuple[float, ...], scale: int) -> None:
    """The pick's measured error against the least measured one, on a grid; errors are known within half a percent."""
    rng, worst, off = seeded(1), 0.0, 0.0
    for k, n in sizes:
        for epsilon in epsilons:
            runs = max(20, scale * 24_000 // k)
            found = {}
            for choice in rank(k, Pure(epsilon), n):
                error = measured(choice.protocol, n, runs, rng)
                found[choice.protocol.name] = error
                off = max(off, abs(error / math.sqrt(float(np.sum(_given(choice.protocol, n, k)))) - 1))
            pick = choose(k, Pure(epsilon), n).protocol.name
            ratio = found[pick] / min(found.values())
            worst = max(worst, ratio)
            say(
                f"chooser: k = {k}, epsilon = {epsilon:g}, n = {n}",
                ratio,
                1.03,
                ratio <= 1.03,
                pick=pick,
                measured=found,
            )
    say("chooser: worst pick over the least measured error", worst, 1.03, worst <= 1.03)
    say("measured errors off the exact formulas by at most", off, 0.05, off <= 0.05)


def _given(protocol: Any, n: int, k: int) -> Any:
    base = (np.arange(n) ** 2) % k
    return protocol.variance(n, np.bincount(base, minlength=k) / n)


def local_and_central() -> list[dict[str, Any]]:
    """The mean of bits: local 1/sqrt(n) against central 1/n."""
    rows, sizes = [], [10**2, 10**3, 10**4, 10**5, 10**6]
    for n in sizes:
        local = math.sqrt(float(Duchi.calibrate(0, 1, Pure(1.0)).variance(n)[0]))
        rows += [
            {"n": n, "model": "local", "error": local},
            {"n": n, "model": "central", "error": math.sqrt(count_mean_square(1.0)) / n},
            {"n": n, "model": "local, lower bound", "error": math.sqrt(mean_error(n, 1.0, 0.0, 1.0))},
            {"n": n, "model": "central after shuffling, local epsilon 1: epsilon",
             "error": shuffled_epsilon(1.0, n, 1e-6)},
        ]  # fmt: skip
    for model, slope in (("local", -0.5), ("central", -1.0), ("local, lower bound", -0.5)):
        errors = [row["error"] for row in rows if row["model"] == model]
        found = math.log(errors[-1] / errors[-2]) / math.log(sizes[-1] / sizes[-2])
        say(f"mean of bits, {model}: slope in n", found, slope, abs(found - slope) < 0.03, errors=errors)
    rates = [density_error(n, 1.0) for n in (10**6, 10**8)]
    slope = math.log(rates[1] / rates[0]) / math.log(100)
    say("densities: slope of the lower bound of the square error", slope, -0.5, abs(slope + 0.5) < 0.05)
    return rows


def shuffling() -> None:
    """What a shuffler buys for ten thousand people at delta = 1e-6."""
    for local in (0.5, 1.0, 2.0, 4.0):
        value = shuffled_epsilon(local, 10_000, 1e-6)
        own = shuffled_epsilon(Blanket.generalized_response(100, local), 10_000, 1e-6)
        say(f"shuffled, local epsilon = {local:g}, n = 10^4, delta = 1e-6: epsilon", value, local, value < local,
            response_of_100=own, gain=local / value)  # fmt: skip


def certificates() -> None:
    """The chooser's pick and the mean, certified."""
    for n in (10**4, 10**6, 10**8):
        for k in (4, 16, 256):
            found = certify_local(choose(k, Pure(1.0), n).protocol, n)
            say(f"certificate: k = {k}, n = {n}, epsilon = 1", getattr(found, "factor", None), None, None,
                words=found.words())  # fmt: skip
        found = certify_local(OptimizedWindow.calibrate(-1, 1, Pure(1.0)), n)
        say(f"certificate: mean, n = {n}, epsilon = 1", getattr(found, "factor", None), None, None, words=found.words())


def rows_of(data: Path, name: str, column: str) -> list[str]:
    """One column of a table."""
    path = data / name
    if not path.is_file():
        raise SystemExit(f"{path} is missing; pass --data DIR, the folder with the shared tables")
    with gzip.open(path, "rt", newline="") as file:
        return [row[column] for row in csv.DictReader(file)]


def kosarak(data: Path, epsilons: tuple[float, ...]) -> None:
    """Clicks as heavy hitters: baskets of items, one entry reported each."""
    baskets = [[int(item) - 1 for item in row.split()] for row in rows_of(data, "kosarak_36k.csv.gz", "items")]
    k, n = 17_034, len(baskets)
    truth = Counter(item for basket in baskets for item in set(basket))
    top = [item for item, _ in truth.most_common(10)]
    for epsilon in epsilons:
        question = Sets.calibrate(k, Pure(epsilon), size=8)
        estimate = question.estimate(question.tally(question.randomize(baskets, seeded(3))), n)
        order = np.argsort(-estimate)[:10].tolist()
        floor = 5 * math.sqrt(float(np.max(question.variance(n))))
        surely = [item for item in top if truth[item] / n > floor]
        kept = len(set(order) & set(top))
        say(f"kosarak, {n} baskets of {k} items, epsilon = {epsilon:g}: of the ten most clicked found", kept, None,
            set(surely) <= set(order) if surely else None, protocol=question.response.name,
            visible_share=floor, top_shares=[truth[item] / n for item in top])  # fmt: skip


def words(data: Path, epsilons: tuple[float, ...]) -> None:
    """First words of utterances as heavy hitters, letter by letter."""
    spoken = [row.split()[0] for row in rows_of(data, "ami_utterances.csv.gz", "utterance") if row.split()]
    order = np.random.default_rng(5).permutation(len(spoken))
    people = [spoken[i] for i in order]
    truth, n = Counter(people), len(people)
    for epsilon in epsilons:
        search = FrequentStrings("ABCDEFGHIJKLMNOPQRSTUVWXYZ'-.*@", 8, Pure(epsilon), users=n, most=24)
        started = time.process_time()
        found = search.found(conducted(search, people, seeded(4)))
        shares = {result.string: truth[result.string] / n for result in found}
        holds = all(  # limits are about the block that was asked: allow it five deviations of sampling
            result.low - drift <= shares[result.string] <= result.high + drift
            for result in found
            for drift in [5 * math.sqrt(max(shares[result.string], 1 / n) / search.block(()))]
        )
        say(f"utterances, {n} first words, epsilon = {epsilon:g}: frequent words found", len(found), None,
            holds if found else None, seconds=time.process_time() - started,
            estimated_and_true={r.string: [round(r.share, 4), round(shares[r.string], 4)] for r in found[:12]},
            truly_frequent=[word for word, _ in truth.most_common(12)])  # fmt: skip


def plots(
    place: Path, frequencies: list[dict[str, Any]], numbers: list[dict[str, Any]], models: list[dict[str, Any]]
) -> None:
    """Five pictures, each as SVG and PNG."""
    import altair as alt
    import pandas as pd

    place.mkdir(parents=True, exist_ok=True)

    def line(rows: list[dict[str, Any]], x: str, y: str, color: str, title: str) -> Any:
        log = alt.Scale(type="log")
        return alt.Chart(pd.DataFrame(rows)).mark_line(point=True).encode(
            x=alt.X(f"{x}:Q", scale=log), y=alt.Y(f"{y}:Q", scale=log), color=f"{color}:N",
        ).properties(width=420, height=260, title=title)  # fmt: skip

    charts = {
        f"frequencies-{axis}": line(
            [row for row in frequencies if row["axis"] == axis], axis, "error", "protocol",
            f"frequencies: root of the total square error against {axis}",
        )
        for axis in ("n", "k", "epsilon")
    }  # fmt: skip
    charts["means"] = line(numbers, "epsilon", "variance", "protocol", "mean on [-1, 1]: worst variance of one report")
    shown = [row for row in models if "epsilon" not in row["model"]]
    charts["models"] = line(shown, "n", "error", "model", "mean of bits, epsilon = 1: local against central")
    for name, chart in charts.items():
        chart.save(place / f"local-{name}.svg")
        chart.save(place / f"local-{name}.png", scale_factor=2)


def main() -> None:
    """All figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line (the only form)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--plots", type=Path)
    chosen = parser.parse_args()
    warner()
    frequencies, numbers, models = curves(), means(), local_and_central()
    asymptotics()
    certificates()
    shuffling()
    sizes = ((3, 500), (8, 1000), (64, 2000), (512, 4000))
    if chosen.quick:
        chooser(sizes[1::2], (1.0, 4.0), 1)
    else:
        chooser(sizes, (0.5, 1.0, 2.0, 4.0), 4 if chosen.full else 1)
    epsilons = (4.0,) if chosen.quick else (1.0, 2.0, 4.0)
    kosarak(chosen.data, epsilons)
    words(chosen.data, epsilons)
    if chosen.plots:
        plots(chosen.plots, frequencies, numbers, models)
    finish()


if __name__ == "__main__":
    main()
