"""Labels, truths, codes and dates: every source and spelling gives the integers of plain Python."""

import datetime
import gzip
import random
from decimal import Decimal

import ibis
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reference
import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.queries import bind, count, histogram, sum, top
from sfumato.spaces.schema import Schema
from thinned import thinned

COLUMNS = {
    "rooms": sf.Categories([1, 2, 30], other=0, missing=4, na=[9, "unknown"]),
    "plain": sf.Categories([1, 2, 30]),
    "flag": sf.Categories([False, True]),
    "filled": sf.Categories([False, True], missing=False, na=[9]),
    "age": sf.Interval(0, 120, 1, na=[99, "-1"]),
    "filled_age": sf.Integers(0, 120, missing=7, na=[99]),
    "state": sf.Categories(["CA", "NY"], other="else", missing="none", na=["?", 99]),
    "day": sf.Dates("2020-01-01", "2020-12-31", na=["9999-12-31"]),
}  # fmt: skip
QUESTIONS = [
    histogram("rooms"), histogram("plain"), histogram("flag", "filled"), sum("age").by("flag"), sum("filled_age"),
    histogram("state"), sum("day"), count().where(sf.col("flag") == True),  # noqa: E712
    count().where(sf.col("filled").isin([False])), top("rooms", 2), count().where("rooms != 0"),
]  # fmt: skip

WHOLES = [1, 2, 30, 9, 7, 0, 4, None]
TYPED = {
    "rooms": [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.string()],
    "plain": [pa.int16(), pa.uint8(), pa.float16(), pa.float64(), pa.string()],
    "flag": [pa.bool_(), pa.int8(), pa.float64(), pa.string()],
    "filled": [pa.int8(), pa.float64(), pa.string()],
    "age": [pa.int8(), pa.int64(), pa.uint64(), pa.float64(), pa.decimal128(9, 2), pa.string()],
    "filled_age": [pa.int64(), pa.float32(), pa.string()],
    "state": [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    "day": [pa.date32(), pa.timestamp("us"), pa.string()],
}  # fmt: skip
VALUES = {
    "rooms": WHOLES,
    "plain": WHOLES,
    "flag": [True, False, None],
    "filled": [1, 0, 9, None],
    "age": [0, 99, 40, 120, 100, None],
    "filled_age": [0, 99, 40, 120, 119, None],
    "state": ["CA", "NY", "?", "99", "ca", "", None],
    "day": [datetime.date(2020, 5, 5), datetime.date(9999, 12, 31), datetime.date(1999, 1, 1), None],
}


def typed(values, kind):
    """The values as a column of one type."""
    if pa.types.is_string(kind):
        return pa.array([None if value is None else str(value) for value in values], kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if value is None else Decimal(value) for value in values], kind)
    if pa.types.is_timestamp(kind):
        times = [value and datetime.datetime(value.year, value.month, value.day, 23) for value in values]
        return pa.array(times, kind)
    if pa.types.is_float16(kind):
        return pa.array(values, pa.float32()).cast(kind)
    if all(value is None or isinstance(value, bool) for value in values) and not pa.types.is_boolean(kind):
        return pa.array([None if value is None else int(value) for value in values], pa.int8()).cast(kind)
    return pa.array(values).cast(kind)


def drawn(seed):
    """A table of random rows, each column of a random type that fits; and the rows in plain Python."""
    rng = random.Random(seed)
    columns = {name: typed(rng.choices(VALUES[name], k=40), rng.choice(TYPED[name])) for name in COLUMNS}
    table = pa.table(columns)
    return table, table.to_pylist()


def stored(table, path):
    """The same table in a DuckDB file."""
    with quiet():
        connection = ibis.duckdb.connect(path)
        connection.create_table("held", table)
        connection.disconnect()
    return path


def parquet(table, path):
    pq.write_table(table, path)
    return path


def text_file(table, path, separator=","):
    """The same rows as a text file."""
    lines = [
        separator.join("" if value is None else f'"{value}"' for value in row.values()) for row in table.to_pylist()
    ]
    content = "\n".join([separator.join(table.column_names), *lines]).encode() + b"\n"
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


SOURCES = {
    "csv": lambda table, folder: text_file(table, folder / "a.csv"),
    "tsv": lambda table, folder: text_file(table, folder / "a.tsv", "\t"),
    "gz": lambda table, folder: text_file(table, folder / "a.csv.gz"),
    "nullable": lambda table, folder: table.to_pandas().convert_dtypes(),
    "categorical": lambda table, folder: table.to_pandas().astype("category"),
    "arrow": lambda table, folder: table,
    "pandas": lambda table, folder: table.to_pandas(),
    "objects": lambda table, folder: table.to_pandas().astype(object),
    "polars": lambda table, folder: pl.from_arrow(table),
    "parquet": lambda table, folder: parquet(table, folder / "a.parquet"),
    "duckdb": lambda table, folder: stored(table, folder / "a.duckdb"),
}


@pytest.mark.parametrize("seed", thinned(range(3), 1))
@pytest.mark.parametrize("source", SOURCES)
def test_labels_codes_and_dates_are_those_of_plain_python(source, seed, tmp_path):
    held, rows = drawn(seed)
    if source in ("csv", "tsv", "gz"):  # an empty field is null, as the documentation says
        rows = [{name: None if value == "" else value for name, value in row.items()} for row in rows]
    schema = Schema(COLUMNS, dataset="d")
    table = sf.read(SOURCES[source](held, tmp_path), schema=schema)
    for question in QUESTIONS:
        statistic = bind(question, schema).statistic
        found = reference.comparable(table.answer(statistic), statistic)
        assert found == reference.answer(rows, statistic, schema), question.name
