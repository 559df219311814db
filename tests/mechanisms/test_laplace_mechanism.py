"""Laplace noise on the integers: its claims, laws, distribution, an audit, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import Laplace, Vector
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.privacy.laplace import laplace_scale
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace
from statistical import SAMPLES, assert_law


def number(sensitivity: float = 1.0, dimension: int = 1) -> Vector:
    return Vector("number", dimension, sensitivity, sensitivity, sensitivity)


TABLE_2 = [(0.1, 0.1, 14589, 9642), (2.0, 0.5, 1112, 885), (11.0, 0.7, 245, 223)]

# claims


@pytest.mark.parametrize(("scale", "distance", "epsilon"), [(1, 1, 1), (2, 1, 0.5), (2, 4, 2), (0.5, 3, 6)])
def test_guarantee_is_sensitivity_over_scale(scale, distance, epsilon):
    assert Laplace(number(), scale).guarantee(distance) == Pure(epsilon)


@pytest.mark.parametrize(("epsilon", "delta", "printed", "least"), TABLE_2)
def test_table_2_of_document_001(epsilon, delta, printed, least):
    query, target = number(2996.0), Approximate(epsilon, delta)
    assert round(Laplace.printed(query, target).scale) == printed
    assert round(laplace_scale(2996.0, epsilon, delta)) == least
    calibrated = Laplace.calibrate(query, target)
    assert calibrated.scale == pytest.approx(least, abs=1.0)
    for mechanism in (calibrated, Laplace.printed(query, target)):
        assert mechanism.guarantee().implies(target)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.1), (2.0, 0.5), (1.0, 1e-3)])
@pytest.mark.parametrize("moved", [1, 3, 40])
def test_delta_is_the_sum_over_the_integers(epsilon, delta, moved):
    mechanism = Laplace.calibrate(number(float(moved)), Approximate(epsilon, delta))
    law = DiscreteLaplace(mechanism.scale)
    z = range(-8000, 8000)
    summed = math.fsum(max(law.pmf(x) - math.exp(epsilon) * law.pmf(x - moved), 0) for x in z)
    assert mechanism.guarantee().delta == pytest.approx(summed, rel=1e-9, abs=1e-14)
    assert summed <= delta * (1 + 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.3, 3), st.floats(1e-3, 0.3), st.integers(1, 6))
def test_no_move_in_two_dimensions_has_more_delta_than_is_claimed(epsilon, delta, moved):
    mechanism = Laplace.calibrate(number(float(moved), 2), Approximate(epsilon, delta))
    claim = mechanism.guarantee()
    at = np.arange(-150, 151)
    one = np.array([DiscreteLaplace(mechanism.scale).pmf(int(z)) for z in at])
    for first in range(moved + 1):
        shifted = np.multiply.outer(np.roll(one, first), np.roll(one, moved - first))
        found = np.maximum(np.multiply.outer(one, one) - math.exp(epsilon) * shifted, 0).sum()
        assert found <= claim.delta * (1 + 1e-9) + 1e-12
    assert claim.implies(Approximate(epsilon, delta))


def test_error_is_the_joint_tail_by_a_second_route():
    mechanism = Laplace(number(1.0, 20), 7.0)
    t = mechanism.error(0.05)
    inside = math.fsum(DiscreteLaplace(7.0).pmf(z) for z in range(-int(t), int(t) + 1))
    one_less = inside - 2 * DiscreteLaplace(7.0).pmf(int(t))
    assert 1 - inside**20 <= 0.05 < 1 - one_less**20


# laws


@settings(deadline=None)
@given(st.floats(1e-2, 1e6), st.floats(1e-3, 100))
def test_calibrate_never_exceeds_its_target(sensitivity, epsilon):
    mechanism = Laplace.calibrate(number(sensitivity), Pure(epsilon))
    assert mechanism.guarantee().implies(Pure(epsilon))
    assert mechanism.scale <= max(sensitivity / epsilon * (1 + 1e-15), 1e-3)


@settings(deadline=None)
@given(st.integers(1, 10**6), st.floats(1e-3, 20), st.floats(1e-9, 0.9))
def test_calibrate_with_delta_never_exceeds_its_target_nor_the_pure_scale(sensitivity, epsilon, delta):
    target = Approximate(epsilon, delta)
    mechanism = Laplace.calibrate(number(float(sensitivity)), target)
    assert mechanism.guarantee().implies(target)
    assert mechanism.scale <= Laplace.calibrate(number(float(sensitivity)), Pure(epsilon)).scale


@settings(deadline=None)
@given(st.floats(0.01, 1e4), st.integers(0, 20), st.integers(0, 20))
def test_guarantee_grows_with_distance(scale, near, far):
    claims = [Laplace(number(3.0), scale).guarantee(d).epsilon for d in sorted((near, far))]
    assert claims[0] <= claims[1]


# distribution


def test_noise_is_two_sided_geometric():
    noise = Laplace(number(1.0, SAMPLES), 4.0).release(np.zeros(SAMPLES, dtype=np.int64), seeded(11))
    assert_law(noise, DiscreteLaplace(4.0).pmf, (DiscreteLaplace(3.6).pmf, DiscreteLaplace(4.4).pmf))


# audit


def attacked(scale: float):
    mechanism = Laplace(number(), scale)
    return lambda data, rng: int(mechanism.release(np.array([data]), rng)[0])


def test_audit_does_not_refute_the_claim():
    assert not audit(attacked(1.0), Pure(1.0), pairs=[(0, 1)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_half_the_noise():
    assert audit(attacked(0.5), Pure(1.0), pairs=[(0, 1)], seconds=4, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 1e-9])
def test_refuses_a_bad_scale(scale):
    with pytest.raises(ParameterError, match="scale"):
        Laplace(number(), scale)


def test_refuses_concentrated_targets():
    with pytest.raises(UnsupportedQuery, match="epsilon"):
        Laplace.calibrate(number(), Concentrated(1.0))


def test_refuses_a_claim_whose_delta_has_reached_one():
    with pytest.raises(ParameterError, match="no guarantee is left"):
        Laplace(number(), 1e-3, epsilon=0.5).guarantee(100)


def test_a_refusal_of_shape_does_not_print_the_answer():
    with pytest.raises(ParameterError, match="dimension 1") as refusal:
        Laplace(number(), 1.0).release(np.array([31337, 31337]), seeded(1))
    assert "31337" not in str(refusal.value)


@pytest.mark.parametrize("fields", [{"l1": -1.0}, {"l2": math.nan}, {"linf": math.inf}, {"l1": 0.5}])
def test_a_vector_refuses_sensitivities_that_cannot_be(fields):
    with pytest.raises(ParameterError, match="sensitivit"):
        Vector("v", **({"dimension": 1, "l1": 1.0, "l2": 1.0, "linf": 1.0} | fields))
