"""Gaussian and Laplace profiles: numbers against high precision, laws, brute force on the integers."""

from __future__ import annotations

import math
import random

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.privacy.gaussian import (
    SPECIAL_ERROR,
    _erfcx,
    discrete_gaussian_delta,
    discrete_gaussian_sigma,
    gaussian_delta,
    gaussian_sigma,
)
from sfumato.privacy.laplace import (
    discrete_laplace_delta,
    discrete_laplace_scale,
    laplace_delta,
    laplace_scale,
    printed_laplace_scale,
)

sizes = st.floats(1e-3, 1e3)
epsilons = st.floats(0, 20)
deltas = st.floats(1e-12, 0.5)


def exact_gaussian(sigma: float, sensitivity: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        mu = mpmath.mpf(sensitivity) / mpmath.mpf(sigma)
        a = mu / 2 - mpmath.mpf(epsilon) / mu
        return mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(a - mu)


def brute_force(weights: list[mpmath.mpf], shift: int, epsilon: float) -> mpmath.mpf:
    """The largest hockey stick over all shifts up to `shift` of a law on a stretch of integers."""
    total, size = sum(weights), len(weights)
    grown = mpmath.exp(epsilon)
    gains = []
    for s in range(1, shift + 1):
        moved = [weights[i - s] if i >= s else mpmath.mpf(0) for i in range(size)]
        pairs = zip(weights[s:-s], moved[s:-s], strict=True)
        gains.append(sum(max(mpmath.mpf(0), w - grown * v) for w, v in pairs) / total)
    return max(gains)


# claims
def test_gaussian_delta_is_never_below_and_close_above_the_exact_value():
    draw = random.Random(1)
    for _ in range(400):
        sigma, sensitivity = 10 ** draw.uniform(-4, 8), 10 ** draw.uniform(-3, 3)
        epsilon = 10 ** draw.uniform(-8, 3)
        value, truth = gaussian_delta(sigma, sensitivity, epsilon), exact_gaussian(sigma, sensitivity, epsilon)
        assert value >= truth
        assert value <= truth * (1 + 1e-8) or value < 1e-300


def test_the_scaled_error_function_errs_by_less_than_a_fifth_of_what_is_granted():
    draw = random.Random(2)
    values = [draw.uniform(-1, 1) for _ in range(300)] + [draw.uniform(0, 30) for _ in range(600)]
    with mpmath.workdps(60):
        for x in [*values, math.nextafter(25.0, 26.0), 25.0, 60.0]:
            truth = mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(mpmath.mpf(x))
            assert abs(_erfcx(x) / truth - 1) < SPECIAL_ERROR / 5


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), [(1, 1e-6, 4.224679), (0.5, 1e-5, 7.0318)])
def test_gaussian_sigma_has_the_known_values(epsilon, delta, sigma):
    assert gaussian_sigma(1.0, epsilon, delta) == pytest.approx(sigma, rel=1e-3)


@pytest.mark.parametrize(
    ("sigma", "shift", "epsilon"), [(0.3, 1, 0.5), (1, 1, 1), (1, 3, 0.2), (5, 2, 0.7), (4.2, 1, 1)]
)
def test_discrete_gaussian_delta_is_the_brute_force_value(sigma, shift, epsilon):
    with mpmath.workdps(40):
        reach = int(45 * sigma + 45)
        weights = [mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * sigma**2)) for z in range(-reach, reach)]
        truth = brute_force(weights, shift, epsilon)
    value = discrete_gaussian_delta(sigma, shift, epsilon)
    assert truth <= value <= truth * (1 + 1e-9)


def test_wide_discrete_gaussian_agrees_with_the_sum_at_the_seam():
    for shift, epsilon in [(4500, 1.0), (1, 1e-5)]:
        below, above = (discrete_gaussian_delta(sigma, shift, epsilon) for sigma in (2.0e4, 2.0e4 * (1 + 1e-12)))
        assert below <= above * (1 + 1e-9)
        assert above <= below * 1.001


def test_the_continuous_calibration_does_not_cover_the_integers():
    sigma = gaussian_sigma(1.0, 1.0, 1e-6)
    assert discrete_gaussian_delta(sigma, 1, 1.0) > 1e-6
    assert discrete_gaussian_delta(discrete_gaussian_sigma(1, 1.0, 1e-6), 1, 1.0) <= 1e-6


@pytest.mark.parametrize(
    ("scale", "shift", "epsilon"),
    [(1, 1, 0), (2, 3, 0.2), (2, 3, 0.5), (10, 4, 0.3), (0.5, 2, 1), (3, 7, 1.2), (3, 7, 2.3)],
)
def test_discrete_laplace_delta_is_the_brute_force_value(scale, shift, epsilon):
    with mpmath.workdps(40):
        reach = int(60 * scale) + 60
        weights = [mpmath.exp(-mpmath.mpf(abs(z)) / scale) for z in range(-reach, reach)]
        truth = brute_force(weights, shift, epsilon)
    value = discrete_laplace_delta(scale, shift, epsilon)
    assert truth - mpmath.mpf("1e-24") <= value <= truth * (1 + 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta", "least", "printed"),
    [(0.1, 0.1, 9642, 14589), (2, 0.5, 885, 1112), (11, 0.7, 223, 245)],
)
def test_laplace_scales_of_the_source_document(epsilon, delta, least, printed):
    assert round(laplace_scale(2996, epsilon, delta)) == least
    assert round(printed_laplace_scale(2996, epsilon, delta)) == printed


# laws
@given(sizes, sizes, epsilons, st.floats(1, 4))
def test_gaussian_delta_falls_with_noise_and_epsilon_and_grows_with_sensitivity(s, d, e, factor):
    value = gaussian_delta(s, d, e)
    assert gaussian_delta(s * factor, d, e) <= value * (1 + 1e-9)
    assert gaussian_delta(s, d, e * factor) <= value * (1 + 1e-9)
    assert gaussian_delta(s, d * factor, e) >= value * (1 - 1e-9)


@given(sizes, epsilons, deltas)
def test_gaussian_sigma_meets_its_target_and_no_less_noise_does(sensitivity, epsilon, delta):
    sigma = gaussian_sigma(sensitivity, epsilon, delta)
    assert gaussian_delta(sigma, sensitivity, epsilon) <= delta
    assert exact_gaussian(sigma * (1 - 1e-6), sensitivity, epsilon) > delta


@given(sizes, st.floats(1e-3, 20), st.floats(0, 0.9))
def test_laplace_scale_meets_its_target_and_no_less_noise_does(sensitivity, epsilon, delta):
    scale = laplace_scale(sensitivity, epsilon, delta)
    assert laplace_delta(scale, sensitivity, epsilon) <= delta
    assert laplace_delta(scale * (1 - 1e-9), sensitivity, epsilon) > delta
    if delta:
        assert scale <= printed_laplace_scale(sensitivity, epsilon, delta)


@given(st.integers(1, 30), st.floats(0.05, 5), st.floats(1e-9, 0.3))
@settings(max_examples=40)
def test_discrete_calibrations_meet_their_targets(sensitivity, epsilon, delta):
    scale = discrete_laplace_scale(sensitivity, epsilon, delta)
    assert discrete_laplace_delta(scale, sensitivity, epsilon) <= delta
    sigma = discrete_gaussian_sigma(sensitivity, epsilon, delta)
    assert discrete_gaussian_delta(sigma, sensitivity, epsilon) <= delta


@given(st.floats(0.5, 50), st.integers(1, 20), st.floats(0, 3))
def test_a_larger_shift_is_worse_on_the_integers(scale, shift, epsilon):
    assert discrete_laplace_delta(scale, shift, epsilon) <= discrete_laplace_delta(scale, shift + 1, epsilon) * (
        1 + 1e-9
    )
    assert discrete_gaussian_delta(scale, shift, epsilon) <= discrete_gaussian_delta(scale, shift + 1, epsilon) * (
        1 + 1e-9
    )


def test_no_sensitivity_costs_nothing():
    assert gaussian_delta(1.0, 0.0, 0.0) == laplace_delta(1.0, 0.0, 0.0) == 0
    assert discrete_gaussian_delta(1.0, 0, 0.0) == discrete_laplace_delta(1.0, 0, 0.0) == 0


# refusals
@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan, True])
def test_refuses_bad_noise(bad):
    for delta in (gaussian_delta, laplace_delta):
        with pytest.raises(ParameterError, match="above 0"):
            delta(bad, 1.0, 1.0)


def test_refuses_a_gaussian_without_delta():
    with pytest.raises(ParameterError, match=r"delta .* pure"):
        gaussian_sigma(1.0, 1.0, 0.0)
