"""The noise body: claims, laws, distribution, evidence from outside, refusals."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.geometry.noise_body import Columns, NoiseBody
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.sampling.bodies import CrossPolytope, Cube, Ellipsoid, Hull, Image, LpBall, rejection, sampler
from statistical import assert_distribution, assert_probability

PLANE = Columns("plane", [[3, 1, 0, 2], [1, -2, 1, 4]])
SIGNS = Columns("signs", np.random.default_rng(1).choice([-1, 1], size=(4, 9)))
WIDE = Columns("wide", np.random.default_rng(1).choice([-1, 1], size=(40, 200)))
TALL = Columns("tall", [[1, 0], [1, 1], [0, 2]])
ONE = Columns("one", [[3]])
SUM_ZERO = Columns("sum zero", [[1, 1, 0], [-1, 0, 1], [0, -1, -1]])
EXACT = [
    (PLANE, Cube(2, 4)),
    (PLANE, CrossPolytope(2, 6)),
    (PLANE, Image(CrossPolytope(4), PLANE.vertices)),
    (SIGNS, Image(Cube(4), np.eye(4))),
    (TALL, None),
    (ONE, None),
    (SUM_ZERO, None),
]
REAL = [
    (PLANE, None),
    (SIGNS, None),
    (PLANE, Ellipsoid(np.diag([20.0, 20.0]))),
    (PLANE, LpBall(2, 2.0, 4.5)),
    (PLANE, Image(Cube(2), [[3.5, 0.25], [0.0, 4.5]])),
]
every = pytest.mark.parametrize(
    ("query", "body"), EXACT + REAL, ids=[f"{q.name}-{type(b).__name__}" for q, b in EXACT + REAL]
)


# claims
def test_the_claim_is_epsilon_times_the_largest_gauge():
    assert NoiseBody(PLANE, Cube(2, 4), 0.5).guarantee() == Pure(0.5)
    assert NoiseBody(PLANE, Cube(2, 8), 0.5).guarantee() == Pure(0.25)
    assert NoiseBody(PLANE, CrossPolytope(2, 12), 1.0).guarantee(distance=3) == Pure(1.5)
    assert NoiseBody(PLANE, Hull(PLANE.vertices), 0.5).guarantee(0).epsilon == 0
    gauges = Ellipsoid(np.diag([20.0, 20.0])).gauge(PLANE.vertices.T)
    claim = NoiseBody(PLANE, Ellipsoid(np.diag([20.0, 20.0])), 2.0).guarantee()
    assert claim.epsilon == pytest.approx(2 * gauges.max())
    assert Fraction(claim.epsilon) ** 2 >= 4 * Fraction(20, 20)


@pytest.mark.parametrize(("query", "body"), EXACT)
def test_exact_bodies_claim_plainly(query, body):
    assert NoiseBody.calibrate(query, Pure(0.7), body).assumptions == frozenset()


@pytest.mark.parametrize(("query", "body"), REAL)
def test_floating_point_is_named(query, body):
    assert NoiseBody.calibrate(query, Pure(0.7), body).guarantee().assumptions == {"real-arithmetic"}


def test_an_unproven_walk_is_named():
    made = NoiseBody.calibrate(WIDE, Pure(1.0))
    assert made.guarantee() == Pure(1.0, assumptions=frozenset({"mixing", "real-arithmetic"}))
    assert made.to_record() == {"type": "noise-body", "body": "hull", "epsilon": 1.0, "drawn": "walk"}


def test_laplace_on_the_histogram_recognizes_columns_and_their_differences():
    columns = WIDE.vertices[:5, :8]
    first, second = np.triu_indices(8, 1)
    moved = Columns(
        "moved", columns[:, first] - columns[:, second], unit_rows=1
    )  # entries are even, the unit is one row
    made = NoiseBody.calibrate(moved, Pure(1.0), Image(CrossPolytope(8, 2.0), columns))
    assert made.guarantee() == Pure(1.0)
    assert made.noise.law.scale == 2.0


def test_units_of_several_rows_get_noise_on_the_finest_lattice():
    """Two rows of a person move by sums of columns: noise on multiples of two would show who has an odd number."""
    twice = Columns("two rows", 2 * TALL.vertices)
    made = NoiseBody.calibrate(twice, Pure(1.0))
    assert made.guarantee() == Pure(1.0)
    assert made.noise.law.scale == 2.0
    assert (made.noise.matrix == Hull(TALL.vertices).columns).all()
    assert (made.noise.sample(200, seeded(1)) % 2 == 1).any()
    coarse = Image(CrossPolytope(2), 2 * TALL.vertices)
    assert (NoiseBody(twice, coarse, 1.0).noise.sample(200, seeded(1)) % 2 == 1).any()
    skew = Columns("skew", [[2], [2]])  # (1, 1) has no integer preimage here, so the lattice law is not used
    assert NoiseBody(skew, Image(CrossPolytope(2, 2.0), [[2, 1], [0, 3]]), 1.0).assumptions == {"real-arithmetic"}


# laws
@every
def test_calibrate_meets_its_target_and_spends_it(query, body):
    for epsilon in (0.1, 1.0, 3.7):
        made = NoiseBody.calibrate(query, Pure(epsilon), body)
        assert 0.99 * epsilon < made.guarantee().epsilon <= epsilon
        assert dataclasses.replace(made) == made


@given(st.lists(st.integers(-50, 50), min_size=8, max_size=8), st.floats(0.01, 10))
@settings(max_examples=60, deadline=None)
def test_calibrate_never_exceeds_its_target(entries, epsilon):
    query = Columns("any", np.array(entries).reshape(2, 4))
    if not query.vertices.any():
        return
    largest = np.abs(query.vertices).max()
    for body in (
        None,
        Cube(2, float(largest)),
        LpBall(2, 2.0, 1.5 * largest),
        Image(Cube(2), 1.3 * largest * np.eye(2)),
    ):
        made = NoiseBody.calibrate(query, Pure(epsilon), body)
        assert made.guarantee().epsilon <= epsilon
        assert made.guarantee(2).epsilon <= 2 * epsilon * (1 + 1e-12)


@every
def test_release_adds_whole_numbers_and_repeats_with_its_generator(query, body):
    made = NoiseBody.calibrate(query, Pure(0.001), body)
    answer = np.arange(query.dimension) * 10**6
    first, second = (made.release(answer, seeded(3)) for _ in range(2))
    assert first.tolist() == second.tolist() != answer.tolist()
    assert first.dtype == np.int64
    assert answer.tolist() == (np.arange(query.dimension) * 10**6).tolist()


# distribution
@every
def test_margins_hold_and_are_not_idle(query, body):
    """20,000 draws: a coordinate leaves its margin with probability at most 5 %, and more than 1 % of the time."""
    made = NoiseBody.calibrate(query, Pure(0.1), body)
    draws = np.abs(made.noise.sample(20_000, seeded(8)).astype(float))
    beyond = (draws > made.margins(0.05)).mean(axis=0)
    assert beyond.max() <= 0.053
    assert beyond.max() > 0.005
    assert (draws > made.margins(1e-4)).mean(axis=0).max() <= 6e-4
    assert (draws.max(axis=1) > made.error(0.05)).mean() <= 0.053
    assert made.margins(0.5).max() <= made.margins(0.05).max() <= made.margins(1e-6).max()
    assert np.sqrt((draws**2).mean()) == pytest.approx(made.root_mean_square, rel=0.06)
    assert np.linalg.norm(draws, axis=1).mean() == pytest.approx(made.mean_error(), rel=0.05)


def test_rounded_noise_has_gamma_gauges():
    """At epsilon 0.001 rounding is invisible; the gauge is Gamma(2), and a scale 10 % off is refused."""
    made = NoiseBody(PLANE, Hull(PLANE.vertices), 0.001)
    gauges = Hull(PLANE.vertices).gauge(made.noise.sample(100_000, seeded(2)))
    assert_distribution(gauges, lambda b: stats.gamma(2, scale=b).cdf, 1000.0)


@pytest.mark.heavy
def test_correct_errors_at_one_fifth_of_two_hundred():
    """Document 000, table 3, corrected: Laplace about 353, Laplace on x 126, cube 150, K-norm 78."""
    expected = {
        CrossPolytope(40, 40): 353,
        Cube(40): 150,
        Image(CrossPolytope(200), WIDE.vertices): 121,
        Hull(WIDE.vertices): 78,
    }
    for body, error in expected.items():
        assert NoiseBody(WIDE, body, 1.0).mean_error() == pytest.approx(error, rel=0.03)


# audit
def likelihood_ratio_events(epsilon, rate, samples=200_000):
    """How often the noise, and the noise moved by a column, fall where their densities differ most."""
    body = Hull(PLANE.vertices)
    noise = NoiseBody(PLANE, body, rate).noise.sample(samples, seeded(6)).astype(float)
    column = PLANE.vertices[:, 3]
    gap = lambda z: body.gauge(z) - body.gauge(z - column)  # noqa: E731 - largest where the moved density wins
    return int((gap(noise) > 0.999).sum()), int((gap(noise + column) > 0.999).sum())


def test_events_of_largest_ratio_do_not_refute_the_claim():
    """Epsilon 0.2: the ratio of probabilities is e^0.2 there up to rounding; 4 standard errors are allowed."""
    rare, often = likelihood_ratio_events(0.2, 0.2)
    assert rare > 20_000
    assert often / rare <= math.exp(0.2) * (1 + 4 * math.sqrt(1 / rare + 1 / often))
    assert often / rare >= math.exp(0.2) * (1 - 0.05)  # the claim is tight


def test_half_the_noise_is_caught():
    rare, often = likelihood_ratio_events(0.2, 0.4)
    assert often / rare > math.exp(0.2) * (1 + 6 * math.sqrt(1 / rare + 1 / often))


def test_the_exact_cube_law_has_the_claimed_ratio():
    law = NoiseBody(PLANE, Cube(2, 4), 0.8).noise.law
    for z in [(0, 0), (7, -3), (4, 4), (-20, 5)]:
        for column in PLANE.vertices.T:
            assert law.pmf(np.array(z)) <= math.exp(0.8) * law.pmf(np.array(z) - column) * (1 + 1e-12)


def test_walks_of_two_releases_are_independent():
    """Sixty pairs of releases: a coordinate has the same sign twice half of the time."""
    query = Columns("walk", np.random.default_rng(3).choice([-1, 1], size=(16, 40)))
    made, rng = NoiseBody.calibrate(query, Pure(0.01)), seeded(4)
    assert "mixing" in made.assumptions
    draws = np.array([made.release(np.zeros(16, dtype=np.int64), rng)[0] for _ in range(120)])
    assert_probability(int((draws[::2] * draws[1::2] > 0).sum()), 60, 0.5)


def test_the_exact_law_of_replacement_has_the_claimed_ratio():
    made = NoiseBody.calibrate(SUM_ZERO, Pure(0.8))
    law = made.noise.law
    assert made.guarantee() == Pure(0.8)
    assert (made.noise.sample(50, seeded(1)).sum(axis=1) == 0).all()
    worst = max(law.pmf(z) / law.pmf(z - f) for z in ([0, 0, 0], [3, -1, -2], [-4, 4, 0]) for f in SUM_ZERO.vertices.T)
    assert worst == pytest.approx(math.exp(0.8))


# refusals
@pytest.mark.parametrize(
    ("make", "kind", "word"),
    [
        (lambda: NoiseBody(PLANE, Cube(2, 3.999), 1.0), ParameterError, "enlarge"),
        (lambda: NoiseBody(PLANE, CrossPolytope(2, 5), 1.0), ParameterError, "does not contain"),
        (lambda: NoiseBody(PLANE, Hull([[1, 0], [0, 1]]), 1.0), ParameterError, "does not contain"),
        (lambda: NoiseBody(PLANE, Hull([[3], [1]]), 1.0), ParameterError, "does not contain"),
        (lambda: NoiseBody(PLANE, Cube(3), 1.0), ParameterError, "dimension 3"),
        (lambda: NoiseBody(Columns("three", [[4]], unit_rows=3), Cube(1, 4), 1.0), ParameterError, "unit_rows=3"),
        (lambda: NoiseBody(PLANE, Cube(2, 4), 0.0), ParameterError, "epsilon"),
        (lambda: NoiseBody(PLANE, Cube(2, 4), math.nan), ParameterError, "epsilon"),
        (lambda: NoiseBody(Columns("half", [[0.5, 1.0]]), Cube(1), 1.0), ParameterError, "quantize"),
        (lambda: NoiseBody(Columns("nan", [[math.nan, 1.0]]), Cube(1), 1.0), ParameterError, "NaN"),
        (lambda: NoiseBody.calibrate(Columns("zero", [[0, 0]]), Pure(1.0)), UnsupportedQuery, "does not depend"),
        (lambda: NoiseBody.calibrate(PLANE, Concentrated(0.5)), UnsupportedQuery, "pure"),
        (lambda: NoiseBody(PLANE, Cube(2, 4), 1.0).margins(0.0), ParameterError, "beta"),
        (lambda: NoiseBody(PLANE, Cube(2, 4), 1.0).mean_error("l7"), ParameterError, "l1, l2, linf"),
    ],
)
def test_refusals_say_why_and_what_to_do(make, kind, word):
    with pytest.raises(kind, match=word):
        make()


def test_approximate_targets_are_met_purely():
    assert NoiseBody.calibrate(PLANE, Approximate(0.5, 1e-6), Cube(2, 4)).guarantee() == Pure(0.5)


def test_a_wrong_answer_is_refused_without_being_printed():
    with pytest.raises(ParameterError) as raised:
        NoiseBody(PLANE, Cube(2, 4), 1.0).release(np.array([123456, 5, 6]), seeded(1))
    assert "123456" not in str(raised.value)


def test_dependent_rows_stay_dependent_up_to_rounding():
    query = Columns("rows", [[1, 2, 0], [0, 1, 3], [1, 3, 3]])  # the third row is the sum of the others
    made = NoiseBody.calibrate(query, Pure(0.01))
    draws = made.noise.sample(50, seeded(1)).astype(float)
    assert np.abs(draws[:, 0] + draws[:, 1] - draws[:, 2]).max() <= 1.5


def test_rejection_stands_in_for_a_walk_and_is_recorded():
    """Where a walk would be quicker, rejection needs no mixing; stored walks stay walks."""
    query = Columns("signs", np.random.default_rng(0).choice([-1, 1], size=(23, 120)))
    hull = Hull(query.vertices)
    assert sampler(hull) == "walk"
    assert rejection.affordable(hull)
    patient, walked = (NoiseBody.calibrate(query, Pure(1.0), hull, patient) for patient in (True, False))
    assert patient.guarantee().assumptions == {"real-arithmetic"}
    assert walked.guarantee().assumptions == {"real-arithmetic", "mixing"}
    for made in (patient, walked):
        again = NoiseBody.from_record(query, made.to_record())
        assert again.guarantee() == made.guarantee()
        assert again.to_record() == made.to_record()
    gauge = float(hull.gauge(patient.noise.reals(1, seeded(1)))[0]) * patient.epsilon
    assert 5 < gauge < 60  # of the law Gamma(23)
    assert not rejection.affordable(Hull(np.random.default_rng(0).choice([-1.0, 1.0], size=(30, 60))))
