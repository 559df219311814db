"""Rows that meet the tables of all pairs: swaps keep columns, bring tables nearer, and make rows the model knows."""

from itertools import combinations

import numpy as np
import pytest

from sfumato.mechanisms.synthetic.marginals.balancing import LEAST, balanced
from sfumato.mechanisms.synthetic.marginals.model import Model
from sfumato.mechanisms.synthetic.marginals.sweeps import Belief
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree

SIZES = (5, 3, 2, 4)
OWNERS = [np.arange(size) for size in SIZES]
MANY = 20  # levels of three columns, any two of which are independent


def _tables(rows):
    return {
        (one, other): np.bincount(rows[:, one] * SIZES[other] + rows[:, other], minlength=SIZES[one] * SIZES[other])
        .reshape(SIZES[one], SIZES[other])
        .astype(float)
        for one, other in combinations(range(len(SIZES)), 2)
    }


def _drawn(rows, rng):
    """Rows of columns that depend on one another."""
    first = rng.integers(0, 5, rows)
    second = np.minimum(first + rng.integers(0, 3, rows), 4) // 2
    return np.stack([first, second, rng.integers(0, 2, rows), (second + rng.integers(0, 2, rows)) % 4], axis=1)


def _model(rows, sizes):
    """One bag, with the shares that rows have."""
    cells = np.ravel_multi_index(rows.T, sizes)
    shares = np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes) / len(rows)
    bag = tuple(range(len(sizes)))
    return Model(JunctionTree(tuple(sizes), (bag,), (-1,)), (Belief.whole(bag, shares),), 0.0)


def _gap(tables, wanted):
    return sum(np.abs(table - wanted[pair]).sum() for pair, table in tables.items())


@pytest.mark.parametrize("rows", [2, 3, 40, 2 * LEAST, 1001, 6000])
def test_swaps_keep_the_counts_of_every_column(rows):
    rng = np.random.default_rng(1)
    held, many = _drawn(rows, rng), _drawn(50_000, rng)
    made = balanced(held.copy(), OWNERS, _model(many, SIZES), lambda: _tables(many), rng)
    for column, size in enumerate(SIZES):
        counts = [np.bincount(table[:, column], minlength=size).tolist() for table in (held, made)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("rows", [300, 5000])
def test_swaps_bring_all_pairs_nearer_to_what_is_expected(rows):
    rng = np.random.default_rng(2)
    real = _drawn(rows, rng)
    mixed = real.copy()
    for column in range(len(SIZES)):
        some = rng.choice(rows, rows // 10, replace=False)
        mixed[some, column] = rng.permutation(mixed[some, column])
    wanted = _tables(real)
    made = balanced(mixed.copy(), OWNERS, _model(real, SIZES), lambda: wanted, rng)
    assert _gap(_tables(made), wanted) < 0.5 * _gap(_tables(mixed), wanted)


def test_rows_without_any_relation_get_the_expected_ones():
    rng = np.random.default_rng(3)
    real = _drawn(4000, rng)
    mixed = np.stack([rng.permutation(column) for column in real.T], axis=1)
    wanted = _tables(real)
    made = balanced(mixed.copy(), OWNERS, _model(real, SIZES), lambda: wanted, rng)
    assert _gap(_tables(made), wanted) < 0.5 * _gap(_tables(mixed), wanted)


def _related(rows, rng):
    """Three columns whose sum is a multiple of MANY, but for a tenth of the rows."""
    one, two = rng.integers(0, MANY, (2, rows))
    three = np.where(rng.random(rows) < 0.1, rng.integers(0, MANY, rows), -(one + two) % MANY)
    return np.stack([one, two, three], axis=1)


def _kept(model):
    """Of rows of `_related`, the share whose sum is a multiple after swaps that a model allows."""
    rng = np.random.default_rng(4)
    rows, even = _related(4000, rng), np.full((MANY, MANY), 4000 / MANY**2)
    owners, pairs = [np.arange(MANY)] * 3, list(combinations(range(3), 2))
    made = balanced(rows, owners, model, lambda: dict.fromkeys(pairs, even), rng)
    return (made.sum(axis=1) % MANY == 0).mean()


def test_swaps_keep_relations_of_three_columns_that_no_pair_shows():
    known = _model(_related(2_000_000, np.random.default_rng(5)), (MANY,) * 3)
    blind = _model(np.random.default_rng(6).integers(0, MANY, (2_000_000, 3)), (MANY,) * 3)
    assert _kept(known) > 0.85
    assert _kept(blind) < 0.75  # swaps that mend pairs alone wear off what the model does not know


def test_tables_too_large_to_balance_are_left_and_nothing_is_computed_for_them():
    def never():
        raise AssertionError("not asked for")

    rows = np.zeros((3, 400), dtype=np.int64)
    owners, model = [np.arange(8)] * 400, Model(JunctionTree.of([8] * 400), (), 0.0)
    assert balanced(rows, owners, model, never, np.random.default_rng(0)) is rows
    assert balanced(rows[:1], owners, model, never, np.random.default_rng(0)).shape == (1, 400)
