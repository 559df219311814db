"""Linear answers: no mechanism found by a program beats the bound, and what is wrong in small ways is beaten."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from sfumato.bounds.averages import average_of, least_average
from sfumato.bounds.exchanges import families_of_cells, families_of_columns
from sfumato.bounds.line import least_on_chain, least_variance
from sfumato.bounds.linear import Family, best_family, squared_norm
from sfumato.bounds.staircase import integer_sum_mean_square
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure


def best_channel(answers, neighbors, outputs, epsilon, delta=0.0):
    """The least worst mean square distance of a private channel from tables to these outputs, by linear programming.

    `answers` has one row a table, `neighbors` lists pairs of tables.  With delta the part of each event above
    e^epsilon times its probability under the neighbor is a variable of its own, at most delta in all.
    """
    tables, places = len(answers), len(outputs)
    losses = ((np.asarray(answers)[:, None] - np.asarray(outputs)[None]) ** 2).sum(axis=2)
    pairs = [*neighbors, *[(b, a) for a, b in neighbors]]
    law = tables * places
    excess = len(pairs) * places if delta else 0
    rows, columns, values, limits, line = [], [], [], [], 0
    for number, (a, b) in enumerate(pairs):
        for k in range(places):
            rows += [line, line]
            columns += [a * places + k, b * places + k]
            values += [math.exp(-epsilon), -1.0]
            if delta:
                rows, columns, values = [*rows, line], [*columns, law + number * places + k], [*values, -1.0]
            limits, line = [*limits, 0.0], line + 1
        if delta:
            rows += [line] * places
            columns += range(law + number * places, law + (number + 1) * places)
            values += [math.exp(epsilon)] * places
            limits, line = [*limits, delta], line + 1
    worst = law + excess
    for a in range(tables):
        rows += [line] * (places + 1)
        columns += [*range(a * places, (a + 1) * places), worst]
        values += [*losses[a], -1.0]
        limits, line = [*limits, 0.0], line + 1
    upper = sparse.csr_array((values, (rows, columns)), shape=(line, worst + 1))
    equal = sparse.hstack(
        [sparse.kron(sparse.eye(tables), np.ones((1, places))), sparse.csr_array((tables, excess + 1))]
    )
    goal = np.zeros(worst + 1)
    goal[-1] = 1.0
    found = linprog(goal, A_ub=upper, b_ub=limits, A_eq=equal.tocsr(), b_eq=np.ones(tables), bounds=(0, None))
    assert found.status == 0
    return float(found.fun)


def compositions(rows, cells):
    """All histograms of so many rows."""
    return [c for c in itertools.product(range(rows + 1), repeat=cells) if sum(c) == rows]


def replaced(tables):
    """Pairs of histograms that one moved row makes of each other."""
    return [(i, j) for (i, a), (j, b) in itertools.combinations(enumerate(tables), 2)
            if np.abs(np.subtract(a, b)).sum() == 2]  # fmt: skip


def spread_outputs(answers, middles):
    """The answers themselves, and the middles of pairs of them: real answers beat whole ones."""
    points = {tuple(a) for a in np.asarray(answers, dtype=float).tolist()}
    if middles:
        points |= {tuple((np.add(a, b) / 2).tolist()) for a, b in itertools.combinations(points, 2)}
    return sorted(points)[:: max(1, len(points) // 160)]


# histograms under replacement


@settings(max_examples=12, deadline=None)
@given(rows=st.integers(1, 6), cells=st.integers(2, 3), epsilon=st.floats(0.3, 4.0), delta=st.sampled_from([0.0, 0.05]))
def test_no_channel_beats_the_bound_of_replaced_histograms(rows, cells, epsilon, delta):
    rows = min(rows, 4) if cells == 3 else rows
    tables = compositions(rows, cells)
    claim = Approximate(epsilon, delta) if delta else Pure(epsilon)
    bound = best_family(families_of_cells(cells, 0.0, 1.0, rows), claim, rows)
    best = best_channel(tables, replaced(tables), spread_outputs(tables, middles=True), epsilon, delta)
    assert bound <= best * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_moves_that_share_their_rows_would_be_beaten(epsilon):
    """Why the room for moves is counted: neither V nor the chain of all rows holds for three cells of three rows."""
    tables = compositions(3, 3)
    best = best_channel(tables, replaced(tables), spread_outputs(tables, middles=True), epsilon)
    everything = max(family.exact() for family in families_of_cells(3, 0.0, 1.0, None))
    assert best < least_on_chain(Pure(epsilon), 3).mean_square * everything < least_variance(Pure(epsilon)) * everything
    assert 0.5 * best < best_family(families_of_cells(3, 0.0, 1.0, 3), Pure(epsilon), 3) <= best


@settings(max_examples=40, deadline=None)
@given(cells=st.integers(2, 24), alone=st.sampled_from([0.0, 1.0, 3.0]), apart=st.floats(0.5, 3.0))
def test_rings_are_never_above_the_ellipsoid_of_their_moves(cells, alone, apart):
    """In closed form for histograms, against the ascent on the moves written out: all pairs have the largest."""
    exchanges = np.array([np.eye(cells)[i] - np.eye(cells)[j] for i, j in itertools.combinations(range(cells), 2)]).T
    listed = np.concatenate([alone * np.eye(cells), apart * exchanges], axis=1) if alone else apart * exchanges
    largest = squared_norm(listed)
    found = families_of_cells(cells, alone, apart, 10**6)
    assert max(family.exact() for family in found) <= largest * 1.02  # the ascent stops within 1 %
    everything = families_of_cells(cells, alone, apart, None)
    assert max(family.exact() for family in everything) >= 0.98 * largest
    if not alone:
        assert max(family.exact() for family in everything) == pytest.approx(2 * (cells - 1) * apart**2)


def test_few_exchanges_lose_little():
    """What the docstring of the rings says, for many cells."""
    for h, share in ((1, 0.81), (2, 0.91), (3, 0.95), (4, 0.96)):
        found = [f for f in families_of_cells(1000, 0.0, 1.0, 10**6) if f.moves == 1000 * h]
        assert max(f.exact() for f in found) >= share * 2 * 999


# workloads


def grid(steps, cells):
    """Tables of up to so many rows a cell, and the pairs that one row makes of each other."""
    tables = list(itertools.product(range(steps + 1), repeat=cells))
    pairs = [(i, j) for (i, a), (j, b) in itertools.combinations(enumerate(tables), 2)
             if np.abs(np.subtract(a, b)).sum() == 1]  # fmt: skip
    return np.array(tables), pairs


@settings(max_examples=10, deadline=None)
@given(entries=st.lists(st.integers(-3, 3), min_size=4, max_size=6), epsilon=st.floats(0.5, 4.0),
       steps=st.integers(1, 3), delta=st.sampled_from([0.0, 0.1]))  # fmt: skip
def test_no_channel_beats_the_bound_of_a_workload_on_a_box(entries, epsilon, steps, delta):
    """Two cells with 0..K rows each: the box of the theorem itself, answers at the points and between them."""
    matrix = np.array(entries[: len(entries) // 2 * 2]).reshape(-1, 2)
    assume(matrix.any())
    tables, pairs = grid(steps, 2)
    answers = tables @ matrix.T
    claim = Approximate(epsilon, delta) if delta else Pure(epsilon)
    columns = matrix.astype(float)[:, matrix.any(axis=0)]
    family = Family(columns.shape[1], 1.0, lambda: squared_norm(columns))
    bound = best_family([family], claim, columns.shape[1] * steps)
    best = best_channel(answers, pairs, spread_outputs(answers, middles=True), epsilon, delta)
    assert bound <= best * (1 + 1e-6) + 1e-9


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), rows=st.integers(2, 4), epsilon=st.floats(0.5, 3.0), absent=st.booleans())
def test_no_channel_beats_the_bound_of_a_replaced_workload(seed, rows, epsilon, absent):
    """Three kinds of rows, of which the last may be one that is counted nowhere."""
    matrix = np.random.default_rng(seed).integers(-2, 4, (2, 3))
    if absent:
        matrix[:, 2] = 0
    tables = compositions(rows, 3)
    answers = np.array(tables) @ matrix.T
    columns = matrix.astype(float)[:, : 2 if absent else 3]
    bound = best_family(families_of_columns(columns, absent, True, rows), Pure(epsilon), rows)
    best = best_channel(answers, replaced(tables), spread_outputs(answers, middles=True), epsilon)
    assert bound <= best * (1 + 1e-6) + 1e-9


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), rho=st.floats(0.02, 1.0), cells=st.integers(1, 6))
def test_the_best_normal_noise_is_just_above_the_concentrated_bound(seed, rho, cells):
    """Normal noise of the least ellipsoid has 1 / (2 rho) times its trace, and V(rho) is a little below 1 / (2 rho)."""
    columns = np.random.default_rng(seed).normal(size=(3, cells))
    least = least_variance(Concentrated(rho)) * squared_norm(columns)
    reached = squared_norm(columns) / (2 * rho)
    assert least <= reached * 1.02
    assert least >= 0.9 * reached


# sums


@settings(max_examples=10, deadline=None)
@given(reach=st.integers(2, 4), epsilon=st.floats(0.5, 3.0), offset=st.sampled_from([0.0, 0.25, 0.5]))
def test_no_noise_between_the_integers_beats_the_staircase_less_a_quarter(reach, epsilon, offset):
    """The best law on Z + offset that shifts up to `reach` cost epsilon, cut where that only lowers it."""
    span = math.ceil(reach * (16 / epsilon + 2))
    points = np.arange(-span, span + 1) + offset
    pairs = [(z, z + s) for s in range(1, reach + 1) for z in range(points.size - s)]
    pairs += [(b, a) for a, b in pairs]
    lines = np.repeat(np.arange(len(pairs)), 2)
    values = np.tile([math.exp(-epsilon), -1.0], len(pairs))
    less = sparse.csr_array((values, (lines, np.ravel(pairs))), shape=(len(pairs), points.size))
    found = linprog(points**2, A_ub=less, b_ub=np.zeros(len(pairs)), A_eq=np.ones((1, points.size)), b_eq=[1.0])
    assert integer_sum_mean_square(reach, epsilon) - 0.25 <= found.fun * (1 + 1e-4)


# averages over a private number of rows


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), rows=st.integers(2, 12), epsilon=st.floats(0.5, 4.0), each=st.integers(1, 2))
def test_no_channel_beats_the_bound_of_averages(seed, rows, epsilon, each):
    """Units of two kinds beside rows of a third kind, on all tables that the theorem speaks of."""
    columns = np.random.default_rng(seed).integers(-3, 4, (2, 3)).astype(float)
    first, kinds = columns[:, 0], columns[:, 1:]
    tables, pairs = grid(2, 2)
    moved = each * tables
    answers = (rows * each * first + moved @ kinds.T) / (rows * each + moved.sum(axis=1, keepdims=True))
    best = best_channel(answers, pairs, spread_outputs(answers, middles=True), epsilon)
    assert average_of(kinds, first, Pure(epsilon), rows * each, each, 2) <= best * (1 + 1e-6) + 1e-9


def test_an_average_is_not_linear_in_the_units():
    """Linearized at no units the bound would be beaten: the slope falls as units come."""
    kinds, rows, epsilon = np.array([[4.0, 0.0]]), 2, 0.3
    tables, pairs = grid(2, 2)
    answers = (tables @ kinds.T) / (rows + tables.sum(axis=1, keepdims=True))
    best = best_channel(answers, pairs, spread_outputs(answers, middles=True), epsilon)
    linear = least_on_chain(Pure(epsilon), 2).mean_square * squared_norm(kinds / rows)
    assert average_of(kinds, np.zeros(1), Pure(epsilon), rows, 1, 2) <= best < linear


def test_averages_of_many_rows_are_those_of_linear_answers():
    """With ten million rows and two kinds the bound is V times the least ellipsoid over the squared number of rows."""
    columns = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = least_average(columns, Pure(1.0), 10**7, 1)
    assert found.mean_square * 10**14 == pytest.approx(2 * least_variance(Pure(1.0)), rel=0.1)
    assert found.more < 10**4
