"""Days and times that do not exist are refused at every door where a public date can be typed.

Data are another matter: their rule is documented, and never raises (`docs/guide/coercion.md`).
"""

from __future__ import annotations

import datetime
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import houses
import sfumato as sf
from houses import House, people
from sfumato import sql
from sfumato.errors import SfumatoError
from sfumato.orders import asked, order
from sfumato.plans import read_plan
from sfumato.release.archive import read

COLUMNS = {"day": sf.Dates("2012-01-01", "2013-12-31"), "seen": sf.TimeOfDay(), "x": sf.Integers(0, 9)}
SCHEMA = sf.Schema(COLUMNS, size=100, dataset="d")
IMPOSSIBLE = [
    "2013-02-29", "2013-02-30", "2013-06-31", "2013-11-31", "0000-01-01", "2013-06-01 24:61", "2013-06-01T25:00",
    "2013-06-01 soon", " 2013-02-30",
]  # fmt: skip
POSSIBLE = [
    "2012-02-29", "2013-06-30", "2013-06-01 13:45", "2013-06-01T13:45:10.5Z", "2013-06-01 13:45+02:00", " 2013-02-28 ",
]  # fmt: skip
PLAN = """
format = "sfumato-plan/2"
[table]
path = "p.csv"
dataset = "d"
unit = "row"
size = 100
[columns.day]
type = "dates"
low = "{low}"
high = "2013-12-31"
na = [{na}]
[budget]
epsilon = 1.0
[[release]]
query = "count"
where = "day >= '{where}'"
spend = {{ epsilon = 0.1 }}
"""


def bins(text):
    low, high = sorted(("2012-01-01", "2014-12-31"))
    return sf.count().by(sf.bins("day", low, text, high))


def in_plan(folder, text, place):
    """A plan in which a date stands at one of its places."""
    given = {"low": "2012-01-01", "na": "", "where": "2013-03-01", place: f'"{text}"' if place == "na" else text}
    path = folder / "plan.toml"
    path.write_text(PLAN.format(**given))
    plan = read_plan(path)
    return order(plan.releases[0].query, plan.schema, spend=sf.Pure(0.1))


# Every door, with what it makes of a text.
DOORS = {
    "equal": lambda text, _: asked(sf.count().where(f"day == '{text}'"), SCHEMA),
    "less": lambda text, _: asked(sf.count().where(f"day < '{text}'"), SCHEMA),
    "between": lambda text, _: asked(sf.count().where(sf.col("day").between("2012-01-01", text)), SCHEMA),
    "among": lambda text, _: asked(sf.count().where(f"day in ('2013-01-05', '{text}')"), SCHEMA),
    "not": lambda text, _: asked(sf.count().where(f"not (x > 3 or day != '{text}')"), SCHEMA),
    "share": lambda text, _: asked(sf.share(f"day >= '{text}'"), SCHEMA),
    "bins": lambda text, _: asked(bins(text), SCHEMA),
    "choice": lambda text, _: asked(sf.choose({"a": sf.count().where(f"day > '{text}'"), "b": sf.count()}), SCHEMA),
    "workload": lambda text, _: asked(sf.predicates([f"day > '{text}'"], by="day"), SCHEMA),
    "rule": lambda text, _: order(sf.synthetic(keep=[f"day != '{text}'"]), SCHEMA, spend=sf.Pure(1.0)),
    "running": lambda text, _: asked(sf.running("day", "2012-01-01", text, "2013-12-31"), versioned()),
    "months": lambda text, _: asked(sf.running("day", text, months=2), versioned()),
    "low": lambda text, _: sf.Dates(text, "2014-12-31"),
    "high": lambda text, _: sf.Dates("0001-01-01", text),
    "missing": lambda text, _: sf.Dates("0001-01-01", "2014-12-31", missing=text),
    "na": lambda text, _: sf.Dates("0001-01-01", "2014-12-31", na=[text]),
    "distance": lambda text, _: COLUMNS["day"].distance("2013-01-01", text),
    "plan condition": lambda text, folder: in_plan(folder, text, "where"),
    "plan bound": lambda text, folder: in_plan(folder, text, "low"),
    "plan code": lambda text, folder: in_plan(folder, text, "na"),
    "sql": lambda text, _: sql_order(f"SELECT count(*) FROM d WHERE day >= '{text}'"),
    "sql between": lambda text, _: sql_order(f"SELECT count(*) FROM d WHERE day BETWEEN '2012-01-01' AND '{text}'"),
    "sql date": lambda text, _: sql_order(f"SELECT count(*) FROM d WHERE day = DATE '{text}'"),
    "sql cast": lambda text, _: sql_order(f"SELECT count(*) FROM d WHERE day = CAST('{text}' AS DATE)"),
    "derived": lambda text, _: derived(text),
    "time": lambda text, _: asked(sf.count().where(f"seen < '{text}'"), SCHEMA),
    "time bound": lambda text, _: sf.TimeOfDay(text),
    "time code": lambda text, _: sf.TimeOfDay(na=[text]).coerce("13:00"),
}
TAKES_NO_TIME = {"months", "running", "sql date", "sql cast"}  # or takes it in another form
WORDS = ("day of the calendar", "a time of day is", "first day such as", "must increase")
OF_TIMES = {"time", "time bound", "time code"}


def versioned():
    return sf.Schema(COLUMNS, size=100, dataset="d", version="2012-01-01")


def sql_order(text):
    (one,) = sql.asked(text, SCHEMA)
    return order(one.query, SCHEMA, spend=sf.Pure(0.1))


def derived(text):
    rows = pa.table({"day": ["2013-06-30"], "seen": ["13:00"], "x": [1]})
    made = {"late": (f"1 if day > '{text}' else 0", sf.Integers(0, 1))}
    return asked(sf.mean("late"), sf.read(rows, schema=COLUMNS, dataset="d", derived=made).schema)


@pytest.mark.parametrize("door", DOORS)
def test_an_impossible_day_is_refused_at_every_door(door, tmp_path):
    for text in IMPOSSIBLE:
        with pytest.raises(SfumatoError) as refused:
            DOORS[door](text, tmp_path)
        assert text.strip()[:10] in str(refused.value), "it says which"
        assert any(word in str(refused.value) for word in WORDS), str(refused.value)


@pytest.mark.parametrize("door", sorted(set(DOORS) - TAKES_NO_TIME))
def test_a_day_that_exists_is_taken(door, tmp_path):
    for text in POSSIBLE:
        if door in OF_TIMES and (":" not in text or "+" in text):
            continue
        try:
            DOORS[door](text, tmp_path)
        except SfumatoError as error:
            pytest.fail(f"{door} refuses {text!r}: {error}")


def test_the_service_refuses_them_too(tmp_path):
    """The page and the client ask by the same request."""
    column = '[columns.joined]\ntype = "dates"\nlow = "2013-01-01"\nhigh = "2013-12-31"\n\n[budget]'
    plan = people(tmp_path, houses.PLAN.replace("[budget]", column, 1))
    held = pq.read_table(tmp_path / "people.parquet")
    days = pa.array([datetime.date(2013, 6, 30)] * len(held))
    pq.write_table(held.append_column("joined", days), tmp_path / "people.parquet")
    ask = {"query": {"query": "count", "where": "joined <= '2013-06-31'"}, "spend": {"epsilon": 0.1}}
    statement = {"sql": "SELECT count(*) FROM people WHERE joined <= '2013-06-31'", "spend": {"epsilon": 0.1}}
    with House(plan) as house, house.client("ana") as client:
        for door in ("preview", "release"):
            for body in (ask, statement):
                answer = client.post(f"/api/v1/datasets/people/{door}", json=body)
                assert answer.status_code == 422, answer.text
                assert "day of the calendar" in answer.text


def test_texts_of_data_are_read_by_the_documented_rule():
    """A day that its month lacks counts into the next one, and never raises; what is no date is missing."""
    rows = pa.table({"day": ["2013-02-30", "2013-06-31", "2013-07-01", "2013-06-01 24:61", "2013-13-01", "soon"],
                     "seen": ["13:00", "24:61", "2013-02-30 13:00", "25:00", "", None], "x": [1] * 6})  # fmt: skip
    table = sf.read(rows, schema=COLUMNS, dataset="d")
    session = sf.reference.lab(table, budget=sf.Pure(1e6), seed=1)

    def counted(condition):
        return session.release(sf.count().where(condition), spend=sf.Pure(1e4)).value

    assert counted("day == '2013-03-02'") == 1
    assert counted("day == '2013-07-01'") == 2
    assert counted("day == '2013-06-01'") == 1
    assert counted("day is null") == 2
    assert counted("seen is null") == 4
    assert COLUMNS["day"].coerce("2013-02-30") == datetime.date(2013, 3, 2)
    assert counted("seen == '13:00'") == 2


def test_releases_that_were_charged_with_such_a_day_still_open(tmp_path, monkeypatch):
    """They keep the meaning that they had; asked anew, such a question is refused."""
    rows = pa.table({"day": ["2013-06-30", "2013-07-01"] * 20, "seen": ["13:00"] * 40, "x": [1] * 40})
    table = sf.read(rows, schema=COLUMNS, dataset="d")
    query = sf.count().where("day <= '2013-06-31'").by(sf.bins("day", "2012-01-01", "2013-02-30", "2014-01-01"))
    with monkeypatch.context() as before:
        before.setattr("sfumato.spaces.dates._mistake", lambda text: None)
        session = sf.Session(table, budget=sf.Pure(2.0), ledger=tmp_path / "l")
        stored = session.release(query, spend=sf.Pure(1.0), name="old").to_bytes()
    again = read(stored)
    assert again.to_bytes() == stored
    assert json.loads(json.dumps(again.question.query.to_record())) == query.to_record()
    assert "[2012-01-01, 2013-03-02)" in again.table().to_pydict()["day"][0]
    with pytest.raises(SfumatoError, match="day of the calendar"):
        session.release(query, spend=sf.Pure(1.0), name="new")
