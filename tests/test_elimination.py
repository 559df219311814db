"""Ranks: against elimination with fractions, on matrices whose entries differ by any power."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.elimination import _is_prime, independent_rows, rank, spanned

sizes = st.integers(-3, 3) | st.sampled_from([0, 0, 1]) | st.integers(-(2**62), 2**62)
doubles = st.floats(-1e300, 1e300, allow_subnormal=False) | st.sampled_from([0.0, 1.0, 2.0**-1000, 1e-12, 3e280])


@st.composite
def matrices(draw, entries=sizes):
    """Some rows at random, some of them combinations of others, shuffled."""
    width = draw(st.integers(1, 5))
    rows = draw(st.lists(st.lists(entries, min_size=width, max_size=width), min_size=1, max_size=4))
    for _ in range(draw(st.integers(0, 2))):
        one, other = draw(st.sampled_from(rows)), draw(st.sampled_from(rows))
        if all(isinstance(entry, int) for entry in one + other):
            a, b = draw(st.integers(-3, 3)), draw(st.integers(-3, 3))
            mixed = [a * x + b * y for x, y in zip(one, other, strict=True)]
        else:
            mixed = [2.0 * x for x in one]  # exact in doubles
        rows.append(mixed)
    return draw(st.permutations(rows))


def exact_rank(rows):
    left = [[Fraction(entry) for entry in row] for row in rows]
    found = 0
    for column in range(len(left[0])):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        left = [[x - row[column] / pivot[column] * y for x, y in zip(row, pivot, strict=True)] for row in left]
        found += 1
    return found


def as_array(rows):
    """int64 where the entries fit, else Python's integers; doubles as they are."""
    if not all(isinstance(entry, int) for row in rows for entry in row):
        return np.array(rows, dtype=np.float64)
    wide = max(abs(entry) for row in rows for entry in row) >= 2**63
    return np.array(rows, dtype=object if wide else np.int64)


@pytest.mark.heavy
@settings(max_examples=150, deadline=None)
@given(matrices() | matrices(doubles))
def test_the_rank_is_that_of_exact_elimination(rows):
    matrix, expected = as_array(rows), exact_rank(rows)
    assert rank(matrix) == rank(matrix.T) == expected
    chosen = independent_rows(matrix)
    assert len(chosen) == expected == exact_rank([rows[i] for i in chosen] or [[0]])


@settings(max_examples=100, deadline=None)
@given(matrices(), st.data())
def test_a_point_is_spanned_if_the_rank_does_not_grow(rows, data):
    point = data.draw(st.sampled_from(rows) | st.lists(sizes, min_size=len(rows[0]), max_size=len(rows[0])))
    expected = exact_rank([*rows, point]) == exact_rank(rows)
    assert spanned(as_array(rows), as_array([point])).tolist() == [expected]


def test_multiples_of_the_first_primes_are_not_taken_for_zero():
    unlucky = 2147483647 * 2147483629 * 2147483587  # the three largest primes below 2**31
    assert rank(np.array([[unlucky, 0], [0, 1]], dtype=object)) == 2
    assert rank(np.array([[unlucky, 1], [unlucky, 1]], dtype=object)) == 1
    assert spanned(np.array([[1, 0]]), np.array([[5, unlucky]], dtype=object)).tolist() == [False]


def test_primes_are_prime():
    sieve = [n for n in range(11, 3000, 2) if all(n % d for d in range(3, int(n**0.5) + 1, 2))]
    assert [n for n in range(11, 3000, 2) if _is_prime(n)] == sieve
