"""Ball noise on coefficients of a curve."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import SpectralBall, SpectralLaplace
from sfumato.planner import options
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries import bind
from sfumato.randomness import seeded
from sfumato.sampling.balls import BallVectors
from statistical import assert_distribution

ROWS = sf.Schema({"x": sf.Interval(0, 20, step=1)})
CURVE = bind(sf.density("x", bandwidth=2.0), ROWS)


# claims: the numbers the theorem gives
@pytest.mark.parametrize(("factor", "distance", "epsilon"), [(1, 1, 1), (2, 1, 0.5), (2, 4, 2), (0.5, 0, 0)])
def test_guarantee_is_sensitivity_over_scale(factor, distance, epsilon):
    sensitivity = CURVE.shaped("l2").sensitivity("l2")
    claimed = SpectralBall(CURVE, factor * sensitivity).guarantee(distance)
    assert claimed.epsilon == pytest.approx(epsilon)


def test_units_by_the_square_root_have_the_least_error():
    """Among powers of the coefficients' bounds, with the charge held fixed: the claim of the proof, by computation."""
    gammas = np.exp(-0.05 * np.arange(1, 15) ** 2)
    powers = (0, 0.2, 1 / 3, 0.5, 1)
    errors = [(gammas ** (2 - 2 * power)).sum() * (gammas ** (2 * power)).sum() for power in powers]
    assert powers[int(np.argmin(errors))] == 0.5


@pytest.mark.parametrize(("bandwidth", "epsilon", "most"), [(0.02, 0.02, 0.75), (0.02, 1.0, 0.85), (0.1, 1.0, 0.9)])
def test_curves_under_replacement_take_ball_noise_where_it_is_less(bandwidth, epsilon, most):
    schema = sf.Schema({"b": sf.Interval(0, 1, step=0.001)}, adjacency=sf.Replace(), size=2000)
    ranked = options(bind(sf.density("b", bandwidth=bandwidth), schema), Pure(epsilon))
    assert [type(option.mechanism) for option in ranked[:2]] == [SpectralBall, SpectralLaplace]
    assert ranked[0].predicted < most * ranked[1].predicted


# laws: true for every parameter
@settings(max_examples=40, deadline=None, derandomize=True)
@given(epsilon=st.floats(1e-3, 50), coarser=st.integers(0, 10))
def test_calibrate_meets_its_target_and_no_less(epsilon, coarser):
    mechanism = SpectralBall.calibrate(CURVE, Pure(epsilon), coarser)
    assert 0.999 * epsilon <= mechanism.guarantee().epsilon <= epsilon
    assert mechanism.query == CURVE.shaped("l2", coarser)


# distribution: the noise is what the docstring says
def test_noise_is_a_ball():
    """The radius of the whole vector; 6,000 draws: critical distance 0.035, a scale 25 % off moves the cdf by 0.4."""
    mechanism = SpectralBall.calibrate(CURVE, Pure(1.0), 6)
    assert isinstance(mechanism.noise, BallVectors)
    assert mechanism.noise.dimension == mechanism.query.dimension
    exact, rng = np.zeros(mechanism.query.dimension, dtype=np.int64), seeded(3)
    radii = np.array([np.linalg.norm(mechanism.release(exact, rng).astype(float)) for _ in range(400)])
    drawn = np.linalg.norm(mechanism.noise.sample(6000, rng).astype(float), axis=1)
    degrees = mechanism.query.dimension
    assert degrees % 2 == 1
    assert_distribution(drawn, lambda b: stats.gamma(degrees, scale=b).cdf, mechanism.scale, margin=0.25)
    assert radii.mean() == pytest.approx(degrees * mechanism.scale, rel=0.2)


# audit: evidence from outside
def attacked(scale):
    mechanism = SpectralBall(CURVE, scale, 6)
    empty = np.zeros(21, dtype=np.int64)
    answers = [mechanism.query.vector([empty]), mechanism.query.vector([empty + (np.arange(21) == 10)])]
    direction = (answers[1] - answers[0]).astype(float)

    def run(data, rng):
        """The difference of the distances from both answers; two vectors at once are drawn much faster than one."""
        seen = (answers[data] + mechanism.noise.sample(2, rng)[0]).astype(float)
        return float(np.linalg.norm(seen - answers[0]) - np.linalg.norm(seen - answers[0] - direction))

    return run


def test_audit_does_not_refute_the_claim():
    scale = SpectralBall.calibrate(CURVE, Pure(1.0), 6).scale
    assert not audit(attacked(scale), Pure(1.0), pairs=[(0, 1)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_a_quarter_of_the_noise():
    scale = SpectralBall.calibrate(CURVE, Pure(1.0), 6).scale / 4
    assert audit(attacked(scale), Pure(1.0), pairs=[(0, 1)], seconds=8, generator=seeded).refuted


# refusals
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_bad_scale(scale):
    with pytest.raises(ParameterError, match="scale"):
        SpectralBall(CURVE, scale)


@pytest.mark.parametrize("coarser", [-1, 11, 1.5])
def test_refuses_steps_that_there_are_not(coarser):
    with pytest.raises(ParameterError, match="coarser"):
        SpectralBall(CURVE, 1e9, coarser)


def test_refuses_targets_without_epsilon():
    with pytest.raises(UnsupportedQuery, match="epsilon"):
        SpectralBall.calibrate(CURVE, Concentrated(1.0))


def test_a_refusal_of_shape_does_not_print_the_answer():
    with pytest.raises(ParameterError, match="dimension") as refusal:
        SpectralBall.calibrate(CURVE, Pure(1.0)).release(np.array([31337, 31337]), seeded(1))
    assert "31337" not in str(refusal.value)
