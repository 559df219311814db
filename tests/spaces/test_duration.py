"""Elapsed times: read alike from files, frames and databases, whatever they hold, and answered as elapsed times."""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.spaces import Duration, space_from
from sfumato.spaces.duration import LONGEST

TRIP = Duration(0, 48, "hours", step=0.25)
TEXTS = [
    "02:30:00", "2:30", "26:10", "1 day 02:30:00", "1 days 02:30:00.5", "1 day, 2:30:00", "2 days", "P1DT2H30M",
    "PT90M", "PT5400.5S", "P3D",
    "-02:30", "-1 day, 23:00:00", "-1 days +23:00:00", "-PT1H", "+1:00", " 01:00 ", "1.5", "99",
    "P", "PT", "1 month", "P1M", "P1Y", "02:60", "2:3", "1e400", "inf", "-inf", "nan", "soon", "", "12345678901:00",
    "999999999 days 00:00:00", "P999999999DT999999999H", "٢:٣٠", "02:30:00\n", "02:30:00.1234567891",
]  # fmt: skip
HOUR = datetime.timedelta(hours=1)


def read(source, space=TRIP, **options):
    """The column as rows are streamed: indices above the lower bound, -1 where missing."""
    table = sf.read(source, schema={"took": space}, dataset="trips", **options)
    return [int(place) for batch in table.rows(["took"]) for place in batch["took"]]


def meant(values, space=TRIP):
    found = [space.coerce(value) for value in values]
    step = datetime.timedelta(seconds=space.form.second) * float(space.lattice.step)
    return [-1 if value is None else round(value / step) - space.lattice.low for value in found]


# coercion
def test_texts_are_read_alike_in_files_and_by_the_space(tmp_path):
    shown = [text for text in TEXTS if "\n" not in text]
    file = tmp_path / "trips.csv"
    file.write_text("took,other\n" + "".join(f'"{text}",1\n' for text in shown))
    assert sorted(read(file)) == sorted(meant([text or None for text in shown]))
    pq.write_table(pa.table({"took": TEXTS}), tmp_path / "trips.parquet")
    assert sorted(read(tmp_path / "trips.parquet")) == sorted(meant(TEXTS))


@pytest.mark.parametrize(
    ("text", "hours"),
    [("02:30:00", 2.5), ("2:30", 2.5), ("1 day 02:30:00", 26.5), ("P1DT2H30M", 26.5), ("PT90M", 1.5),
                    ("-02:30", 0), ("1.5", 1.5), ("2 days", 48), ("P", 0)],
)  # fmt: skip
def test_the_documented_texts(text, hours):
    assert TRIP.coerce(text) == hours * HOUR


@pytest.mark.parametrize("text", ["1 month", "P1M", "P1Y", "02:60", "2:3", "soon", "", "٢:٣٠"])
def test_what_is_no_elapsed_time_is_missing(text):
    assert TRIP.coerce(text) is None


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_stored_elapsed_times_of_every_unit_never_raise(tmp_path, unit):
    rng = np.random.default_rng(7)
    per_hour = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit] * 3600
    ticks = [
        0,
        1,
        -1,
        None,
        2**63 - 1,
        -(2**63) + 1,
        per_hour // 8,
        per_hour * 3 // 8,
        *rng.integers(0, 50 * per_hour, 40),
    ]
    column = pa.array([None if tick is None else int(tick) for tick in ticks], pa.int64()).cast(pa.duration(unit))
    wanted = sorted(
        -1 if tick is None else min(max(math.floor(int(tick) / per_hour * 4 + 0.5), 0), TRIP.lattice.width)
        for tick in ticks
    )
    pq.write_table(pa.table({"took": column}), tmp_path / "trips.parquet")
    assert sorted(read(tmp_path / "trips.parquet")) == wanted
    assert sorted(read(pa.table({"took": column}))) == wanted


def test_frames_databases_and_times_of_day(tmp_path):
    values = [datetime.timedelta(hours=2, minutes=20), None, -HOUR, 90 * HOUR, datetime.timedelta(microseconds=1)]
    wanted = sorted(meant(values))
    assert sorted(read(pd.DataFrame({"took": pd.Series(values, dtype="timedelta64[ns]")}))) == wanted
    assert sorted(read(pd.DataFrame({"took": pd.Series(values, dtype=object)}))) == wanted
    assert sorted(read(pl.DataFrame({"took": pl.Series(values, dtype=pl.Duration("ms"))}))) == wanted
    odd = [
        object(),
        [],
        {},
        1j,
        "soon",
        b"1",
        True,
        float("nan"),
        np.timedelta64(9, "h"),
        10**400,
        datetime.time(2, 20),
    ]
    assert sorted(read(pd.DataFrame({"took": pd.Series(odd, dtype=object)}))) == sorted(meant(odd))
    clock = pa.table({"took": pa.array([datetime.time(2, 20), None, datetime.time(23, 59)], pa.time64("us"))})
    pq.write_table(clock, tmp_path / "clock.parquet")
    assert sorted(read(clock)) == sorted(read(tmp_path / "clock.parquet")) == [-1, 9, 96]

    import duckdb

    with duckdb.connect(str(tmp_path / "trips.duckdb")) as connection:
        connection.execute("CREATE TABLE trips (took INTERVAL)")
        connection.execute(
            "INSERT INTO trips VALUES (INTERVAL '2 hours 20 minutes'), (NULL), (INTERVAL '-1 hour'),"
            " (INTERVAL '90 hours'), (INTERVAL '1 microsecond'), (to_months(2147483647)),"
            " (to_microseconds(-9223372036854775807))"
        )
    assert sorted(read(tmp_path / "trips.duckdb")) == sorted([*wanted, TRIP.lattice.width, 0])


def test_a_type_that_cannot_hold_elapsed_times_is_refused():
    with pytest.raises(SchemaError, match="declared as Duration"):
        read(pa.table({"took": pa.array([True])}))
    with pytest.raises(SchemaError, match="declared as Interval, but the table holds interval"):
        read(pa.table({"took": pa.array([1], pa.duration("s"))}), sf.Interval(0, 1, 1))


# the space itself
@given(
    low=st.integers(-1000, 1000), width=st.integers(1, 10**6), place=st.floats(0, 1),
    unit=st.sampled_from(["seconds", "minutes", "hours", "days"]),
)  # fmt: skip
def test_points_of_the_lattice_are_shown_and_read_back(low, width, unit, place):
    space = Duration(low / 4, (low + width) / 4, unit, step=0.25)
    index = low + round(place * width)
    point = space.shown(space.lattice.value(index))
    assert space.coerce(point) == point
    assert space.coerce(str(point)) == point
    assert space.number(point) == pytest.approx(space.lattice.value(index), abs=1e-9)
    assert space_from(space.to_record(), "took") == space
    places = np.array([0, index - low, width])
    assert space.places(pa.chunked_array([space.decoded(places)])).tolist() == places.tolist()


def test_bounds_may_be_texts_and_timedeltas():
    assert Duration("00:00", "1 day", "hours", step="00:15") == Duration(0 * HOUR, 24 * HOUR, "hours", step=0.25)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Duration(0, 1, "weeks"), "unit must be one of seconds, minutes, hours, days"),
        (lambda: Duration("soon", 1, "hours"), "an elapsed time is a number of hours, a timedelta or a text"),
        (lambda: Duration(0, 1e15, "days", step=1e5), f"within {LONGEST // 86_400} days"),
        (lambda: Duration(0, 24, "hours", missing=30), "missing=30 must lie between"),
    ],
)
def test_mistakes_name_the_fix(build, message):
    with pytest.raises(ParameterError, match=message):
        build()
