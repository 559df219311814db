"""Quantiles of weighted sums against exact convolutions, simulations, and bounds that would be too narrow."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.mechanisms import EllipticGaussian, Strategy
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries import bind
from sfumato.queries.linear.choosing import measurements
from sfumato.queries.linear.reading import coefficients_of
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace, RoundedNormal, weighted_sums
from sfumato.sampling.weighted_sums import discrete_laplace, rounded_normal, sum_quantiles

SCHEMA = sf.Schema({"a": sf.Integers(0, 7), "b": sf.Integers(0, 40), "c": sf.Categories(list("xyz"))})


def masses(law, scale, reach):
    return np.array([law(scale).pmf(z) for z in range(-reach, reach + 1)])


def convolved(weights, single):
    """The law of a sum with whole weights, on -reach..reach."""
    total = np.ones(1)
    for weight in weights:
        spread = np.zeros((len(single) - 1) * weight + 1)
        spread[::weight] = single
        total = np.convolve(total, spread)
    return total


def tail(law, t):
    at = np.abs(np.arange(len(law)) - len(law) // 2)
    return float(law[at > t + 1e-9].sum())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=5),
    st.sampled_from([(DiscreteLaplace, discrete_laplace), (RoundedNormal, rounded_normal)]),
    st.floats(0.2, 3.0), st.floats(1e-4, 0.5),
)  # fmt: skip
def test_tails_of_whole_weights_are_those_of_the_convolution(weights, kinds, scale, beta):
    law, characteristic = kinds
    exact = convolved(weights, masses(law, scale, 60))
    rough = [next(t for t in range(2000) if tail(exact, t) <= p) for p in (beta, weighted_sums.SMALL * beta)]
    near, far = (np.array([1.3 * t + 1]) for t in rough)
    row = np.array([weights], dtype=float) * np.where(np.arange(len(weights)) % 2, -1, 1)
    found = float(sum_quantiles(row, characteristic(scale), law(scale).variance, beta, near, far)[0])
    assert tail(exact, found) <= beta
    sd = math.sqrt(law(scale).variance * sum(w * w for w in weights))
    assert found <= max(rough[0], next(t for t in range(2000) if tail(exact, t) <= 0.97 * beta)) + 0.13 * sd + 1e-6


@pytest.mark.parametrize("query", [sf.prefix("a"), sf.ranges("a"), sf.prefix("b"), sf.marginals(["a", "c"], 2)])
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_bars_of_strategies_are_a_tenth_wider_than_the_oracle_at_most(query, epsilon):
    question = bind(query, SCHEMA)
    mechanism = min((Strategy.calibrate(question, Pure(epsilon), one) for _, one in measurements(question, "l1")),
                    key=lambda one: one.root_mean_square)  # fmt: skip
    rows = coefficients_of(mechanism.measurement, question.linear)
    draws = mechanism.noise.sample((40_000, rows.shape[1]), seeded(3))
    for place in (0, len(rows) // 3, len(rows) - 1):
        errors, bar = np.abs(draws @ rows[place]), mechanism.margins(0.05)[place]
        assert (errors > bar).mean() <= 0.05 + 4 * math.sqrt(0.05 / 40_000)
        assert bar <= 1.1 * np.quantile(errors, 0.95)


def test_bars_of_rounded_normals_are_sharp_where_rounding_counts():
    question = bind(sf.prefix("b"), SCHEMA)
    histogram = dict(measurements(question, "l2"))["histogram"]
    mechanism = EllipticGaussian.calibrate(question, Concentrated(1.0), histogram)
    draws = mechanism.noise.sample((40_000, 41), seeded(4)).cumsum(axis=1)
    for place in (3, 40):
        errors, bar = np.abs(draws[:, place]), mechanism.margins(0.05)[place]
        assert (errors > bar).mean() <= 0.05 + 4 * math.sqrt(0.05 / 40_000)
        assert bar <= 1.1 * np.quantile(errors, 0.95) + 1


def test_coefficients_read_what_least_squares_reads():
    question = bind(sf.ranges("a"), SCHEMA)
    for _, one in measurements(question, "l1"):
        rows, noisy = coefficients_of(one, question.linear), np.sin(np.arange(one.size))
        assert np.allclose(rows @ noisy, question.linear.apply(one.solve(noisy)))


def test_what_would_take_too_long_keeps_the_rough_bound(monkeypatch):
    rows, near = np.array([[1.0, 0.5, 0.2], [0.0, 0.0, 0.0]]), np.array([30.0, 0.0])
    sharp = sum_quantiles(rows, discrete_laplace(3.0), DiscreteLaplace(3.0).variance, 0.05, near, 2 * near)
    monkeypatch.setattr(weighted_sums, "MOST_VALUES", 10)
    kept = sum_quantiles(rows, discrete_laplace(3.0), DiscreteLaplace(3.0).variance, 0.05, near, 2 * near)
    assert sharp[0] < 15 < kept[0] == 30
    assert sharp[1] == kept[1] == 0


def test_wide_laws_keep_their_digits():
    """Sums of noise of a scale of many millions are the same but for the scale: 1 - cos u would be nothing there."""
    rows = np.array([[1.0, 0.6, 0.3, 0.1]])
    found = []
    for scale in (1e4, 1e9):
        variance = 2 * scale**2
        near, far = np.array([12 * scale]), np.array([25 * scale])
        found.append(sum_quantiles(rows, discrete_laplace(scale), variance, 0.05, near, far)[0] / scale)
    assert found[1] == pytest.approx(found[0], rel=1e-3)
    draws = np.random.default_rng(5).laplace(size=(100_000, 4)) @ rows[0]
    assert found[1] == pytest.approx(np.quantile(np.abs(draws), 0.95), rel=0.06)
