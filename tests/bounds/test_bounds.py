"""Lower bounds against linear programmes: never above the best mechanism there is, and close to it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_array

from sfumato.bounds import (
    count_mean_absolute,
    count_mean_square,
    discrete_record_error,
    integer_sum_mean_absolute,
    integer_sum_mean_square,
    packed_mean_absolute,
    packed_mean_square,
    printed_record_error,
    real_sum_mean_absolute,
    record_error,
)
from sfumato.errors import ParameterError
from sfumato.sampling import DiscreteLaplace, Staircase

CASES = [(1, 0.5), (1, 2.0), (2, 0.5), (2, 1.0), (3, 1.0), (3, 3.0), (5, 2.0)]


def best_noise(sensitivity, epsilon, power, reach, tail, offset=0.0):
    """The least mean |z + offset|^power of noise on -reach..reach whose shifts up to `sensitivity` cost epsilon.

    Without a tail the constraints stop at the ends, which can only lower the optimum; with it the law continues
    by p(z + s) = e^-epsilon p(z) beyond them, one mechanism of many, which can only raise it.
    """
    q, points = math.exp(-epsilon), np.arange(-reach, reach + 1)
    rows, columns, values, line = [], [], [], 0
    for z, shift in itertools.product(range(points.size), range(-sensitivity, sensitivity + 1)):
        if shift and 0 <= z + shift < points.size:  # q p(z) <= p(z + shift)
            rows, columns, values = [*rows, line, line], [*columns, z, z + shift], [*values, q, -1.0]
            line += 1
    ones, cost = np.ones(points.size), np.abs(points + offset) ** power
    if tail:
        for end, sign in ((range(points.size - sensitivity, points.size), 1), (range(sensitivity), -1)):
            for z in end:
                steps = np.arange(1, 4000)
                ones[z] += q / (1 - q)
                cost[z] += (np.abs(points[z] + offset + sign * sensitivity * steps) ** power * q**steps).sum()
    matrix = coo_array((values, (rows, columns)), shape=(line, points.size)).tocsr()
    found = linprog(cost, A_ub=matrix, b_ub=np.zeros(line), A_eq=ones[None, :], b_eq=[1.0], method="highs")
    assert found.status == 0
    return float(found.fun)


def best_channel(distances, truths, answers, epsilon, power):
    """The least worst mean |answer - truth|^power of a channel from tables to answers, at these table distances."""
    n, m = len(truths), len(answers)
    losses = np.abs(np.subtract.outer(truths, answers)) ** power
    rows, columns, values, line = [], [], [], 0
    for i, j in itertools.permutations(range(n), 2):
        if distances[i][j] != 1:
            continue
        for k in range(m):
            rows, columns = [*rows, line, line], [*columns, i * m + k, j * m + k]
            values = [*values, 1.0, -math.exp(epsilon)]
            line += 1
    for i in range(n):  # mean loss minus the worst is at most 0
        rows, columns = [*rows, *[line] * (m + 1)], [*columns, *range(i * m, (i + 1) * m), n * m]
        values = [*values, *losses[i], -1.0]
        line += 1
    upper = coo_array((values, (rows, columns)), shape=(line, n * m + 1)).tocsr()
    total = np.kron(np.eye(n), np.ones(m))
    equal = np.hstack([total, np.zeros((n, 1))])
    goal = np.append(np.zeros(n * m), 1.0)
    found = linprog(goal, A_ub=upper, b_ub=np.zeros(line), A_eq=equal, b_eq=np.ones(n), method="highs")
    assert found.status == 0
    return float(found.fun)


# counting and staircase: attained, and not beaten by any noise


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0])
def test_the_counting_bounds_are_attained_by_the_two_sided_geometric_law(epsilon):
    law = DiscreteLaplace(1 / epsilon)
    assert count_mean_absolute(epsilon) == pytest.approx(1 / math.sinh(epsilon), rel=1e-11)
    assert count_mean_square(epsilon) == pytest.approx(1 / (2 * math.sinh(epsilon / 2) ** 2), rel=1e-11)
    assert count_mean_absolute(epsilon) <= law.mean_absolute == pytest.approx(count_mean_absolute(epsilon), rel=1e-11)
    assert count_mean_square(epsilon) <= law.variance == pytest.approx(count_mean_square(epsilon), rel=1e-11)


@pytest.mark.parametrize(("sensitivity", "epsilon"), CASES)
@pytest.mark.parametrize("power", [1, 2])
def test_the_staircase_is_optimal_among_all_noise(sensitivity, epsilon, power):
    bound = (integer_sum_mean_absolute, integer_sum_mean_square)[power - 1](sensitivity, epsilon)
    reach = math.ceil(sensitivity * (18 / epsilon + 2))
    relaxed = best_noise(sensitivity, epsilon, power, reach, tail=False)
    allowed = best_noise(sensitivity, epsilon, power, 4 * sensitivity, tail=True)
    assert relaxed * (1 - 1e-6) <= bound <= allowed * (1 + 1e-7)
    assert relaxed == pytest.approx(allowed, rel=1e-4)


def test_answers_between_the_integers_beat_whole_ones_in_mean_square_only():
    """Why the certificate of a sum takes 1/4 off the staircase: at s = 2 half-integers do better in mean square."""
    whole, half = integer_sum_mean_square(2, 1.0), best_noise(2, 1.0, 2, 12, tail=True, offset=0.5)
    assert half < 0.999 * whole
    for offset in (0.25, 0.5):
        assert best_noise(2, 1.0, 1, 12, tail=True, offset=offset) >= integer_sum_mean_absolute(2, 1.0) * (1 - 1e-9)
        assert best_noise(1, 1.0, 2, 12, tail=True, offset=offset) >= count_mean_square(1.0) * (1 - 1e-9)


@settings(deadline=None)
@given(st.integers(1, 300), st.floats(0.01, 20))
def test_no_width_of_the_staircase_is_below_the_bounds(sensitivity, epsilon):
    laws = [Staircase(sensitivity, epsilon, width) for width in range(1, sensitivity + 1)]
    assert min(law.mean_absolute for law in laws) >= integer_sum_mean_absolute(sensitivity, epsilon)
    least = min(law.variance for law in laws)
    assert integer_sum_mean_square(sensitivity, epsilon) <= least
    assert integer_sum_mean_square(sensitivity, epsilon) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_fine_lattices_approach_the_real_bound(epsilon):
    real, fine = real_sum_mean_absolute(1.0, epsilon), integer_sum_mean_absolute(4000, epsilon) / 4000
    assert real == pytest.approx(1 / (2 * math.sinh(epsilon / 2)), rel=1e-11)
    assert fine == pytest.approx(real, rel=1e-3)


# packing: never above the best mechanism on tables of one size


@pytest.mark.parametrize(("rows", "width", "epsilon"), [
    (2, 1, 0.5), (4, 1, 1.0), (6, 1, 0.3), (5, 1, 2.0), (2, 2, 1.0), (3, 2, 0.5), (3, 3, 1.5)])  # fmt: skip
@pytest.mark.parametrize("power", [1, 2])
def test_packing_is_never_above_the_best_mechanism(rows, width, epsilon, power):
    """All sums of `rows` numbers in 0..width; sums at most `width` apart have neighboring tables."""
    truths = np.arange(rows * width + 1)
    distances = [[math.ceil(abs(a - b) / width) for b in truths] for a in truths]
    best = best_channel(distances, truths, truths, epsilon, power)
    bound = (packed_mean_absolute, packed_mean_square)[power - 1](width, epsilon, rows * width // 2)
    assert 0 < bound <= best * (1 + 1e-7)
    assert bound >= 0.15 * best


def test_packing_on_large_tables_is_within_a_small_factor_of_the_noise():
    assert packed_mean_absolute(1, 1.0, 10**6) >= 0.6 * count_mean_absolute(1.0)
    assert packed_mean_square(1, 0.1, 10**6) >= 0.15 * count_mean_square(0.1)


@settings(deadline=None)
@given(st.integers(1, 50), st.floats(1e-3, 200), st.integers(0, 1000))
def test_packing_is_below_a_constant_answer_and_below_the_staircase(sensitivity, epsilon, reach):
    for bound, power, least in ((packed_mean_absolute, 1, integer_sum_mean_absolute),
                                (packed_mean_square, 2, integer_sum_mean_square)):  # fmt: skip
        assert 0 <= bound(sensitivity, epsilon, reach) <= reach**power
        assert bound(sensitivity, epsilon, reach) <= least(sensitivity, epsilon)


# one record: document 001, 5.3 and 5.5


@pytest.mark.parametrize(("epsilon", "delta", "printed"), [(0.1, 0.1, 640), (2.0, 0.5, 89), (11.0, 0.7, 0.0075)])
def test_table_4_and_its_true_double(epsilon, delta, printed):
    found = printed_record_error(2996.0, epsilon, delta)
    assert (round(found) if printed > 1 else round(found, 4)) == printed
    assert record_error(2996.0, epsilon, delta) == pytest.approx(2 * found)
    assert record_error(2996.0, epsilon, delta) <= 2996 / (epsilon - 2 * math.log1p(-delta))  # the mean of Laplace


@pytest.mark.parametrize(("epsilon", "bound"), [(0.0, 0.5), (1.0, None), (800.0, None)])
def test_two_point_randomized_response_attains_5_3(epsilon, bound):
    attained = 1 / (1 + math.exp(epsilon)) if epsilon < 700 else 0.0
    assert record_error(1.0, epsilon) == pytest.approx(attained if bound is None else bound, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("points", "epsilon"), [(2, 1.0), (3, 1.0), (4, 0.5), (4, 2.0)])
def test_5_5_is_the_optimum_for_answers_inside_the_space(points, epsilon):
    """Points at mutual distance 1, loss 1 for a wrong one: a linear programme over all channels."""
    goal = np.append(np.zeros(points**2), 1.0)
    upper, line = [], np.zeros(points**2 + 1)
    for i, j, k in itertools.product(range(points), repeat=3):
        if i != j:
            row = line.copy()
            row[i * points + k], row[j * points + k] = 1.0, -math.exp(epsilon)
            upper.append(row)
    for i in range(points):
        row = line.copy()
        row[i * points : (i + 1) * points], row[i * points + i], row[-1] = 1.0, 0.0, -1.0
        upper.append(row)
    equal = np.hstack([np.kron(np.eye(points), np.ones(points)), np.zeros((points, 1))])
    found = linprog(goal, A_ub=np.array(upper), b_ub=np.zeros(len(upper)), A_eq=equal, b_eq=np.ones(points))
    assert discrete_record_error(points - 1, epsilon) == pytest.approx(found.fun, rel=1e-6)
    assert discrete_record_error(points - 1, epsilon) >= record_error(1.0, epsilon) * (1 - 1e-9)


def test_answers_outside_the_space_can_beat_5_5_but_not_its_half():
    """The centroid of a triangle of side 1 is 0.577 from each corner, below 2/3 at epsilon 0."""
    assert 1 / math.sqrt(3) < discrete_record_error(2, 0.0) == pytest.approx(2 / 3)
    assert 1 / math.sqrt(3) > discrete_record_error(2, 0.0) / 2


# refusals


@pytest.mark.parametrize("bound", [count_mean_absolute, count_mean_square])
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_bad_epsilon(bound, epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        bound(epsilon)


def test_refuses_other_bad_arguments():
    with pytest.raises(ParameterError, match="sensitivity"):
        integer_sum_mean_square(0, 1.0)
    with pytest.raises(ParameterError, match="sensitivity"):
        packed_mean_square(0, 1.0, 5)
    with pytest.raises(ParameterError, match="delta"):
        record_error(1.0, 1.0, 1.0)
    with pytest.raises(ParameterError, match="others"):
        discrete_record_error(0, 1.0)
