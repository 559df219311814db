"""Rounded Gaussian noise: its claims, laws, distribution, an audit, and refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf, ncdf

from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import Gaussian, Laplace, Vector
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.sampling import RoundedNormal
from statistical import SAMPLES, assert_law


def vector(l2: float = 1.0, dimension: int = 1) -> Vector:
    return Vector("vector", dimension, l2 * math.sqrt(dimension) * 1.01, l2, l2)


# claims


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_exact_calibration_at_every_epsilon(epsilon, delta):
    mechanism = Gaussian.calibrate(vector(), Approximate(epsilon, delta))
    with mp.workdps(40):
        mu = 1 / mpf(mechanism.sigma)
        true = ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * ncdf(-mu / 2 - epsilon / mu)
        assert delta * (1 - mpf(10) ** -6) <= true <= delta
    if epsilon <= 1:
        assert mechanism.sigma < math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@pytest.mark.parametrize("distance", [3, 7, 11, 49])
@pytest.mark.parametrize("l2", [1.1, 1.3, 1.7, 1.9])
def test_claims_for_groups_are_rounded_outward(distance, l2):
    """distance times a sensitivity is not a double: rounding it down would claim too little."""
    pair, scale = Vector("pair", 2, l2, l2, l2), 2.3
    ratio = distance * Fraction(l2) / Fraction(scale)
    assert Fraction(Gaussian(pair, scale).guarantee(distance).rho) >= ratio**2 / 2
    assert Fraction(Laplace(pair, scale).guarantee(distance).epsilon) >= ratio


def test_the_classical_scale_breaks_its_claim_beyond_one():
    """At epsilon 10 and delta 0.1 the textbook scale leaves more than delta: why it is not used."""
    sigma = math.sqrt(2 * math.log(1.25 / 0.1)) / 10
    assert Gaussian(vector(), sigma, 10.0).guarantee().delta > 0.1


@pytest.mark.parametrize(("sigma", "distance", "rho"), [(1.0, 1, 0.5), (2.0, 1, 0.125), (2.0, 4, 2.0)])
def test_concentrated_guarantee_grows_with_the_square(sigma, distance, rho):
    assert Gaussian(vector(), sigma).guarantee(distance) == Concentrated(rho)


def test_the_rounded_law_is_inside_the_continuous_profile():
    """Rounding is a function of the output, so the lattice law's own delta is never above the claim."""
    for sigma, epsilon in [(0.4, 1.0), (1.0, 1.0), (3.0, 0.2)]:
        law, claim = RoundedNormal(sigma), Gaussian(vector(), sigma, epsilon).guarantee().delta
        own = math.fsum(max(law.pmf(z) - math.exp(epsilon) * law.pmf(z - 1), 0.0) for z in range(-150, 150))
        assert own <= claim * (1 + 1e-12)


def test_error_is_the_joint_tail_by_a_second_route():
    mechanism = Gaussian(vector(1.0, 9), 5.0)
    t = int(mechanism.error(0.05))
    inside = [math.fsum(RoundedNormal(5.0).pmf(z) for z in range(-reach, reach + 1)) for reach in (t, t - 1)]
    assert 1 - inside[0] ** 9 <= 0.05 < 1 - inside[1] ** 9


# laws


@settings(max_examples=60, deadline=None)
@given(st.floats(0.1, 1e5), st.floats(1e-3, 30), st.floats(1e-12, 0.5))
def test_calibrate_never_exceeds_its_target(sensitivity, epsilon, delta):
    for target in (Approximate(epsilon, delta), Concentrated(epsilon)):
        assert Gaussian.calibrate(vector(sensitivity), target).guarantee().implies(target)


@settings(deadline=None)
@given(st.floats(0.1, 100), st.integers(0, 9), st.integers(0, 9))
def test_guarantee_grows_with_distance(sigma, near, far):
    claims = [Gaussian(vector(), sigma).guarantee(d).rho for d in sorted((near, far))]
    assert claims[0] <= claims[1]


# distribution


def test_noise_is_the_rounded_normal():
    noise = Gaussian(vector(1.0, SAMPLES), 3.0).release(np.zeros(SAMPLES, dtype=np.int64), seeded(13))
    assert_law(noise, RoundedNormal(3.0).pmf, (RoundedNormal(2.7).pmf, RoundedNormal(3.3).pmf))


# audit


def attacked(sigma: float):
    mechanism = Gaussian(vector(), sigma)
    return lambda data, rng: int(mechanism.release(np.array([data]), rng)[0])


def test_audit_does_not_refute_the_claim():
    claim = Gaussian(vector(), 1.5, 1.0).guarantee()
    assert not audit(attacked(1.5), claim, pairs=[(0, 1)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_half_the_noise():
    claim = Gaussian(vector(), 1.5, 1.0).guarantee()
    assert audit(attacked(0.75), claim, pairs=[(0, 1)], seconds=4, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_bad_sigma(sigma):
    with pytest.raises(ParameterError, match="sigma"):
        Gaussian(vector(), sigma)


@pytest.mark.parametrize("target", [Pure(1.0), Approximate(1.0, 0.0), Concentrated(0.0)])
def test_refuses_targets_it_cannot_meet(target):
    with pytest.raises(UnsupportedQuery, match="delta > 0"):
        Gaussian.calibrate(vector(), target)


def test_refuses_an_answer_of_another_shape_without_printing_it():
    with pytest.raises(ParameterError, match="dimension 1") as refusal:
        Gaussian(vector(), 1.0).release(np.array([[31337]]), seeded(1))
    assert "31337" not in str(refusal.value)
