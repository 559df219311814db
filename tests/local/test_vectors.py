"""Means of vectors: the hypercube, sampled coordinates, PrivUnit."""

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact import check_claim, check_draws, check_estimates
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols import Duchi, Hybrid, Hypercube, OptimizedWindow, Piecewise, PrivUnit, SampledCoordinates
from sfumato.local.protocols.caps import cap
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from statistical import assert_distribution, assert_probability
from thinned import thinned

REAL = frozenset(["real-arithmetic"])

# hypercube


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_hypercubes_claim_is_its_exact_channels(dimension, epsilon):
    protocol = Hypercube.calibrate(dimension, -1, 1, Pure(epsilon))
    check_claim(protocol, Pure(epsilon))
    corners = 2.0 * np.unpackbits(protocol.outputs(), axis=1, count=dimension, bitorder="little") - 1
    check_estimates(protocol, [[corner] for corner in corners], corners)


@pytest.mark.heavy
def test_hypercube_reports_follow_the_channel():
    protocol, other = (Hypercube.calibrate(3, -1, 1, Pure(epsilon)) for epsilon in (1.0, 0.7))
    corners = 2.0 * np.unpackbits(protocol.outputs(), axis=1, count=3, bitorder="little") - 1
    check_draws(protocol, other, corners.tolist(), 591, 20_000)


def test_one_dimension_is_duchis():
    cube, bit = Hypercube.calibrate(1, -1, 1, Pure(1.0)), Duchi.calibrate(-1, 1, Pure(1.0))
    assert cube.risk(1) == pytest.approx(bit.risk(1), rel=1e-9)


# sampled coordinates


def test_sampled_coordinates_are_exact():
    protocol = SampledCoordinates(3, Duchi.calibrate(-1, 1, Pure(1.0), steps=4))
    check_claim(protocol, Pure(1.0))
    points = np.linspace(-1, 1, 5)
    check_estimates(protocol, [[[x] * 3] for x in points], [[x] * 3 for x in points])


@pytest.mark.parametrize("kind", thinned([Duchi, Piecewise, Hybrid, OptimizedWindow], 1))
def test_the_worst_of_sampled_coordinates_is_the_worst(kind):
    """Over 2,001 values none is above `variance`, and the worst of them comes near."""
    protocol = SampledCoordinates(4, kind.calibrate(-1, 3, Pure(2.0)))
    found = max(protocol.variance(1, [[x] * 4])[0] for x in np.linspace(-1, 3, 2001))
    assert found <= protocol.variance(1)[0] * (1 + 1e-9)
    assert found >= protocol.variance(1)[0] * 0.998


def test_sampling_beats_the_hypercube_in_many_dimensions():
    sampled, cube = (kind.calibrate(64, -1, 1, Pure(1.0)) for kind in (SampledCoordinates, Hypercube))
    assert sampled.risk(1) == pytest.approx(cube.risk(1) * 2 / math.pi, rel=0.02)


# PrivUnit


@pytest.mark.parametrize("dimension", [3, 4, 10, 100, 3000])
@pytest.mark.parametrize("deviations", [0.0, 0.5, 1.6])
def test_the_measure_of_a_cap_lies_between_its_bounds(dimension, deviations):
    gamma = deviations / math.sqrt(dimension)
    exact = stats.beta.sf(gamma**2, 0.5, (dimension - 1) / 2) / 2
    found = cap(dimension, gamma)
    assert found.low <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= found.high
    assert found.high - found.low <= 1e-4 * exact
    assert cap(dimension, 0.0).second == pytest.approx(0.5 / dimension, rel=1e-4)


def test_bounds_of_caps_and_claims_hold_against_forty_digits():
    """Random dimensions and heights, also caps of measure down to 1e-290."""
    rng = random.Random(29)
    with mpmath.workdps(40):
        for _ in range(20):
            dimension = rng.choice([3, 4, 5, rng.randint(6, 300), rng.randint(300, 1 << 14)])
            gamma = min(0.999, rng.uniform(0.0, 30.0) / math.sqrt(dimension))
            found, half = cap(dimension, gamma), mpmath.mpf(dimension - 1) / 2
            exact = mpmath.betainc(half, 0.5, 0, 1 - mpmath.mpf(gamma) ** 2, regularized=True) / 2
            if exact < 1e-290:
                with pytest.raises(ParameterError, match="too small to measure"):
                    PrivUnit(dimension, gamma, Fraction(1, 2))
                continue
            assert found.low <= exact <= found.high
            assert found.high - found.low <= 2e-4 * exact
            epsilon = math.exp(rng.uniform(-4, 3))
            protocol = PrivUnit.calibrate(dimension, Pure(epsilon, assumptions=REAL))
            q = mpmath.betainc(half, 0.5, 0, 1 - mpmath.mpf(protocol.gamma) ** 2, regularized=True) / 2
            p = mpmath.mpf(protocol.toward.numerator) / protocol.toward.denominator
            assert mpmath.log(p * (1 - q) / ((1 - p) * q)) <= protocol.guarantee().epsilon <= epsilon


def test_the_claim_is_the_ratio_of_densities_and_is_met_closely():
    protocol = PrivUnit.calibrate(20, Pure(2.0, assumptions=REAL))
    q, p = stats.beta.sf(protocol.gamma**2, 0.5, 9.5) / 2, float(protocol.toward)
    exact = math.log(p / q) - math.log((1 - p) / (1 - q))
    assert exact <= protocol.guarantee().epsilon <= 2.0
    assert protocol.guarantee().epsilon - exact < 1e-4
    assert protocol.guarantee().assumptions == REAL


def test_heights_follow_the_law_of_a_cap_and_the_rest():
    """100,000 vectors: the height over u is in the cap with probability P, and has the sphere's law on either side."""
    protocol = PrivUnit.calibrate(8, Pure(3.0, assumptions=REAL))
    u = np.zeros(8)
    u[2] = 1.0
    v = protocol._caps(np.tile(u, (100_000, 1)), seeded(592))
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1.0, atol=1e-12)
    t = v[:, 2]
    inside = t >= protocol.gamma
    assert_probability(int(inside.sum()), t.size, float(protocol.toward))
    # power: a shape 30 % off moves each of these laws by 0.03 to 0.11, at least twice the critical distance
    assert_distribution(t[inside], lambda shape: _cap_law(shape, protocol.gamma, 1.0), 3.5, 0.3)
    assert_distribution(t[~inside], lambda shape: _cap_law(shape, -1.0, protocol.gamma), 3.5, 0.3)
    assert_distribution(v[:, 0] / np.sqrt(1 - t**2), lambda shape: _cap_law(shape, -1.0, 1.0), 3.0, 0.3)


def _cap_law(shape, low, high):
    """The law of a coordinate, density (1 - t^2)^(shape - 1), between two heights."""
    whole = stats.beta(shape, shape, loc=-1, scale=2)
    a, b = whole.cdf(low), whole.cdf(high)
    return lambda t: np.clip((whole.cdf(t) - a) / (b - a), 0, 1)


def test_privunit_beats_sampling_on_the_ball():
    """At epsilon = 4, d = 64: total error of a unit vector's mean, against sampled coordinates of [-1, 1]."""
    unit = PrivUnit.calibrate(64, Pure(4.0, assumptions=REAL))
    sampled = SampledCoordinates.calibrate(64, -1, 1, Pure(4.0))
    assert unit.risk(1) < 0.5 * sampled.variance(1, np.eye(64)).sum()


@settings(deadline=None, max_examples=20)
@given(st.integers(3, 200), st.floats(0.05, 12))
def test_calibrate_never_exceeds_its_target(dimension, epsilon):
    target = Pure(epsilon, assumptions=REAL)
    assert PrivUnit.calibrate(dimension, target).guarantee().implies(target)
    assert Hypercube.calibrate(dimension, 0, 1, target).guarantee().implies(target)


# refusals


def test_refusals():
    with pytest.raises(UnsupportedQuery, match="allow the assumption 'real-arithmetic'"):
        PrivUnit.calibrate(5, Pure(1.0))
    with pytest.raises(UnsupportedQuery, match="not a finite matrix"):
        PrivUnit.calibrate(5, Pure(1.0, assumptions=REAL)).channel()
    with pytest.raises(ParameterError, match="toward must exceed 1/2"):
        Hypercube(3, 0.0, 1.0, 4, Fraction(1, 2))
    with pytest.raises(ParameterError, match="inner must be a protocol for the mean"):
        SampledCoordinates(3, Hypercube.calibrate(3, 0, 1, Pure(1.0)))
    unit = PrivUnit.calibrate(3, Pure(1.0, assumptions=REAL))
    corner, axis = [65535, 65535, 65535], [65535, 32768, 32768]
    assert unit.valid(np.array([corner, axis], dtype=np.uint16)).tolist() == [False, True]
