"""Synthetic tables of numbers in bounds that are far too wide, where their values are found first."""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SfumatoError, UnsupportedQuery
from sfumato.mechanisms import (
    CutSynthesis,
    MarginalSynthesis,
    NumericSynthesis,
    PersonSynthesis,
    RecursiveQuantiles,
    TextSynthesis,
    WorkloadSynthesis,
    mechanism_from,
)
from sfumato.mechanisms.synthetic import cuts as module
from sfumato.planner import best
from sfumato.queries import bind
from sfumato.queries.synthetic import SyntheticRows
from sfumato.randomness import seeded
from sfumato.release.verification import verify
from test_neighbors import CUTS, Draw, breaches

SPEND = sf.Approximate(1.0, 1e-6)
ROWS = 10_000
SPACES = {"year": sf.Integers(0, 10**6), "team": sf.Categories(["a", "b", "c"]), "age": sf.Integers(0, 120)}


def people(rows=ROWS, seed=1):
    """Years of birth from 1950 to 2020 that go with teams and ages."""
    chance = np.random.default_rng(seed)
    team = chance.choice(3, rows, p=[0.5, 0.3, 0.2])
    year = 1950 + (chance.beta(2 + team, 2, rows) * 71).astype(int)
    age = np.clip(2024 - year + chance.normal(0, 3, rows), 0, 120).astype(int)
    names = pa.array([["a", "b", "c"][place] for place in team])
    return pa.table({"id": np.arange(rows) // 2, "year": year, "team": names, "age": age})


def session(tmp_path, table=None, **schema):
    held = people() if table is None else table
    declared = sf.Schema(**{"columns": SPACES, "size": ROWS, "dataset": "people", **schema})
    return sf.Session(sf.read(held, schema=declared), budget=sf.Approximate(20.0, 1e-3), ledger=tmp_path / "a.ledger")


def question(cuts=("year",), wanted=None, **schema):
    asked = sf.synthetic(cuts=list(cuts)) if wanted is None else wanted
    return bind(asked, sf.Schema(**{"columns": SPACES, "size": ROWS, **schema}))


def numbers(made, name):
    """The values of a column that are there."""
    return np.array([value for value in made.rows[name].to_pylist() if value is not None], dtype=float)


# claims: the numbers the theorem gives


@pytest.mark.parametrize(("columns", "each"), [(1, Fraction(1, 10)), (2, Fraction(1, 10)), (5, Fraction(1, 20))])
@pytest.mark.parametrize("target", [sf.Pure(1.0), sf.Concentrated(0.3), sf.Approximate(1.0, 1e-6)])
def test_shares_are_a_tenth_of_the_budget_a_column_and_a_quarter_at_most(columns, each, target):
    names = [f"x{i}" for i in range(columns)]
    asked = question(names, columns={name: sf.Integers(0, 10**6) for name in names})
    first, rest = CutSynthesis.shares(asked, target)
    whole = target.amount
    assert first.amount == pytest.approx(float(each) * whole)
    assert Fraction(rest.amount) + columns * Fraction(first.amount) <= Fraction(whole)
    assert rest.amount == pytest.approx((1 - columns * float(each)) * whole)
    assert type(rest) is type(target)
    assert rest.delta == target.delta if type(target) is sf.Approximate else True


@pytest.mark.parametrize("adjacency", [sf.AddRemove(), sf.Replace()])
@pytest.mark.parametrize("unit", [sf.Row(), sf.Person("id", 3)])
@pytest.mark.parametrize(
    "target", [sf.Pure(1.0), sf.Concentrated(0.05), sf.Approximate(1.0, 1e-6), sf.Approximate(2.0, 0.0)]
)
def test_the_claim_is_the_sum_of_its_parts_and_within_the_target(adjacency, unit, target):
    made = CutSynthesis.calibrate(question(("age", "year"), unit=unit, adjacency=adjacency), target)
    parts = [*(one.guarantee() for one in made.cutting), made.making.guarantee()]
    claim = made.guarantee()
    assert claim.implies(target)
    assert type(claim) is type(target)
    assert claim.amount == pytest.approx(sum(part.amount for part in parts))
    assert claim.amount == pytest.approx(target.amount, rel=1e-6)
    assert claim.parts().get("delta", 0) == parts[-1].parts().get("delta", 0)
    spread = unit.rows * (2 if adjacency == sf.Replace() else 1)
    assert [one.query.spread for one in made.cutting] == [spread] * 2


def test_the_claim_does_not_depend_on_the_cuts_that_are_found():
    made = CutSynthesis.calibrate(question(), SPEND)
    for points in ((0,), (5, 5, 5), (10**6,), (1960, 1990, 2010)):
        over = made.over((("year", points),))
        assert over.guarantee() == made.making.guarantee()
        assert over.query.levels[0].valued <= 256
        assert over.query.uncut == ()


# laws


@settings(max_examples=30, deadline=None)
@given(
    st.floats(0.01, 20.0), st.sampled_from([sf.AddRemove(), sf.Replace()]), st.integers(1, 5), st.integers(0, 2),
    st.integers(300, 2**40), st.integers(1, 4),
)  # fmt: skip
def test_calibrate_never_exceeds_its_target(amount, adjacency, rows, kind, width, distance):
    target = (sf.Pure(amount), sf.Concentrated(amount), sf.Approximate(amount, 1e-6))[kind]
    asked = question(
        ("x", "y"), columns={name: sf.Integers(0, width) for name in "xy"}, unit=sf.Person("id", rows),
        adjacency=adjacency,
    )  # fmt: skip
    made = CutSynthesis.calibrate(asked, target)
    assert made.guarantee().implies(target)
    assert made.guarantee(0) == made.guarantee().group(0)
    try:
        assert made.guarantee(distance).amount >= made.guarantee().amount
    except ParameterError:  # delta would reach 1: no claim is left, and none is made
        assert kind == 2
    assert mechanism_from(made.to_record(), asked) == made


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(300, 10**12), st.sampled_from([None, 0, 7]))
def test_whatever_the_values_are_rows_are_made(seed, rows, width, missing):
    chance = np.random.default_rng(seed)
    values = [None if chance.random() < 0.2 else float(chance.choice([0, 1e3, -5, width, np.nan, np.inf])) for _ in
              range(rows)]  # fmt: skip
    schema = sf.Schema({"x": sf.Interval(0, width, step=1, missing=missing)})
    table = sf.read(pa.table({"x": pa.array(values, pa.float64())}), schema=schema)
    made = CutSynthesis.calibrate(bind(sf.synthetic(cuts=["x"], rows=5), schema), sf.Pure(1.0))
    output = made.release(made.take(table), seeded(seed))
    assert len(output.rows["x"]) == 5
    assert made.query.read(output, made).value.num_rows == 5


def test_neighbors_of_tables_with_cuts_cost_no_more_than_is_claimed(monkeypatch):
    monkeypatch.setattr(CutSynthesis, "must_help", lambda *given: None)
    monkeypatch.setattr(Draw, "table", lambda self: CUTS[self.worded.integers(len(CUTS))])
    tried = Counter()
    assert list(breaches(range(6, 14), kinds=("table",), tried=tried, neighbors=2)) == []
    assert tried["CutSynthesis"] >= 8


def test_the_net_finds_cuts_that_nobody_paid_for(monkeypatch):
    monkeypatch.setattr(CutSynthesis, "must_help", lambda *given: None)
    monkeypatch.setattr(Draw, "table", lambda self: CUTS[self.worded.integers(len(CUTS))])
    monkeypatch.setattr(CutSynthesis, "guarantee", lambda self, distance=1: self.making.guarantee(distance))
    assert next(breaches(range(14), kinds=("table",)), None)


# distribution: what is found and made


@pytest.mark.parametrize("spend", [SPEND, sf.Pure(1.0), sf.Concentrated(0.05)])
@pytest.mark.parametrize("adjacency", [sf.AddRemove(), sf.Replace()])
def test_years_in_bounds_of_a_million_keep_their_shape(spend, adjacency):
    asked, table = question(adjacency=adjacency), people()
    made, secret = best(asked, spend), sf.read(table, schema=question(adjacency=adjacency).schema)
    real, told = table["year"].to_numpy(), []
    for seed in range(7):  # of which most have no row far out, where noise makes some once in fifty
        year = made.release(made.take(secret), seeded(seed)).rows["year"]
        year = year[year >= 0]
        inside = ((year >= 1950) & (year <= 2020)).mean()
        told.append((year.mean(), np.median(year), year.std(), inside, len(np.unique(year))))
    mean, median, spread, inside, different = np.median(told, axis=0)
    assert mean == pytest.approx(real.mean(), abs=1)
    assert median == pytest.approx(np.median(real), abs=2)
    assert spread == pytest.approx(real.std(), rel=0.1)
    assert inside > 0.98
    assert different > 20


def test_without_cuts_years_are_one_cell(tmp_path):
    made = session(tmp_path).synthesize(spend=SPEND)
    assert numbers(made, "year").std() > 2 * people()["year"].to_numpy().std()
    assert "cuts=" in made.advice()["bounds"]


def test_relations_of_cut_columns_are_kept(tmp_path):
    frame = session(tmp_path).synthesize(spend=sf.Approximate(4.0, 1e-5), cuts=["year"]).to_pandas()
    ranks = frame[["year", "age"]].dropna().astype(float).rank()
    assert ranks.corr().iloc[0, 1] < -0.85
    middle = frame.groupby("team")["year"].median()
    assert middle["c"] - middle["a"] == pytest.approx(71 * (4 / 6 - 2 / 4), abs=6)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_dates_of_a_month_in_bounds_of_two_centuries(tmp_path, suffix):
    days = [datetime.date(2024, 3, 1) + datetime.timedelta(days=i % 31) for i in range(ROWS)]
    path, table = tmp_path / f"days{suffix}", pa.table({"day": pa.array(days)})
    pyarrow.csv.write_csv(table, path) if suffix == ".csv" else pq.write_table(table, path)
    opened = session(tmp_path, path, columns={"day": sf.Dates("1900-01-01", "2100-01-01")})
    made = [day for day in opened.synthesize(spend=SPEND, cuts=["day"]).rows["day"].to_pylist() if day is not None]
    inside = [day for day in made if day.year == 2024 and day.month == 3]
    assert len(inside) > 0.95 * len(made)
    assert len(set(inside)) == 31


def test_missing_values_are_not_looked_for(tmp_path):
    chance = np.random.default_rng(2)
    values = [None if chance.random() < 0.4 else int(value) for value in chance.normal(500_000, 40, ROWS)]
    for missing in (None, 0):
        schema = {"columns": {"x": sf.Integers(0, 10**6, missing=missing)}, "dataset": f"of {missing}"}
        (tmp_path / str(missing)).mkdir()
        made = session(tmp_path / str(missing), pa.table({"x": values}), **schema).synthesize(spend=SPEND, cuts=["x"])
        found = made.method["cuts"]["x"]
        assert found[len(found) // 2] == pytest.approx(500_000, abs=100)
        gone = [value in (None, 0) for value in made.rows["x"].to_pylist()]
        assert np.mean(gone) == pytest.approx(0.4, abs=0.03)
        there = numbers(made, "x")
        assert np.median(there[there > 0]) == pytest.approx(500_000, abs=30)


def test_a_value_that_most_rows_share_keeps_its_share(tmp_path):
    chance = np.random.default_rng(3)
    values = np.where(chance.random(ROWS) < 0.6, 700_001, chance.normal(700_000, 300, ROWS).round()).astype(int)
    table, schema = pa.table({"x": values}), {"x": sf.Integers(0, 10**6)}
    made = numbers(session(tmp_path, table, columns=schema).synthesize(spend=SPEND, cuts=["x"]), "x")
    assert (made == 700_001).mean() == pytest.approx(0.6, abs=0.03)


def test_rules_persons_workloads_and_texts_go_with_cuts(tmp_path):
    ruled = session(tmp_path).synthesize(spend=SPEND, cuts=["year"], keep=["age >= 3 or year >= 1990"]).to_pandas()
    assert ((ruled["age"] >= 3) | (ruled["year"] >= 1990) | ruled["year"].isna()).all()
    (tmp_path / "persons").mkdir()
    opened = session(tmp_path / "persons", unit=sf.Person("id", 2), size=ROWS // 2)
    persons = opened.synthesize(spend=sf.Approximate(4.0, 1e-6), cuts=["year"], person=["team"])
    assert type(persons.mechanism.making) is PersonSynthesis
    assert persons.to_pandas().groupby("id")["team"].nunique().max() == 1
    assert np.median(numbers(persons, "year")) == pytest.approx(1990, abs=5)
    asked = [sf.count().where("year >= 2000"), sf.mean("age")]
    worked = opened.synthesize(spend=sf.Approximate(4.0, 1e-6), cuts=["year"], workload=asked, name="worked")
    assert type(worked.mechanism.making) is WorkloadSynthesis
    real = (people()["year"].to_numpy() >= 2000).mean()
    assert (numbers(worked, "year") >= 2000).mean() == pytest.approx(real, abs=0.05)


def test_texts_are_found_first_and_then_cuts(tmp_path):
    opened = session(tmp_path, columns={**SPACES, "team": sf.Texts()})
    made = opened.synthesize(spend=sf.Approximate(2.0, 1e-6), cuts=["year"])
    assert type(made.mechanism) is TextSynthesis
    assert type(made.mechanism.making) is CutSynthesis
    assert made.method["texts"] == {"team": ["a", "b", "c"]}
    assert np.median(numbers(made, "year")) == pytest.approx(1990, abs=3)
    again = sf.load(made.save(tmp_path / "made.parquet"))
    assert not again.disputed
    assert again.mechanism == made.mechanism
    assert [column.valued for column in again.question.levels] == [column.valued for column in made.question.levels]
    assert opened.preview(sf.synthetic(cuts=["year"]), spend=SPEND).numbers["texts"] == "team"


# the doors


def test_a_saved_table_is_loaded_asked_and_verified(tmp_path):
    opened = session(tmp_path)
    made = opened.synthesize(spend=SPEND, cuts=["year"], name="made")
    again = sf.load(made.save(tmp_path / "made.parquet"))
    assert again.guarantee == made.guarantee
    assert not again.disputed
    assert again.mechanism == made.mechanism
    assert again.question.levels == made.question.levels
    assert again.question.cuts[0][0] == "year"
    real = people()["year"].to_numpy()
    low, high = again.ask(sf.mean("year")).interval()
    assert low - 100 < real.mean() < high + 100
    assert min(again.more(50, given="year >= 2000")["year"].to_pylist()) >= 2000
    assert again.errors().columns["year"] < 0.2
    assert "bounds" not in again.advice()
    assert again.compare(sf.read(people(), schema=made.schema)).columns["year"] < 0.1
    assert again.plot().to_dict()
    assert "over_cuts" in again.method
    assert "finest where values were found to lie: year from 19" in " ".join(str(again).split())
    assert verify(opened.ledger).disputes == ()
    assert opened.synthesize(spend=SPEND, cuts=["year"], name="made").rows.equals(made.rows)


def test_the_mean_of_numbers_in_bounds_far_too_wide_is_that_of_the_rows(tmp_path):
    """What stands for no noise was noise of a millionth of the bounds, for which the interval had no room."""
    near = 123_456_789_000 + np.random.default_rng(4).integers(0, 100, ROWS)
    schema = {"x": sf.Integers(-(4 * 10**15), 4 * 10**15)}
    made = session(tmp_path, pa.table({"x": near}), columns=schema).synthesize(spend=SPEND, cuts=["x"])
    whole = numbers(made, "x")
    found = made.ask(sf.mean("x").where("x >= 123456780000 and x <= 123456790000"))
    inside = whole[(whole >= 123_456_780_000) & (whole <= 123_456_790_000)]
    assert len(inside) > 0.9 * ROWS
    assert found.value == pytest.approx(inside.mean(), abs=2)  # floats near the bounds lie a step apart
    low, high = found.interval()
    assert low < near.mean() < high
    assert made.ask(sf.median("x")).value == pytest.approx(np.median(whole), abs=1)
    shown = found.shown()[0]
    assert len(set(shown)) == 3  # low, estimate and high can be told apart
    assert shown[0].startswith("123,456,789,0")


def test_another_table_under_the_same_name_is_another_question(tmp_path):
    opened = session(tmp_path)
    opened.synthesize(spend=SPEND, cuts=["year"], name="made")
    with pytest.raises(SfumatoError, match="made"):
        opened.synthesize(spend=SPEND, name="made")


def test_a_file_that_claims_less_than_its_cuts_is_disputed(tmp_path):
    made = session(tmp_path).synthesize(spend=SPEND, cuts=["year"])
    forged = dataclasses.replace(made, guarantee=made.mechanism.making.guarantee())
    again = sf.load(forged.save(tmp_path / "forged.parquet"))
    assert again.disputed
    assert again.guarantee == made.guarantee


def test_the_mechanism_is_its_record():
    made = best(question(), SPEND)
    assert type(made) is CutSynthesis
    assert type(made.making) is MarginalSynthesis
    assert mechanism_from(made.to_record(), made.query) == made


def test_a_preview_says_what_is_found_first_and_reads_nothing(tmp_path):
    opened = session(tmp_path)
    seen = opened.preview(sf.synthetic(cuts=["year"]), spend=SPEND)
    assert seen.numbers["cuts"] == "year"
    assert seen.numbers["epsilon_of_cuts"] == pytest.approx(0.1)
    assert seen.numbers["off"] == best(question(), SPEND).cutting[0].error()
    assert "found first, for 0.1 of epsilon" in str(seen)
    assert "wide" not in seen.numbers
    assert "for 0.005 of rho" in str(opened.preview(sf.synthetic(cuts=["year"]), spend=sf.Concentrated(0.05)))
    assert "cuts=" in str(opened.preview(sf.synthetic(), spend=SPEND))


def test_more_rows_and_budget_ask_for_more_quantiles():
    few, many = (
        best(question(size=size), spend).cutting[0].query.probabilities
        for size, spend in ((1000, SPEND), (10**6, sf.Pure(3.0)))
    )
    assert len(few) == 1
    assert len(many) == 7


def test_a_plan_and_its_record_hold_cuts():
    asked = sf.Query.from_record({"query": "synthetic", "cuts": ["year"], "columns": ["year", "team"]})
    assert asked == sf.synthetic(["year", "team"], cuts=["year"], good_for="both")
    assert sf.Query.from_record(asked.to_record()) == asked
    assert isinstance(bind(asked, sf.Schema(SPACES)), SyntheticRows)


# refusals


@pytest.mark.parametrize("kind", [MarginalSynthesis, NumericSynthesis])
def test_synthesizers_that_find_nothing_refuse_cuts(kind):
    with pytest.raises(UnsupportedQuery, match="leave mechanism= out, or cuts="):
        kind.calibrate(question(), SPEND)


@pytest.mark.parametrize(
    ("schema", "spend", "words"),
    [
        ({"size": 200}, SPEND, r"'year' lie among 200 rows: spend about epsilon = .* or more.*narrower bounds"),
        ({"size": None}, sf.Concentrated(1e-6), r"spend about rho = .* or more.*declare how many there are \(size=\)"),
    ],
)
def test_too_small_a_budget_is_refused_with_what_to_do(schema, spend, words):
    with pytest.raises(UnsupportedQuery, match=words):
        best(question(**schema), spend)


@pytest.mark.parametrize("columns", [{}, {"columns": {"a": sf.Integers(0, 300), "year": SPACES["year"]}}])
def test_what_is_said_to_be_enough_is_enough(columns):
    asked = question(list(columns.get("columns", ["year"])), size=200, **columns)
    with pytest.raises(UnsupportedQuery) as refused:
        best(asked, sf.Pure(0.5))
    enough = float(str(refused.value).split("epsilon = ")[1].split(" ")[0])
    assert type(best(asked, sf.Pure(enough))) is CutSynthesis


def test_values_that_have_cells_of_their_own_are_refused():
    with pytest.raises(UnsupportedQuery, match=r"121 values of 'age' has a cell of its own"):
        best(question(["age"]), SPEND)


def test_no_budget_is_refused():
    with pytest.raises(UnsupportedQuery, match="need epsilon > 0"):
        CutSynthesis.calibrate(question(), sf.Pure(0.0))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cutting": []}, "are is named"),
        ({"over_cuts": "text-synthesis"}, "are made by"),
        ({"cutting": [{"type": "laplace"}]}, "recursive-quantiles"),
    ],
)
def test_records_that_do_not_fit_are_refused(change, words):
    made = CutSynthesis.calibrate(question(), SPEND)
    with pytest.raises(UnsupportedQuery, match=words):
        CutSynthesis.from_record(made.query, {**made.to_record(), **change})


def test_parts_of_other_questions_are_refused():
    made, other = CutSynthesis.calibrate(question(), SPEND), CutSynthesis.calibrate(question(["age"]), SPEND)
    persons = CutSynthesis.calibrate(question(unit=sf.Person("id", 4)), SPEND)
    relaxed = RecursiveQuantiles.through_rho(made.cutting[0].query, SPEND)
    for cutting in ((), other.cutting, persons.cutting, (relaxed,)):
        with pytest.raises(UnsupportedQuery):
            CutSynthesis(made.query, cutting, made.making)
    rho = CutSynthesis.calibrate(question(), sf.Concentrated(0.1))
    with pytest.raises(UnsupportedQuery, match="state epsilon or rho"):
        CutSynthesis(made.query, rho.cutting, made.making)
    assert module.MAKING == ("marginal-synthesis", "person-synthesis", "workload-synthesis")
