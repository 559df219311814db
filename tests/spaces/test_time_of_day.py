"""Times of day: read by one rule from times, timestamps and texts, and shown as times."""

import datetime

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.privacy.adjacency import Person
from sfumato.queries.binding import bind
from sfumato.spaces import TimeOfDay

DAY = datetime.timedelta(days=1)
EARLY = datetime.datetime(1904, 2, 3)


def moments(rng, size):
    """Timestamps before and after 1970, to the microsecond, some missing."""
    micros = rng.integers(0, 150 * 365 * 86_400 * 10**6, size)
    return [None if rng.random() < 0.1 else EARLY + datetime.timedelta(microseconds=int(m)) for m in micros]


def counting(table, name):
    return sorted(place for batch in table.rows([name]) for place in batch[name].tolist())


@pytest.mark.parametrize("unit", ["ms", "ns"])
def test_every_source_of_timestamps_is_read_as_the_space_says(unit, tmp_path):
    space = TimeOfDay("01:30", "22:00", 900, missing="12:00" if unit == "ms" else None)
    days = sf.Dates("1910-01-01", "2030-12-31")
    schema = sf.Schema({"t": days, "clock": TimeOfDay("01:30", "22:00", 900, missing=space.missing, of="t")})
    found = moments(np.random.default_rng(3), 200)
    found = [None if t is None else t.replace(microsecond=1000) for t in found]
    expected = [space.coerce(t) for t in found]
    places = sorted(-1 if t is None else (t.hour * 3600 + t.minute * 60) // 900 - space.lattice.low for t in expected)
    arrow = pa.table({"t": pa.array(found, pa.timestamp(unit))})
    pq.write_table(arrow, tmp_path / "d.parquet")
    pd.DataFrame({"t": ["" if t is None else t.isoformat() for t in found]}).to_csv(tmp_path / "d.csv", index=False)
    with quiet():
        held = ibis.duckdb.connect().create_table("held", pa.table({"t": pa.array(found, pa.timestamp("us"))}))
    zoned = pd.Series(found, dtype=f"datetime64[{unit}]").dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    frames = [
        arrow,
        pd.DataFrame({"t": pd.Series(found, dtype=object)}),
        pl.from_arrow(arrow),
        pd.DataFrame({"t": zoned}),
    ]
    for place, source in enumerate([*frames, tmp_path / "d.parquet", tmp_path / "d.csv", held]):
        table = sf.read(source, schema=schema)
        assert counting(table, "clock") == places, place
        dated = [days.coerce(t) for t in found]
        assert counting(table, "t") == sorted(-1 if d is None else (d - datetime.date(1910, 1, 1)).days for d in dated)


def test_times_and_texts_are_read_as_the_space_says(tmp_path):
    space, rng = TimeOfDay(step=60, na=["00:00"]), np.random.default_rng(4)
    times = [None if t is None else t.time() for t in moments(rng, 100)]
    times += [datetime.time(0, 0, 59), datetime.time(23, 59, 59)]
    good = ["13:45", " 7:05 ", "13:45:59.999", "2026-01-31T13:45", "13:45Z"]
    bad = ["24:00", "7", "13:60", "1:30 pm", "", "13:45+02:00"]
    arrow = pa.table({"t": pa.array(times, pa.time64("us"))})
    pq.write_table(arrow, tmp_path / "d.parquet")
    odd = [*good, *bad, 7, object()]
    sources = [(arrow, times), (tmp_path / "d.parquet", times), (pd.DataFrame({"t": times}), times)]
    sources += [(pd.DataFrame({"t": good + bad}), good + bad), (pd.DataFrame({"t": odd}), odd)]
    for source, values in sources:
        table = sf.read(source, schema={"t": space}, dataset="d")
        expected = [space.coerce(value) for value in values]
        assert counting(table, "t") == sorted(-1 if t is None else t.hour * 60 + t.minute for t in expected)
    assert [space.coerce(text) is None for text in good + bad] == [False] * 5 + [True] * 6


def test_hours_bins_conditions_and_answers_are_times(tmp_path):
    times = [datetime.time(hour, 20) for hour in (6, 6, 7, 13, 13, 13, 22)] * 100
    schema = sf.Schema({"t": TimeOfDay("06:00", "22:45", 900)}, size=700, dataset="d")
    table = sf.read(pd.DataFrame({"t": times}), schema=schema)
    hours = bind(sf.histogram("hour(t)"), schema)
    assert [str(label) for label in hours.cells.keys[0].labels] == [str(hour) for hour in range(6, 23)]
    assert np.asarray(hours.answer(table)).tolist()[:3] == [200, 100, 0]
    binned = bind(sf.histogram(sf.bins("t", "06:00", "12:00", "22:45")), schema)
    assert np.asarray(binned.answer(table)).tolist() == [300, 400]
    assert np.asarray(bind(sf.count().where("t >= '13:00' and hour(t) < 22"), schema).answer(table)).tolist() == [300]
    session = sf.Session(table, budget=sf.Pure(1000.0), ledger=str(tmp_path / "d.ledger"))
    seen = session.release(sf.mean("t"), spend=sf.Pure(200.0))
    low, high = seen.to_pandas()[["low", "high"]].iloc[0]
    truth = datetime.time(11, 40, 43)  # each by its quarter of an hour
    assert isinstance(low, datetime.time)
    assert low <= truth <= high
    assert isinstance(session.release(sf.median("t"), spend=sf.Pure(200.0)).value, datetime.time)
    assert sf.load(seen.save(tmp_path / "r.json") or tmp_path / "r.json").value == seen.value


def test_which_rows_of_a_person_count_does_not_depend_on_their_order():
    """Rows of one day that only the time of day tells apart."""
    rows = [{"id": who, "at": pd.Timestamp(2026, 1, 31, hour, 5)} for who in range(20) for hour in (3, 9, 14, 21)]
    schema = sf.Schema(
        {"at": sf.Dates("2026-01-01", "2026-12-31"), "clock": TimeOfDay(of="at")}, Person("id", 1), dataset="d"
    )
    rng, found = np.random.default_rng(1), set()
    for _ in range(4):
        rng.shuffle(rows)
        table = sf.read(pd.DataFrame(rows), schema=schema)
        found.add(tuple(np.asarray(bind(sf.histogram("hour(clock)"), schema).answer(table)).tolist()))
    ((counts),) = found
    assert sum(counts) == 20


def test_what_is_no_time_of_day_is_refused_in_words():
    for wrong in ({"step": 7}, {"step": 0}, {"low": "25:00"}, {"low": "12:00", "high": "11:00"}, {"missing": "soon"}):
        with pytest.raises(ParameterError):
            TimeOfDay(**wrong)
    for twice in (
        {"t": sf.Texts(5), "a": TimeOfDay(of="t")},
        {"a": TimeOfDay(of="t"), "b": TimeOfDay(of="t", step=900)},
    ):
        with pytest.raises(SchemaError, match="time of day"):
            sf.Schema(twice)
    schema = sf.Schema({"d": sf.Dates("2026-01-01", "2026-12-31")})
    with pytest.raises(UnsupportedQuery, match="TimeOfDay"):
        schema.space("hour(d)")


@pytest.mark.parametrize(
    ("low", "high", "part", "ends"),
    [
        ("2026-03-05", "2026-06-30", "month", (3, 6)),
        ("2026-03-05", "2027-01-30", "month", (1, 12)),
        ("2026-03-05", "2026-06-30", "quarter", (1, 2)),
        ("2026-12-05", "2026-12-30", "month", (11, 12)),
        ("2026-12-05", "2026-12-30", "day", (5, 30)),
        ("2026-11-05", "2026-12-30", "day", (1, 31)),
        ("2026-11-05", "2028-12-30", "year", (2026, 2028)),
        ("2026-11-05", "2026-12-30", "weekday", (1, 7)),
    ],
)
def test_parts_of_dates_are_those_that_the_declared_days_have(low, high, part, ends):
    space = sf.Dates(low, high)
    found = space.part(part)
    assert (found.low, found.high) == ends
    days = pd.date_range(low, high)
    parts = {"weekday": days.weekday + 1}.get(part, getattr(days, part))
    assert parts.min() >= found.low
    assert parts.max() <= found.high
