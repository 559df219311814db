"""Rows that meet the tables of all pairs: swaps keep columns, and bring every table nearer to what is expected."""

from itertools import combinations

import numpy as np
import pytest

from sfumato.mechanisms.synthetic.marginals.balancing import LEAST, balanced

SIZES = (5, 3, 2, 4)


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


def _gap(tables, wanted):
    return sum(np.abs(table - wanted[pair]).sum() for pair, table in tables.items())


@pytest.mark.parametrize("rows", [2, 3, 40, 2 * LEAST, 1001, 6000])
def test_swaps_keep_the_counts_of_every_column(rows):
    rng = np.random.default_rng(1)
    held, wanted = _drawn(rows, rng), _tables(_drawn(50_000, rng))
    made = balanced(held.copy(), SIZES, lambda: wanted, rng)
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
    assert _gap(_tables(balanced(mixed.copy(), SIZES, lambda: wanted, rng)), wanted) < 0.5 * _gap(
        _tables(mixed), wanted
    )


def test_rows_without_any_relation_get_the_expected_ones():
    rng = np.random.default_rng(3)
    real = _drawn(4000, rng)
    mixed = np.stack([rng.permutation(column) for column in real.T], axis=1)
    wanted = _tables(real)
    assert _gap(_tables(balanced(mixed.copy(), SIZES, lambda: wanted, rng)), wanted) < 0.5 * _gap(
        _tables(mixed), wanted
    )


def test_tables_too_large_to_balance_are_left_and_nothing_is_computed_for_them():
    def never():
        raise AssertionError("not asked for")

    rows = np.zeros((3, 400), dtype=np.int64)
    assert balanced(rows, [8] * 400, never, np.random.default_rng(0)) is rows
    assert balanced(rows[:1], [8] * 400, never, np.random.default_rng(0)).shape == (1, 400)
