"""The one theorem of each law of noise, against independent exact arithmetic, enumeration and the auditor."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accounting.laws import FiniteLaw, GaussianLaw, LaplaceLaw, must_be_consistent
from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.noise.gauges import BALL, CUBE, LAPLACE
from sfumato.mechanisms.noise.law import Root, far, root_up, squared
from sfumato.mechanisms.noise.laws import LAWS, law_named, pure_laws
from sfumato.mechanisms.noise.normals import DISCRETE_GAUSSIAN, DISCRETE_GAUSSIANS, NORMAL
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.laplace import discrete_laplace_delta
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace

GAUGES, NORMALS = (LAPLACE, CUBE, BALL), (NORMAL, DISCRETE_GAUSSIAN, DISCRETE_GAUSSIANS[True])
moves = st.one_of(st.integers(1, 10**9).map(float), st.floats(0.5, 1e6), st.integers(1, 10**12).map(Root))
scales, epsilons, distances = st.floats(0.01, 1e9), st.floats(1e-3, 20.0), st.integers(0, 9)


def exactly(moved):
    """The square of a move, in rationals."""
    return Fraction(moved.square) if isinstance(moved, Root) else Fraction(moved) ** 2


# claims


@given(moves, scales, distances)
def test_pure_claims_are_the_exact_ratio_rounded_up(moved, scale, distance):
    for law in GAUGES:
        claim = law.claim(moved, scale, distance=distance)
        exact = distance**2 * exactly(moved) / Fraction(scale) ** 2
        assert Fraction(claim.epsilon) ** 2 >= exact
        below = math.nextafter(claim.epsilon, 0)
        steps = 2 if isinstance(moved, Root) else 1  # a root is rounded up by itself
        for _ in range(steps - 1):
            below = math.nextafter(below, 0)
        assert claim.epsilon == 0 or Fraction(below) ** 2 < exact


@given(moves, scales, distances)
def test_concentrated_claims_are_the_exact_square_rounded_up(moved, scale, distance):
    for law in NORMALS:
        rho = law.claim(moved, scale, distance=distance).rho
        exact = distance**2 * exactly(moved) / (2 * Fraction(scale) ** 2)
        assert Fraction(rho) >= exact
        assert rho == 0 or Fraction(math.nextafter(rho, 0)) < exact


@given(moves, epsilons)
def test_calibrated_scales_are_the_least(moved, amount):
    for law in GAUGES:
        scale, stated = law.calibrate(moved, sf.Pure(amount))
        assert stated is None
        assert law.claim(moved, scale).epsilon <= amount
        assert scale == 1e-3 or law.claim(moved, math.nextafter(scale, 0)).epsilon > amount
        assert law.calibrate(moved, sf.Approximate(amount, 1e-6)) == (scale, None)
        rho = law.calibrate(moved, sf.Concentrated(amount))[0]
        assert law.claim(moved, rho).implies(sf.Concentrated(amount))
    for law in NORMALS:
        sigma, stated = law.calibrate(moved, sf.Concentrated(amount))
        assert stated is None
        assert exactly(moved) / (2 * Fraction(sigma) ** 2) <= Fraction(amount)
        assert sigma == 1e-3 or exactly(moved) / (2 * Fraction(sigma * (1 - 1e-14)) ** 2) > Fraction(amount)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.floats(0.05, 4.0), st.floats(1e-9, 0.05))
def test_calibrated_claims_with_delta_meet_their_target(moved, epsilon, delta):
    target = sf.Approximate(epsilon, delta)
    scale, stated = LAPLACE.calibrate_profile(float(moved), target)
    assert LAPLACE.claim(float(moved), scale, stated).implies(target)
    for law in NORMALS:
        sigma, stated = law.calibrate(float(moved), target)
        assert stated == epsilon
        assert law.claim(float(moved), sigma, stated).implies(target)
        assert not law.claim(float(moved), 0.99 * sigma, stated).implies(target)
        far_off = law.claim(float(moved), sigma, stated, distance=2)
        assert far_off.epsilon == epsilon
        assert far_off.delta > delta / 2


@pytest.mark.parametrize("law", [*GAUGES, *NORMALS], ids=lambda law: law.name)
@given(moved=moves, scale=scales, epsilon=epsilons)
def test_no_distance_costs_nothing_of_the_same_kind(law, moved, scale, epsilon):
    for stated in (None, *((epsilon,) if law not in (CUBE, BALL) else ())):
        empty = law.claim(moved, scale, stated, distance=0)
        assert empty == law.claim(0.0, scale, stated, distance=3)
        assert empty in (sf.Pure(0.0), sf.Concentrated(0.0), sf.Approximate(0.0, 0.0))
        assert isinstance(empty, sf.Approximate) == (stated is not None)
        assert empty.implies(sf.Pure(0.0))


@given(st.integers(0, 10**30))
def test_roots_are_rounded_up(square):
    assert Fraction(root_up(square)) ** 2 >= square
    assert square == 0 or Fraction(math.nextafter(root_up(square), 0)) ** 2 < square
    assert squared(Root(square)) == square
    assert far(Root(square), 3) >= far(Root(square))


# losses: what batches are charged by


def hockey(p, q, epsilon):
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


def shifted(scale, shift, reach):
    """Masses of discrete Laplace noise on -reach..reach, and those of the noise shifted."""
    z = np.arange(-reach, reach + 1)
    weight = np.exp(-np.abs(z) / scale) * math.tanh(0.5 / scale)
    return weight, np.exp(-np.abs(z - shift) / scale) * math.tanh(0.5 / scale)


def finite_delta(law, epsilon):
    return law.infinity + float(np.maximum(0.0, law.p - math.exp(epsilon) * law.q).sum())


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.3])
@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_no_move_of_a_vector_is_worse_than_the_same_steps_along_one_axis(scale, steps):
    """Every whole move of that many steps in two and three dimensions, enumerated."""
    law = LAPLACE.loss(float(steps), scale)
    must_be_consistent(law)
    reach = math.ceil(12 * scale) + steps
    for parts in itertools.product(range(steps + 1), repeat=3):
        if sum(parts) != steps or list(parts) != sorted(parts, reverse=True):
            continue
        pairs = [shifted(scale, part, reach) for part in parts if part]
        p, q = pairs[0]
        for other in pairs[1:]:
            p, q = np.outer(p, other[0]).ravel(), np.outer(q, other[1]).ravel()
        for epsilon in np.linspace(-1.2, 1.2, 25) * steps / scale:
            here = float(np.maximum(0.0, p - math.exp(epsilon) * q).sum())
            assert here <= finite_delta(law, epsilon) + 1e-4
            if len(pairs) == 1:
                assert here == pytest.approx(finite_delta(law, epsilon), abs=1e-4)


@given(st.integers(1, 64), st.floats(0.1, 300.0), st.floats(0.0, 1.3))
def test_the_loss_of_laplace_noise_has_its_exact_profile(steps, scale, share):
    epsilon = share * steps / scale
    law = LAPLACE.loss(float(steps), scale)
    assert isinstance(law, FiniteLaw)
    assert finite_delta(law, min(epsilon, 700.0)) == pytest.approx(
        discrete_laplace_delta(scale, steps, min(epsilon, 700.0)), rel=1e-9, abs=1e-13
    )
    assert law.p.sum() == pytest.approx(1.0)


@given(st.integers(65, 10**6), st.floats(0.2, 1e5), st.floats(0.0, 1.2))
def test_the_loss_of_long_moves_is_never_below_the_exact_profile(steps, scale, share):
    law = LAPLACE.loss(steps + 0.5, scale)
    assert isinstance(law, LaplaceLaw)
    assert law.epsilon * scale == pytest.approx(steps, rel=0.05)
    epsilon = share * steps / scale
    profile = -math.expm1((epsilon - law.epsilon) / 2) if epsilon < law.epsilon else 0.0
    assert profile >= discrete_laplace_delta(scale, steps, epsilon) * (1 - 1e-9)


@given(moves, st.floats(0.5, 1e6), st.integers(1, 5))
def test_the_loss_of_normal_noise_is_the_gaussian_pair(moved, sigma, distance):
    law = NORMAL.loss(moved, sigma, distance)
    assert isinstance(law, GaussianLaw)
    assert law.mu == pytest.approx(distance * math.sqrt(exactly(moved)) / sigma)
    assert Fraction(law.mu) ** 2 * Fraction(sigma) ** 2 >= distance**2 * exactly(moved)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.floats(0.5, 200.0), st.floats(0.0, 3.0))
def test_the_loss_of_discrete_gaussian_noise_has_its_exact_profile(steps, sigma, share):
    single, sigma = DISCRETE_GAUSSIANS[True], max(sigma, steps / 4)
    law = single.loss(float(steps), sigma)
    must_be_consistent(law)
    epsilon = share * steps / sigma
    claimed = single.claim(float(steps), sigma, epsilon).delta
    assert finite_delta(law, epsilon) <= claimed * (1 + 1e-9) + 1e-15
    assert DISCRETE_GAUSSIAN.loss(float(steps), sigma) is None
    assert gaussian_delta(sigma, float(steps), epsilon) <= 1


def test_laws_without_a_better_pair_leave_it_to_the_claim():
    assert CUBE.loss(1.0, 2.0) is None
    assert BALL.loss(1.0, 2.0) is None
    for law in (LAPLACE, NORMAL):
        assert finite_delta(law.loss(0.0, 2.0), 0.0) == 0


# distribution: the noise of vectors


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("dimension", [1, 4, 9])
def test_variances_and_joint_quantiles_are_those_of_the_draws(law, dimension):
    drawn = law.on(30.0, dimension)
    vectors = drawn.sample(20_000, seeded(dimension))
    assert vectors.shape == (20_000, dimension)
    assert float(np.square(vectors).mean()) == pytest.approx(drawn.variance, rel=0.06)
    assert math.sqrt(drawn.variance) == pytest.approx(30.0 * law.deviation(dimension), rel=0.05)
    for beta in (0.5, 0.05):
        beyond = float((np.abs(vectors).max(axis=1) > drawn.quantile(beta)).mean())
        assert 0.8 * beta < beyond < beta + 6 * math.sqrt(beta / 20_000)


# choice


def test_the_ball_is_taken_from_where_it_is_smaller():
    assert pure_laws(5) == (CUBE, BALL)
    assert pure_laws(20_000) == (BALL,)
    assert pure_laws(10**6) == (LAPLACE,)


# audit


ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}


@pytest.mark.parametrize("law", [CUBE, BALL, LAPLACE], ids=lambda law: law.name)
def test_audit_keeps_the_claim_and_catches_half_the_noise(law):
    """A pair that one unit moves by 40 in the norm, seen through the difference of the distances from both tables."""
    scale, _ = law.calibrate(40.0, sf.Pure(1.0))
    move = np.array([40, 40] if law is CUBE else [40, 0])

    def run(shrink):
        drawn = law.on(scale / shrink, 2)

        def distance(data, rng):
            seen = move * len(data) + drawn.sample(2, rng)[0]
            near, off = (float(np.linalg.norm(seen - center, ord=ORDERS[law.norm])) for center in (0 * move, move))
            return near - off

        return distance

    claim, pair = law.claim(40.0, scale), ([0], [])
    assert not audit(run(1), claim, pairs=[pair], seconds=0.4, generator=seeded).refuted
    assert audit(run(2), claim, pairs=[pair], seconds=10, generator=seeded).refuted


# refusals


def test_refusals_say_what_is_asked():
    with pytest.raises(UnsupportedQuery, match="rho > 0 or delta > 0"):
        NORMAL.calibrate(1.0, sf.Pure(1.0))
    with pytest.raises(UnsupportedQuery, match="cube noise needs"):
        CUBE.calibrate(1.0, sf.Concentrated(0.0))
    with pytest.raises(ParameterError, match="body must be one of normal, cube, ball, laplace"):
        law_named("pyramid")
    with pytest.raises(ParameterError, match="delta would reach 1"):
        NORMAL.claim(1.0, 0.01, 0.1, distance=9)
    assert law_named("ball") is BALL
    assert DiscreteLaplace(LAPLACE.calibrate(1.0, sf.Pure(0.5))[0]).scale == 2.0
