"""Implicit matrices against the same matrices written out, and least squares against numpy's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.linear import optimization
from sfumato.queries.linear.ellipsoid import least_ellipsoid
from sfumato.queries.linear.factors import EACH, RANGES, TOTAL, UPTO, Rows
from sfumato.queries.linear.frames import framed, least_box, spanning_rows
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.linear.measurements import (
    Dense,
    Hierarchy,
    Interactions,
    Kronecker,
    Tables,
    Toeplitz,
    measurement_from,
)
from sfumato.queries.linear.measurements.toeplitz import square_root

LISTED = Rows(((1, 2, 0, 0, -3, 1, 1, 1),))
ONE_AXIS = Linear(
    (8,),
    (Block((UPTO,)), Block((RANGES,), 3), Block((EACH,)), Block((TOTAL,)), Block((LISTED,), 2)),
)
THREE_AXES = Linear((2, 3, 4), (Block((EACH, EACH, TOTAL)), Block((EACH, TOTAL, EACH), 2), Block((TOTAL,) * 3)))
TWO_AXES = Linear((4, 3), (Block((UPTO, EACH)), Block((RANGES, TOTAL), 5)))
CASES = [
    (Hierarchy(8, (1, 2, 4, 8), (1, 2, 3, 1), (0, 0, 0)), ONE_AXIS),
    (Hierarchy(8, (1, 2, 4, 8), (0, 0, 0, 2), (2, 2, 3)), ONE_AXIS),
    (Hierarchy(8, (1, 2, 8), (1, 1, 2), (1, 0)), ONE_AXIS),
    (Dense.of(np.vstack([np.eye(8, dtype=int), np.arange(8)[None]])), ONE_AXIS),
    (Tables((2, 3, 4), ((0, 1), (0, 2), (2,)), (3, 2, 1)), THREE_AXES),
    (Tables((2, 3, 4), ((0, 1, 2), ()), (3, 2)), THREE_AXES),
    (Interactions((2, 3, 4), ((), (0,), (1,), (2,), (0, 1), (0, 2)), (7, 5, 3, 2, 1, 4)), THREE_AXES),
    (Toeplitz((9, 4, 3, 2, 0, 5, 1, 1), (3, 3, 4, 2, 5, 6, 1, 9)), ONE_AXIS),
    (square_root(8, 2**8, 2**6), ONE_AXIS),
    (Kronecker((Hierarchy(4, (1, 2, 4), (1, 2, 3), (0, 0)), Hierarchy(3, (1, 3), (2, 1), (0,)))), TWO_AXES),
]


def written_out(measurement):
    return np.stack([measurement.apply(row) for row in np.eye(measurement.cells, dtype=np.int64)], axis=1)


@pytest.mark.parametrize("linear", [ONE_AXIS, THREE_AXES, TWO_AXES])
def test_an_implicit_workload_is_the_matrix_it_stands_for(linear):
    matrix = linear.dense()
    x, y = np.arange(linear.cells) ** 2 % 7, np.sin(np.arange(linear.rows))
    assert (linear.apply(x) == matrix @ x).all()
    assert np.allclose(linear.adjoint(y), matrix.T @ y)
    assert np.allclose(linear.gram(), matrix.T @ matrix)
    assert (linear.powers(1) == np.abs(matrix).sum(axis=0)).all()
    assert (linear.powers(2) == (matrix**2).sum(axis=0)).all()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 40])
@pytest.mark.parametrize("cells", [1, 2, 7, 20])
@pytest.mark.parametrize("factor", [EACH, TOTAL, UPTO, RANGES])
def test_sums_over_rows_need_no_rows(factor, cells, width):
    matrix = factor.dense(cells)
    assert factor.block_total(cells, width) == pytest.approx(factor.block_norms(cells, width).sum())
    assert (factor.gram(cells) == matrix.T @ matrix).all()


def test_a_hierarchy_adds_up_its_variances():
    for measurement, linear in CASES:
        if isinstance(measurement, Hierarchy):
            assert measurement.total_variance(linear) == pytest.approx(measurement.variances(linear).sum())


@pytest.mark.parametrize(("measurement", "linear"), CASES)
def test_a_measurement_solves_and_knows_its_variances(measurement, linear):
    matrix, wanted = written_out(measurement), linear.dense().astype(float)
    reading = wanted @ np.linalg.pinv(matrix.astype(float))
    assert len(matrix) == measurement.size
    assert np.allclose(measurement.variances(linear), (reading**2).sum(axis=1))
    noisy = np.cos(np.arange(measurement.size))
    assert np.allclose(wanted @ measurement.solve(noisy), reading @ noisy)


@pytest.mark.parametrize(("measurement", "linear"), CASES)
def test_norms_bound_every_column_and_every_difference(measurement, linear):
    matrix = written_out(measurement).astype(float)
    pairs = [matrix[:, i] - matrix[:, j] for i, j in itertools.combinations(range(matrix.shape[1]), 2)]
    for norm, order in (("l1", 1), ("l2", 2)):
        alone, apart = measurement.norms(norm)
        assert alone == pytest.approx(np.linalg.norm(matrix, ord=order, axis=0).max(), rel=1e-12)
        assert alone >= np.linalg.norm(matrix, ord=order, axis=0).max()
        assert apart >= max(np.linalg.norm(pair, ord=order) for pair in pairs) * (1 - 1e-15)


@pytest.mark.parametrize(("measurement", "linear"), CASES)
def test_a_measurement_survives_its_record(measurement, linear):
    assert measurement_from(measurement.to_record()) == measurement


def test_padding_never_understates_a_variance():
    measurement = Hierarchy(6, (1, 3, 9), (1, 2, 1), (0, 0))
    linear = Linear((6,), (Block((UPTO,)), Block((RANGES,))))
    matrix, wanted = written_out(measurement).astype(float), linear.dense().astype(float)
    own = np.stack([wanted @ measurement.solve(column) for column in np.eye(measurement.size)], axis=1)
    assert np.allclose(own @ matrix, wanted)
    assert ((own**2).sum(axis=1) <= measurement.variances(linear) * (1 + 1e-12)).all()


@pytest.mark.parametrize("factor", [UPTO, RANGES])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_best_hierarchy_is_no_worse_than_identity_wavelet_and_any_branching(factor, norm):
    linear = Linear((60,), (Block((factor,)),))
    best = optimization.score(optimization.hierarchy(linear, norm), linear, norm)
    others = [optimization.uniform_hierarchy(60, b) for b in range(2, 61)]
    others += [optimization.identity(60), optimization.haar(60)]
    assert best <= min(optimization.score(one, linear, norm) for one in others) * (1 + 1e-9)


def test_optimized_tables_beat_measuring_what_is_asked_and_the_full_table():
    linear = Linear((5, 6, 7), tuple(Block(tuple(EACH if i in kept else TOTAL for i in range(3)))
                                     for kept in itertools.combinations(range(3), 2)))  # fmt: skip
    found = optimization.score(optimization.tables(linear, "l1"), linear, "l1")
    for kept in (((0, 1), (0, 2), (1, 2)), ((0, 1, 2),)):
        plain = Tables((5, 6, 7), kept, (1,) * len(kept))
        assert found <= optimization.score(plain, linear, "l1") * (1 + 1e-6)


def test_the_least_ellipsoid_of_an_axis_cross_is_known():
    # min sum a_i subject to s_i^2 / a_i <= 1 for points s_i e_i: a_i = s_i^2
    found = least_ellipsoid(np.diag([1.0, 2.0, 3.0]))
    assert found.trace == pytest.approx(14, rel=1e-3)
    assert found.lower <= 14 <= found.trace * (1 + 1e-9)


def test_the_least_ellipsoid_holds_its_points_and_its_bound_lies_below():
    points = np.random.default_rng(3).normal(size=(5, 40))
    found = least_ellipsoid(points)
    assert (points * np.linalg.solve(found.shape, points)).sum(axis=0).max() <= 1 + 1e-6
    assert found.lower <= found.trace <= 1.01 * found.lower


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_frame_answers_a_rank_deficient_workload_exactly(norm):
    rows = np.random.default_rng(1).integers(-3, 4, (3, 12))
    matrix = np.vstack([rows, rows[0] + rows[1], np.zeros(12, dtype=int)])
    assert len(spanning_rows(matrix)) == 3
    frame = framed(matrix, matrix, norm)
    counts = np.arange(12)
    linear = Linear((12,), (Block((Rows(tuple(map(tuple, matrix.tolist()))),)),))
    assert np.allclose(linear.apply(frame.solve(frame.apply(counts).astype(float))), matrix @ counts)


@pytest.mark.parametrize("base", [3, 10])
def test_rows_of_very_different_sizes_are_answered(base):
    """The eigenvalues lie up to 10^14 apart; nothing may be lost, and the bound stays below."""
    matrix = np.random.default_rng(0).choice([-1, 1], (8, 30)) * (base ** np.arange(8))[:, None]
    found = least_ellipsoid(matrix)
    assert found.lower <= found.trace
    for norm in ("l1", "l2"):
        frame = framed(matrix, matrix, norm)
        counts = np.arange(30)
        solved = matrix @ frame.solve(frame.apply(counts).astype(float))
        assert np.allclose(solved, matrix @ counts, rtol=1e-5, atol=1e-3)


def test_a_box_holds_the_points():
    points = np.random.default_rng(2).integers(-5, 6, (4, 30))
    assert np.abs(np.linalg.solve(least_box(points), points)).max() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((4, (2, 4), (1, 1), (0,)), "begin with 1"),
        ((4, (1, 3, 4), (1, 1, 1), (0, 0)), "multiple"),
        ((4, (1, 4), (0, 1), (0,)), "finest level"),
        ((4, (1, 4), (1, 1), (1,)), "halves"),
    ],
)
def test_refuses_a_hierarchy_that_is_none(arguments, reason):
    with pytest.raises(ParameterError, match=reason):
        Hierarchy(*arguments)


@pytest.mark.parametrize(
    ("kind", "arguments", "reason"),
    [
        (Toeplitz, ((1, 2), (1,)), "one scale for each"),
        (Toeplitz, ((0, 2), (1, 1)), "must be positive"),
        (Toeplitz, ((1, -2), (1, 1)), "not be negative"),
        (Toeplitz, ((2**40, 1), (4, 1)), "too large"),
        (Interactions, ((2, 3), ((0,),), (0,)), "positive whole weight"),
        (Interactions, ((1, 3), ((0,),), (1,)), "one cell"),
    ],
)
def test_refuses_a_structured_measurement_that_is_none(kind, arguments, reason):
    with pytest.raises(ParameterError, match=reason):
        kind(*arguments)


def test_a_convolution_of_large_counts_is_exact():
    measurement, counts = square_root(40), (np.arange(40) * 2**57 + 2**62).astype(np.int64)
    entries = [[c * d for c in measurement.coefficients] for d in measurement.scales]
    by_hand = [sum(entries[j][i - j] * int(counts[j]) for j in range(i + 1)) for i in range(40)]
    assert measurement.apply(counts).tolist() == by_hand


def test_refuses_a_measurement_that_does_not_determine_the_workload():
    with pytest.raises(UnsupportedQuery, match="does not determine"):
        Dense.of(np.ones((1, 8), dtype=int)).variances(ONE_AXIS)
    with pytest.raises(UnsupportedQuery, match="do not determine"):
        Interactions((2, 3, 4), ((), (0,), (1,), (2,), (0, 1)), (1,) * 5).variances(THREE_AXES)
