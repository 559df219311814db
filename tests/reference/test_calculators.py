"""Promised accuracies and sample sizes: against brute force, known orders, and what is measured."""

import math

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.reference.calculators import (
    database_rows,
    database_rows_by_dimension,
    exponential_accuracy,
    laplace_accuracy,
    net_accuracy,
    net_exponent,
    net_sample_size,
    threshold_sample_size,
    trigonometric_exponents,
)


def test_rows_of_a_small_database_suffice_by_sampling():
    """Hoeffding's promise, on 50 random counting queries: some sample of that size is within alpha."""
    generator = np.random.default_rng(1)
    table = generator.integers(0, 2, (500, 50))
    rows = database_rows(50, 0.1)
    assert 2 * 50 * math.exp(-2 * rows * 0.01) < 1 <= 2 * 50 * math.exp(-2 * (rows - 1) * 0.01)
    samples = (table[generator.integers(0, 500, rows)].mean(axis=0) for _ in range(200))
    assert min(np.abs(sample - table.mean(axis=0)).max() for sample in samples) <= 0.1


def test_rows_by_dimension_are_the_least_that_the_inequality_allows():
    m = database_rows_by_dimension(3, 0.1)
    assert math.log(4) + 3 * (math.log(2 * m / 3) + 1) < m * 0.01 / 8
    assert math.log(4) + 3 * (math.log(2 * (m - 1) / 3) + 1) >= (m - 1) * 0.01 / 8


def test_the_net_balances_its_two_errors():
    found = net_accuracy(10**6, 1.0, 64, 100)
    every = [
        math.sqrt(math.log(200) / (2 * m)) + exponential_accuracy(m * math.log(64), 1.0, 1e-6, 0.05)
        for m in range(1, 5000)
    ]
    assert found == pytest.approx(min(every), rel=1e-6)


def test_one_over_epsilon_is_there():
    """The formula that the documents lost: half the epsilon asks for twice the rows."""
    assert net_sample_size(0.1, 0.5, 64, 100) == pytest.approx(2 * net_sample_size(0.1, 1.0, 64, 100), abs=2)
    assert threshold_sample_size(0.05, 0.5, 1000) == pytest.approx(2 * threshold_sample_size(0.05, 1.0, 1000), abs=2)
    assert laplace_accuracy(10, 1000, 0.5, 0.05) == 2 * laplace_accuracy(10, 1000, 1.0, 0.05)
    assert net_accuracy(net_sample_size(0.1, 1.0, 64, 100), 1.0, 64, 100) <= 0.1


def test_thresholds_need_far_fewer_rows_than_the_general_bound():
    assert threshold_sample_size(0.05, 1.0, 1000) < 10_000 < net_sample_size(0.05, 1.0, 1000, 1000)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_table_of_exponents(columns):
    """Table 2.1: K = 1, K = 2 d, and K / d large; and the comparison with the net mechanism (2.6)."""
    first, middle, smooth = (trigonometric_exponents(columns, k) for k in (1, 2 * columns, 1000 * columns))
    assert first.accuracy == pytest.approx(1 / (2 * columns + 1))
    assert first.time <= 2
    assert first.rows == pytest.approx(1 + 2 / (2 * columns + 1))
    assert middle.accuracy == 0.5
    assert middle.time == pytest.approx(0.75 * columns + 5 / 8)
    assert middle.rows == pytest.approx(1.5 + 1 / (4 * columns))
    assert smooth.accuracy == pytest.approx(1, abs=0.01)
    assert smooth.time == pytest.approx(1.5 * columns, rel=0.01)
    assert net_exponent(columns, 1000 * columns) < 1 / 3 < smooth.accuracy
    assert trigonometric_exponents(columns, 4, approximate=True).accuracy > trigonometric_exponents(columns, 4).accuracy


@pytest.mark.parametrize("call", [
    lambda: database_rows(10, 0.0), lambda: net_accuracy(0, 1.0, 9, 9), lambda: laplace_accuracy(1, 1, math.inf, 0.05),
    lambda: exponential_accuracy(1.0, 1.0, 1.0, 1.5), lambda: trigonometric_exponents(0, 1),
])  # fmt: skip
def test_refuses_nonsense(call):
    with pytest.raises(ParameterError, match="must"):
        call()
