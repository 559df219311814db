"""Bodies: gauges against definitions, containment that rounding cannot fool, volumes, uniform points, refusals."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling.bodies import CrossPolytope, Cube, Ellipsoid, Hull, Image, LpBall, body_noise
from statistical import assert_distribution

SHEAR = [[2.0, 1.0, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 3.0]]
SIGNS = np.array(list(itertools.product([-1, 1], repeat=3))).T
BODIES = [
    CrossPolytope(4, 2.0),
    Cube(3, 0.5),
    LpBall(5, 3.0),
    LpBall(3, 2.0, 7.0),
    Ellipsoid([[4.0, 1.0], [1.0, 2.0]]),
    Image(CrossPolytope(3), SHEAR),
    Image(Cube(3), SHEAR),
    Hull(SIGNS),
    Hull([[3, 1, 0, 2], [1, -2, 1, 5]]),
    Hull([[2, 5, -1]]),
]
every = pytest.mark.parametrize("body", BODIES, ids=lambda body: f"{type(body).__name__}-{body.dimension}")


# gauges and volumes
def test_gauges_are_norms_of_preimages():
    points = np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 3.0]])
    inside = np.linalg.solve(np.array(SHEAR), points.T).T
    assert Image(Cube(3), SHEAR).gauge(points) == pytest.approx(np.abs(inside).max(axis=1))
    assert Image(CrossPolytope(3), SHEAR).gauge(points) == pytest.approx(np.abs(inside).sum(axis=1))
    shape = np.array(SHEAR) @ np.array(SHEAR).T
    assert Ellipsoid(shape).gauge(points) == pytest.approx(np.sqrt((inside**2).sum(axis=1)))
    assert Hull(SIGNS).gauge(points) == pytest.approx(np.abs(points).max(axis=1))
    assert Hull(np.eye(3)).gauge(points) == pytest.approx(np.abs(points).sum(axis=1))


def test_a_wide_image_takes_the_least_preimage():
    matrix = np.array([[1, 1, 0, 2], [0, 1, 1, -1]])
    points = np.array([[3.0, 1.0], [-1.0, 4.0], [2.0, -1.0]])
    assert Image(CrossPolytope(4), matrix).gauge(points) == pytest.approx(Hull(matrix).gauge_by_program(points))
    sides = Image(Cube(4), matrix).gauge(points)
    corners = matrix @ np.array(list(itertools.product([-1, 1], repeat=4))).T  # a zonotope is the hull of these
    assert sides == pytest.approx(Hull(corners).gauge_by_program(points))


@every
def test_gauge_is_homogeneous_symmetric_and_bounded_above(body):
    points = np.random.default_rng(3).normal(size=(40, body.dimension)) * np.logspace(-6, 6, 40)[:, None]
    gauges = body.gauge(points)
    assert body.gauge(-3 * points) == pytest.approx(3 * gauges)
    assert (body.gauge_bound(points) >= gauges * (1 - 1e-12)).all()
    assert body.gauge_bound(points) == pytest.approx(gauges, rel=1e-8)
    assert body.gauge(np.zeros((1, body.dimension))).tolist() == [0.0]


def test_volumes():
    assert LpBall(2, 2.0).volume() == pytest.approx(math.pi)
    assert CrossPolytope(3, 2.0).volume() == pytest.approx(8 * 8 / 6)
    assert Hull(SIGNS).volume() == pytest.approx(8.0)
    assert Hull([[2, 0], [1, 3]]).volume() == pytest.approx(12.0)
    assert Hull([[2, 5, -1]]).volume() == pytest.approx(10.0)
    assert Hull([[1, 2], [2, 4]]).volume() == 0.0
    assert Image(Cube(3), SHEAR).volume() == pytest.approx(48.0)
    assert Image(CrossPolytope(4), np.ones((2, 4))).volume() is None
    assert Ellipsoid(np.diag([4.0, 9.0])).volume() == pytest.approx(6 * math.pi)
    assert Hull(np.random.default_rng(1).choice([-1.0, 1.0], size=(12, 60))).volume() is None


# containment: proven, or denied
whole = st.integers(-9, 9)


@given(st.lists(whole, min_size=9, max_size=9), st.lists(whole, min_size=3, max_size=3))
@settings(max_examples=150, deadline=None)
def test_bounds_are_never_below_the_exact_gauge(entries, point):
    matrix = np.array(entries, dtype=float).reshape(3, 3)
    if abs(np.linalg.det(matrix)) < 0.5:
        return
    exact = _solve([[Fraction(v) for v in row] for row in matrix.tolist()], [Fraction(v) for v in point])
    z = np.array([point], dtype=float)
    assert Image(CrossPolytope(3), matrix).gauge_bound(z)[0] >= sum(abs(x) for x in exact)
    assert Image(Cube(3), matrix).gauge_bound(z)[0] >= max(abs(x) for x in exact)
    assert Hull(matrix).gauge_bound(z)[0] >= (1 if _is_column(matrix, z[0]) else sum(abs(x) for x in exact))
    square = Fraction(float(Image(LpBall(3, 2.0), matrix).gauge_bound(z)[0])) ** 2
    assert square >= sum(x * x for x in exact)


def test_a_point_one_step_outside_is_not_contained():
    for radius in (1.0, 0.1, 7.3):
        beyond = math.nextafter(radius, math.inf)
        for body in (Cube(2, radius), CrossPolytope(2, radius), LpBall(2, 2.0, radius)):
            assert not body.contains([[beyond, 0.0]])[0]
        assert Cube(2, radius).contains([[radius, -radius]])[0]
    assert CrossPolytope(2, 7.0).contains([[3.0, -4.0]])[0]  # whole numbers are summed without rounding


def test_a_hull_contains_its_columns_and_not_their_double():
    columns = np.random.default_rng(2).choice([-1.0, 1.0], size=(6, 30))
    assert Hull(columns).contains(np.hstack([columns, -columns]).T).all()
    assert not Hull(columns).contains(1.0001 * columns.T).any()


# uniform points
@every
def test_uniform_points_have_a_uniform_power_of_the_gauge(body):
    """Power: the gauge's law x^d against x^{1.1 d} differs by 0.035, four times the critical distance."""
    gauges = body.gauge(body.uniform(100_000, seeded(4)))
    assert_distribution(gauges, lambda k: lambda x: np.clip(x, 0, 1) ** k, float(body.degrees))


@every
def test_uniform_points_have_the_stated_covariance(body):
    points = body.uniform(100_000, seeded(5))
    if hasattr(body, "covariance"):
        scale = np.sqrt(np.diag(body.covariance()))
        gap = (points.T @ points / len(points) - body.covariance()) / np.outer(scale, scale)
        assert np.abs(gap).max() < 0.03  # standard error at most 0.005
    assert body.mean_norm("l2", seeded(6), order=2) == pytest.approx((points**2).sum(axis=1).mean(), rel=0.05)
    half = (points[:, 0] > 0).mean()
    assert half == pytest.approx(0.5, abs=0.01)


def test_noise_is_gamma_times_uniform():
    noise = body_noise(Ellipsoid(np.diag([4.0, 1.0, 9.0])), 0.5, 100_000, seeded(7))
    gauges = Ellipsoid(np.diag([4.0, 1.0, 9.0])).gauge(noise)
    assert_distribution(gauges, lambda b: stats.gamma(3, scale=b).cdf, 2.0)


# refusals
@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Hull([[1.0, math.nan]]), "NaN"),
        (lambda: Hull(np.zeros((2, 3))), "zero"),
        (lambda: Hull(np.zeros((2, 0))), "columns"),
        (lambda: Image(Cube(2), [[math.inf, 1.0]]), "infinite"),
        (lambda: Image(Cube(2), np.eye(3)), "2 columns"),
        (lambda: Image(Cube(2), np.zeros((2, 2))), "no noise"),
        (lambda: Ellipsoid([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: Ellipsoid([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: Cube(0), "dimension"),
        (lambda: Cube(2, -1.0), "radius"),
        (lambda: LpBall(2, 0.5), "p must be"),
        (lambda: Cube(2).gauge([[1.0, 2.0, 3.0]]), "2 columns"),
        (lambda: Cube(2).mean_norm("l3", seeded(1)), "l1, l2, linf"),
    ],
)
def test_refusals_name_the_argument_and_the_reason(make, word):
    with pytest.raises(ParameterError, match=word):
        make()


def test_bodies_are_equal_when_rebuilt():
    for body in BODIES:
        fields = {name: getattr(body, name) for name in body.__dataclass_fields__}
        assert type(body)(**fields) == body
        assert hash(type(body)(**fields)) == hash(body)
    assert Hull(SIGNS) != Hull(2 * SIGNS)
    assert Hull([[1, 2]]) != Cube(1)


def _solve(matrix, right):
    """Gaussian elimination in rationals."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(r for r in range(i, len(rows)) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(len(rows)):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]


def _is_column(matrix, z):
    return any(np.array_equal(s * column, z) for column in matrix.T for s in (1, -1))
