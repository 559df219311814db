"""Damaged files are found when the table is opened, before anything can be charged."""

import random

import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.errors import SchemaError
from sfumato.queries import bind, count, discovered, mean, median, top
from thinned import thinned

ROWS = 30_000
SCHEMA = sf.Schema(
    {
        "age": sf.Interval(0, 120, 1), "joined": sf.Dates("2020-01-01", "2030-01-01"), "city": sf.Texts(),
        "state": sf.Categories(["0", "1"]), "hobbies": sf.Subsets([1, 2, 3], cap=2),
    }, dataset="d",
)  # fmt: skip
QUESTIONS = [count(), mean("age").by("state"), median("joined"), top("hobbies", 1), count().by(discovered("city"))]


def table():
    rng = np.random.default_rng(3)
    return pa.table({
        "age": rng.normal(50, 20, ROWS), "joined": pa.array(rng.integers(0, 4000, ROWS), pa.int32()).cast(pa.date32()),
        "city": pa.array(rng.integers(0, 500, ROWS)).cast(pa.string()),
        "state": pa.array(rng.integers(0, 3, ROWS)).cast(pa.string()),
        "hobbies": [[1, 2]] * ROWS, "note": ["not declared"] * ROWS,
    })  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows by three writers."""
    folder, held = tmp_path_factory.mktemp("damage"), table()
    pq.write_table(held, folder / "arrow.parquet", row_group_size=10_000, compression="zstd")
    pl.from_arrow(held).write_parquet(folder / "polars.parquet", compression="snappy")
    with quiet():
        connection = ibis.duckdb.connect(folder / "own.duckdb")
        connection.create_table("held", held)
        connection.disconnect()
    return folder


@pytest.mark.parametrize("name", thinned(["arrow.parquet", "polars.parquet", "own.duckdb"], 1))
def test_whatever_can_be_opened_can_be_answered(name, files, tmp_path):
    """Bytes are overwritten at random: either opening refuses, or no question fails afterwards."""
    whole, rng = (files / name).read_bytes(), random.Random(name)
    refused = []
    for number in range(12):
        broken = bytearray(whole)
        start = rng.randrange(len(broken) - 200)
        broken[start : start + 150] = rng.randbytes(150)
        path = tmp_path / f"{number}-{name}"
        path.write_bytes(broken)
        try:
            held = sf.read(path, schema=SCHEMA)
        except SchemaError as error:
            refused.append((str(error), error.__context__))
            continue
        for question in QUESTIONS:
            held.answer(bind(question, SCHEMA).statistic)
    assert refused
    assert [message for message, context in refused if "cannot be read" not in message or context is not None] == []


def test_damage_in_a_column_that_is_not_declared_is_nobody_s_concern(files, tmp_path):
    held = pq.ParquetFile(files / "arrow.parquet").metadata.row_group(0)
    note = next(held.column(i) for i in range(held.num_columns) if held.column(i).path_in_schema == "note")
    broken = bytearray((files / "arrow.parquet").read_bytes())
    start = note.dictionary_page_offset
    broken[start : start + note.total_compressed_size] = b"\xff" * note.total_compressed_size
    (tmp_path / "a.parquet").write_bytes(broken)
    opened = sf.read(tmp_path / "a.parquet", schema=SCHEMA)
    assert int(opened.answer(bind(count(), SCHEMA).statistic)[0, 0]) == ROWS
