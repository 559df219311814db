"""Workloads whose rows have very different weights: read without bias, or not offered."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.bounds import certify
from sfumato.errors import UnsupportedQuery
from sfumato.planner import options
from sfumato.queries import bind

CELLS = 6
SCHEMA = sf.Schema({"b": sf.Categories([f"c{j}" for j in range(CELLS)])})
weights = st.floats(-3, 10).map(lambda k: float(f"{10.0**k:.3g}"))
rows = st.lists(st.lists(st.integers(-2, 2), min_size=CELLS, max_size=CELLS).filter(any), min_size=1, max_size=3)


@settings(max_examples=12, deadline=None)
@given(rows, weights, weights, st.lists(st.integers(0, 10**6), min_size=CELLS, max_size=CELLS))
def test_what_is_read_without_noise_is_the_truth(listed, heavy, light, counts):
    query = sf.workload("b", sf.weighted("total", heavy), sf.weighted(listed, light, step=1))
    try:
        question = bind(query, SCHEMA)
    except UnsupportedQuery:
        return
    x = np.array(counts)
    truth = np.asarray(question.linear.apply(x), dtype=np.float64)
    for option in options(question, sf.Approximate(1.0, 1e-6)):
        mechanism = option.mechanism
        if hasattr(mechanism, "measurement"):
            read = mechanism.answers(mechanism.measurement.apply(x))
            assert (np.abs(read - truth) <= 0.01 * mechanism.margins(0.05) + 1e-6 * np.abs(truth)).all(), option.name


@pytest.mark.parametrize("heavy", [1.5e8, 9e8, 2e10, 1e12])
def test_a_heavy_total_does_not_drown_the_plain_rows(heavy, tmp_path):
    """The interval of a plain row used to miss the truth: its row was dropped as numerical dust."""
    plain = [[1.0 if j == 5 else 0.0 for j in range(CELLS)], [1.0 if j < 3 else 0.0 for j in range(CELLS)]]
    query = sf.workload("b", sf.weighted("total", heavy), sf.weighted(plain, 1, step=1))
    held = [f"c{j}" for j in range(CELLS) for _ in range(3 + 5 * j)]
    table = sf.read(pd.DataFrame({"b": held}), schema=SCHEMA)
    session = sf.Session(table, budget=sf.Pure(20.0), ledger=tmp_path / "x.ledger")
    truth = np.array([len(held), 28, 3 + 8 + 13])
    missed = np.zeros(3)
    for i in range(4):
        release = session.release(query, spend=sf.Pure(1.0), name=f"again {i}")
        low, high = (np.asarray(side, dtype=float) for side in release.interval(0.99))
        missed += (truth < low) | (truth > high)
    assert (missed < 4).all()


def test_weights_beyond_the_whole_doubles_are_refused():
    with pytest.raises(UnsupportedQuery, match="closer together"):
        bind(sf.workload("b", sf.weighted("total", 1e16), "each"), SCHEMA)


def test_wide_answers_do_not_wrap():
    question = bind(sf.workload("b", sf.weighted("total", 1e13), "each"), SCHEMA)
    counts = np.full(CELLS, 10**9)
    assert [int(entry) for entry in question.linear.apply(counts)] == [CELLS * 10**22, *[10**9] * CELLS]


@pytest.mark.parametrize("target", [sf.Pure(1.0), sf.Concentrated(0.1)])
def test_all_ranges_of_many_values_are_planned_in_little_memory(target):
    """Written out they would be 1.2 million rows of 1,561 numbers, 15 gigabytes."""
    question = bind(sf.ranges("delay"), sf.Schema({"delay": sf.Integers(0, 1560)}))
    tracemalloc.start()
    try:
        found = options(question, target)
        certify(question, found[0].mechanism)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400e6
    assert found[0].name.endswith("hierarchy")
