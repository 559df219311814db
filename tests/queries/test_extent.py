"""A private range: its public scale, what it leaves out, and how far one row or person moves its choices."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
import sfumato as sf
from sfumato import planner
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.queries import bind
from sfumato.queries.extent import edges_of
from sfumato.queries.query import Query
from sfumato.randomness import seeded
from sfumato.spaces.schema import Schema


@given(low=st.integers(-(10**12), 10**12), width=st.integers(1, 10**12), step=st.sampled_from([1, 0.01, 5, 1e-6, 1000]))
def test_the_scale_covers_the_range_and_has_few_cells(low, width, step):
    space = sf.Interval(float(low * Fraction(str(step))), float((low + width) * Fraction(str(step))), step)
    edges = edges_of(space)
    assert (edges[0], edges[-1]) == (space.lattice.low, space.lattice.high)
    assert all(a < b for a, b in itertools.pairwise(edges))
    assert len(edges) < 250


def test_the_ends_leave_out_about_the_share_whatever_the_rows_are(tmp_path):
    """Each end is off by more than the stated number of rows in at most 5 % of the releases: 400 of them, two ends."""
    rng = np.random.default_rng(3)
    income = np.concatenate([rng.lognormal(10, 1, 3000), [1e9, np.inf, -np.inf, np.nan, -5.0]])
    pq.write_table(pa.table({"income": income}), tmp_path / "t.parquet")
    table = sf.read(tmp_path / "t.parquet", schema={"income": sf.Interval(-1e7, 1e8, 1)}, dataset="d")
    question = bind(sf.extent("income", 0.02), table.schema)
    mechanism = planner.best(question, sf.Pure(1.0))
    most, secret, wrong = mechanism.error(0.05), question.answer(table), 0
    held = np.clip(income[~np.isnan(income)], -1e7, 1e8)
    for seed in range(400):
        low, high = question.estimate(mechanism.release(secret, seeded(seed)))
        wrong += int((held < low).sum() > 0.01 * len(held) + most) + int((held > high).sum() > 0.01 * len(held) + most)
    assert wrong <= 60  # 800 chances of 0.05: 40, and three deviations more
    assert 0 <= low < np.median(held) < high <= 1e6
    assert most < 40


class Held:
    """Rows that the slow engine answers about."""

    def __init__(self, rows, schema):
        self.rows, self.schema = rows, schema

    def answer(self, statistic):
        found = sorted(reference.answer(self.rows, statistic, self.schema).items())
        return tuple(np.array([part(key, count) for key, count in found], dtype=np.int64)
                     for part in (lambda k, _: k[0], lambda k, _: k[1], lambda _, c: c))  # fmt: skip


def penalties(question, ranks):
    """Of every cell, from either side."""
    (p,) = question.probabilities
    found = []
    for held in ranks:
        around = [held.around(place) for place in range(question.lattice.high + 1)]
        n = held.rows
        found.append([max(Fraction(0), below - p * n, n - upto - (1 - p) * n) / (2 * max(p, 1 - p))
                      for below, upto in around])  # fmt: skip
    return found


@pytest.mark.parametrize("unit", [Row(), Person("id", 2)], ids=["row", "person"])
@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()], ids=["add", "replace"])
def test_no_unit_spreads_the_penalties_more_than_claimed(unit, adjacency):
    size = 4 if unit == Row() and adjacency == Replace() else None
    schema = Schema({"x": sf.Integers(-3, 9)}, unit, adjacency, size)
    question = bind(sf.extent("x", 0.4), schema)
    values, worst = [-3, 0, 4, 9, None, 10**9], 0
    own = [
        rows
        for many in range(4 if unit != Row() else 2)
        for rows in itertools.combinations_with_replacement(values, many)
    ]
    if unit == Row() and adjacency == Replace():
        own = [(value,) for value in values]
    scored = []
    for rows in own:
        held = [
            {"x": x, "id": who} for x, who in zip([-1, 4, 7, *rows], ["a", "b", "c", *["me"] * len(rows)], strict=True)
        ]
        scored.append(penalties(question, question.answer(Held(held, schema))))
    pairs = itertools.combinations(scored, 2) if adjacency == Replace() else ((scored[0], one) for one in scored[1:])
    for one, other in pairs:
        changes = [[a - b for a, b in zip(*both, strict=True)] for both in zip(one, other, strict=True)]
        worst = max(worst, sum(max(change) - min(change) for change in changes))
    assert worst <= question.spread
    assert worst > question.spread / 3


def test_what_makes_no_sense_is_refused_and_the_rest_reads_back():
    schema = Schema({"x": sf.Integers(0, 9), "c": sf.Categories(["a"]), "d": sf.Dates("2000-01-01", "2020-12-31")})
    with pytest.raises(UnsupportedQuery, match="without by"):
        bind(sf.extent("x").by("c"), schema)
    with pytest.raises(UnsupportedQuery, match="numeric"):
        bind(sf.extent("c"), schema)
    for outside in (0, 1, -1, float("nan")):
        with pytest.raises(ParameterError, match="outside"):
            sf.extent("x", outside)
    for query in (sf.extent("x"), sf.extent("d", 0.1).where("x > 3")):
        assert Query.from_record(query.to_record()) == query
        bind(query, schema)
    assert "outside" not in sf.extent("x").to_record()
