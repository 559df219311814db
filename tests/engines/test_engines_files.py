"""Parquet files of every writer: base rows lie within their bounds, one odd row holds an extreme of every type.

Whatever the odd row holds, declared or not, the answers are the integers of plain Python, and nothing raises.
"""

import itertools
import math
import random
from decimal import Decimal

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from extremes import COLUMNS, NUMBER, check, questions, table_of
from sfumato.engines.backends import quiet
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person, Row
from sfumato.queries import bind, col, count, mean
from sfumato.spaces.schema import Schema
from thinned import thinned


def by_arrow(table, path):
    pq.write_table(table, path)


def by_arrow_in_pieces(table, path):
    pq.write_table(table, path, row_group_size=5, use_dictionary=False, compression="none", data_page_version="2.0")


def without_statistics(table, path):
    pq.write_table(table, path, write_statistics=False)


def with_old_times(table, path):
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)


def by_polars(table, path):
    pl.from_arrow(table).write_parquet(path)


def by_duckdb(table, path):
    connection = duckdb.connect()
    connection.register("held", table)
    connection.execute(f"COPY held TO '{path}' (FORMAT parquet)")


def by_pandas(table, path):
    table.to_pandas().to_parquet(path)


ARROW = [by_arrow, by_arrow_in_pieces, without_statistics]
UNCHECKED = ("number", "label", "text")  # hold bytes that are not UTF-8, which other writers refuse
TIMES = ("day", "ts", "tms", "tus", "tns", "tmsUTC", "tusUTC")  # DuckDB does not take their extremes over from Arrow
CARRIED = {
    by_polars: [name for name in COLUMNS if name not in (*UNCHECKED, "day", "ts", "tns", "f16")],
    by_duckdb: [name for name in COLUMNS if name not in (*UNCHECKED, *TIMES, "f16")],
    by_pandas: ["f32", "f64", "whole", "int8", "int64", "uint64", "coded"],
    with_old_times: ["f64", "int64", "tus", "tns", "tms"],
}  # fmt: skip
WRITERS = [*ARROW, *CARRIED]


UNITS = pytest.mark.parametrize("unit", [Row(), Person("id", 1)], ids=["row", "person"])
ODD = range(5)


def through_a_file(path, writer, names, odd, unit, draw):
    """One question about each column, through a file of this writer."""
    names = names if "f64" in names else [*names, "f64"]
    table, rows = table_of(names, odd, "whole")
    writer(table, path)
    schema = Schema({name: COLUMNS[name].space for name in names}, unit)
    check(path, rows, schema, [count(), *(draw.choice(questions(name)) for name in names)])


def crossed():
    """Every writer with every unit; persons, which take long, with the first writer, the others at leisure."""
    for place, writer in enumerate(WRITERS):
        for unit in (Row(), Person("id", 1)):
            kind = "row" if unit == Row() else "person"
            long = [pytest.mark.heavy] * (place > 0)
            yield pytest.param(writer, unit, marks=long, id=f"{writer.__name__}-{kind}")


@pytest.mark.parametrize(("writer", "unit"), list(crossed()))
def test_answers_through_files_are_those_of_plain_python(tmp_path, writer, unit):
    """Persons, whose rows are ordered by every column, with every other column; all of them at leisure, below."""
    names = list(CARRIED.get(writer, COLUMNS))
    draw = random.Random(f"{writer.__name__} {unit}")
    draw.shuffle(names)
    apart = 5 if unit == Row() else 10
    for odd in ODD:
        through_a_file(tmp_path / f"{odd}.parquet", writer, names[odd::apart], odd, unit, draw)


@pytest.mark.heavy
@UNITS
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_every_column_of_every_writer_at_every_extreme(tmp_path, writer, unit):
    names, draw = list(CARRIED.get(writer, COLUMNS)), random.Random(f"all {writer.__name__} {unit}")
    for odd, start in itertools.product((None, *ODD), range(0, len(names), 8)):
        through_a_file(tmp_path / f"{odd} {start}.parquet", writer, names[start : start + 8], odd, unit, draw)


@pytest.mark.parametrize("writer", thinned(ARROW, 1), ids=lambda writer: writer.__name__)
def test_undeclared_columns_are_never_touched(tmp_path, writer):
    for odd, (kind, unit) in itertools.product(ODD, [("whole", Row()), ("text", Person("id", 1))]):
        table, rows = table_of(COLUMNS, odd, kind, undeclared=True)
        writer(table, tmp_path / "a.parquet")
        check(tmp_path / "a.parquet", rows, Schema({"f64": NUMBER}, unit), [count(), mean("f64")])


def test_identifiers_are_compared_as_bytes(tmp_path):
    held = pa.array([b"caf\xe9", b"caf\xe8", b"caf?", b"caf\xe9", None], pa.binary())
    names = pa.Array.from_buffers(pa.string(), len(held), held.buffers())
    pq.write_table(pa.table({"f64": [1.0, 2.0, 3.0, 4.0, 5.0], "id": names}), tmp_path / "a.parquet")
    table = sf.read(tmp_path / "a.parquet", schema=Schema({"f64": NUMBER}, Person("id", 1)))
    assert table.answer(bind(count(), table.schema).statistic).tolist() == [[3]]


WIDE = pytest.mark.parametrize("kind", [pa.decimal256(40, 0), pa.decimal256(60, 5), pa.decimal256(38, 2)], ids=str)


@WIDE
def test_no_two_persons_with_identifiers_of_many_digits_are_one(tmp_path, kind):
    """Were two of them one, the rows of the first would come in where those of the second are taken out."""
    ids = [10**30 + place for place in range(5)] + [10**30, None]
    held = {"id": pa.array([None if one is None else Decimal(one) for one in ids], kind), "f64": [1.0] * len(ids)}
    pq.write_table(pa.table({**held, "time": pa.array(range(len(ids)), pa.timestamp("us"))}), tmp_path / "a.parquet")
    for spaces in ({"f64": NUMBER}, {"f64": NUMBER, "time": sf.Dates("1970-01-01", "1970-12-31")}):
        table = sf.read(tmp_path / "a.parquet", schema=Schema(spaces, Person("id", 1)))
        assert table.answer(bind(count(), table.schema).statistic).tolist() == [[5]]


@pytest.mark.parametrize("kind", [pa.binary(), pa.decimal256(60, 5)], ids=str)
@pytest.mark.parametrize("several", [lambda kind: pa.list_(kind), lambda kind: pa.struct([("part", kind)])])
def test_identifiers_of_several_parts_that_may_be_read_as_one_are_refused(tmp_path, kind, several):
    ids = pa.array([], several(kind))
    pq.write_table(pa.table({"id": ids, "f64": pa.array([], pa.float64())}), tmp_path / "a.parquet")
    with pytest.raises(SchemaError, match=r"'id' identifies persons by lists or records.*store one number or text"):
        sf.read(tmp_path / "a.parquet", schema=Schema({"f64": NUMBER}, Person("id", 1)))
    whole = pa.table({"id": pa.array([[1], [2], [2]], pa.list_(pa.int64())), "f64": [1.0, 2.0, 3.0]})
    pq.write_table(whole, tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=r"'id' identifies persons and is of the DuckDB type list"):
        sf.read(tmp_path / "b.parquet", schema=Schema({"f64": NUMBER}, Person("id", 1)))


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.list_(pa.timestamp("ns"))], ids=str)
def test_identifiers_that_are_times_of_the_old_form_are_refused(tmp_path, kind):
    """They are read as microseconds, of which several persons may have one; other times keep all their digits."""
    ids = pa.array([1, 2, 1001], pa.timestamp("ns"))
    ids = pa.array([[one] for one in ids], kind) if pa.types.is_list(kind) else ids
    for place, old in enumerate((False, True)):
        held = pa.table({"id": ids, "f64": [1.0, 2.0, 3.0]}).cast(pa.schema({"id": kind, "f64": pa.float64()}))
        pq.write_table(held, tmp_path / f"{place}.parquet", use_deprecated_int96_timestamps=old)
    schema = Schema({"f64": NUMBER}, Person("id", 1))
    with pytest.raises(SchemaError, match="identifies persons by times of the old form INT96"):
        sf.read(tmp_path / "1.parquet", schema=schema)
    sf.read(tmp_path / "1.parquet", schema=Schema({"f64": NUMBER}))
    if kind == pa.timestamp("ns"):
        table = sf.read(tmp_path / "0.parquet", schema=schema)
        assert table.answer(bind(count(), table.schema).statistic).tolist() == [[3]]


@WIDE
def test_numbers_of_many_digits_are_read_beside_codes_times_and_identifiers(tmp_path, kind):
    numbers = pa.array([Decimal(1), Decimal(2), Decimal(-(10**30)), None], kind)
    held = {"n": numbers, "id": numbers, "time": pa.array(range(4), pa.timestamp("us"))}
    pq.write_table(pa.table(held), tmp_path / "a.parquet")
    times = {"time": sf.Dates("1970-01-01", "1970-12-31")}
    for more, unit in itertools.product([{}, times], [Row(), Person("id", 1)]):
        table = sf.read(tmp_path / "a.parquet", schema=Schema({"n": sf.Integers(0, 5, na=[2]), **more}, unit))
        assert table.answer(bind(count().where("n is not null"), table.schema).statistic).tolist() == [[2]]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_rows_whose_identifier_is_no_number_belong_to_nobody(tmp_path, kind):
    """NaN is no person: were it one, whoever has it could push out the rows of the others who have it."""
    draw = random.Random(11)
    ids = [draw.choice([1.0, 2.0, 3.0, math.nan, None]) for _ in range(200)]
    pq.write_table(pa.table({"who": pa.array(ids, kind), "v": [1.0] * 200}), tmp_path / "t.parquet")
    table = sf.read(tmp_path / "t.parquet", schema={"v": sf.Interval(0, 1)}, unit="who", rows=7)
    question = bind(sf.count(), table.schema)
    people = {number: ids.count(number) for number in (1.0, 2.0, 3.0)}
    assert int(question.vector(table.answer(question.statistic))[0]) == sum(min(7, rows) for rows in people.values())
    assert sf.check(table).units == 3


COLLATED = "id VARCHAR COLLATE NOCASE, c VARCHAR COLLATE NOCASE.NOACCENT, s VARCHAR[], f64 DOUBLE"
HELD = "('a', 'ca', ['x', 'X'], 1), ('A', 'CA', ['X'], 2), ('b', 'Ca', ['x'], 3), ('B', 'c\u00e1', NULL, 4)"


@pytest.mark.parametrize("form", ["file", "table"])
def test_a_column_s_own_collation_changes_no_answer(tmp_path, form):
    """Texts are compared as bytes: no row is in two cells, and no two persons are one."""
    with quiet():
        connection = ibis.duckdb.connect(tmp_path / "a.duckdb")
        connection.raw_sql(f"CREATE TABLE held ({COLLATED})")
        connection.raw_sql(f"INSERT INTO held VALUES {HELD}")
        source = connection.table("held")
        if form == "file":
            connection.disconnect()
            source = tmp_path / "a.duckdb"
    spaces = {"c": sf.Categories(["ca", "CA", "CÁ"]), "s": sf.Subsets(["x", "X"], cap=2), "f64": NUMBER}
    for unit in (Row(), Person("id", 1)):
        table = sf.read(source, schema=Schema(spaces, unit, dataset="d"))
        asked = {
            question: bind(question, table.schema)
            for question in (count(), count().by("c"), count().where(col("s").contains("x")))
        }
        found = [question.vector(table.answer(question.statistic)).tolist() for question in asked.values()]
        assert found == [[4], [1, 1, 0], [2]], unit


def test_columns_that_differ_in_capitals_are_refused_before_anything_is_read(tmp_path):
    pq.write_table(pa.table({"Age": ["x", "y"], "age": [1, 2], "f64": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(SchemaError, match=r"'age' but for capitals.*rename"):
        sf.read(tmp_path / "a.parquet", schema={"age": sf.Integers(0, 5)})
    assert sf.read(tmp_path / "a.parquet", schema={"f64": NUMBER}) is not None


@pytest.mark.parametrize("beside", [pa.array([1, 2, 3]), pa.array([1, 2, 3], pa.timestamp("ms"))], ids=str)
def test_a_column_of_no_type_is_all_missing(tmp_path, beside):
    held = {name: pa.nulls(3) for name in ("n", "c", "s", "d")} | {"t": beside, "x": [1, 2, 4]}
    pq.write_table(pa.table(held), tmp_path / "held.parquet")
    spaces = {
        "n": sf.Integers(0, 9), "c": sf.Categories(["a"]), "s": sf.Subsets(["p"], cap=1), "x": sf.Integers(0, 9),
        "d": sf.Dates("2020-01-01", "2020-12-31", missing="2020-05-05"),
        "t": sf.Dates("1970-01-01", "1970-12-31") if pa.types.is_timestamp(beside.type) else sf.Integers(0, 9),
    }  # fmt: skip
    table = sf.read(tmp_path / "held.parquet", schema=spaces, dataset="d")
    for query, answer in (
        (count(), [3]), (sf.sum("n"), [0]), (count().by("c"), [0]), (count().where("n is null"), [3]),
        (count().where("d == '2020-05-05' and x > 1"), [2]), (count().where("'p' in s"), [0]),
    ):  # fmt: skip
        assert bind(query, table.schema).answer(table).tolist() == answer


FURTHEST = [-(2**31), -(2**31) + 1, -3_000_001, -719_163, 0, 18_000, 18_365, 2_932_897, 2**31 - 2, 2**31 - 1, None]


@pytest.mark.parametrize("beside", [{}, {"time": pa.array([0] * len(FURTHEST), pa.timestamp("ms"))}])
def test_days_of_files_clip_however_far_they_are(tmp_path, beside):
    """By DuckDB itself, whose infinities are two of them, and through Arrow, where times lie beside."""
    days = pa.array(FURTHEST, pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"day": days, **beside}), tmp_path / "d.parquet")
    space = sf.Dates("2019-01-01", "2021-01-01", na=["9999-12-31"])
    spaces = {"day": space, **{name: sf.Dates("1970-01-01", "1980-01-01") for name in beside}}
    table = sf.read(tmp_path / "d.parquet", schema=spaces)
    low, high = space.lattice.low, space.lattice.high
    expected = [-1 if day is None else min(max(day, low), high) - low for day in FURTHEST]
    assert sorted(place for batch in table.rows(["day"]) for place in batch["day"].tolist()) == sorted(expected)


def test_persons_whose_identifiers_are_far_days_stay_apart(tmp_path):
    days = [-(2**31) + 2, -3_000_002, -3_000_001, 0, 3_000_001, 3_000_002, 2**31 - 2]
    path = tmp_path / "days.parquet"
    pq.write_table(pa.table({"id": pa.array(days, pa.int32()).cast(pa.date32()), "x": [1.0] * len(days)}), path)
    table = sf.read(path, schema={"x": sf.Interval(0, 1, step=1)}, unit="id", rows=1, dataset="days", size=10)
    session = sf.Session(table, budget=sf.Pure(1e6), ledger=tmp_path / "ledger")
    assert session.release(sf.sum("x"), spend=1e5).value == len(days)
