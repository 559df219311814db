"""The accounting figures: tightness and time beside dp-accounting, in one run.

    python benchmarks/accounting.py --json [--quick | --full]

One JSON object per line: figure, value, target, holds.  Times are ratios within the run.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator

from dp_accounting.pld import privacy_loss_distribution as peer

from sfumato.accounting.batch import Batch
from sfumato.accounting.calibration import (
    best_split,
    laplace_scale_for,
    printed_laplace_scale_for,
    real_laplace_scale_for,
)
from sfumato.accounting.composition import optimal_delta, optimal_epsilon
from sfumato.accounting.lattice import discrete_laplace_law
from sfumato.accounting.laws import GaussianLaw, LaplaceLaw, pure_law
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Pure

DELTA = 1e-6
GAUSS, LAPLACE = GaussianLaw(1 / 50), LaplaceLaw(1 / 50)
Row = dict[str, object]


def row(figure: str, value: object, target: str, holds: bool) -> Row:
    """One line of the report."""
    return {"figure": figure, "value": value, "target": target, "holds": holds}


def seconds(run: Callable[[], object], repeats: int) -> float:
    """The median time of a call, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def exact_gaussian(mu: float) -> float:
    """Epsilon of Gaussian noise at DELTA, by bisection of the exact profile."""
    low, high = 0.0, 200.0
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(1.0, mu, middle) > DELTA else (low, middle)
    return high


def compositions(repeats: int) -> Iterator[Row]:
    """Brackets and times of the three compositions of the issue."""
    gauss, laplace = peer.from_gaussian_mechanism, peer.from_laplace_mechanism
    cases = {
        "1,000 Gaussian and 1,000 Laplace": (
            Batch(((GAUSS, 1000), (LAPLACE, 1000))),
            lambda: gauss(50.0).self_compose(1000).compose(laplace(50.0).self_compose(1000)),
            None,
        ),
        "1,000 Gaussian": (
            Batch(((GAUSS, 1000),)),
            lambda: gauss(50.0).self_compose(1000),
            exact_gaussian(math.sqrt(1000) / 50),
        ),
        "1,000 Laplace": (
            Batch(((LAPLACE, 1000),)),
            lambda: laplace(50.0).self_compose(1000),
            None,
        ),
        "10,000 Gaussian": (
            Batch(((GAUSS, 10_000),)),
            lambda: gauss(50.0).self_compose(10_000),
            exact_gaussian(2.0),
        ),
        "10,000 Laplace": (
            Batch(((LAPLACE, 10_000),)),
            lambda: laplace(50.0).self_compose(10_000),
            None,
        ),
    }
    for name, (batch, theirs, truth) in cases.items():
        lower, upper = batch.epsilon(DELTA)
        other = theirs().get_epsilon_for_delta(DELTA)
        yield row(f"{name}: epsilon bracket", [lower, upper], "upper <= 1.001 lower", upper <= 1.001 * lower)
        if truth is not None:
            yield row(f"{name}: exact epsilon", truth, "inside the bracket", lower <= truth <= upper)
        yield row(f"{name}: dp-accounting", other, "within 0.1 % of ours", abs(other / upper - 1) <= 1e-3)
        ratio = seconds(lambda batch=batch: batch.epsilon(DELTA), repeats) / seconds(
            lambda theirs=theirs: theirs().get_epsilon_for_delta(DELTA), repeats
        )
        yield row(f"{name}: time over dp-accounting's", round(ratio, 3), "<= 1", ratio <= 1)


def exact_formula() -> Iterator[Row]:
    """k-fold pure composition against big integers."""
    from fractions import Fraction

    for epsilon, count, at in ((0.02, 1000, 2.9), (0.1, 100, 2.0), (1.0, 30, 20.0)):
        grown = Fraction(math.exp(epsilon))  # one exact odds ratio, so that only rounding is left
        claim = math.log(grown)
        terms = (
            math.comb(count, j) * (grown ** (count - j) - Fraction(math.exp(at)) * grown**j) for j in range(count + 1)
        )
        truth = float(sum(max(Fraction(0), term) for term in terms) / (1 + grown) ** count)
        wrong = abs(optimal_delta(Pure(claim), count, at) / truth - 1)
        yield row(f"optimal delta, {count} times {epsilon}", wrong, "relative error <= 1e-12", wrong <= 1e-12)
    lower, upper = Batch(((pure_law(0.02), 1000),)).epsilon(DELTA)
    exact = optimal_epsilon(Pure(0.02), 1000, DELTA)
    holds = lower * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)
    yield row("optimal epsilon, 1,000 times 0.02", exact, "inside the numerical bracket", holds)


def source_documents() -> Iterator[Row]:
    """Laplace II of document 002 at k = 1,000, epsilon = 10, delta = 1e-3."""
    printed = printed_laplace_scale_for(1000, 1.0, 10.0, 1e-3)
    found = Batch(((LaplaceLaw(1 / printed), 1000),)).delta(10.0)
    yield row("Laplace II, true delta", list(found), "3.4e-3", 3.35e-3 <= found.lower <= found.upper <= 3.45e-3)
    worst = optimal_delta(Pure(1 / printed), 1000, 10.0)
    yield row("Laplace II, worst mechanism", worst, "4.2e-3", abs(worst - 4.2e-3) < 5e-5)
    scale = real_laplace_scale_for(1000, 1.0, 10.0, 1e-3)
    mended = Batch(((LaplaceLaw(1 / scale), 1000),)).delta(10.0, tolerance=1e-6).upper
    yield row("Laplace II, calibrated by composition", mended, "<= 1e-3", mended <= 1e-3)
    scale = laplace_scale_for(1000, 1, 10.0, 1e-3)
    drawn = Batch(((discrete_laplace_law(scale, 1), 1000),)).delta(10.0, tolerance=1e-6).upper
    yield row("Laplace II, calibrated for noise on the integers", drawn, "<= 1e-3", drawn <= 1e-3)


def splits() -> Iterator[Row]:
    """Twenty counts under (1, 1e-6), beside Laplace with an even split by basic composition."""
    target, even = Approximate(1.0, DELTA), 20 * math.sqrt(2)
    plain = even / best_split([1.0] * 20, target).error
    yield row("20 counts: gain in RMS error", plain, ">= 1.4", plain >= 1.4)
    weighted = even / best_split([1.0] * 20, target, [1.0] * 10 + [100.0] * 10).error
    yield row("20 counts, unequal weights: gain", weighted, "> the gain above", weighted > plain)


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer repeats")
    size.add_argument("--full", action="store_true", help="more repeats")
    chosen = parser.parse_args()
    repeats = 3 if chosen.quick else 31 if chosen.full else 9
    for part in (compositions(repeats), exact_formula(), source_documents(), splits()):
        for line in part:
            print(
                json.dumps(line) if chosen.json else "{figure}: {value} ({target}) {holds}".format(**line), flush=True
            )


if __name__ == "__main__":
    main()
