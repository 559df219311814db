"""Ranges, cumulative distributions and quantiles: exact variances, consistency, proven intervals."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols import (
    GeneralizedResponse,
    LocalHashing,
    OptimizedUnary,
    Rappor,
    SubsetSelection,
    SymmetricUnary,
)
from sfumato.local.questions.limits import bernstein_sum, binomial, binomial_threshold
from sfumato.local.questions.moments import supports
from sfumato.local.questions.ranges import Ranges
from sfumato.local.questions.reading import Reading
from sfumato.local.questions.split import weakest
from sfumato.local.questions.tails import ERROR, lower_tail, upper_tail
from sfumato.local.questions.trees import combined, influences, sums
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import seeded
from statistical import ALPHA

ONE = Pure(1.0)
ORACLES = [
    GeneralizedResponse.calibrate(4, ONE), OptimizedUnary.calibrate(4, ONE), SymmetricUnary.calibrate(4, ONE),
    Rappor.calibrate(4, ONE), SubsetSelection(5, 2, Fraction(5, 8)),
]  # fmt: skip


# claims: exact moments by enumeration


@pytest.mark.parametrize("protocol", ORACLES, ids=lambda protocol: protocol.name)
def test_variances_of_functionals_are_exact(protocol):
    outputs, rows = protocol.outputs(), protocol.channel()
    held = supports(protocol)
    shares = np.array([protocol.estimate(protocol.tally(outputs[i : i + 1]), 1) for i in range(len(outputs))])
    weights = np.array([np.arange(held.k) - 1.5, np.eye(held.k)[1], np.ones(held.k), [2.0, -1, 0, 3, 5][: held.k]])
    truth = np.arange(1, held.k + 1) / np.arange(1, held.k + 1).sum()
    for w in weights:
        law = np.array([[float(p) for p in row] for row in rows])
        moved = shares @ w
        means, squares = law @ moved, law @ moved**2
        assert means == pytest.approx(w, abs=1e-9)  # unbiased for every true category
        assert held.coin_variance(w) == pytest.approx(squares - means**2, abs=1e-9)
        assert held.variance(w, truth) == pytest.approx(truth @ squares - (truth @ means) ** 2, abs=1e-9)
        assert held.worst_variance(w) >= held.variance(w, truth) - 1e-12
        assert np.ptp(moved) <= held.span(w) + 1e-9


def test_a_protocol_without_known_pairs_is_refused():
    with pytest.raises(UnsupportedQuery, match="olh"):
        supports(LocalHashing.calibrate(8, ONE))


@pytest.mark.parametrize(("k", "branching"), [(4, 2), (5, 2), (9, 3), (4, 4)])
def test_the_channel_is_exact_and_within_its_claim(k, branching):
    question = Ranges.calibrate(k, ONE, branching)
    rows = question.channel()
    assert len(rows) == k
    assert all(sum(row) == 1 for row in rows)
    worst = max(a / b for one, two in itertools.combinations(rows, 2) for a, b in zip(one, two, strict=True))
    assert math.log(worst) <= question.guarantee().epsilon <= 1.0
    assert question.valid(question.outputs()).all()


def test_the_weakest_claim_is_implied_by_all():
    claims = [Pure(1.0), Approximate(0.5, 1e-6), Pure(2.0, assumptions=frozenset({"real-arithmetic"}))]
    assert all(claim.implies(weakest(claims)) for claim in claims)
    with pytest.raises(ParameterError):
        weakest([])


# laws: trees


@given(depth=st.integers(1, 4), branching=st.integers(2, 4), seed=st.integers(0, 2**32))
def test_trees_return_exact_histograms_and_know_their_influences(depth, branching, seed):
    rng = np.random.default_rng(seed)
    leaves = branching**depth
    truth = rng.dirichlet(np.ones(leaves))
    weights = rng.uniform(0.1, 10, depth).tolist()
    levels = [sums(truth, branching ** (depth - level)) for level in range(1, depth + 1)]
    assert combined(levels, weights, branching) == pytest.approx(truth, abs=1e-9)
    noisy = [level + rng.normal(size=level.shape) for level in levels]
    functional = rng.normal(size=leaves)
    moved = influences(functional, weights, branching)
    linear = sum(float(g @ (y - x)) for g, y, x in zip(moved, noisy, levels, strict=True))
    assert functional @ combined(noisy, weights, branching) == pytest.approx(functional @ truth + linear, abs=1e-8)
    assert combined(noisy, weights, branching).sum() == pytest.approx(1)


def test_least_squares_beat_the_leaves_alone():
    """No linear unbiased reading has less variance when the entries are uncorrelated: compared with two others."""
    functional = np.asarray(np.arange(27) < 13, dtype=float)
    spread = sum(float((g**2).sum()) for g in influences(functional, [1.0, 1.0, 1.0], 3))
    assert spread < 13  # adding thirteen leaves of variance one
    assert spread < 1 + 1 + 1  # nine, three and one: the nodes that make up the prefix


# accuracy


def test_estimates_have_the_stated_mean_and_variance():
    """500 collections of 600 owners.  A chi-square test of each variance at ALPHA / 8 refuses one that is off by
    a third or more (seven standard deviations of sqrt(2/500) = 6 %); the mean is tested at the same level.
    """
    question, n, runs = Ranges.calibrate(8, Pure(2.0), 2), 600, 500
    truth = np.array([0.3, 0.05, 0.05, 0.2, 0.1, 0.1, 0.15, 0.05])
    rng = np.random.default_rng(seeded(1).word())
    values = rng.choice(8, (runs, n), p=truth)
    reports = question.randomize(values.reshape(-1), seeded(2)).reshape(runs, n, -1)
    tallies = [question.tally(part) for part in reports]
    cdf = np.array([np.cumsum(question.estimate(tally, n))[:7] for tally in tallies])
    prefixes = np.tri(7, 8)
    stated = np.mean(
        [question.functional_variance(prefixes, Reading(question, t).counts, truth) for t in tallies], axis=0
    )
    scores = (cdf - np.cumsum(truth)[:7]) / np.sqrt(stated)
    assert np.all(np.abs(scores.mean(axis=0)) * math.sqrt(runs) < stats.norm.isf(ALPHA / 16))
    found = (scores**2).sum(axis=0)
    assert np.all(found < stats.chi2.isf(ALPHA / 16, runs))
    assert np.all(found > stats.chi2.ppf(ALPHA / 16, runs))


def test_intervals_cover_ranges_and_quantiles():
    """40 collections at level 1 - ALPHA / 200: a single miss has probability below ALPHA."""
    question, n = Ranges.calibrate(50, Pure(1.5)), 3000
    law = np.exp(-0.5 * ((np.arange(50) - 20) / 6.0) ** 2)
    law /= law.sum()
    cdf = np.cumsum(law)
    rng = np.random.default_rng(seeded(3).word())
    level = 1 - ALPHA / 200
    for run in range(40):
        tally = question.tally(question.randomize(rng.choice(50, n, p=law), seeded(10 + run)))
        reading = Reading(question, tally)
        part = reading.between(15, 30, level)
        assert part.low <= cdf[30] - cdf[14] <= part.high
        median = reading.quantile(0.5, level)
        assert median.low <= np.argmax(cdf >= 0.5) <= median.high
        low, high = question.limits(tally, n, ALPHA / 200 / 50)
        assert np.all((low <= law) & (law <= high))


def test_quantiles_are_sharp_when_there_are_many_reports():
    question, n = Ranges.calibrate(64, Pure(3.0)), 200_000
    values = np.random.default_rng(seeded(4).word()).integers(0, 64, n)
    reading = Reading(question, question.tally(question.randomize(values, seeded(5))))
    quartile = reading.quantile(0.25, 1 - ALPHA)
    assert quartile.high - quartile.low <= 6
    assert quartile.low <= 15 <= quartile.high
    curve = reading.cdf()
    assert np.all(np.diff(curve) >= 0)
    assert curve[-1] == 1.0
    assert np.abs(curve - (np.arange(64) + 1) / 64).max() < reading.radius(np.tri(64), ALPHA / 64).max()


def test_the_chosen_tree_is_no_worse_than_the_others():
    chosen = Ranges.calibrate(256, ONE)
    prefixes = np.tri(256)[16::16]
    uniform = np.full(256, 1 / 256)

    def cost(question):
        counts = [1e6 / len(question.levels)] * len(question.levels)
        return question.functional_variance(prefixes, counts, uniform).mean()

    others = [cost(Ranges.calibrate(256, ONE, branching)) for branching in (2, 4, 8, 16, 256)]
    assert cost(chosen) <= 1.02 * min(others)
    assert cost(chosen) < cost(Ranges.calibrate(256, ONE, 256)) / 3  # a flat histogram is far behind


def test_levels_nobody_answered_do_not_break_the_estimate():
    question = Ranges.calibrate(16, ONE, 2)
    tally = question.tally(question.randomize(np.zeros(1, dtype=int), seeded(1)))
    assert np.isfinite(question.estimate(tally, 1)).all()
    assert np.isfinite(question.variance(1)).all()


# limits


@pytest.mark.parametrize("n", [1, 7, 300, 40_000, 10**7])
@pytest.mark.parametrize("p", [1e-4, 0.3, 0.5, 0.97])
def test_tails_are_those_of_scipy(n, p):
    middle, wide = n * p, math.sqrt(n * p * (1 - p)) + 1
    for s in {min(max(round(middle + step * wide), 0), n) for step in (-5, -1, 0, 1, 3, 9)}:
        assert upper_tail(s, n, p) == pytest.approx(stats.binom.sf(s - 1, n, p), rel=ERROR / 3, abs=1e-300)
        assert lower_tail(s, n, p) == pytest.approx(stats.binom.cdf(s, n, p), rel=ERROR / 3, abs=1e-300)
    assert (upper_tail(0, n, p), upper_tail(n + 1, n, p), upper_tail(1, n, 0.0), upper_tail(1, n, 1.0)) == (1, 0, 0, 1)


@pytest.mark.parametrize(("n", "p"), [(50, 0.02), (400, 0.3), (30, 0.9)])
def test_thresholds_are_exact_tails(n, p):
    for beta in (0.5, 0.05, 1e-6):
        bar = binomial_threshold(n, p, beta)
        assert stats.binom.sf(bar - 1, n, p) <= beta
        assert bar == math.ceil(n * p) + 1 or stats.binom.sf(bar - 2, n, p) > beta


def test_limits_at_the_ends_are_the_ends():
    low, high = binomial([0, 1, 9, 10], 10, 0.05)
    assert low[0] == low[1] == 0
    assert high[2] == high[3] == 1
    assert np.all(np.diff(low) >= 0)
    assert np.all(np.diff(high) >= 0)


def test_bernstein_covers_a_bounded_sum():
    """10,000 sums of 200 rare bounded variables at beta = 0.05; misses above 0.05 + 7 sd are refused."""
    rng = np.random.default_rng(seeded(6).word())
    total = (rng.random((10_000, 200)) < 0.03).sum(axis=1)
    radius = float(bernstein_sum(200 * 0.03 * 0.97, 1.0, 0.05))
    assert np.count_nonzero(np.abs(total - 6) > radius) <= 500 + 7 * math.sqrt(475)


# refusals

anything = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()))


@given(values=st.lists(anything, min_size=1, max_size=6))
def test_bad_values_never_raise(values):
    question = Ranges.calibrate(8, ONE, 2)
    reports = question.randomize(values, seeded(1))
    assert question.valid(reports).all()
    assert question.decode(question.encode(reports)).tolist() == reports.tolist()


def test_spoiled_reports_are_not_valid():
    question = Ranges.calibrate(9, ONE, 3)
    reports = question.randomize(np.arange(9), seeded(1))
    for column, value in ((0, 200), (1, 1), (question.columns - 1, 255)):
        spoiled = reports.copy()
        spoiled[:, column] = value
        assert not question.valid(spoiled).any()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Ranges.calibrate(2, ONE), "k must"),
        (lambda: Ranges.calibrate(9, ONE, 10), "branching"),
        (lambda: Ranges(9, 3, ()), "do not fit"),
        (lambda: Ranges(9, 3, (ORACLES[0], ORACLES[0])), "level 1 needs"),
        (lambda: Reading(Ranges.calibrate(9, ONE), np.zeros(1)).between(3, 9), "range"),
    ],
)
def test_wrong_parameters_are_refused_by_name(make, said):
    with pytest.raises(ParameterError, match=said):
        make()
