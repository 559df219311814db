"""Truncated Laplace noise: its claims, laws, distribution, an audit, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.auditing import audit
from sfumato.bounds.line import least_variance
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import DiscreteGaussian, Laplace, TruncatedLaplace, Vector
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.sampling import TruncatedLaplace as TruncatedLaplaceLaw
from statistical import SAMPLES, assert_law


def total(sensitivity: float = 1.0, dimension: int = 1) -> Vector:
    return Vector("total", dimension, sensitivity, sensitivity, sensitivity)


def given_away(law, steps, epsilon):
    """The delta of a move, summed place by place."""
    return math.fsum(
        max(0.0, law.pmf(z) - math.exp(epsilon) * law.pmf(z + steps)) for z in range(-law.reach, law.reach + 1)
    )


# claims


@pytest.mark.parametrize(
    ("epsilon", "delta", "gain"), [(0.05, 0.01, 1.16), (0.1, 1e-3, 1.11), (0.01, 0.01, 1.24), (1.0, 1e-6, 1.0)]
)
def test_on_a_count_it_is_the_least_there_is(epsilon, delta, gain):
    target = Approximate(epsilon, delta)
    made = TruncatedLaplace.calibrate(total(), target)
    assert 1 <= made.root_mean_square / math.sqrt(least_variance(target)) <= 1.0005
    others = [kind.calibrate(total(), target).root_mean_square for kind in (Laplace, DiscreteGaussian)]
    assert min(others) >= 0.999 * gain * made.root_mean_square


@pytest.mark.parametrize(("steps", "scale", "reach", "edge"), [(1, 9.0, 14, 0.3), (3, 2.0, 3, 0.0), (4, 50.0, 9, 1.0)])
def test_delta_is_the_mass_that_a_move_loses(steps, scale, reach, edge):
    mechanism = TruncatedLaplace(total(float(steps)), scale, reach, edge)
    claim = mechanism.guarantee()
    assert claim.epsilon == pytest.approx(steps / scale)
    for fewer in range(1, steps + 1):
        assert given_away(mechanism.noise, fewer, claim.epsilon) <= claim.delta
    assert claim.delta <= given_away(mechanism.noise, steps, steps / scale) * (1 + 1e-9)


# laws


@given(st.integers(1, 10**6), st.floats(1e-3, 20), st.floats(1e-9, 0.9))
def test_calibrate_never_exceeds_its_target_and_wastes_nothing(sensitivity, epsilon, delta):
    target = Approximate(epsilon, delta)
    made = TruncatedLaplace.calibrate(total(float(sensitivity)), target)
    assert made.guarantee().implies(target)
    assert made.reach == sensitivity or made.guarantee().delta > delta * (1 - 1e-3)


@settings(max_examples=25)
@given(st.floats(0.3, 30), st.integers(2, 40), st.floats(0.1, 1), st.lists(st.integers(0, 6), min_size=2, max_size=2))
def test_moves_of_vectors_cost_no_more_than_along_one_axis(scale, reach, edge, move):
    law, steps = TruncatedLaplaceLaw(scale, reach, edge), sum(move)
    if not 0 < steps <= reach:
        return
    claim = TruncatedLaplace(total(float(steps)), scale, reach, edge).guarantee()
    z = np.arange(-reach, reach + 1)
    here = np.array([law.pmf(int(place)) for place in z])
    there = [np.array([law.pmf(int(place) + one) for place in z]) for one in move]
    lost = np.outer(here, here) - math.exp(claim.epsilon) * np.outer(*there)
    assert np.maximum(lost, 0).sum() <= claim.delta + 1e-12


@settings(max_examples=40)
@given(st.floats(0.1, 1e4), st.integers(1, 3000), st.floats(0, 1))
def test_moments_and_tails_are_those_of_the_mass_function(scale, reach, edge):
    law = TruncatedLaplaceLaw(scale, reach, edge)
    places = range(1, reach + 1)
    mass = [law.pmf(z) for z in places]
    assert law.pmf(0) + 2 * math.fsum(mass) == pytest.approx(1.0)
    assert 2 * math.fsum(z * p for z, p in zip(places, mass, strict=True)) == pytest.approx(law.mean_absolute)
    assert 2 * math.fsum(z * z * p for z, p in zip(places, mass, strict=True)) == pytest.approx(law.variance)
    middle = reach // 2
    assert 2 * math.fsum(mass[middle:]) == pytest.approx(law.tail(middle))
    assert law.tail(law.quantile(0.05)) <= 0.05


@pytest.mark.parametrize("scale", [3e4, 1e6, 9e7])
def test_moments_of_wide_laws_agree_with_their_sums(scale):
    law, j = TruncatedLaplaceLaw(scale, 200_001), np.arange(1, 200_001.0)
    weights = np.exp(-j / scale)
    assert law.variance * law.total == pytest.approx(2 * (j**2 @ weights) + 2 * 200_001**2 * law.weight(200_001))
    assert law.mean_absolute * law.total == pytest.approx(2 * (j @ weights) + 2 * 200_001 * law.weight(200_001))


@given(st.integers(0, 10), st.integers(0, 10))
def test_guarantee_grows_with_distance(near, far):
    mechanism = TruncatedLaplace(total(), 40.0, 60, 0.5)
    claims = [mechanism.guarantee(distance) for distance in sorted((near, far))]
    assert claims[0].implies(claims[1])


def test_beyond_its_reach_the_claim_is_that_of_a_group():
    mechanism = TruncatedLaplace(total(), 10.0, 4)
    assert mechanism.guarantee(5) == mechanism.guarantee().group(5)
    assert given_away(mechanism.noise, 5, 0.5) <= mechanism.guarantee(5).delta
    assert mechanism.guarantee(4).delta < mechanism.guarantee().group(4).delta


# distribution


@pytest.mark.parametrize("law", [TruncatedLaplaceLaw(9.0, 14, 0.3), TruncatedLaplaceLaw(60.0, 9, 0.6)], ids=str)
def test_noise_is_the_truncated_law(law):
    noise = law.sample(SAMPLES // 4 if law.scale > 50 else SAMPLES, seeded(12))
    wrong = (
        TruncatedLaplaceLaw(law.scale, law.reach, 1.0).pmf,
        TruncatedLaplaceLaw(law.scale, law.reach, 0.0).pmf,
        TruncatedLaplaceLaw(law.scale / 3, law.reach, law.edge).pmf,
    )
    assert_law(noise, law.pmf, wrong)


# audit


def attacked(target):
    mechanism = TruncatedLaplace.calibrate(total(), target)
    return lambda data, rng: int(mechanism.release(np.array([data]), rng)[0])


def test_audit_does_not_refute_the_claim():
    claim = Approximate(0.1, 0.02)
    assert not audit(attacked(claim), claim, pairs=[(0, 1)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_a_cut_that_comes_too_early():
    planted = attacked(Approximate(0.1, 0.2))
    assert audit(planted, Approximate(0.1, 0.02), pairs=[(0, 1)], seconds=3, generator=seeded).refuted


# refusals


def test_refuses_other_targets_and_nothing_to_hide():
    for target in (Pure(1.0), Concentrated(1.0), Approximate(1.0, 0.0), Approximate(0.0, 0.1)):
        with pytest.raises(UnsupportedQuery, match="needs a delta"):
            TruncatedLaplace.calibrate(total(), target)
    with pytest.raises(ParameterError, match="Public"):
        TruncatedLaplace.calibrate(total(0.0), Approximate(1.0, 1e-6))


@pytest.mark.parametrize(("arguments", "message"), [((5.0, 0), "reach"), ((5.0, 9, 1.5), "edge"), ((0.0, 9), "scale")])
def test_refuses_bad_parameters(arguments, message):
    with pytest.raises(ParameterError, match=message):
        TruncatedLaplace(total(), *arguments)


def test_refuses_a_reach_that_one_unit_passes():
    with pytest.raises(ParameterError, match="wider"):
        TruncatedLaplace(total(9.0), 5.0, 8)
