"""What local privacy costs [Abrishami2026]: every protocol's exact error with the lower bounds.

The document has no table; its last chapters promise what stands here.  Errors are root mean squares; "population"
errors include sampling, as the lower bounds do.
"""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from lines import Figure, Lines, Setting, check, points, row

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
from sfumato.randomness import Rng

NUMBERS = (Duchi, Piecewise, Hybrid, OptimizedWindow, LocalLaplace)
CHUNK = 1 << 20  # people randomized at once


def warner(setting: Setting) -> Lines:
    """Two coins: heads, the truth; tails, the second coin.  It costs ln 3, asked twice ln 9."""
    coins = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
    once, twice, a = coins.epsilon(), coins.compose(coins).epsilon(), math.log(3)
    variance = math.exp(a) / math.expm1(a) ** 2
    yield row(epsilon=once, asked_twice=twice, variance_of_a_frequency=variance)
    yield check("two coins cost ln 3", once, a, abs(once - a) < 1e-12)
    yield check("the variance e^a / (e^a - 1)^2 at ln 3", variance, 0.75, abs(variance - 0.75) < 1e-12)


def pinsker(setting: Setting) -> Lines:
    """Pinsker as printed, TV <= KL / sqrt 2, fails for laws that are near; with the root it holds."""
    for p, q in ((0.5, 0.45), (0.5, 0.25), (0.9, 0.1)):
        far = abs(p - q)
        kl = kl_of(p, q)
        yield row(p=p, q=q, total_variation=far, printed_bound=kl / math.sqrt(2), bound=math.sqrt(kl / 2))
        yield check(f"total variation is at most the root of half the divergence: {p:g}, {q:g}", far, math.sqrt(kl / 2),
                    far <= math.sqrt(kl / 2))  # fmt: skip
    yield check("and above the printed bound for near laws", 0.05, kl_of(0.5, 0.45) / math.sqrt(2),
                kl_of(0.5, 0.45) / math.sqrt(2) < 0.05)  # fmt: skip


def kl_of(p: float, q: float) -> float:
    """The divergence of two laws on two points."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def frequencies(setting: Setting) -> Lines:
    """Exact errors of frequencies for all protocols, and the bound, against n, k and epsilon."""
    rows: list[dict[str, Any]] = []
    grids = {
        "n": [(n, 16, 1.0) for n in (10**3, 10**4, 10**5, 10**6, 10**7)],
        "k": [(10**6, k, 1.0) for k in (2, 4, 16, 64, 256, 1024, 4096)],
        "epsilon": [(10**6, 64, e) for e in (0.1, 0.3, 1.0, 2.0, 3.0, 5.0)],
    }
    for axis, grid in grids.items():
        for n, k, epsilon in grid:
            sampling = (1 - 1 / k) / n
            ranked = rank(k, Pure(epsilon), n)
            found = {choice.protocol.name: math.sqrt(choice.total_variance + sampling) for choice in ranked}
            bound, best = math.sqrt(frequency_error(n, epsilon, k)), min(found, key=lambda name: found[name])
            where = {"axis": axis, "n": n, "k": k, "epsilon": epsilon}
            rows += [{**where, "protocol": name, "error": error} for name, error in found.items()]
            rows.append({**where, "protocol": "lower bound", "error": bound})
            yield row(
                n=n, k=k, epsilon=epsilon, best=best, error=found[best], lower_bound=bound, ratio=found[best] / bound
            )
            yield check(f"not below the bound, n = {n}, k = {k}, epsilon = {epsilon:g}", found[best], bound,
                        found[best] >= bound)  # fmt: skip
    yield points("frequencies", rows)


def means(setting: Setting) -> Lines:
    """Exact worst variances of one report on [-1, 1]; ours within 1.1 of the best known."""
    worst = 0.0
    for epsilon in (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0):
        exact = {kind.name: kind.calibrate(-1, 1, Pure(epsilon)).risk(1) for kind in NUMBERS}
        program = least_mean_variance(epsilon)
        worst = max(worst, exact["window"] / min(program, *exact.values()))
        yield row(epsilon=epsilon, **exact, **{"linear program": program})
    yield check(
        "ours over the best known (a linear program over all channels), worst epsilon", worst, 1.1, worst <= 1.1
    )


def optimum(setting: Setting) -> Lines:
    """The chooser's pick against the least total variance of any protocol, as n grows."""
    worst: tuple[float, tuple[int, float]] = (0.0, (0, 0.0))
    sizes = (2, 3, 4, 5, 8, 13, 16, 31, 64, 100, 256, 700, 1024, 2048, 4096)
    for k in sizes:
        at = (0.0, 0.0)
        for epsilon in (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0):
            least = asymptotic_frequency_error(1, epsilon, k) - (1 - 1 / k)  # without sampling: the harder comparison
            at = max(at, (choose(k, Pure(epsilon), 10**6).total_variance * 10**6 / least, epsilon))
        worst = max(worst, (at[0], (k, at[1])))
        yield row(k=k, worst_ratio=at[0], at_epsilon=at[1])
    yield check("the pick's total variance over the asymptotic optimum, at worst", worst[0], 1.1, worst[0] <= 1.1)


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


def chooser(setting: Setting) -> Lines:
    """The pick's measured error against the least measured one, on a grid; errors are known within half a percent."""
    rng, worst, off = setting.rng(1), 0.0, 0.0
    sizes = ((8, 1000),) if setting.quick else ((3, 500), (8, 1000), (64, 2000))
    for k, n in sizes:
        for epsilon in (1.0, 4.0):
            runs = max(20, 24_000 // k)
            found = {}
            for choice in rank(k, Pure(epsilon), n):
                error = measured(choice.protocol, n, runs, rng)
                found[choice.protocol.name] = error
                off = max(off, abs(error / math.sqrt(float(np.sum(_given(choice.protocol, n, k)))) - 1))
            pick = choose(k, Pure(epsilon), n).protocol.name
            ratio = found[pick] / min(found.values())
            worst = max(worst, ratio)
            yield row(k=k, n=n, epsilon=epsilon, pick=pick, error=found[pick], least_measured=min(found.values()))
    yield check("worst pick over the least measured error", worst, 1.03, worst <= 1.03)
    yield check("measured errors off the exact formulas by at most", off, 0.05, off <= 0.05)


def _given(protocol: Any, n: int, k: int) -> Any:
    base = (np.arange(n) ** 2) % k
    return protocol.variance(n, np.bincount(base, minlength=k) / n)


def models(setting: Setting) -> Lines:
    """The mean of bits at epsilon 1: local 1/sqrt(n) against central 1/n."""
    sizes = [10**2, 10**3, 10**4, 10**5, 10**6]
    found: dict[str, list[float]] = {"local": [], "local, least possible": [], "central": []}
    for n in sizes:
        found["local"].append(math.sqrt(float(Duchi.calibrate(0, 1, Pure(1.0)).variance(n)[0])))
        found["local, least possible"].append(math.sqrt(mean_error(n, 1.0, 0.0, 1.0)))
        found["central"].append(math.sqrt(count_mean_square(1.0)) / n)
        yield row(n=n, **{name: errors[-1] for name, errors in found.items()},
                  **{"epsilon after shuffling, delta 1e-6": shuffled_epsilon(1.0, n, 1e-6)})  # fmt: skip
    for name, slope in (("local", -0.5), ("central", -1.0), ("local, least possible", -0.5)):
        seen = math.log(found[name][-1] / found[name][-2]) / math.log(sizes[-1] / sizes[-2])
        yield check(f"slope in n, {name}", seen, slope, abs(seen - slope) < 0.03)
    rates = [density_error(n, 1.0) for n in (10**6, 10**8)]
    seen = math.log(rates[1] / rates[0]) / math.log(100)
    yield check("slope in n of the least square error of a density", seen, -0.5, abs(seen + 0.5) < 0.05)


def shuffling(setting: Setting) -> Lines:
    """What a shuffler buys for ten thousand people at delta = 1e-6."""
    for local in (0.5, 1.0, 2.0, 4.0):
        value = shuffled_epsilon(local, 10_000, 1e-6)
        own = shuffled_epsilon(Blanket.generalized_response(100, local), 10_000, 1e-6)
        yield row(local_epsilon=local, after_shuffling=value, response_of_100=own, gain=local / value)
        yield check(f"less than the local epsilon {local:g}", value, local, value < local)


def certificates(setting: Setting) -> Lines:
    """The chooser's pick and the mean at epsilon 1, certified."""
    for n in (10**4, 10**6, 10**8):
        for k in (4, 16, 256):
            found = certify_local(choose(k, Pure(1.0), n).protocol, n)
            yield row(question=f"frequencies of {k}", n=n, factor=getattr(found, "factor", None))
        found = certify_local(OptimizedWindow.calibrate(-1, 1, Pure(1.0)), n)
        yield row(question="mean", n=n, factor=getattr(found, "factor", None))


def rows_of(data: Path, name: str, column: str) -> list[str]:
    """One column of a table."""
    with gzip.open(data / name, "rt", newline="") as file:
        return [each[column] for each in csv.DictReader(file)]


def clicks(setting: Setting) -> Lines:
    """The ten most clicked of 17,034 pages, from baskets of which one entry is reported each."""
    column = rows_of(setting.data, "kosarak_36k.csv.gz", "items")
    baskets = [[int(item) - 1 for item in each.split()] for each in column]
    k, n = 17_034, len(baskets)
    truth = Counter(item for basket in baskets for item in set(basket))
    top = [item for item, _ in truth.most_common(10)]
    for epsilon in (4.0,) if setting.quick else (1.0, 2.0, 4.0):
        question = Sets.calibrate(k, Pure(epsilon), size=8)
        estimate = question.estimate(question.tally(question.randomize(baskets, setting.rng(3))), n)
        order = np.argsort(-estimate)[:10].tolist()
        floor = 5 * math.sqrt(float(np.max(question.variance(n))))
        surely = [item for item in top if truth[item] / n > floor]
        yield row(epsilon=epsilon, baskets=n, protocol=question.response.name, visible_share=floor,
                  largest_share=truth[top[0]] / n, of_the_ten_found=len(set(order) & set(top)))  # fmt: skip
        yield check(f"everything that must be seen is found, epsilon = {epsilon:g}", len(set(surely) & set(order)),
                    len(surely), set(surely) <= set(order))  # fmt: skip


def words(setting: Setting) -> Lines:
    """First words of utterances as heavy hitters, letter by letter."""
    column = rows_of(setting.data, "ami_utterances.csv.gz", "utterance")
    spoken = [each.split()[0] for each in column if each.split()]
    people = [spoken[i] for i in np.random.default_rng(5).permutation(len(spoken))]
    truth, n = Counter(people), len(people)
    for epsilon in (4.0,) if setting.quick else (1.0, 2.0, 4.0):
        search = FrequentStrings("ABCDEFGHIJKLMNOPQRSTUVWXYZ'-.*@", 8, Pure(epsilon), users=n, most=24)
        found = search.found(conducted(search, people, setting.rng(4)))
        shares = {result.string: truth[result.string] / n for result in found}
        wrong = 0
        for result in found:  # limits are about the block that was asked: allow it five deviations of sampling
            drift = 5 * math.sqrt(max(shares[result.string], 1 / n) / search.block(()))
            wrong += not result.low - drift <= shares[result.string] <= result.high + drift
        yield row(epsilon=epsilon, people=n, words_found=len(found),
                  estimated_and_true=", ".join(f"{r.string} {r.share:.3f} ({shares[r.string]:.3f})" for r in found[:5]),
                  truly_frequent=", ".join(word for word, _ in truth.most_common(5)))  # fmt: skip
        yield check(f"limits that miss the true share, epsilon = {epsilon:g}", wrong, 0, wrong == 0)


FIGURES = {
    "local-words": Figure("Frequent first words of utterances, letter by letter", words, ("ami_utterances.csv.gz",)),
    "local-clicks": Figure("The ten most clicked pages", clicks, ("kosarak_36k.csv.gz",)),
    "local-chooser": Figure("The protocol that is chosen, measured against all others", chooser),
    "local-optimum": Figure("The protocol that is chosen against the best of any, as n grows", optimum),
    "local-certificates": Figure("How far local protocols are from the best possible", certificates),
    "local-frequencies": Figure("Errors of frequencies against n, k and epsilon", frequencies),
    "local-means": Figure("Means of numbers in [-1, 1]: worst variance of one report", means),
    "local-models": Figure("The mean of bits, local and central", models),
    "local-shuffling": Figure("What a shuffler buys", shuffling),
    "local-warner": Figure("Warner's two coins", warner),
    "local-pinsker": Figure("Pinsker's inequality with its constant", pinsker),
}
