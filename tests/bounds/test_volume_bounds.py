"""Bounds of the geometry against optima found another way: linear programs, staircases, closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from sfumato.bounds.bounded_tables import packed_mean_error, packed_tail
from sfumato.bounds.counting import count_mean_square
from sfumato.bounds.dithering import dithered_mean_square
from sfumato.bounds.isotropy import isotropy
from sfumato.bounds.linear import squared_norm
from sfumato.bounds.metric import document_volume_bound, metric_mean_norm, metric_mean_square, metric_quantile
from sfumato.bounds.projections import projected_mean_norm, projected_mean_square
from sfumato.bounds.staircase import real_sum_mean_absolute
from sfumato.bounds.unit_step import staircase_moment, unit_step_mean_norm, unit_step_mean_square
from sfumato.bounds.volume import Radius, betting_limit, cross_polytope_radius, radius_of_volume, volume_radius
from sfumato.errors import ParameterError

PAIRS = {
    "identity": np.eye(2, dtype=int),
    "with diagonal": np.array([[1, 0, 1], [0, 1, 1]]),
    "signs": np.array([[1, 1], [1, -1]]),
    "wide": np.array([[3, 0, 1], [0, 1, 1]]),
}


def best_integer_noise(columns, epsilon):
    """The least mean square of additive noise on Z^2 whose weight falls by at most e^-epsilon along each column.

    The program holds the constraints inside a window only, so its value is at most the true optimum; the window ends
    14 steps of the longest move away, where e^-14 of the weight is left.
    """
    first, second = (14 * int(row.max()) for row in columns)
    points = list(itertools.product(range(-first, first + 1), range(-second, second + 1)))
    place = {point: i for i, point in enumerate(points)}
    rows, cols, values = [], [], []
    for point, sign, column in itertools.product(points, (1, -1), columns.T):
        other = (point[0] + sign * int(column[0]), point[1] + sign * int(column[1]))
        if other in place:
            row = len(rows) // 2
            rows += [row, row]
            cols += [place[point], place[other]]
            values += [math.exp(-epsilon), -1.0]
    matrix = coo_matrix((values, (rows, cols)), shape=(len(rows) // 2, len(points)))
    cost = np.array([a * a + b * b for a, b in points], dtype=float)
    found = linprog(cost, A_ub=matrix.tocsr(), b_ub=np.zeros(matrix.shape[0]), A_eq=np.ones((1, len(points))), b_eq=[1],
                    method="highs")  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("name", PAIRS)
def test_no_integer_bound_exceeds_the_optimum_of_a_linear_program(name, epsilon):
    columns = PAIRS[name]
    optimum = best_integer_noise(columns, epsilon)
    bounds = (squared_norm(columns) * count_mean_square(epsilon), dithered_mean_square(columns, epsilon))
    assert max(bounds) <= optimum * (1 + 1e-3)  # what lies beyond the window
    assert max(bounds) >= optimum / 2  # and they say something
    if name == "identity":  # discrete Laplace is optimal: the program finds it, so the test is sharp
        assert optimum == pytest.approx(2 * count_mean_square(epsilon), rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_one_dimension_is_the_staircase(epsilon):
    assert unit_step_mean_norm(1.0, 1, epsilon) == pytest.approx(real_sum_mean_absolute(1.0, epsilon), rel=1e-7)
    assert unit_step_mean_norm(1.0, 1, epsilon) <= real_sum_mean_absolute(1.0, epsilon)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_unit_steps_in_a_ball_match_a_linear_program(dimension):
    """Radial decreasing noise on a fine grid of shells, weight falling by at most e^-epsilon over one radius."""
    epsilon, step, far = 1.0, 20, 12
    edges = np.arange(step * far + 1) / step
    volumes = np.diff(edges**dimension)
    means = dimension / (dimension + 1) * np.diff(edges ** (dimension + 1)) / volumes
    count = len(volumes)
    eye = np.eye(count)
    falls = math.exp(-epsilon) * eye[: count - step] - eye[step:]
    found = linprog(means * volumes, A_ub=np.vstack([falls, eye[1:] - eye[:-1]]), b_ub=np.zeros(2 * count - step - 1),
                    A_eq=volumes[None], b_eq=[1], method="highs")  # fmt: skip
    bound = unit_step_mean_norm(1.0, dimension, epsilon)
    assert bound <= found.fun * (1 + 2e-3)  # the window cuts the tail off: e^-12 (12 + ...) of the mean
    assert found.fun == pytest.approx(bound, rel=0.02)


@pytest.mark.parametrize(("dimension", "epsilon"), [(5, 1.0), (5, 2.0), (20, 2.0)])
def test_unit_steps_are_nearly_metric_in_several_dimensions(dimension, epsilon):
    share = unit_step_mean_norm(1.0, dimension, epsilon) / metric_mean_norm(1.0, dimension, epsilon)
    assert 0.998 <= share <= 1
    assert unit_step_mean_square(1.0, dimension, epsilon) <= metric_mean_square(1.0, dimension, epsilon)
    assert staircase_moment(0.5, dimension, epsilon, 1) >= unit_step_mean_norm(1.0, dimension, epsilon)


def test_the_metric_bound_is_attained_by_the_ball():
    d, epsilon = 4, 0.5  # noise of a ball: norm Gamma(d) / epsilon
    radii = np.random.default_rng(1).gamma(d, 1 / epsilon, 200_000)
    assert radii.mean() == pytest.approx(metric_mean_norm(1.0, d, epsilon), rel=0.01)
    assert (radii**2).mean() == pytest.approx(metric_mean_square(1.0, d, epsilon), rel=0.02)
    assert np.quantile(radii, 0.9) == pytest.approx(metric_quantile(1.0, d, epsilon, 0.9), rel=0.01)


@pytest.mark.parametrize(("dimension", "least"), [(1, 1.001), (2, 1.03), (5, 1.07), (10, 1.1), (20, 1.13), (40, 1.16)])
def test_a_cube_is_certified_as_stated(dimension, least):
    radius = radius_of_volume(2.0**dimension, dimension)
    achieved = math.sqrt((dimension + 1) * (dimension + 2) * dimension / 3)
    assert 1 - 1e-9 <= achieved / math.sqrt(metric_mean_square(radius, dimension, 1.0)) <= least


def test_the_documents_bound_lacks_a_constant():
    for d in (1, 5, 50):
        ratio = document_volume_bound(2.0**d, d, 1.0) / metric_mean_norm(radius_of_volume(2.0**d, d), d, 1.0)
        assert 2 - 1e-9 <= ratio <= math.sqrt(2 * math.pi * math.e)


# volumes


def test_exact_radii():
    assert volume_radius(np.eye(5)).value == pytest.approx(radius_of_volume(2**5 / 120, 5))
    square = volume_radius([[1, 1], [1, -1]])
    assert square.is_exact
    assert square.value == pytest.approx(radius_of_volume(4.0, 2))


def test_a_simulated_radius_lies_below_the_true_one_and_close():
    corners = np.array(list(itertools.product((1, -1), repeat=6))).T[:, :32]
    found = volume_radius(corners)
    truth = radius_of_volume(2.0**6, 6)
    assert found.confidence == 0.999
    assert 0.96 * truth <= found.value <= truth
    assert cross_polytope_radius(corners) <= found.value


def test_betting_covers_and_a_careless_mean_does_not():
    """2,000 samples of 300: at level 1 % the limit fails at most 1 % + 5 deviations; the plain mean fails in half."""
    rng = np.random.default_rng(4)
    failures = careless = 0
    for _ in range(2000):
        samples, pilot = rng.exponential(size=300), rng.exponential(size=50)
        failures += betting_limit(samples, 0.01, pilot) > 1
        careless += samples.mean() > 1
    assert failures <= 2000 * 0.01 + 5 * math.sqrt(2000 * 0.01)
    assert careless > 800


# projections, isotropy, tables


def test_projections_find_the_histogram_optimal_and_never_exceed_exact_noise():
    assert projected_mean_square(np.eye(4), 1.0)[0] == pytest.approx(8.0)
    skewed = np.diag([100, 1, 1, 1])
    bound, ranks = projected_mean_square(skewed, 1.0)
    assert sum(ranks) == 4
    assert bound <= 2 * (skewed**2).sum() * (1 + 1e-9)  # Laplace on the histogram
    assert projected_mean_norm(skewed, 1.0)[0] <= math.sqrt(2 * (skewed**2).sum())
    assert projected_mean_norm(skewed, 1.0)[1] < 4


def test_isotropy_of_ball_like_and_stretched_bodies():
    round_ = isotropy(np.eye(2) / 3, Radius(radius_of_volume(4.0, 2), 1.0))
    assert round_.constant == pytest.approx(1 / math.sqrt(12))
    assert isotropy(np.diag([4.0, 1.0]), Radius(1.0, 1.0)).position == pytest.approx(math.sqrt(2))
    with pytest.raises(ParameterError, match="positive definite"):
        isotropy(np.zeros((2, 2)), Radius(1.0, 1.0))


def test_packing_stays_below_a_constant_answer_and_below_an_optimal_mechanism():
    answers, distances = np.arange(-20, 21)[:, None], np.abs(np.arange(-20, 21))
    for epsilon in (0.01, 0.1, 1.0):
        bound = packed_mean_error(answers, distances, epsilon)
        assert 0 < bound <= 20
        assert bound <= 1 / math.sinh(epsilon) + 1e-9  # discrete Laplace
    assert packed_tail(answers, distances, 0.01, 5.0) > 0.4
    assert packed_tail(answers, distances, 1.0, 100.0) == 0.0


def test_points_must_span_their_space():
    with pytest.raises(ParameterError, match="full rank"):
        volume_radius([[1, 2], [2, 4]])


@pytest.mark.parametrize(("d", "n", "seed"), [(10, 100, 0), (6, 40, 1), (3, 9, 2), (5, 5, 3)])
def test_a_bound_over_projections_is_never_below_that_of_the_volume(d, n, seed):
    signs = np.random.default_rng(seed).choice([-1, 1], (d, n)) + np.eye(d, n)
    whole = volume_radius(signs).value
    assert projected_mean_norm(signs, 0.5)[0] >= metric_mean_norm(whole, d, 0.5) * (1 - 1e-6)
    assert projected_mean_square(signs, 0.5)[0] >= metric_mean_square(whole, d, 0.5) * (1 - 1e-6)
    assert projected_mean_norm(signs, 0.5, confidence=1)[0] <= projected_mean_norm(signs, 0.5)[0]
