"""Releases listed by a person: both ends against closed forms and other routes, and what belongs to which line."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting.composition import optimal_epsilon
from sfumato.accounting.lines import Line, reading
from sfumato.accounting.shuffling import shuffled_delta, shuffled_epsilon
from sfumato.errors import ParameterError
from sfumato.privacy.conversions import concentrated_to_approximate
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import GaussianPrivacy, Pure


# claims
def test_a_thousand_gaussian_releases_are_one():
    found = reading([Line("gaussian", 20.0, times=1000)], delta=1e-6)
    exact = GaussianPrivacy(math.sqrt(1000) / 20).at(delta=1e-6).epsilon
    assert exact == pytest.approx(8.3062, abs=1e-4)
    assert found.lower <= exact <= found.upper <= found.lower * (1 + 3e-6)


@settings(max_examples=8)
@given(
    st.lists(st.tuples(st.floats(1, 50), st.integers(1, 30), st.floats(0.1, 3)), min_size=1, max_size=3),
    st.floats(-9, -2),
)
def test_gaussian_lines_meet_their_closed_form(rows, power):
    lines = [Line("gaussian", sigma, times=times, sensitivity=reach) for sigma, times, reach in rows]
    mu = math.sqrt(math.fsum(times * (reach / sigma) ** 2 for sigma, times, reach in rows))
    found = reading(lines, delta=10.0**power)
    assert gaussian_delta(1.0, mu, found.upper * (1 + 1e-9)) <= 10.0**power * (1 + 1e-6)
    assert found.lower == 0 or gaussian_delta(1.0, mu, found.lower) >= 10.0**power


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 40), (0.7, 9), (2.0, 2)])
def test_promises_and_responses_meet_the_optimal_composition(epsilon, times):
    best = optimal_epsilon(Pure(epsilon), times, 1e-5)
    true = 1 / (1 + math.exp(-epsilon))
    assert Line("response", 0.75).words() == "randomized response, true with probability 0.75"
    for line in (Line("pure", epsilon, times=times), Line("response", true, times=times)):
        found = reading([line], delta=1e-5)
        assert found.lower <= best * (1 + 1e-9)
        assert best <= found.upper * (1 + 1e-9)
        assert found.upper - found.lower < 2e-3 * best


def test_rhos_add_up_before_they_are_converted():
    found = reading([Line("rho", 0.01, times=4), Line("rho", 0.06)], delta=1e-6)
    assert found.lower is None
    assert found.upper == pytest.approx(concentrated_to_approximate(0.1, 1e-6), rel=5e-3)
    assert found.upper >= concentrated_to_approximate(0.1, 1e-6) * (1 - 1e-3)


def test_shuffled_reports_alone_and_together():
    one = reading([Line("pure", 1.0, shuffled=2000)], delta=1e-6)
    assert one.lower is None
    assert one.upper == shuffled_epsilon(1.0, 2000, 1e-6)
    known = Line("response", math.e / (math.e + 7), values=8, shuffled=2000)  # of the same epsilon
    assert reading([known], delta=1e-6).upper < 0.9 * one.upper
    twice = reading([Line("pure", 1.0, times=2, shuffled=2000)], delta=2e-6)
    assert one.upper < twice.upper < 2 * one.upper
    assert reading([Line("pure", 1.0, shuffled=2000)], epsilon=0.1).upper == shuffled_delta(1.0, 2000, 0.1)


def test_a_sample_costs_less_and_mixtures_cost_more_than_their_parts():
    alone = reading([Line("laplace", 10.0, times=20)], delta=1e-6)
    sampled = reading([Line("laplace", 10.0, times=20, sampled=0.1)], delta=1e-6)
    mixed = reading([Line("laplace", 10.0, times=20), Line("discrete-gaussian", 15.0, sensitivity=2)], delta=1e-6)
    assert sampled.upper < alone.lower / 4
    assert alone.upper < mixed.lower <= mixed.upper
    back = reading([Line("laplace", 10.0, times=20)], epsilon=alone.upper)
    assert back.lower <= 1e-6 * (1 + 1e-3)


# refusals
@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (("cauchy", 1.0), "noise must be one of"),
        (("gaussian", 0.0), "above 0"),
        (("pure", 1.0, 1, 2.0), "sensitivity belongs to noise"),
        (("response", 0.5), "between 1/2 and 1"),
        (("response", 1.0), "between 1/2 and 1"),
        (("gaussian", 1.0, 0), "times"),
    ],
)
def test_refuses_lines_that_mean_nothing(parts, words):
    with pytest.raises(ParameterError, match=words):
        Line(*parts)


def test_refuses_what_does_not_go_together():
    with pytest.raises(ParameterError, match="response or pure"):
        Line("gaussian", 1.0, shuffled=100)
    with pytest.raises(ParameterError, match="not both"):
        Line("pure", 1.0, shuffled=100, sampled=0.1)
    with pytest.raises(ParameterError, match="values belong to response"):
        Line("pure", 1.0, values=3)
    with pytest.raises(ParameterError, match="whole number of steps"):
        reading([Line("discrete-laplace", 2.0, sensitivity=1.5)], delta=1e-6)
    with pytest.raises(ParameterError, match="one of them"):
        reading([Line("pure", 1.0)])
    with pytest.raises(ParameterError, match="reveal outright"):
        reading([Line("approximate", 0.1, times=20, delta=1e-6)], delta=1e-6)
    with pytest.raises(ParameterError, match="at least one line"):
        reading([], delta=1e-6)
