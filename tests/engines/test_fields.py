"""Records: each field a column like any other, read by one rule from every source, and part of who counts."""

import csv
import datetime
import math

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reference
import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.errors import SchemaError, SfumatoError, UnsupportedQuery
from sfumato.privacy.adjacency import Person
from sfumato.queries.binding import bind
from sfumato.release import recognition

HOME = sf.Record(
    {
        "rent": sf.Interval(0, 100, step=1, na=[99]),
        "city": sf.Categories(["a", "b"], other="b"),
        "since": sf.Dates("2020-01-01", "2020-12-31"),
        "at": sf.Record({"point": sf.Box(-2, 2, shape=(2,), step=1), "floor": sf.Integers(0, 9, missing=3)}),
        "pets": sf.Subsets(["cat", "dog"], 2, separator="|"),
    }
)
SPACES = {"home": HOME, "age": sf.Integers(0, 120)}
KIND = pa.struct(
    [
        ("rent", pa.float64()),
        ("city", pa.string()),
        ("since", pa.timestamp("ms")),
        ("unread", pa.int64()),
        ("at", pa.struct([("floor", pa.int32()), ("point", pa.list_(pa.float64()))])),
        ("pets", pa.list_(pa.string())),
    ]
)
QUERIES = [
    sf.sum("home.rent"),
    sf.mean("home.rent").by("home.city"),
    sf.count().where("home.rent >= 3 and home.at.floor < 5"),
    sf.count().where("`home.at.point[0]` > 0 or home.at.point[1] > 0"),
    sf.histogram("month(`home.since`)"),
    sf.sum("home.at.point"),
    sf.count().where("home.city is null"),
    sf.histogram("home.city").where("'cat' in home.pets"),
]


def drawn(rng, size):
    """Hostile records: missing as a whole, inner ones missing, odd numbers, unknown labels, far dates."""

    def one():
        if rng.random() < 0.15:
            return None
        numbers = [None, math.nan, math.inf, -5.0, 99.0, 3.0, 2.5, 100.0]
        day = datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=int(rng.integers(-3000, 12000)))
        inner = {
            "floor": [None, 0, 4, 9, 100][rng.integers(5)],
            "point": [None, [1.0], [1.0, -7.0], [0.0, 2.0], [None, 1.0]][rng.integers(5)],
        }
        return {
            "rent": numbers[rng.integers(len(numbers))],
            "city": [None, "a", "b", "?"][rng.integers(4)],
            "since": None if rng.random() < 0.2 else day,
            "unread": int(rng.integers(9)),
            "at": None if rng.random() < 0.2 else inner,
            "pets": [None, [], ["cat"], ["dog", "cat", "emu"]][rng.integers(4)],
        }

    return [{"home": one(), "age": int(rng.integers(0, 120)), "id": int(rng.integers(8))} for _ in range(size)]


def at(row, path):
    for name in path:
        row = row.get(name) if isinstance(row, dict) else None
    return row


def flat(rows, schema):
    """The same table with each field in a column of its own."""
    plain = [{name: at(row, path) for name, path in schema.paths.items()} | {"id": row["id"]} for row in rows]
    return pd.DataFrame({name: pd.Series([row[name] for row in plain], dtype=object) for name in plain[0]})


def counting(table):
    """The rows that count, coerced, in whole numbers."""
    batches = list(table.rows([*table.schema.held]))
    return sorted(
        tuple(str(batch[name][place].tolist()) for name in batch)
        for batch in batches
        for place in range(len(batch["age"]))
    )


def answers(table):
    return [np.asarray(bind(query, table.schema).answer(table)).tolist() for query in QUERIES]


@pytest.mark.parametrize("unit", [None, Person("id", 2)], ids=["rows", "people"])
def test_every_source_reads_fields_as_columns_of_their_own_are_read(unit, tmp_path):
    rows = drawn(np.random.default_rng(1), 60)
    given = {} if unit is None else {"unit": unit}
    schema = sf.Schema(SPACES, **given, dataset="d")
    plain = sf.Schema(schema.held, **given, dataset="d")
    alone = sf.read(flat(rows, schema), schema=plain)
    expected = counting(alone)
    kinds = pa.schema([("home", KIND), ("age", pa.int64()), ("id", pa.int64())])
    arrow = pa.Table.from_pylist(rows, kinds)
    pq.write_table(arrow, tmp_path / "d.parquet")
    with open(tmp_path / "d.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*schema.paths, "id"])
        for row in rows:
            lines.writerow([*(written(at(row, path)) for path in schema.paths.values()), row["id"]])
    frame = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in rows[0]})
    polars = pl.from_arrow(arrow)
    native = pd.DataFrame({"home": pd.Series(arrow["home"], dtype=pd.ArrowDtype(KIND)), "age": frame["age"]})
    native["id"] = [row["id"] for row in rows]
    with quiet():
        connection = ibis.duckdb.connect()
        held = connection.create_table("held", arrow)
        lazy = connection.read_parquet(str(tmp_path / "d.parquet"))
    sources = [arrow, frame, polars, native, flat(rows, schema), tmp_path / "d.parquet", held, lazy]
    for place, source in enumerate(sources):
        assert counting(sf.read(source, schema=schema)) == expected, place
    text = sf.read(tmp_path / "d.csv", schema=schema)
    assert counting(text) == counting(sf.read(tmp_path / "d.csv", schema=plain))
    if unit is None:
        assert answers(text) == answers(alone)


def written(value):
    if value is None:
        return ""
    if isinstance(value, list):
        text = [("" if part is None else str(part)) for part in value]
        return ("|" if text and text[0] in ("cat", "dog") else ";").join(text)
    return value.isoformat() if isinstance(value, datetime.datetime) else str(value)


def test_a_declared_column_of_the_same_name_is_refused_and_one_in_the_table_goes_first():
    inner = sf.Record({"rent": sf.Integers(0, 9)})
    with pytest.raises(SchemaError, match="capitals"):
        sf.Schema({"home": inner, "home.Rent": sf.Integers(0, 9)})
    frame = pd.DataFrame({"home": [{"rent": 1}, {"rent": 2}], "home.rent": [7, 8]})
    table = sf.read(frame, schema={"home": inner}, dataset="d")
    assert bind(sf.sum("home.rent"), table.schema).answer(table).tolist() == [15]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"home": [{"size": 1}]}, "home.rent"),
        ({"home": [3]}, "home.rent"),
        ({"house": [3]}, "home.rent"),
    ],
)
def test_tables_without_a_field_are_refused_by_names_and_types(source, words, tmp_path):
    schema = sf.Schema({"home": sf.Record({"rent": sf.Integers(0, 9)})}, dataset="d")
    pq.write_table(pa.table(source), tmp_path / "d.parquet")
    for given in (pa.table(source), tmp_path / "d.parquet"):
        with pytest.raises(SchemaError, match=words):
            sf.read(given, schema=schema)


def test_a_question_about_a_whole_record_names_a_field_to_ask_about():
    schema = sf.Schema({"home": sf.Record({"rent": sf.Integers(0, 9)})})
    with pytest.raises(UnsupportedQuery, match=r"name a field, such as home\.rent"):
        schema.lattice("home")
    with pytest.raises(SfumatoError, match=r"home\.rent"):
        bind(sf.mean("home.rend"), schema)


def test_only_the_fields_that_are_read_make_a_release_another_one():
    asked = recognition.identify(sf.mean("home.rent"), schema_of(9), sf.Pure(1.0)).digest
    assert asked == recognition.identify(sf.mean("home.rent"), schema_of(12), sf.Pure(1.0)).digest
    people = [
        recognition.identify(sf.mean("home.rent"), schema_of(most, Person("id", 2)), sf.Pure(1.0)).digest
        for most in (9, 12)
    ]
    assert len({asked, *people}) == 3


def schema_of(most, unit=None):
    parts = {"rent": sf.Integers(0, 9), "rooms": sf.Integers(0, most)}
    return sf.Schema({"home": sf.Record(parts)}, **({} if unit is None else {"unit": unit}), dataset="d")


@pytest.mark.parametrize("seed", range(2))
def test_the_rows_of_a_person_that_count_are_those_of_the_slow_engine(seed):
    """Arrays, records, sets and times of day together decide which rows count, as they do in plain Python."""
    spaces = {
        "home": HOME,
        "at": sf.Dates("2020-01-01", "2020-12-31"),
        "clock": sf.TimeOfDay("06:00", "20:00", 3600, missing="12:00", of="at"),
    }
    schema = sf.Schema(spaces, Person("id", 2), dataset="d")
    rng = np.random.default_rng([seed, 1])
    rows = [row | {"at": None if row["home"] is None else row["home"]["since"]} for row in drawn(rng, 80)]
    kinds = pa.schema([("home", KIND), ("at", pa.timestamp("ms")), ("id", pa.int64())])
    table = sf.read(pa.Table.from_pylist(rows, kinds), schema=schema)
    for query in (sf.sum("home.at.point"), sf.histogram("home.city"), sf.sum("clock"), sf.sum("home.at.point[1]")):
        statistic = bind(query, schema).statistic
        found = reference.comparable(table.answer(statistic), statistic)
        assert found == reference.answer(rows, statistic, schema), query.name


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame({"home": [math.nan, math.nan]}),
        pd.DataFrame({"home": [1.0, 2.0]}),
        pd.DataFrame({"home": []}),
        pl.DataFrame({"home": [None, None]}),
        pa.table({"home": pa.nulls(2)}),
        pa.table({"home": pa.array([{"at": None}], pa.struct([("at", pa.null())]))}),
    ],
)
def test_a_frame_without_any_record_is_read_like_one_with_some(source):
    home = sf.Record({"at": sf.Record({"floor": sf.Integers(0, 9)})})
    table = sf.read(source, schema={"home": home}, dataset="d")
    assert bind(sf.sum("home.at.floor"), table.schema).answer(table).tolist() == [0]


def test_times_in_mappings_are_read_whatever_stands_beside_them():
    seen = sf.Record({"t": sf.TimeOfDay(), "d": sf.Dates("2020-01-01", "2020-12-31")})
    moment = np.datetime64("2020-05-05T13:45")
    frame = pd.DataFrame({"seen": [{"t": moment, "d": moment}, {"t": "x", "d": 1.5}, 7]})
    table = sf.read(frame, schema={"seen": seen}, dataset="d")
    for column, most in (("seen.t", 13 * 60 + 45), ("seen.d", 125)):
        assert bind(sf.mean(column), table.schema).answer(table).tolist()[0] == most
