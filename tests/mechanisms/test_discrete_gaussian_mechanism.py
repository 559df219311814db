"""Discrete Gaussian noise: its claims, laws, distribution, an audit, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import DiscreteGaussian, Gaussian, Vector
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteGaussian as Law
from statistical import SAMPLES, assert_law


def vector(l2: float = 1.0, dimension: int = 1) -> Vector:
    return Vector("vector", dimension, l2 * dimension, l2, l2)


def own_delta(sigma: float, shift: int, epsilon: float) -> float:
    law = Law(sigma)
    reach = range(-int(40 * sigma) - shift - 2, int(40 * sigma) + shift + 3)
    return math.fsum(max(law.pmf(z) - math.exp(epsilon) * law.pmf(z - shift), 0.0) for z in reach)


# claims


@pytest.mark.parametrize(("sigma", "shift", "epsilon"), [(0.5, 1, 1.0), (1.0, 1, 1.0), (2.0, 3, 0.7), (5.0, 1, 0.1)])
def test_delta_is_the_laws_own_profile_over_the_worst_shift(sigma, shift, epsilon):
    claim = DiscreteGaussian(vector(float(shift)), sigma, epsilon).guarantee()
    worst = max(own_delta(sigma, s, epsilon) for s in range(1, shift + 1))
    assert worst <= claim.delta * (1 + 1e-9)
    assert claim.delta == pytest.approx(worst, rel=1e-6)


def test_the_continuous_profile_does_not_cover_it():
    """Somewhere its delta is above the continuous Gaussian's at the same sigma: so that one is not claimed."""
    pairs = [(sigma, epsilon) for sigma in (0.4, 0.5, 0.7, 1.0) for epsilon in (0.1, 0.5, 1.0, 2.0)]
    above = [own_delta(s, 1, e) > Gaussian(vector(), s, e).guarantee().delta * 1.01 for s, e in pairs]
    assert any(above)


@pytest.mark.parametrize(("sigma", "distance", "rho"), [(1.0, 1, 0.5), (2.0, 4, 2.0)])
def test_concentrated_guarantee_holds_for_every_order(sigma, distance, rho):
    assert DiscreteGaussian(vector(), sigma).guarantee(distance) == Concentrated(rho)
    law = Law(sigma)
    z = range(-60, 61)
    for order in (1.1, 2.0, 5.0, 20.0):
        logs = [order * math.log(law.pmf(x)) + (1 - order) * math.log(law.pmf(x - distance)) for x in z if law.pmf(x)
                and law.pmf(x - distance)]  # fmt: skip
        top = max(logs)
        divergence = (top + math.log(math.fsum(math.exp(v - top) for v in logs))) / (order - 1)
        assert divergence <= order * rho * (1 + 1e-9)


# laws


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 50), st.integers(1, 4), st.floats(0.01, 10), st.floats(1e-10, 0.3))
def test_calibrate_never_exceeds_its_target(sensitivity, dimension, epsilon, delta):
    for target in (Approximate(epsilon, delta), Concentrated(epsilon)):
        mechanism = DiscreteGaussian.calibrate(vector(float(sensitivity), dimension), target)
        assert mechanism.guarantee().implies(target)


@settings(deadline=None)
@given(st.floats(0.1, 100), st.integers(0, 9), st.integers(0, 9))
def test_guarantee_grows_with_distance(sigma, near, far):
    claims = [DiscreteGaussian(vector(), sigma).guarantee(d).rho for d in sorted((near, far))]
    assert claims[0] <= claims[1]


# distribution


def test_noise_is_the_discrete_gaussian():
    noise = DiscreteGaussian(vector(1.0, SAMPLES), 3.0).release(np.zeros(SAMPLES, dtype=np.int64), seeded(14))
    assert_law(noise, Law(3.0).pmf, (Law(2.7).pmf, Law(3.3).pmf))


# audit


def attacked(sigma: float):
    mechanism = DiscreteGaussian(vector(), sigma)
    return lambda data, rng: int(mechanism.release(np.array([data]), rng)[0])


def test_audit_does_not_refute_the_claim():
    claim = DiscreteGaussian(vector(), 1.0, 1.0).guarantee()
    assert not audit(attacked(1.0), claim, pairs=[(0, 1)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_half_the_noise():
    claim = DiscreteGaussian(vector(), 1.0, 1.0).guarantee()
    assert audit(attacked(0.5), claim, pairs=[(0, 1)], seconds=4, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan])
def test_refuses_a_bad_sigma(sigma):
    with pytest.raises(ParameterError, match="sigma"):
        DiscreteGaussian(vector(), sigma)


@pytest.mark.parametrize("target", [Pure(1.0), Approximate(1.0, 0.0), Concentrated(0.0)])
def test_refuses_targets_it_cannot_meet(target):
    with pytest.raises(UnsupportedQuery, match="delta > 0"):
        DiscreteGaussian.calibrate(vector(), target)
