"""Sums of floats are used while they are exact, and give way to integers in limbs."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines import results
from sfumato.engines import table as engine
from sfumato.queries import bind

NUMBERS = np.random.default_rng(3).uniform(-5, 300, 2000)
TABLE = pa.table({"x": [*NUMBERS, float("nan"), float("inf"), None], "g": ["a", "b", "c"] * 667 + ["a", "b"]})
SCHEMA = {"x": sf.Interval(-2, 250, step=0.01), "g": sf.Categories(["a", "b"])}


def answers(limit, monkeypatch, size=None):
    asked = []
    original = engine.compiled

    def counted(statistic, schema, source, real, *others):
        asked.append(real)
        return original(statistic, schema, source, real, *others)

    monkeypatch.setattr(results, "EXACT", limit)
    monkeypatch.setattr(engine, "compiled", counted)
    table = sf.read(TABLE, schema=SCHEMA, dataset="sums", size=size)
    queries = (sf.sum("x"), sf.mean("x").by("g"), sf.variance("x").where("x >= 1"))
    found = [table.answer(bind(query, table.schema).statistic).tolist() for query in queries]
    return found, asked


def test_both_ways_of_adding_up_agree(monkeypatch):
    floats, asked = answers(2**53, monkeypatch)
    assert asked == [True, True, True]
    limbs, asked = answers(1, monkeypatch)
    assert asked == [False, False, False]  # no number of rows is so small that floats would do
    both, asked = answers(
        10**6, monkeypatch, size=1
    )  # far more rows than were declared: floats are tried, and given up
    assert asked == [True, False, True, False, False]
    assert floats == limbs == both
    assert all(type(entry) is int for total in floats[0] for entry in total)


@pytest.mark.parametrize(("rows", "exact"), [(2**53 // 20_000_000, True), (2**53 // 20_000_000 + 1, False)])
def test_the_counts_decide_whether_a_sum_of_floats_is_exact(rows, exact):
    schema = sf.Schema({"x": sf.Interval(0, 200_000, step=0.01)})
    statistic = bind(sf.sum("x"), schema).statistic
    result = pa.table({"sum0_0": [rows], "sum1_0": [1.0]})
    assert results.exact(result, statistic, schema) is exact


@pytest.mark.parametrize(("rows", "exact"), [(2**37 - 1, True), (2**37, False)])
def test_the_rows_decide_whether_a_sum_of_64_bits_is_exact(rows, exact):
    schema = sf.Schema({"x": sf.Integers(0, 2**26 - 1)})
    statistic = bind(sf.sum("x"), schema).statistic
    result = pa.table({"rows": [rows], "sum0_0": [rows], "sum1_0": [1]})
    assert results.exact(result, statistic, schema) is exact
    assert (2**37 - 1) * (2**26 - 1) < 2**63 <= 2**37 * 2**26
