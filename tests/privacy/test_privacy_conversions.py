"""Conversions and divergences: sharp values, optimality over the order, inequalities between them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting.divergences import (
    approximate_max_divergence,
    chi_square,
    hockey_stick,
    kullback_leibler,
    max_divergence,
    pure_kullback_leibler,
    renyi,
    squared_hellinger,
    total_variation,
)
from sfumato.errors import ParameterError
from sfumato.privacy.conversions import (
    concentrated_delta,
    concentrated_for,
    concentrated_to_approximate,
    pure_for,
    pure_to_concentrated,
    renyi_to_approximate,
)
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Concentrated, GaussianPrivacy, Pure, Renyi

rhos = st.floats(1e-6, 20)
deltas = st.floats(1e-12, 0.3)
laws = st.lists(st.floats(0.01, 1), min_size=2, max_size=6)


def normalized(values: list[float], size: int) -> np.ndarray:
    law = np.resize(np.array(values), size)
    return law / law.sum()


# claims
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 10.0])
def test_randomized_response_attains_the_concentrated_cost_of_pure(epsilon):
    likely = 1 / (1 + math.exp(-epsilon))
    p, q = [likely, 1 - likely], [1 - likely, likely]
    rho = pure_to_concentrated(epsilon)
    assert renyi(p, q, 1.0001) / 1.0001 == pytest.approx(rho, rel=2e-3)
    for order in (1.01, 1.5, 2, 8, 100):
        assert renyi(p, q, order) <= order * rho * (1 + 1e-9)
    assert kullback_leibler(p, q) == pytest.approx(pure_kullback_leibler(epsilon), rel=1e-9)
    assert rho <= epsilon**2 / 2 * (1 + 1e-12)
    assert rho <= epsilon * math.expm1(epsilon)


@given(rhos, deltas)
def test_the_order_chosen_is_the_best(rho, delta):
    best = concentrated_to_approximate(rho, delta)
    for order in (1.01, 1.5, 2, 4, 8, 32, 128, 1000):
        assert best <= renyi_to_approximate(order, order * rho, delta) * (1 + 1e-9) + 1e-12


@given(rhos, deltas)
def test_the_conversion_is_above_what_gaussian_noise_attains(rho, delta):
    epsilon = concentrated_to_approximate(rho, delta)
    assert gaussian_delta(1.0, math.sqrt(2 * rho), epsilon) <= delta * (1 + 1e-9)


# laws
@given(st.floats(0.01, 20), deltas)
def test_inverse_conversions_round_inward(epsilon, delta):
    rho = concentrated_for(epsilon, delta)
    assert concentrated_to_approximate(rho, delta) <= epsilon
    assert concentrated_to_approximate(rho * (1 + 1e-9), delta) > epsilon
    pure = pure_for(rho)
    assert pure_to_concentrated(pure) <= rho < pure_to_concentrated(pure * (1 + 1e-9))


@given(rhos, st.floats(0.01, 30))
def test_delta_and_epsilon_of_a_rho_agree(rho, epsilon):
    delta = concentrated_delta(rho, epsilon)
    if 1e-300 < delta < 0.99:
        assert concentrated_to_approximate(rho, delta) <= epsilon * (1 + 1e-9)


@given(laws, laws, st.floats(0, 3), st.floats(0, 0.9))
def test_divergences_keep_their_order(first, second, epsilon, delta):
    size = max(len(first), len(second))
    p, q = normalized(first, size), normalized(second, size)
    variation, divergence = total_variation(p, q), kullback_leibler(p, q)
    assert variation <= math.sqrt(divergence / 2) + 1e-7  # Pinsker
    assert squared_hellinger(p, q) <= variation + 1e-12
    assert divergence <= math.log1p(chi_square(p, q)) + 1e-12
    assert divergence <= renyi(p, q, 2.0) + 1e-9 <= max_divergence(p, q) + 2e-9
    assert hockey_stick(p, q, epsilon) <= variation + 1e-15
    assert hockey_stick(p, q, max_divergence(p, q)) <= 1e-12
    assert hockey_stick(p, q, approximate_max_divergence(p, q, delta)) <= delta + 1e-12


@given(laws, laws)
def test_kullback_leibler_is_within_the_pure_bound(first, second):
    size = max(len(first), len(second))
    p, q = normalized(first, size), normalized(second, size)
    epsilon = max(max_divergence(p, q), max_divergence(q, p))
    assert kullback_leibler(p, q) <= pure_kullback_leibler(epsilon) + 1e-12


def test_the_definition_without_delta_in_the_numerator_is_stronger_than_needed():
    p, q = [0.5, 0.5], [0.25, 0.75]
    printed = math.log(0.5 / 0.25)  # events of probability at least 0.1, delta left out
    assert approximate_max_divergence(p, q, 0.1) == pytest.approx(math.log(0.4 / 0.25))
    assert approximate_max_divergence(p, q, 0.1) < printed


def test_mass_without_counterpart_is_infinite():
    p, q = [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]
    assert max_divergence(p, q) == kullback_leibler(p, q) == renyi(p, q, 3.0) == math.inf
    assert approximate_max_divergence(p, q, 0.5) == 0.0
    assert hockey_stick(p, q, 50.0) == pytest.approx(0.5)


# refusals
def test_refuses_laws_that_are_none():
    with pytest.raises(ParameterError, match="same outcomes"):
        total_variation([1.0], [0.5, 0.5])
    with pytest.raises(ParameterError, match="add up to 1"):
        total_variation([0.5, 0.6], [0.5, 0.5])


# methods of claims
@settings(max_examples=20)
@pytest.mark.parametrize("assumptions", [(), ("mixing",)])
@given(st.floats(0.01, 3), deltas)
def test_a_claim_at_a_delta_is_implied_and_no_smaller_epsilon_is(assumptions, amount, delta):
    claims = (
        Pure(amount),
        Concentrated(amount),
        Renyi(8.0, amount),
        GaussianPrivacy(amount),
        Approximate(amount, delta),
    )
    for claim in (one.assuming(*assumptions) for one in claims):
        found = claim.at(delta=delta)
        assert claim.implies(found)
        assert found.delta == delta
        assert found.assumptions == frozenset(assumptions)
        assert not found.epsilon or not claim.implies(found.with_parts({"epsilon": found.epsilon * (1 - 1e-9)}))
    assert Concentrated(amount).at(delta).epsilon == concentrated_to_approximate(amount, delta)


def test_claims_convert_to_other_kinds_where_these_follow():
    assert Pure(1.0).to("concentrated") == Concentrated(pure_to_concentrated(1.0))
    assert GaussianPrivacy(0.5).to("concentrated").rho == pytest.approx(0.125)
    assert GaussianPrivacy(0.5).implies(GaussianPrivacy(0.5).to("concentrated"))
    assert Approximate(0.5, 0.0).to("pure") == Pure(0.5)
    with pytest.raises(ParameterError, match="implies no pure claim"):
        Concentrated(0.5).to("pure")
    with pytest.raises(ParameterError, match="raise delta"):
        Approximate(0.5, 1e-3).at(delta=1e-6)
    with pytest.raises(ParameterError, match="has no delta"):
        Pure(0.5).to("concentrated", delta=1e-6)
    with pytest.raises(ParameterError, match="one of pure, approximate, concentrated"):
        Pure(0.5).to("renyi")
