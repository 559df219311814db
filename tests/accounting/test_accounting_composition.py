"""Composition, amplification and calibration: exact formulas, second routes, inverse problems."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting.amplification import (
    Poisson,
    WithoutReplacement,
    subsampled,
)
from sfumato.accounting.batch import Batch
from sfumato.accounting.calibration import (
    best_split,
    gaussian_sigma_for,
    laplace_scale_for,
    printed_gaussian_sigma,
    printed_laplace_scale_for,
    real_laplace_scale_for,
    releases_within,
)
from sfumato.accounting.composition import advanced, basic, optimal_delta, optimal_epsilon, parallel
from sfumato.accounting.lattice import discrete_laplace_law
from sfumato.accounting.laws import GaussianLaw, LaplaceLaw, pure_law
from sfumato.errors import ParameterError
from sfumato.privacy.adjacency import AddRemove, Replace
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Concentrated, GaussianPrivacy, Pure, Renyi
from sfumato.sampling import DiscreteLaplace


def exact_optimal(epsilon: float, delta: float, count: int, at: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(at)
        terms = (
            mpmath.binomial(count, j) * (mpmath.exp((count - j) * e) - mpmath.exp(a + j * e)) for j in range(count + 1)
        )
        value = sum(max(mpmath.mpf(0), term) for term in terms) / (1 + mpmath.exp(e)) ** count
        return 1 - (1 - mpmath.mpf(delta)) ** count * (1 - value)


# claims
@pytest.mark.parametrize(
    ("epsilon", "delta", "count", "at"),
    [(0.1, 0, 10, 0.5), (0.1, 1e-8, 100, 2.0), (0.02, 0, 1000, 2.9), (1, 0, 30, 20.0), (0.5, 1e-6, 7, 3.2)],
)
def test_optimal_composition_is_the_exact_formula(epsilon, delta, count, at):
    truth = exact_optimal(epsilon, delta, count, at)
    value = optimal_delta(Approximate(epsilon, delta), count, at)
    assert truth <= value <= truth * (1 + 1e-12)


def test_heterogeneous_optimal_composition_in_a_bracket():
    sizes = np.random.default_rng(3).uniform(0.01, 0.2, 25)
    lower, upper = Batch(tuple((pure_law(float(size)), 1) for size in sizes)).epsilon(1e-6)
    equal = optimal_epsilon(Pure(0.2), 25, 1e-6)
    assert 0 < lower <= upper <= min(1.001 * lower, float(sizes.sum()), equal)


@pytest.mark.parametrize(("rate", "sigma", "count"), [(0.01, 1.0, 1000), (0.1, 2.0, 100)])
def test_poisson_sampled_gaussians_agree_with_an_independent_library(rate, sigma, count):
    law = Poisson(GaussianLaw(1 / sigma), rate)
    lower, upper = Batch(((law, count),)).epsilon(1e-6)
    pld = privacy_loss_distribution.from_gaussian_mechanism(sigma, sampling_prob=rate)
    assert lower <= pld.self_compose(count).get_epsilon_for_delta(1e-6) <= upper * 1.0005
    assert upper <= 1.001 * lower


def test_sampling_moves_the_profile_as_the_closed_form_says():
    for law in (WithoutReplacement(GaussianLaw(1.0), 0.2), Poisson(GaussianLaw(1.0), 0.2)):
        for epsilon in (0.1, 0.5, 1.0):
            moved = subsampled(Approximate(epsilon, gaussian_delta(1.0, 1.0, epsilon)), 0.2)
            lower, upper = Batch(((law, 1),)).delta(moved.epsilon)
            assert lower <= moved.delta * (1 + 1e-9)
            assert upper == pytest.approx(moved.delta, rel=0.02)


def test_twenty_counts_have_at_least_1_4_times_less_error_than_an_even_split():
    target = Approximate(1.0, 1e-6)
    even = 20 * math.sqrt(2)  # Laplace of scale 20 for each count
    split = best_split([1.0] * 20, target)
    assert even / split.error >= 1.4
    mu = math.sqrt(math.fsum((1 / sigma) ** 2 for sigma in split.scales))
    assert split.kind == "gaussian"
    assert gaussian_delta(1.0, mu * (1 + 1e-14), 1.0) <= 1e-6
    weights = [1.0] * 10 + [100.0] * 10
    assert even / best_split([1.0] * 20, target, weights).error > even / split.error


def test_laplace_and_gaussian_of_the_source_document_calibrated_by_composition():
    scale = real_laplace_scale_for(1000, 1.0, 10.0, 1e-3)
    assert scale > printed_laplace_scale_for(1000, 1.0, 10.0, 1e-3)
    delta = Batch(((LaplaceLaw(1 / scale), 1000),)).delta(10.0)
    assert 0.99e-3 <= delta.lower <= delta.upper <= 1e-3 * (1 + 1e-3)
    assert Batch(((LaplaceLaw(1 / (0.99 * scale)), 1000),)).delta(10.0).lower > 1e-3
    sigma = gaussian_sigma_for(100, 1.0, 3.0, 1e-5)
    assert gaussian_delta(sigma, 10.0, 3.0) <= 1e-5 < gaussian_delta(0.9999 * sigma, 10.0, 3.0)


@settings(max_examples=6, deadline=None)
@given(count=st.integers(1, 300), steps=st.integers(1, 30), epsilon=st.floats(0.3, 8.0), power=st.floats(-8.0, -2.0))
def test_laplace_scales_are_those_of_the_noise_that_is_drawn(count, steps, epsilon, power):
    """The law of the mechanism's own noise, on the integers: the claim holds for it, and a smaller scale's does not."""
    delta = 10.0**power
    scale = laplace_scale_for(count, steps, epsilon, delta)
    law = discrete_laplace_law(scale, steps)
    drawn = DiscreteLaplace(scale)
    assert [float(p) for p in law.p[::-1][1:-1]] == pytest.approx([drawn.pmf(z) for z in range(1, steps)])
    assert Batch(((law, count),)).upper(delta, tolerance=1e-4) <= epsilon
    less = Batch(((discrete_laplace_law(0.99 * scale, steps), count),)).epsilon(delta)
    assert less.upper > epsilon
    assert scale >= real_laplace_scale_for(count, float(steps), epsilon, delta) * (1 - 1e-5)


def test_real_laplace_scales_are_not_enough_for_counts():
    scale = real_laplace_scale_for(1000, 1.0, 10.0, 1e-3)
    assert Batch(((discrete_laplace_law(scale, 1), 1000),)).epsilon(1e-3).lower > 10.17
    with pytest.raises(ParameterError, match="whole number of lattice steps"):
        laplace_scale_for(10, 1.5, 1.0, 1e-6)


def test_splits_with_laplace_noise_hold_for_integer_noise():
    """Few releases at a tiny delta, where Laplace noise wins; a sensitivity that is not whole pays for any noise."""
    for parts in ([1.0, 8.0], [1.0, 1.0, 2.5]):
        split = best_split(parts, Approximate(1.0, 1e-9))
        assert split.kind == "laplace"
        laws = [
            (discrete_laplace_law(b, int(s)) if s == int(s) else pure_law(s / b), 1)
            for s, b in zip(parts, split.scales, strict=True)
        ]
        added = math.fsum(s / b for s, b in zip(parts, split.scales, strict=True))  # epsilons add up
        assert min(added, Batch(tuple(laws)).upper(1e-9, tolerance=1e-4)) <= 1.0 * (1 + 1e-9)


def test_the_printed_gaussian_rule_is_for_small_epsilon_only():
    assert gaussian_delta(printed_gaussian_sigma(1.0, 1.0, 1e-3), 1.0, 1.0) < 1e-3
    assert gaussian_delta(printed_gaussian_sigma(1.0, 10.0, 1e-3), 1.0, 10.0) > 2e-3


def test_number_of_releases_a_budget_allows():
    count = releases_within(GaussianLaw(0.02), 1.0, 1e-6)
    assert gaussian_delta(1.0, 0.02 * math.sqrt(count), 1.0) <= 1e-6
    assert gaussian_delta(1.0, 0.02 * math.sqrt(count + 1), 1.0) > 1e-6
    assert releases_within(LaplaceLaw(2.0), 1.0, 1e-9) == 0


def test_splits_of_pure_and_concentrated_budgets():
    pure = best_split([1.0, 8.0], Pure(1.0))
    assert math.fsum(s / b for s, b in zip((1.0, 8.0), pure.scales, strict=True)) <= 1.0
    assert pure.scales[1] / pure.scales[0] == pytest.approx(2.0)
    flat = best_split([1.0, 4.0], Concentrated(0.5))
    assert math.fsum((s / b) ** 2 / 2 for s, b in zip((1.0, 4.0), flat.scales, strict=True)) <= 0.5
    worse = [math.sqrt(2 * s**2) for s in (1.0, 4.0)]  # an even split of rho
    assert flat.error < math.sqrt(math.fsum(s * s for s in worse) / 2)


# laws
claims = st.one_of(st.builds(Pure, st.floats(0, 3)), st.builds(Approximate, st.floats(0, 3), st.floats(0, 1e-3)))


@given(st.lists(claims, min_size=1, max_size=6), st.randoms())
def test_basic_composition_ignores_order_and_never_shrinks(parts, shuffler):
    mixed = list(parts)
    shuffler.shuffle(mixed)
    whole = basic(parts)
    assert whole == basic(mixed)
    assert all(part.epsilon <= whole.epsilon for part in parts)
    assert math.fsum(part.epsilon for part in parts) <= whole.epsilon


def test_composition_of_nothing_is_free():
    assert basic([]) == Pure(0.0) == parallel([], AddRemove())


@given(st.floats(0.01, 1), st.integers(1, 60), st.floats(1e-9, 1e-2))
@settings(max_examples=60)
def test_optimal_is_best_of_basic_and_advanced(epsilon, count, delta):
    best = optimal_epsilon(Pure(epsilon), count, delta)
    assert optimal_delta(Pure(epsilon), count, best) <= delta
    assert best <= min(count * epsilon, advanced(Pure(epsilon), count, delta).epsilon) * (1 + 1e-12)
    if best > 1e-6:
        assert exact_optimal(epsilon, 0, count, best * (1 - 1e-9)) > delta * (1 - 1e-9)


@given(st.floats(0.01, 0.99), st.floats(0.05, 2))
@settings(max_examples=20, deadline=None)
def test_sampling_never_costs_more_than_the_whole(rate, mu):
    whole = Batch(((GaussianLaw(mu), 10),)).upper(1e-6)
    assert Batch(((Poisson(GaussianLaw(mu), rate), 10),)).upper(1e-6) <= whole * 1.002


def test_kinds_compose_within_themselves():
    assert basic([Concentrated(0.1), Pure(0.1)]).rho >= 0.1 + 0.1 * math.tanh(0.05)
    assert basic([GaussianPrivacy(3.0), GaussianPrivacy(4.0)]).mu == pytest.approx(5.0)
    assert basic([Renyi(4.0, 0.1), Renyi(4.0, 0.2)]).epsilon >= 0.3
    assumed = basic([Pure(0.1, assumptions=frozenset({"mixing"})), Pure(0.1)])
    assert assumed.assumptions == {"mixing"}


def test_disjoint_parts_cost_the_worst_or_twice_it():
    parts = [Concentrated(0.1), Concentrated(0.3)]
    assert parallel(parts, AddRemove()) == Concentrated(0.3)
    assert parallel(parts, Replace()).rho == pytest.approx(1.2)  # one part may change twice


# refusals
def test_refuses_what_does_not_add_up():
    with pytest.raises(ParameterError, match="convert them"):
        basic([Approximate(1.0, 1e-6), Concentrated(0.1)])
    with pytest.raises(ParameterError, match="convert them"):
        basic([Renyi(2.0, 0.1), Renyi(3.0, 0.1)])
    with pytest.raises(ParameterError, match="one kind"):
        parallel([Pure(0.1), Concentrated(0.1)], AddRemove())
    with pytest.raises(ParameterError, match="rate must lie"):
        Poisson(GaussianLaw(1.0), 1.0)
    with pytest.raises(ParameterError, match="symmetric"):
        WithoutReplacement(Poisson(GaussianLaw(1.0), 0.5), 0.5)
    with pytest.raises(ParameterError, match="weights must match"):
        best_split([1.0, 1.0], Pure(1.0), [1.0])


def test_optimal_epsilon_is_infinite_when_delta_is_spent():
    assert optimal_epsilon(Approximate(0.1, 1e-3), 10, 1e-3) == math.inf
