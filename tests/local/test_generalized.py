"""Generalized randomized response: worked values, the exact channel with and without delta, draws, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact import check_claim, check_draws, check_estimates
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols import GeneralizedResponse
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure

# claims


@pytest.mark.parametrize("k", [2, 3, 10, 1024])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_truth_has_probability_e_to_epsilon_over_e_to_epsilon_plus_others(k, epsilon):
    response = GeneralizedResponse.calibrate(k, Pure(epsilon))
    assert response.keep == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + k - 1), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_two_categories_have_the_variance_of_randomized_response(epsilon):
    response = GeneralizedResponse.calibrate(2, Pure(epsilon))
    expected = math.exp(epsilon) / math.expm1(epsilon) ** 2
    assert response.variance(1) == pytest.approx([expected, expected], rel=1e-9)
    assert response.variance(50, [0.3, 0.7]) == pytest.approx([expected / 50] * 2, rel=1e-9)


def test_warners_two_coins_are_ln_3():
    """Heads: the truth; tails: heads yes, tails no.  The truth comes with probability 3/4."""
    response = GeneralizedResponse(2, Fraction(1, 2))
    assert response.keep == 0.75
    assert math.log(3) <= response.guarantee().epsilon <= math.log(3) + 1e-14


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("target", [Pure(0.1), Pure(1.0), Pure(4.0), Approximate(0.5, 0.1), Approximate(2.0, 1e-3)])
def test_the_claim_is_the_exact_channels(k, target):
    response = GeneralizedResponse.calibrate(k, target)
    check_claim(response, target)
    check_estimates(response, np.eye(k), np.eye(k))


def test_delta_buys_truth_by_4_10():
    """p = (1 - delta)/(k - 1 + e^epsilon) for each lie, as in the central mechanism."""
    response = GeneralizedResponse.calibrate(5, Approximate(1.0, 0.2))
    assert 1 - response.keep == pytest.approx(4 * 0.8 / (4 + math.e), rel=1e-12)


# laws


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 5000), st.floats(1e-6, 60), st.floats(0, 0.9))
def test_calibrate_never_exceeds_its_target(k, epsilon, delta):
    target = Approximate(epsilon, delta)
    assert GeneralizedResponse.calibrate(k, target).guarantee().implies(target)


# distribution


def test_responses_follow_the_channel():
    response, other = (GeneralizedResponse.calibrate(5, Pure(epsilon)) for epsilon in (1.0, 0.8))
    check_draws(response, other, range(5), 501)


# refusals


def test_refusals_name_the_argument_and_the_fix():
    with pytest.raises(ParameterError, match="k must be a whole number from 2"):
        GeneralizedResponse.calibrate(1, Pure(1.0))
    with pytest.raises(ParameterError, match="epsilon must be positive"):
        GeneralizedResponse.calibrate(3, Pure(0.0))
    with pytest.raises(ParameterError, match=r"truthful must be a fraction.*2\^-62"):
        GeneralizedResponse(3, Fraction(1, 3))
    with pytest.raises(UnsupportedQuery, match="pure or approximate"):
        GeneralizedResponse.calibrate(3, Concentrated(1.0))
    with pytest.raises(ParameterError, match="n must be a positive number"):
        GeneralizedResponse.calibrate(3, Pure(1.0)).estimate(np.zeros(3), 0)
    with pytest.raises(ParameterError, match="truth must hold 3"):
        GeneralizedResponse.calibrate(3, Pure(1.0)).variance(5, [1.0])
