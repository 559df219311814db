"""The strategy mechanism and the elliptic Gaussian: claims, laws, distribution, audit by enumeration, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import EllipticGaussian, Strategy
from sfumato.queries import bind
from sfumato.queries.linear.measurements import Dense, Hierarchy
from sfumato.queries.linear.optimization import identity
from sfumato.randomness import seeded

CELLS = 8
SCHEMA = sf.Schema({"x": sf.Interval(0, CELLS - 1, step=1)})
PREFIX = bind(sf.prefix("x"), SCHEMA)
TREE = Hierarchy(CELLS, (1, 2, 4, 8), (1, 1, 1, 1), (0, 0, 0))
COUNTS = np.arange(CELLS) * 100


# claims: the numbers the theorem gives


@pytest.mark.parametrize(("scale", "distance", "epsilon"), [(4.0, 1, 1.0), (8.0, 1, 0.5), (8.0, 3, 1.5), (8.0, 0, 0.0)])
def test_a_tree_of_four_levels_costs_four_over_its_scale(scale, distance, epsilon):
    assert Strategy(PREFIX, scale, TREE).guarantee(distance) == sf.Pure(epsilon)


def test_replacement_of_a_row_costs_two_on_every_level_but_the_root():
    always = sf.Schema({"x": sf.Interval(0, 7, step=1, missing=0)}, adjacency=sf.Replace(), size=10)
    assert Strategy(bind(sf.prefix("x"), always), 6.0, TREE).guarantee() == sf.Pure(1.0)


def test_an_elliptic_gaussian_costs_half_the_squared_ratio():
    assert EllipticGaussian(PREFIX, 2.0, TREE).guarantee() == sf.Concentrated(0.5)


def test_root_mean_square_is_that_of_least_squares():
    strategy = Strategy(PREFIX, 4.0, TREE)
    matrix = np.stack([TREE.apply(row) for row in np.eye(CELLS, dtype=int)], axis=1).astype(float)
    reading = np.tri(CELLS) @ np.linalg.pinv(matrix)
    assert strategy.root_mean_square == pytest.approx(
        math.sqrt((reading**2).sum(axis=1).mean() * strategy.noise.variance)
    )


# laws: true for every parameter


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-3, 20), st.integers(1, 4))
def test_calibrate_never_exceeds_its_target(epsilon, branching):
    made = Strategy.calibrate(PREFIX, sf.Pure(epsilon), TREE if branching > 1 else identity(CELLS))
    assert made.guarantee().epsilon <= epsilon
    assert made.guarantee().epsilon >= epsilon * (1 - 1e-12) or made.scale == 1e-3


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-3, 5))
def test_a_gaussian_never_exceeds_its_target(rho):
    assert EllipticGaussian.calibrate(PREFIX, sf.Concentrated(rho), TREE).guarantee().rho <= rho


def test_the_best_measurement_is_no_worse_than_any_named_one():
    chosen = Strategy.calibrate(PREFIX, sf.Pure(1.0)).root_mean_square
    for other in (TREE, identity(CELLS), Dense.of(np.tri(CELLS, dtype=int))):
        assert chosen <= Strategy.calibrate(PREFIX, sf.Pure(1.0), other).root_mean_square * 1.02


def test_the_release_is_deterministic_and_leaves_its_input_alone():
    counts = COUNTS.copy()
    strategy = Strategy(PREFIX, 4.0, TREE)
    one, other = strategy.release(counts, seeded(3)), strategy.release(counts, seeded(3))
    assert (one == other).all()
    assert (counts == COUNTS).all()


# distribution: the noise is what the docstring says


@pytest.mark.parametrize("name", ["strategy", "gaussian"])
def test_errors_have_the_stated_variance_and_margins_cover(name):
    """4,000 releases: the mean square of a row has relative error 4 % (Laplace) at five deviations, margins 1.8 %."""
    made = Strategy(PREFIX, 4.0, TREE) if name == "strategy" else EllipticGaussian(PREFIX, 5.0, TREE)
    gaps = np.array([made.answers(made.release(COUNTS, seeded(i))) for i in range(4000)]) - np.cumsum(COUNTS)
    expected = TREE.variances(PREFIX.linear) * made.noise.variance
    ratios = (gaps**2).mean(axis=0) / expected
    kurtosis = 6.0 if name == "strategy" else 3.0
    assert np.abs(ratios - 1).max() <= 5 * math.sqrt((kurtosis - 1) / 4000)
    assert np.abs(ratios * 1.21 - 1).max() > 5 * math.sqrt((kurtosis - 1) / 4000)  # ten percent off is seen
    for beta in (0.05, 0.01):
        missed = (np.abs(gaps) > made.margins(beta)).mean(axis=0)
        assert missed.max() <= beta + 5 * math.sqrt(beta / 4000)


# audit: evidence from outside


def test_measurements_of_neighbors_differ_by_no_more_than_the_claim():
    strategy = Strategy(PREFIX, 4.0, TREE)
    law = strategy.noise
    worst = 0.0
    for cell in range(CELLS):
        other = COUNTS.copy()
        other[cell] += 1
        shift = TREE.apply(other) - TREE.apply(COUNTS)
        # the largest loss of independent noise is the sum of the largest losses
        worst = max(worst, sum(math.log(law.pmf(0) / law.pmf(int(s))) for s in shift))
    assert worst <= strategy.guarantee().epsilon * (1 + 1e-12)
    assert worst > Strategy(PREFIX, 8.0, TREE).guarantee().epsilon  # half the claim would be refuted


def test_the_gaussian_profile_is_that_of_the_worst_shift():
    made = EllipticGaussian.calibrate(PREFIX, sf.Approximate(1.0, 1e-5), TREE)
    mu = 2 / made.sigma  # four levels: the l2 norm of a column is 2
    delta = stats.norm.cdf(mu / 2 - 1 / mu) - math.e * stats.norm.cdf(-mu / 2 - 1 / mu)
    assert delta == pytest.approx(1e-5, rel=1e-6)
    assert made.guarantee().delta >= delta * (1 - 1e-9)


# refusals


def test_refusals():
    with pytest.raises(UnsupportedQuery, match="pure targets"):
        Strategy.calibrate(PREFIX, sf.Concentrated(1.0))
    with pytest.raises(UnsupportedQuery, match="rho > 0 or delta > 0"):
        EllipticGaussian.calibrate(PREFIX, sf.Pure(1.0), TREE)
    with pytest.raises(ParameterError, match="beta"):
        Strategy(PREFIX, 4.0, TREE).margins(0.0)
    with pytest.raises(ParameterError, match="scale"):
        Strategy(PREFIX, -1.0, TREE)


def test_a_refusal_does_not_print_the_answer():
    with pytest.raises(ParameterError, match=r"shape \(3,\)") as caught:
        Strategy(PREFIX, 4.0, TREE).release(np.array([71717, 1, 2]), seeded(1))
    assert "71717" not in str(caught.value)
