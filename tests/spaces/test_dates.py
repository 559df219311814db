"""Dates: one rule for dates, times and texts, the same in plain Python and in engines."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.plans import read_plan
from sfumato.report.answers import answers
from sfumato.spaces import space_from
from sfumato.spaces.dates import day_number

YEAR = sf.Dates("2020-01-01", "2020-12-31")
TEXTS = [
    "2020-01-01", " 2020-02-29", "2020-02-30", "2019-12-31", "2021-01-01T10:00:00", "2020-06-01 23:59:59", "2020-6-1",
    "", None, "2020-13-01", "2020-00-10", "2020-01-32", "20200101", "0000-01-01", "9999-12-31", "2020-06-01x", "soon\n",
]  # fmt: skip


@given(st.dates())
def test_the_number_of_a_day_is_that_of_the_calendar(day):
    assert day_number(day.year, day.month, day.day) == (day - datetime.date(1970, 1, 1)).days
    assert sf.Dates.date(day_number(day.year, day.month, day.day)) == day


def streamed(column):
    table = sf.read(pa.table({"joined": column}), schema=sf.Schema({"joined": YEAR}))
    (batch,) = table.rows(["joined"])
    return [None if place < 0 else YEAR.date(place + YEAR.lattice.low) for place in batch["joined"].tolist()]


@pytest.mark.parametrize("space", [YEAR, sf.Dates("2020-01-01", "2020-12-31", missing="2020-03-01")])
def test_texts_are_read_alike_everywhere(space, tmp_path):
    held = pa.table({"joined": pa.array(TEXTS)})
    table = sf.read(held, schema=sf.Schema({"joined": space}))
    (batch,) = table.rows(["joined"])
    found = [None if place < 0 else space.date(place + space.lattice.low) for place in batch["joined"].tolist()]
    assert found == [space.coerce(text) for text in TEXTS]
    lines = ['"' + (text or "") + '"' for text in TEXTS]
    (tmp_path / "t.csv").write_text("\n".join(["joined", *lines]) + "\n")
    (batch,) = sf.read(tmp_path / "t.csv", schema=sf.Schema({"joined": space}, quoted_lines=True)).rows(["joined"])
    assert sorted(batch["joined"].tolist()) == sorted(
        -1 if day is None else space.number(day) - space.lattice.low for day in found
    )


def test_dates_and_times_take_their_day():
    days = [datetime.date(2020, 5, 17), datetime.date(1200, 1, 1), datetime.date(9999, 1, 1), None]
    assert streamed(pa.array(days)) == [YEAR.coerce(day) for day in days]
    times = [datetime.datetime(2020, 5, 17, 23, 59), datetime.datetime(1900, 1, 1), None]
    assert streamed(pa.array(times, pa.timestamp("us"))) == [YEAR.coerce(time) for time in times]


def test_questions_about_dates(tmp_path):
    """At a large budget the answers are the true ones."""
    joined = [datetime.date(2020, 1, 1) + datetime.timedelta(days=i % 366) for i in range(3660)]
    schema = sf.Schema({"joined": YEAR}, dataset="members")
    table = sf.read(pa.table({"joined": joined}), schema=schema)
    session = sf.Session(table, budget=sf.Pure(10_000), ledger=tmp_path / "ledger")
    spend = sf.Pure(500.0)
    assert session.release(sf.count().where("joined >= '2020-12-01'"), spend=spend).value == 310
    early = sf.count().where(sf.col("joined") < datetime.date(2020, 2, 1))
    assert session.release(early, spend=spend, name="early").value == 310
    middle = session.release(sf.median("joined"), spend=spend).value
    assert abs((middle - datetime.date(2020, 7, 1)).days) <= 1  # ten people joined on each day
    by_day = session.release(sf.histogram("joined"), spend=spend).to_pandas()
    assert by_day["joined"].tolist()[:2] == ["2020-01-01", "2020-01-02"]
    assert set(by_day["estimate"]) == {10.0}


def test_synthetic_and_sanitized_dates_are_dates(tmp_path):
    joined = [datetime.date(2020, 3, 1 + i % 28) for i in range(600)]
    schema = sf.Schema({"joined": YEAR, "n": sf.Integers(0, 3)}, adjacency=sf.Replace(), size=600)
    table = sf.read(pa.table({"joined": joined, "n": [i % 4 for i in range(600)]}), schema=schema)
    session = sf.Session(table, budget=sf.Pure(1000), ledger=tmp_path / "ledger")
    made = session.synthesize(spend=sf.Pure(50.0))
    assert made.rows.schema.field("joined").type == pa.date32()
    inside = [day for day in made.rows["joined"].to_pylist() if day is not None]
    assert min(inside) >= datetime.date(2020, 1, 1)
    assert sum(day.month == 3 for day in inside) > 0.8 * len(inside)
    perturbed = session.sanitize(spend=sf.Pure(400.0))
    assert perturbed.rows.schema.field("joined").type == pa.date32()
    mean = perturbed.estimate(sf.mean("joined"))["estimate"][0].as_py()
    assert abs(mean - sum((day - datetime.date(1970, 1, 1)).days for day in joined) / 600) < 1.5
    assert perturbed.estimate(sf.count().where("joined < '2020-03-01'"))["low"][0].as_py() == 0.0


def test_a_plan_declares_dates(tmp_path):
    (tmp_path / "plan.toml").write_text("""
format = "sfumato-plan/1"
table = { path = "t.csv", unit = "row" }
columns.joined = { type = "dates", low = "2020-01-01", high = "2020-12-31", missing = "2020-06-30" }
budget = { epsilon = 1 }
[[release]]
query = "count"
where = "joined >= '2020-07-01'"
spend = { epsilon = 0.5 }
""")
    space = read_plan(tmp_path / "plan.toml").schema.space("joined")
    assert space == sf.Dates("2020-01-01", "2020-12-31", missing="2020-06-30")
    assert space_from(space.to_record(), "joined") == space


def test_answers_about_dates_are_dates(tmp_path):
    rng = np.random.default_rng(5)
    days = pa.array(18_262 + rng.integers(0, 366, 4000), pa.int32()).cast(pa.date32())
    table = sf.read(
        pa.table({"joined": days, "sex": ["F", "M"] * 2000}), dataset="days", size=4000,
        schema={"joined": YEAR, "sex": sf.Categories(["F", "M"])},
    )  # fmt: skip
    session = sf.Session(table, budget=sf.Pure(50), ledger=tmp_path / "days.ledger")
    median = session.release(sf.median("joined"), spend=sf.Pure(5))
    assert abs(median.value - datetime.date(2020, 7, 2)) < datetime.timedelta(days=20)
    assert median.table().schema.field("estimate").type == pa.date32()
    assert f"{median.value:%Y-%m-%d}" in str(answers(median).rows)

    mean = session.release(sf.mean("joined"), spend=sf.Pure(5))
    low, high = mean.interval()
    assert datetime.date(2020, 1, 1) <= low <= mean.value <= high
    by = session.release(sf.mean("joined").by("sex"), spend=sf.Pure(5))
    assert [type(value) for value in by.value] == [datetime.date] * 2
    assert by.to_pandas()["low"].dtype == "datetime64[ms]"
    assert {kind for name, kind in zip(by.table().column_names, by.table().schema.types, strict=True)
            if name != "sex"} == {pa.date32()}  # fmt: skip

    quarters = ("2020-01-01", "2020-04-01", "2020-07-01", "2020-10-01", "2020-12-31")
    counted = session.release(sf.histogram(sf.bins("joined", *quarters)), spend=sf.Pure(5))
    assert counted.table()["joined"].to_pylist()[0] == "[2020-01-01, 2020-04-01)"
    assert sum(counted.value) == pytest.approx(4000, abs=200)
    shares = session.release(sf.thresholds("joined", points=12), spend=sf.Pure(5))
    assert shares.table().schema.field("threshold").type == pa.date32()
    for release in (median, mean, by, counted, shares):
        again = sf.load(release.save(tmp_path / f"{release.provenance.charge}.json"))
        assert again.table() == release.table()
        assert release.plot() is not None


def test_mistakes_name_the_fix():
    with pytest.raises(ParameterError, match="low must be a date such as"):
        sf.Dates("yesterday", "2020-01-01")
    with pytest.raises(ParameterError, match="low must be below high"):
        sf.Dates("2021-01-01", "2020-01-01")
    with pytest.raises(ParameterError, match="compared with a date"):
        sf.count().where("joined >= 2.5").bound_condition(sf.Schema({"joined": YEAR}))
    with pytest.raises(SchemaError, match="declared as Dates, but the table holds"):
        sf.read(pa.table({"joined": [1.5]}), schema=sf.Schema({"joined": YEAR}))
