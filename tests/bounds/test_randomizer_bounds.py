"""The least loss of a record by linear program: figures, duals against other programs, what falls short."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.bounds.randomizers import LARGEST, best_channel, least_distance, least_loss, line_losses, spread_out
from sfumato.bounds.record import discrete_record_error, record_error
from sfumato.errors import ParameterError
from sfumato.mechanisms import FiniteChannel
from sfumato.privacy.guarantees import Approximate, Pure

epsilons = st.floats(0.05, 8)


def discrete(size):
    return tuple(tuple(float(x != y) for y in range(size)) for x in range(size))


# claims: the numbers the theorem gives
@pytest.mark.parametrize(("epsilon", "least"), [(0.5, 0.39527), (1.0, 0.31616), (2.0, 0.2007), (4.0, 0.07765)])
def test_a_number_on_a_fine_line(epsilon, least):
    assert least_distance(1000, epsilon) == pytest.approx(least, rel=2e-3)
    assert least_distance(1000, epsilon) > 1.04 * record_error(1.0, epsilon)


@given(st.integers(2, 9), epsilons)
@settings(max_examples=20, deadline=None)
def test_equal_distances_are_5_5(size, epsilon):
    assert least_loss(discrete(size), epsilon) == pytest.approx(discrete_record_error(size - 1, epsilon), rel=1e-5)


@given(epsilons)
@settings(max_examples=20, deadline=None)
def test_two_points_are_5_3(epsilon):
    assert least_distance(1, epsilon) == pytest.approx(record_error(1.0, epsilon), rel=1e-5)
    assert least_distance(50, epsilon) >= record_error(1.0, epsilon) * (1 - 1e-5)


# laws: true for every parameter
@given(st.integers(2, 6), st.integers(1, 7), epsilons, st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_the_dual_meets_the_program_on_random_losses(values, answers, epsilon, seed):
    losses = tuple(map(tuple, np.random.default_rng(seed).uniform(0, 1, (values, answers)).tolist()))
    found = FiniteChannel.calibrate(losses, Pure(epsilon))
    least = least_loss(losses, epsilon)
    assert least <= found.error() <= least * (1 + 1e-4) + 1e-5


@given(st.integers(2, 40), epsilons, st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_no_channel_with_answers_off_the_grid_beats_the_bound(width, epsilon, seed):
    """Real answers: the best channel on random answers, and every answer that the bound did not look at."""
    rng = np.random.default_rng(seed)
    places = np.array(spread_out(width))
    answers = rng.uniform(-0.2, 1.2, 25)
    losses = tuple(map(tuple, np.abs(places[:, None] / width - answers).tolist()))
    program = best_channel(losses, epsilon)
    assert (program.channel * np.array(losses)).sum(axis=1).max() >= least_distance(width, epsilon) * (1 - 1e-9)


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.2])
def test_with_delta_no_channel_of_three_points_beats_the_bound(delta):
    """The whole program with delta: every ordered pair's excess, answers on a grid of nine."""
    from scipy.optimize import linprog

    epsilon, answers = 1.0, np.linspace(0, 1, 9)
    losses = np.abs(np.linspace(0, 1, 3)[:, None] - answers)
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    size = 27 + 9 * len(pairs) + 1
    rows, limits = [], []
    for place, (a, b) in enumerate(pairs):
        for y in range(9):
            row = np.zeros(size)
            row[9 * a + y], row[9 * b + y], row[27 + 9 * place + y] = 1, -math.exp(epsilon), -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(size)
        row[27 + 9 * place : 36 + 9 * place] = 1
        rows.append(row)
        limits.append(delta)
    for x in range(3):
        row = np.zeros(size)
        row[9 * x : 9 * x + 9], row[-1] = losses[x], -1
        rows.append(row)
        limits.append(0.0)
    sums = np.zeros((3, size))
    for x in range(3):
        sums[x, 9 * x : 9 * x + 9] = 1
    cost = np.zeros(size)
    cost[-1] = 1
    best = linprog(cost, A_ub=np.array(rows), b_ub=limits, A_eq=sums, b_eq=np.ones(3), method="highs").fun
    assert max(least_distance(2, epsilon, delta), record_error(1.0, epsilon, delta)) <= best * (1 + 1e-9)
    assert least_distance(2, epsilon, 1e-6) >= 0.999 * best or delta > 1e-6
    shown = FiniteChannel.calibrate(line_losses((0, 1, 2)), Approximate(epsilon, delta))
    assert best <= shown.error() * (1 + 1e-9)


@given(st.integers(1, 10**9), st.integers(2, 33))
@settings(max_examples=50, deadline=None)
def test_places_are_spread_with_both_ends(width, points):
    places = spread_out(width, points)
    assert places[0] == 0
    assert places[-1] == width
    assert len(places) == min(points, width + 1)
    gaps = np.diff(places)
    assert gaps.max() - gaps.min() <= 1


def test_prices_that_are_too_high_are_taken_back(monkeypatch):
    """A dual that was tampered with gives a smaller bound, never a false one."""
    import sfumato.bounds.randomizers as module

    true = best_channel(line_losses(spread_out(8)), 1.0)
    greedy = module.Program(true.channel, true.prior, true.prices * 1.3)
    monkeypatch.setattr(module, "best_channel", lambda losses, epsilon: greedy)
    assert least_distance(8, 1.0) < true.prices.sum() < greedy.prices.sum()


# refusals
def test_beyond_doubles_nothing_is_claimed():
    assert least_distance(10, LARGEST + 1) == 0.0
    with pytest.raises(ParameterError, match="epsilon"):
        least_distance(10, -1.0)
    with pytest.raises(ParameterError, match="delta"):
        least_distance(10, 1.0, 1.0)
