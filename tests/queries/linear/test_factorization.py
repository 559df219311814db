"""Lower values of the factorization norm against ellipsoids, upper ones, and designs that would prove too much."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.queries.linear import optimization
from sfumato.queries.linear.bodies import Moves
from sfumato.queries.linear.ellipsoid import least_ellipsoid
from sfumato.queries.linear.factorization import factorization
from sfumato.queries.linear.factors import EACH, RANGES, TOTAL, UPTO, Rows
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.linear.measurements.toeplitz import square_root

ADDED, REPLACED = Moves(True, False), Moves(False, True)
MOVES = [ADDED, Moves(True, False, 3), REPLACED, Moves(True, True), Moves(True, True, 2)]


def prefix(cells):
    return Linear((cells,), (Block((UPTO,)),))


def marginals(shape, ways):
    blocks = []
    for kept in itertools.combinations(range(len(shape)), ways):
        blocks.append(Block(tuple(EACH if i in kept else TOTAL for i in range(len(shape)))))
    return Linear(shape, tuple(blocks))


@st.composite
def workloads(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=2)))
    kinds = st.sampled_from([EACH, TOTAL, UPTO, RANGES])
    factors = st.tuples(*[kinds for _ in shape])
    listed = st.lists(st.integers(-5, 5), min_size=shape[0], max_size=shape[0])
    if len(shape) == 1:
        rows = st.lists(listed.map(tuple), min_size=1, max_size=4).map(tuple)
        factors |= rows.filter(lambda entries: np.any(entries)).map(lambda entries: (Rows(entries),))
    blocks = st.lists(st.builds(Block, factors, st.integers(1, 9)), min_size=1, max_size=3)
    return Linear(shape, tuple(draw(blocks)))


@settings(max_examples=120, deadline=None)
@given(workloads(), st.sampled_from(MOVES))
def test_no_ellipsoid_around_the_moves_has_a_smaller_trace(linear, moves):
    points = moves.vertices(linear.dense())
    found = factorization(linear, moves)
    if points.shape[1] == 0:
        assert found.lower == 0
        return
    least = least_ellipsoid(points, tolerance=1e-4)
    assert found.lower <= least.trace * (1 + 1e-6)
    assert found.upper >= least.lower * (1 - 1e-6)
    assert math.isclose(least.weights.sum(), 1, rel_tol=1e-9)
    assert found.lower >= 0.9 * least.lower


@pytest.mark.parametrize("cells", [41, 60])
@pytest.mark.parametrize("factor", [EACH, UPTO])
@pytest.mark.parametrize("moves", [REPLACED, Moves(True, True, 2)])
def test_weights_on_products_of_cells_prove_no_more_than_weights_on_pairs(factor, cells, moves):
    linear = Linear((cells,), (Block((factor,)),))
    found = factorization(linear, moves)
    least = least_ellipsoid(moves.vertices(linear.dense()), tolerance=0.02, steps=40)
    assert found.lower <= least.trace * (1 + 1e-6)
    assert found.lower >= 0.7 * least.lower


@pytest.mark.parametrize(("linear", "value"), [
    (prefix(8), 17.866), (prefix(64), 282.20), (prefix(1024), 8944.3),
    (marginals((8, 3, 5), 2), 179.356), (marginals((8, 64, 3), 1), None), (marginals((2,) * 8, 2), None),
])  # fmt: skip
def test_known_values_are_met_and_so_is_the_ellipsoid_in_whole_numbers(linear, value):
    found = factorization(linear, ADDED)
    assert value is None or 0.99 * value < found.lower <= value * (1 + 1e-4)
    tables = optimization.independent(linear)
    best = tables if tables is not None else square_root(linear.cells)
    measured = optimization.score(best, linear, "l2")
    assert found.lower <= measured <= found.lower * (1.03 if tables is None else 1 + 1e-5)


def test_weights_of_fewer_cells_are_spread_over_many():
    values = [factorization(prefix(cells), ADDED) for cells in (128, 129, 500, 3000)]
    assert all(one.lower < one.upper <= 1.035 * one.lower for one in values)
    assert all(one.lower < other.lower for one, other in itertools.pairwise(values))


def test_products_multiply_and_what_is_too_large_is_not_told():
    both = Linear((6, 9), (Block((UPTO, RANGES), 3),))
    one, other = (factorization(Linear((n,), (Block((f,)),)), ADDED) for n, f in ((6, UPTO), (9, RANGES)))
    assert factorization(both, ADDED).lower == pytest.approx(9 * one.lower * other.lower)
    assert factorization(Linear((5000,), (Block((UPTO,)), Block((RANGES,)))), ADDED) is None
