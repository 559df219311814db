"""Noise bodies on real vectors: claims, moments, laws, an audit, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import BoundBroken, ParameterError, UnsupportedQuery
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.reference.moments import order_of
from sfumato.reference.real_vectors import RealBody
from sfumato.sampling.bodies import Hull
from statistical import ALPHA

REAL = frozenset({"real-arithmetic"})
SIGNS = np.random.default_rng(3).choice([-1.0, 1.0], (3, 9))
MAKERS = [sf.reference.knorm, sf.reference.laplace, sf.reference.noise_body, sf.reference.nim]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0])
def test_every_mechanism_meets_its_epsilon_and_wastes_none(make, epsilon):
    found = make(SIGNS, epsilon)
    assert epsilon * (1 - 1e-9) <= found.guarantee().epsilon <= epsilon
    assert found.guarantee().assumptions >= REAL
    assert found.mechanism.guarantee(distance=2.5).epsilon == pytest.approx(2.5 * epsilon)
    assert found.mechanism.guarantee(distance=0).epsilon == 0


@given(entries=st.lists(st.integers(-24, 24), min_size=6, max_size=6), epsilon=st.floats(0.05, 5))
def test_the_claim_bounds_the_loss_between_any_two_real_vectors(entries, epsilon):
    """The log-density of the noise at a point, moved by F v, changes by at most the claim at ||v||_1."""
    v, z = np.array(entries[:4]) / 8, np.array(entries[4:])
    matrix = np.array([[1.0, -0.5, 0.25, 2.0], [0.5, 1.0, -1.0, 0.0]])
    noise = RealBody(matrix, Hull(matrix), epsilon)
    gauges = noise.body.gauge(np.array([z, z - matrix @ v]))
    loss = epsilon * abs(float(gauges[0] - gauges[1]))
    assert loss <= noise.guarantee(float(np.abs(v).sum())).epsilon * (1 + 1e-9) + 1e-9


def test_moments_of_one_number_are_those_of_laplace_noise():
    found = sf.reference.knorm([[1.0, -0.5]], 0.5)
    for power in (1, 2, 3.5):
        exact = math.gamma(power + 1) * 2**power
        assert found.moment(power, "l2") == pytest.approx(exact, rel=1e-9)
        assert found.moment(power, "l2") >= exact
    assert found.moment(1, "l1") == pytest.approx(found.moment(1, 7), rel=1e-12)
    assert found.certificate.factor < 1 + 1e-6


def test_moments_are_exact_where_a_formula_is_known():
    """Against draws of the same noise: within 5 standard errors, and beside Laplace numbers in closed form."""
    d = len(SIGNS)
    scale = 1 / sf.reference.laplace(SIGNS, 1.0).mechanism.epsilon * np.abs(SIGNS).sum(axis=0).max()
    laplace = sf.reference.laplace(SIGNS, 1.0)
    assert laplace.moment(2, "l2") == pytest.approx(2 * d * scale**2, rel=1e-6)
    assert laplace.moment(1, "l1") == pytest.approx(d * scale, rel=1e-6)
    known = [("cross-polytope", 3, "l1"), ("cross-polytope", 3, 3), ("cube", 2, "linf"), ("cube", 3, 3)]
    known += [("ball", 1, "l2"), ("least", 2, "l2")]
    for body, power, norm in known:
        found = sf.reference.noise_body(SIGNS, 1.0, body)
        values = np.linalg.norm(found.mechanism._draws(), ord=order_of(norm), axis=1) ** power
        assert abs(found.moment(power, norm) - values.mean()) < 5 * values.std() / math.sqrt(len(values)), body


def test_moments_without_a_formula_are_upper_limits_that_lie_close():
    """The mean l2 norm of the cube's noise, against another 200,000 draws."""
    found = sf.reference.noise_body(np.eye(6), 1.0, "cube")
    u = np.random.default_rng(3).uniform(-1, 1, (200_000, 6))
    expected = 7 * np.linalg.norm(u, axis=1).mean()
    assert expected * 0.999 <= found.moment(1, "l2") <= expected * 1.01


def test_moments_follow_their_formula_in_any_norm():
    """Gamma(d+1+p) / (epsilon^p Gamma(d+1)) E||u||^p for the cube, u uniform."""
    d, epsilon, p, q = 4, 0.5, 3.0, 4.0
    found = sf.reference.noise_body(np.eye(d), epsilon, "cube")
    u = np.random.default_rng(0).uniform(-1, 1, (200_000, d))
    expected = math.gamma(d + 1 + p) / (epsilon**p * math.gamma(d + 1)) * (np.linalg.norm(u, q, axis=1) ** p).mean()
    assert 0.995 * expected <= found.moment(p, q) <= 1.03 * expected


def test_the_noise_of_knorm_on_independent_columns_is_laplace():
    found = sf.reference.knorm(np.diag([2.0, 1.0]), 0.5)
    rng = seeded(5)
    draws = np.array([found.draw([0.0, 0.0], rng) for _ in range(8000)])
    assert stats.kstest(draws[:, 0], stats.laplace(scale=4).cdf).pvalue > ALPHA
    assert stats.kstest(draws[:, 0], stats.laplace(scale=4.8).cdf).pvalue < ALPHA


def test_the_error_is_exceeded_as_rarely_as_it_says():
    for make in (sf.reference.knorm, sf.reference.laplace):
        found, rng = make(SIGNS, 1.0), seeded(8)
        far = np.array([np.abs(found.draw(np.zeros(9), rng)).max() for _ in range(600)])
        assert (far > found.error(0.2)).mean() <= 0.2 + 3 * math.sqrt(0.16 / 600)
        assert (far > found.error(0.2) / 3).mean() > 0.2


def test_an_audit_catches_half_the_noise_and_not_the_claim():
    found = sf.reference.knorm([[1.0, 1.0], [1.0, -1.0]], 1.0)
    pair, claim = (np.array([0.0, 0.0]), np.array([1.0, 0.0])), found.guarantee()
    assert not audit(found.draw, claim, pairs=[pair], seconds=0.4, generator=seeded).refuted
    assert audit(lambda x, rng: found.draw(2 * x, rng), claim, pairs=[pair], seconds=4, generator=seeded).refuted


def test_the_same_seed_gives_the_same_value_and_an_outcome_says_everything():
    found = sf.reference.knorm(SIGNS, 1.0)
    one, two = (found.release(np.arange(9.0), seeded(4)) for _ in range(2))
    assert np.array_equal(one.value, two.value)
    assert one.guarantee == found.guarantee()
    assert one.error == found.error()
    assert one.certificate.factor >= 1
    assert "certificate  within a factor" in str(one)


def test_values_that_are_not_finite_count_as_zero():
    found = sf.reference.laplace(np.eye(3), 1.0)
    odd, zero = (found.draw(x, seeded(1)) for x in ([1.0, math.nan, math.inf], [1.0, 0.0, 0.0]))
    assert np.array_equal(odd, zero)


@pytest.mark.parametrize("matrix", [[1, 2], [[]], [[0, 0]], [[1, math.nan]], "abc", [[[1]]]])
def test_a_matrix_that_is_none_is_refused_by_its_shape(matrix):
    with pytest.raises(ParameterError, match="matrix must"):
        sf.reference.knorm(matrix, 1.0)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", True])
def test_bad_epsilons_are_refused(epsilon):
    with pytest.raises(ParameterError):
        sf.reference.knorm(SIGNS, epsilon)


def test_refusals_say_what_to_do():
    found = sf.reference.knorm(SIGNS, 1.0)
    with pytest.raises(ParameterError, match="x must have 9 entries"):
        found.release(np.zeros(8), seeded(1))
    with pytest.raises(ParameterError, match=r"sf\.reference\.seeded"):
        found.release(np.zeros(9), np.random.default_rng(1))
    with pytest.raises(ParameterError, match="l1, l2, linf"):
        found.moment(1, "l3")
    with pytest.raises(ParameterError, match="at least 1"):
        order_of(0.5)
    with pytest.raises(ParameterError, match="2\\^-30"):
        sf.reference.nim([[0.1, 1.0], [1.0, 0.3]], 1.0)
    with pytest.raises(ParameterError, match="cube, cross-polytope, ball, least"):
        sf.reference.noise_body(SIGNS, 1.0, "egg")


# bounds and certificates


def test_a_volume_radius_is_enclosed_and_the_bound_is_below_every_mechanism():
    cube = np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1).astype(float)  # its hull is the cube of radius 1
    found = sf.reference.volume_radius(cube)
    true = 2 / (math.pi**2.5 / math.gamma(3.5)) ** 0.2
    assert found.lower <= true <= found.upper <= 1.3 * true
    bound = sf.reference.volume_bound(SIGNS, 1.0)
    for make in MAKERS:
        assert make(SIGNS, 1.0).moment() >= bound.value


def test_a_certificate_below_one_is_a_contradiction():
    class Liar:
        setting = "metric"

        def guarantee(self):
            return Pure(1.0)

        def moment(self, power=1.0, norm="l2"):
            return 0.5 * sf.reference.knorm(SIGNS, 1.0).moment(power, norm)

    with pytest.raises(BoundBroken, match="or the mechanism is not of this bound's class; audit the mechanism"):
        sf.reference.certify(Liar(), sf.reference.volume_bound(SIGNS, 1.0))


class Staircase:
    """Continuous staircase noise on a sum of numbers in [0, 2]: pure for neighbors, not for every distance."""

    def guarantee(self):
        return Pure(1.0)

    def moment(self, power=1.0, norm="l2"):
        assert power == 1
        return 2 * math.exp(0.5) / math.expm1(1.0)  # E|Z| [GengViswanath2014]


def test_a_bound_about_a_narrower_class_contradicts_its_members_alone():
    metric = sf.reference.volume_bound([[2.0]], 1.0)
    assert metric.value > Staircase().moment()  # right mechanisms of another class stay below it
    with pytest.raises(UnsupportedQuery, match="the attribute setting = 'metric' if it is"):
        sf.reference.certify(Staircase(), metric)
    for found in (sf.reference.knorm([[2.0]], 1.0), sf.reference.nim([[2.0]], 1.0)):
        assert sf.reference.certify(found, metric).factor < 1.1  # these declare themselves
    with pytest.raises(UnsupportedQuery, match="'local'"):
        sf.reference.certify(Staircase(), sf.reference.minimax("mean", 100, 1.0))
    least = sf.bounds.staircase.real_sum_mean_absolute(2.0, 1.0)
    every = sf.reference.Bound(least, Pure(1.0), "staircase", "pure mechanisms on real sums")
    assert sf.reference.certify(Staircase(), every).factor == pytest.approx(1.0)


def test_a_bound_of_ones_own_is_taken_and_one_about_another_claim_is_not():
    found = sf.reference.knorm(SIGNS, 1.0)
    own = sf.reference.Bound(found.moment(3, 4) / 8, Pure(1.0), "mine", "everybody", power=3, norm=4)
    certificate = sf.reference.certify(found, own, sf.reference.volume_bound(SIGNS, 1.0))
    assert certificate.factor <= 2 + 1e-9
    assert "mine" in sf.reference.certify(found, own).words()
    with pytest.raises(UnsupportedQuery, match="state the bound for its claim"):
        sf.reference.certify(found, sf.reference.volume_bound(SIGNS, 0.5))
    assert sf.reference.certify(found).words().startswith("no bound known")
    with pytest.raises(ParameterError, match="finite and positive"):
        sf.reference.Bound(0.0, Pure(1.0), "mine", "everybody")


def test_factorization_norms_enclose_and_the_nuclear_one_is_below():
    lower, upper = sf.reference.factorization_norm(np.tri(8))
    assert lower <= upper <= 1.01 * lower
    assert sf.reference.factorization_norm(np.tri(8), "nuclear")[1] <= upper
    assert sf.reference.factorization_norm(np.eye(5)) == pytest.approx((math.sqrt(5),) * 2, rel=1e-3)
    with pytest.raises(ParameterError, match="frobenius"):
        sf.reference.factorization_norm(np.eye(2), "gamma")


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["body", "ball", "grid", "hit-and-run"])
def test_points_of_the_body_lie_in_it(method):
    points = sf.reference.uniform(SIGNS, 8, seeded(2), method, size=0.2, thin=5)
    assert points.shape == (8, 3)
    if method != "hit-and-run":
        assert Hull(SIGNS).gauge(points).max() <= 1 + 1e-6
    with pytest.raises(ParameterError, match="body, ball, grid"):
        sf.reference.uniform(SIGNS, 4, seeded(2), "walk")


def test_the_body_of_a_cross_polytope_has_its_isotropic_constant():
    found = sf.reference.isotropy(np.eye(3))
    exact = (6**2 / 8**2) ** (1 / 3) / 10  # det(M)^{1/d} = 1/10... over Vol^{2/d}
    assert found.constant == pytest.approx(math.sqrt(exact), rel=0.05)
    assert found.position == pytest.approx(1, abs=0.1)


# the rest of the facade


def test_minimax_bounds_go_by_name_and_refuse_what_they_do_not_know():
    assert sf.reference.minimax("mean", 10_000, 1.0, low=0.0, high=1.0).root < 0.1
    cubes = [sf.reference.minimax("mean in a cube", 10_000, 1.0, d=d).value for d in (1, 10, 100)]
    assert cubes == sorted(cubes)
    for problem, parts in {"frequencies": {"k": 8}, "worst frequency": {}, "density": {"lipschitz": 1.0},
                           "mean in a ball": {"d": 5},
                           "two hypotheses": {"distance": 0.1, "total_variation": 0.01},
                           "many hypotheses": {"distance": 0.1, "count": 64, "divergence": 1e-4},
                           "hypotheses on a cube": {"step": 0.1, "dimension": 4, "total_variation": 0.01},
                           }.items():  # fmt: skip
        assert sf.reference.minimax(problem, 1000, 1.0, **parts).power == 2
    with pytest.raises(ParameterError, match="mean in a cube"):
        sf.reference.minimax("median", 100, 1.0)
    with pytest.raises(ParameterError, match=r"takes k=\.\.\. beside n and epsilon, got size"):
        sf.reference.minimax("frequencies", 100, 1.0, size=3)
    assert sf.reference.packing(1, 1.0, 1000).value == pytest.approx(0.538, abs=1e-3)


def test_comparing_puts_the_least_error_first():
    lines = sf.reference.compare(*(make(SIGNS, 1.0) for make in MAKERS), data=np.zeros(9))
    assert [line["mean"] for line in lines] == sorted(line["mean"] for line in lines)
    assert all(line["seconds"] >= 0 for line in lines)


def test_citing_names_papers_and_proofs():
    found = sf.reference.cite(sf.reference.knorm(SIGNS, 1.0))
    assert found.keys == ("HardtTalwar2010",)
    assert found.proofs == ("docs/proofs/real_vectors.md",)
    with pytest.raises(ParameterError, match="of sfumato"):
        sf.reference.cite(3)
    assert sf.reference.cite(sf.reference.knorm).proofs == found.proofs
    with pytest.raises(ParameterError, match="names no paper or proof"):
        sf.reference.cite(sf.reference.Bound)


def test_a_gaussian_process_of_any_kernel_and_what_is_no_kernel():
    kernels = sf.reference.kernels
    found = sf.reference.gaussian_process(kernels.Matern52(0.5), 0.1, Concentrated(0.5))
    shown = found.release(lambda points: np.sin(points[:, 0]), seeded(1)).value
    again = shown.at([[0.0], [1.0]], seeded(2))
    assert np.array_equal(again, shown.at([[0.0], [1.0]], seeded(3)))
    with pytest.raises(ParameterError, match="kernel must be one of"):
        sf.reference.gaussian_process("matern", 0.1, Concentrated(0.5))
    with pytest.raises(UnsupportedQuery):
        sf.reference.gaussian_process(kernels.Gaussian(1.0), 0.1, Pure(1.0))


def test_small_databases_nets_and_smooth_points_from_plain_arrays():
    queries = np.tri(4, dtype=int)
    small = sf.reference.small_database(queries, 3, Pure(1.0)).release([5, 0, 3, 2], seeded(1))
    assert small.value.sum() == 3
    chosen = sf.reference.net(queries, np.eye(4, dtype=int), Pure(50.0)).release([9, 0, 0, 0], seeded(1))
    assert chosen.value.tolist() == [1, 0, 0, 0]
    points = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    fitted = sf.reference.smooth(3, 500, Pure(1.0)).release(points, seeded(1)).value
    assert fitted.weights.sum() == pytest.approx(1)
    with pytest.raises(ParameterError, match="whole numbers"):
        sf.reference.small_database([[0.5]], 3, Pure(1.0))


def test_an_outcome_prints_the_error_of_its_mechanism_rounded_up():
    made = sf.reference.laplace([[1, 1], [1, -1]], 0.37)
    told = str(made.release([3, 4], sf.reference.seeded(5)))
    stated = float(told.split("error        at most ")[1].split(",")[0])
    assert made.error(0.05) <= stated <= made.error(0.05) * (1 + 1e-5)
