"""Staircase noise: its claims, laws, distribution, an audit, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import Laplace, Staircase, Vector
from sfumato.mechanisms.noise.staircase import best_width
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace
from sfumato.sampling import Staircase as StaircaseLaw
from statistical import SAMPLES, assert_law


def total(sensitivity: float = 10.0, dimension: int = 1) -> Vector:
    return Vector("total", dimension, sensitivity, sensitivity, sensitivity)


# claims


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_at_sensitivity_one_it_is_the_two_sided_geometric_law(epsilon):
    law, geometric = Staircase.calibrate(total(1.0), Pure(epsilon)).noise, DiscreteLaplace(1 / epsilon)
    assert [law.pmf(z) for z in range(-30, 31)] == pytest.approx([geometric.pmf(z) for z in range(-30, 31)])
    assert law.variance == pytest.approx(geometric.variance)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(2, 1.0), (5, 0.3), (10, 2.0), (7, 5.0)])
def test_no_shift_up_to_the_sensitivity_costs_more_than_epsilon(sensitivity, epsilon):
    law = Staircase.calibrate(total(float(sensitivity)), Pure(epsilon)).noise
    mass = {z: law.pmf(z) for z in range(-200, 201)}
    for shift in range(1, sensitivity + 1):
        worst = max(math.log(mass[z] / mass[z + shift]) for z in range(-200, 200 - shift))
        assert worst <= epsilon * (1 + 1e-9)
    assert max(math.log(mass[z] / mass[z + sensitivity + 1]) for z in range(0, 100)) > 1.5 * epsilon


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_best_width_has_the_least_mean_square(epsilon):
    for sensitivity in (1, 2, 3, 7, 40, 100):
        variances = [StaircaseLaw(sensitivity, epsilon, w).variance for w in range(1, sensitivity + 1)]
        assert variances[best_width(sensitivity, epsilon) - 1] == min(variances)


@pytest.mark.parametrize(("epsilon", "gain"), [(0.5, 1.0), (3.0, 1.1), (8.0, 3.0)])
def test_beats_laplace_and_by_more_at_large_epsilon(epsilon, gain):
    staircase = Staircase.calibrate(total(100.0), Pure(epsilon)).noise.variance
    assert Laplace.calibrate(total(100.0), Pure(epsilon)).noise.variance >= gain * staircase


# laws


@settings(deadline=None)
@given(st.integers(1, 10**6), st.floats(1e-3, 5000))
def test_calibrate_never_exceeds_its_target(sensitivity, epsilon):
    assert Staircase.calibrate(total(float(sensitivity)), Pure(epsilon)).guarantee().implies(Pure(epsilon))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.floats(0.01, 8), st.data())
def test_moments_are_those_of_the_mass_function(sensitivity, epsilon, data):
    law = StaircaseLaw(sensitivity, epsilon, data.draw(st.integers(1, sensitivity)))
    reach = range(1, int(40 * sensitivity / epsilon) + 2)
    mass = [law.pmf(z) for z in reach]
    assert 2 * math.fsum(z * p for z, p in zip(reach, mass, strict=True)) == pytest.approx(law.mean_absolute)
    assert 2 * math.fsum(z * z * p for z, p in zip(reach, mass, strict=True)) == pytest.approx(law.variance)


@settings(deadline=None)
@given(st.integers(0, 10), st.integers(0, 10))
def test_guarantee_grows_with_distance(near, far):
    mechanism = Staircase(total(), 0.3, 2)
    claims = [mechanism.guarantee(d).epsilon for d in sorted((near, far))]
    assert claims[0] <= claims[1]


# distribution


def test_noise_is_the_staircase():
    mechanism = Staircase(total(), 1.0, 3)
    rng = seeded(12)
    noise = np.concatenate([mechanism.noise.sample(SAMPLES, rng), mechanism.release(np.array([0]), rng)])
    wrong = (StaircaseLaw(10, 1.1, 3).pmf, StaircaseLaw(10, 0.9, 3).pmf, StaircaseLaw(10, 1.0, 4).pmf)
    assert_law(noise, StaircaseLaw(10, 1.0, 3).pmf, wrong)


# audit


def attacked(epsilon: float):
    mechanism = Staircase.calibrate(total(), Pure(epsilon))
    return lambda data, rng: int(mechanism.release(np.array([data]), rng)[0])


def test_audit_does_not_refute_the_claim():
    assert not audit(attacked(1.0), Pure(1.0), pairs=[(0, 10), (0, 7)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_half_the_noise():
    assert audit(attacked(2.0), Pure(1.0), pairs=[(0, 10)], seconds=4, generator=seeded).refuted


# refusals


def test_refuses_vectors_other_targets_and_nothing_to_hide():
    with pytest.raises(ParameterError, match="one number"):
        Staircase(total(10.0, 2), 1.0, 1)
    for target in (Approximate(1.0, 1e-6), Concentrated(1.0), Pure(0.0)):
        with pytest.raises(UnsupportedQuery, match="epsilon > 0"):
            Staircase.calibrate(total(), target)
    with pytest.raises(ParameterError, match="Public"):
        Staircase(total(0.0), 1.0, 1)


@pytest.mark.parametrize("width", [0, 11, -1])
def test_refuses_a_bad_width(width):
    with pytest.raises(ParameterError, match="width"):
        Staircase(total(), 1.0, width)
