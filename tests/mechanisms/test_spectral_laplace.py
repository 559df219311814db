"""Laplace noise on coefficients of a curve."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import SpectralLaplace
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries import bind
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace
from statistical import assert_distribution

ROWS = sf.Schema({"x": sf.Interval(0, 20, step=1)})
CURVE = bind(sf.density("x", bandwidth=2.0), ROWS)


# claims: the numbers the theorem gives
@pytest.mark.parametrize(("factor", "distance", "epsilon"), [(1, 1, 1), (2, 1, 0.5), (2, 4, 2), (0.5, 0, 0)])
def test_guarantee_is_sensitivity_over_scale(factor, distance, epsilon):
    sensitivity = CURVE.shaped("l1").sensitivity("l1")
    claimed = SpectralLaplace(CURVE, factor * sensitivity).guarantee(distance)
    assert claimed.epsilon == pytest.approx(epsilon)


def test_units_by_the_third_root_have_the_least_error():
    """Among powers of the coefficients' bounds, with the charge held fixed: the claim of the proof, by computation."""
    gammas = np.exp(-0.05 * np.arange(1, 15) ** 2)
    powers = (0, 0.2, 1 / 3, 0.5, 1)
    errors = [(gammas ** (1 - power)).sum() ** 2 * (gammas ** (2 * power)).sum() for power in powers]
    assert powers[int(np.argmin(errors))] == 1 / 3
    question, axis = CURVE.shaped("l1"), CURVE.shaped("l1").axes[0]
    gammas = np.exp(-2 * (math.pi * np.array(axis.waves) * 2.0 / (axis.high - axis.low)) ** 2)
    assert question.worth[::2] / question.worth[0] == pytest.approx(np.cbrt(gammas / gammas[0]))


# laws: true for every parameter
@settings(max_examples=40, deadline=None, derandomize=True)
@given(epsilon=st.floats(1e-3, 50), coarser=st.integers(0, 10))
def test_calibrate_meets_its_target_and_no_less(epsilon, coarser):
    mechanism = SpectralLaplace.calibrate(CURVE, Pure(epsilon), coarser)
    assert 0.999 * epsilon <= mechanism.guarantee().epsilon <= epsilon
    assert mechanism.query == CURVE.shaped("l1", coarser)


def test_fewer_waves_are_fewer_numbers_with_less_noise_and_more_bias():
    kinds = [SpectralLaplace.calibrate(CURVE, Pure(1.0), coarser) for coarser in (0, 4, 8)]
    assert kinds[0].query.dimension > kinds[1].query.dimension > kinds[2].query.dimension
    assert kinds[0].error() > kinds[2].error()
    assert kinds[0].query.bias < kinds[2].query.bias


# distribution: the noise is what the docstring says
def test_noise_is_laplace():
    mechanism = SpectralLaplace.calibrate(CURVE, Pure(1.0))
    exact = np.zeros(mechanism.query.dimension, dtype=np.int64)
    draws = np.concatenate([mechanism.release(exact, seeded(i)) for i in range(1 + 100_000 // exact.size)])

    assert isinstance(mechanism.noise, DiscreteLaplace)
    assert_distribution(draws.astype(float), lambda scale: stats.laplace(scale=scale).cdf, mechanism.scale)


# audit: evidence from outside
def attacked(scale):
    mechanism = SpectralLaplace(CURVE, scale, 6)
    empty = np.zeros(21, dtype=np.int64)
    answers = [mechanism.query.vector([empty]), mechanism.query.vector([empty + (np.arange(21) == 10)])]
    return lambda data, rng: mechanism.release(answers[data], rng).tolist()


def test_audit_does_not_refute_the_claim():
    scale = SpectralLaplace.calibrate(CURVE, Pure(1.0), 6).scale
    assert not audit(attacked(scale), Pure(1.0), pairs=[(0, 1)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_a_third_of_the_noise():
    scale = SpectralLaplace.calibrate(CURVE, Pure(1.0), 6).scale / 3
    assert audit(attacked(scale), Pure(1.0), pairs=[(0, 1)], seconds=6, generator=seeded).refuted


# refusals
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_bad_scale(scale):
    with pytest.raises(ParameterError, match="scale"):
        SpectralLaplace(CURVE, scale)


@pytest.mark.parametrize("coarser", [-1, 11, 1.5])
def test_refuses_steps_that_there_are_not(coarser):
    with pytest.raises(ParameterError, match="coarser"):
        SpectralLaplace(CURVE, 1e9, coarser)


def test_refuses_targets_without_epsilon():
    with pytest.raises(UnsupportedQuery, match="epsilon"):
        SpectralLaplace.calibrate(CURVE, Concentrated(1.0))


def test_a_refusal_of_shape_does_not_print_the_answer():
    with pytest.raises(ParameterError, match="dimension") as refusal:
        SpectralLaplace.calibrate(CURVE, Pure(1.0)).release(np.array([31337, 31337]), seeded(1))
    assert "31337" not in str(refusal.value)
