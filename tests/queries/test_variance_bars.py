"""Bars of a variance cover wherever the values lie, and are hardly wider than what the noise asks for."""

import numpy as np
import pytest

from sfumato.planner import best
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries import bind, variance
from sfumato.queries.ratio import ratio_interval
from sfumato.queries.weighted_noise import weighted_quantile
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace, RoundedNormal, TruncatedLaplace
from sfumato.spaces import Integers
from sfumato.spaces.schema import Schema

ROUNDS = 2000


def drawn(law, shape, generator):
    if isinstance(law, RoundedNormal):
        return np.rint(generator.normal(scale=law.sigma, size=shape))
    p = -np.expm1(-1 / law.scale)
    return generator.geometric(p, shape) - generator.geometric(p, shape)


@pytest.mark.parametrize("law", [DiscreteLaplace, RoundedNormal])
def test_a_weighted_sum_exceeds_its_quantile_as_often_as_it_is_said(law):
    generator = np.random.default_rng(8)
    for _ in range(12):
        count, beta = int(generator.integers(1, 5)), float(generator.choice([0.2, 0.05, 0.01]))
        weights = generator.normal(size=(1, count)) * generator.choice([1e-9, 0.5, 1.0, 1.0], size=count)
        noise = law(float(generator.uniform(80, 400)))
        reach = weighted_quantile(weights, noise, beta)[0]
        missed = float((np.abs(drawn(noise, (100_000, count), generator) @ weights[0]) > reach).mean())
        assert missed <= beta + 5 * np.sqrt(beta / 100_000)
        assert missed >= 0.8 * beta - 5 * np.sqrt(beta / 100_000)  # and hardly less often


@pytest.mark.parametrize(("reaches", "least"), [(1.2, 0.0), (3.0, 0.1), (5.0, 0.6), (7.0, 0.85)])
def test_laplace_noise_that_is_cut_off_is_judged_by_the_law_without_the_cut(reaches, least):
    """Where little is cut off, sums exceed their bound nearly as often as is said; with a union bound, hardly ever."""
    for weights in (np.array([[0.5, 0.5]]), np.array([[0.7, -0.2, 0.6]])):
        noise = TruncatedLaplace(60.0, int(60 * reaches), 0.25)
        sums = np.abs(noise.sample((40_000, weights.shape[1]), seeded(4)) @ weights[0])
        missed = float((sums > weighted_quantile(weights, noise, 0.05)[0]).mean())
        assert least * 0.05 <= missed <= 0.05 + 5 * np.sqrt(0.05 / 40_000)
    pairs = 20_000 + noise.sample((4000, 2), seeded(5))
    low, high = ratio_interval(*pairs.T.astype(float), noise, 0.05)
    missed = float(((low > 0.5) | (high < 0.5)).mean())
    assert least * 0.05 - 0.01 <= missed <= 0.05 + 4 * np.sqrt(0.05 / 4000)


def test_equal_weights_lose_one_percent_and_no_digits():
    noise, one = DiscreteLaplace(1e6), np.ones((1, 3))
    equal = weighted_quantile(one, noise, 0.05)[0]
    apart = weighted_quantile(one * [1.0, 1.03, 1.06], noise, 0.05)[0]
    assert equal < apart < 1.06 * equal
    assert np.isfinite(weighted_quantile(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), noise, 1e-12)).all()


def simulated(values, spend, seed):
    """How often bars at 95 % cover, and their mean half-width over the 95 % error."""
    question = bind(variance("x"), Schema({"x": Integers(0, 120)}))
    mechanism = best(question, spend)
    totals = np.array([[len(values)], [int(values.sum())], [int((values**2).sum())]], dtype=object)
    answer = question.vector(totals)
    truth, rng = question.estimate(answer)[0], seeded(seed)
    outputs = np.concatenate([mechanism.release(answer, rng) for _ in range(ROUNDS)])
    low, high = question.interval(outputs, mechanism.noise, 0.05)
    error = float(np.quantile(np.abs(question.estimate(outputs) - truth), 0.95))
    return float(((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean()), float((high - low).mean() / 2 / error)


@pytest.mark.parametrize("spend", [Pure(1.0), Concentrated(0.1)])
def test_bars_of_a_variance_cover_and_are_hardly_too_wide(spend):
    generator = np.random.default_rng(21)
    for rows, most in ((300, 1.15), (3000, 1.08)):
        covered, width = simulated(generator.integers(10, 100, rows), spend, rows)
        assert covered >= 0.95 - 4 * np.sqrt(0.0475 / ROUNDS)
        assert width < most
    for values in (
        np.zeros(500, int),
        120 * generator.integers(0, 2, 500),
        np.full(40, 60),
        generator.integers(0, 7, 90),
    ):
        covered, _ = simulated(values, spend, len(values))
        assert covered >= 0.95 - 4 * np.sqrt(0.0475 / ROUNDS)
