"""Which files a source names: folders with partitions, names with strange characters, lists, object stores."""

import builtins
import datetime
import os
from urllib.parse import quote

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import column_types
from sfumato.engines.files import seen_from_here
from sfumato.errors import SchemaError
from sfumato.queries import bind, count, sum
from sfumato.queries.aggregation import Distinct

AGE = {"age": sf.Interval(0, 100, 1)}
ROWS = pa.table(
    {
        "age": [30.0, 40.0, 50.0, 7.0, 1.0],
        "day": [datetime.date(2026, 1, 1 + i) for i in range(5)],
        "month": ["1", "1", "12", None, "1"],
        "city": ["a/b", "Ulm", "a/b", "Ulm", "0"],
    }
)
PARTS = {**AGE, "month": sf.Integers(1, 12), "city": sf.Categories(["a/b", "Ulm"])}
TIMED = {**PARTS, "day": sf.Dates("2026-01-01", "2026-12-31")}


def totals(source, columns, *queries, **given):
    """The last measure of each exact answer."""
    table = sf.read(source, schema=columns, dataset="d", **given)
    return [table.answer(bind(query, table.schema).statistic)[-1].tolist() for query in queries]


@pytest.fixture
def folder(tmp_path):
    """A folder as other programs write it, with marks beside the data."""
    parts = ds.partitioning(pa.schema([("month", pa.string()), ("city", pa.string())]), flavor="hive")
    ds.write_dataset(ROWS, tmp_path / "people", format="parquet", partitioning=parts)
    (tmp_path / "people" / "_SUCCESS").touch()
    (tmp_path / "people" / ".part.crc").touch()
    return tmp_path / "people"


@pytest.mark.parametrize("columns", [PARTS, TIMED], ids=["by DuckDB", "through Arrow"])
def test_partitions_of_a_folder_are_columns_of_declared_types(folder, columns):
    asked = [sum("month"), count().by("city"), count().where("month is null"), sum("age").where("month <= 1")]
    for source in (folder, str(folder), folder.as_uri()):
        assert totals(source, columns, *asked) == [[0 + 0 + 11 + 0], [2, 2], [1], [30 + 40 + 1]]
    assert column_types(folder)["month"] == "string"


ODD = ["x=y", "%ff", "%00", "a\nb", "a?b", "\\", "a'b", '"', "*", "[1]", " ", "", "NULL", "__HIVE_DEFAULT_PARTITION__"]


@pytest.mark.parametrize("more", [{}, {"day": TIMED["day"]}], ids=["by DuckDB", "through Arrow"])
def test_no_name_of_a_partition_raises_or_is_taken_for_another(tmp_path, more):
    for name in ["Ulm", *ODD]:
        (tmp_path / "people" / f"city={name}").mkdir(parents=True)
        with (tmp_path / "people" / f"city={name}" / "a.parquet").open("wb") as file:
            pq.write_table(ROWS.select(["age", "day"]), file)
    meant = ["?" if name == "%ff" else "\0" if name == "%00" else name for name in ["Ulm", *ODD[:-1]]]
    columns = {**AGE, "city": sf.Texts(50), **more}
    table = sf.read(tmp_path / "people", schema=columns, dataset="d")
    values, counts = table.answer(Distinct(None, "city"))
    assert dict(zip(values, counts.tolist(), strict=True)) == dict.fromkeys(meant, 5)
    assert totals(tmp_path / "people", columns, count()) == [[5 * (len(ODD) + 1)]]


def test_folders_that_no_engine_reads_whole_are_refused_in_words(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    pq.write_table(ROWS.select(["age"]), tmp_path / "elsewhere" / "a.parquet")
    (folder / "month=2").mkdir()
    (folder / "month=2" / "city=Ulm").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SchemaError, match="links to folders, whose rows would be left out"):
        totals(folder, AGE)
    (folder / "month=2" / "city=Ulm").unlink()
    strange = os.fsdecode(b"city=\xff")
    (folder / "month=2" / strange).mkdir()
    with (folder / "month=2" / strange / "a.parquet").open("wb") as file:
        pq.write_table(ROWS.select(["age"]), file)
    with pytest.raises(SchemaError, match="not UTF-8"):
        totals(folder, AGE)


def test_folders_that_are_no_table_are_refused(folder, tmp_path):
    with pytest.raises(SchemaError, match="identifies persons and is part of the files' paths"):
        sf.read(folder, schema=AGE, unit="city", rows=1, dataset="d")
    (folder / "more").mkdir()
    pq.write_table(ROWS.select(["age"]), folder / "more" / "a.parquet")
    with pytest.raises(SchemaError, match="folders of different columns"):
        totals(folder, AGE)
    (folder / "notes.csv").touch()
    with pytest.raises(SchemaError, match=r"not Parquet, such as notes\.csv, whose rows would be left out"):
        totals(folder, AGE)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SchemaError, match="holds no Parquet file"):
        totals(tmp_path / "empty", AGE)
    (tmp_path / "twice" / "age=3").mkdir(parents=True)
    pq.write_table(ROWS.select(["age"]), tmp_path / "twice" / "age=3" / "a.parquet")
    with pytest.raises(SchemaError, match="'age' is a column of the files and part of their paths"):
        totals(tmp_path / "twice", AGE)


@pytest.mark.parametrize("name", ["a*.parquet", "a[12].parquet", "a?.parquet", "{version}.parquet", "a,b'.parquet"])
def test_a_path_that_exists_is_no_pattern(tmp_path, name):
    for other in ("a1.parquet", "ab.parquet"):
        pq.write_table(pa.table({"age": [90.0]}), tmp_path / other)
    pq.write_table(pa.table({"age": [2.0]}), tmp_path / name)
    assert totals(tmp_path / name, AGE, sum("age")) == [[2]]


def test_a_star_alone_is_special_and_in_every_part_of_a_path(tmp_path):
    for place, name in enumerate(["y[1]/m1", "y[1]/m2", "y1/m3"]):
        (tmp_path / name).mkdir(parents=True)
        pq.write_table(pa.table({"age": [10.0**place]}), tmp_path / name / "a.parquet")
    assert totals(tmp_path / "y[1]" / "*" / "a.parquet", AGE, sum("age")) == [[11]]
    assert totals(tmp_path / "y*" / "m*" / "*.parquet", AGE, sum("age")) == [[100 + 11]]
    with pytest.raises(SchemaError, match="matches folders"):
        totals(tmp_path / "y*", AGE)
    with pytest.raises(SchemaError, match="there is no file"):
        totals(tmp_path / "y[1]" / "m?" / "a.parquet", AGE)


def test_what_a_writer_left_is_matched_only_by_its_own_name(tmp_path):
    """As in a folder: hidden files, and those that begin with _, are no data; a pattern that begins so means them."""
    for name in ("a", "_b", ".c"):
        (tmp_path / f"{name}d").mkdir()
        pq.write_table(ROWS.slice(0, 1), tmp_path / f"{name}.parquet")
        pq.write_table(ROWS.slice(0, 1), tmp_path / f"{name}d" / "x.parquet")
    for pattern in ("*.parquet", "*/*.parquet", "_*.parquet", ".c*/x.parquet"):
        assert totals(tmp_path / pattern, AGE, count()) == [[1]]
    with pytest.raises(SchemaError, match=r"\*\* stands for no folders here; name the folder"):
        totals(tmp_path / "**" / "*.parquet", AGE, count())


@pytest.mark.parametrize("target", ["gone.parquet", "b.parquet"], ids=["dangling", "a loop"])
def test_links_that_lead_nowhere_are_refused_and_not_left_out(tmp_path, target):
    pq.write_table(ROWS, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").symlink_to(tmp_path / target)
    for source in (tmp_path, tmp_path / "*.parquet", tmp_path / "b*.parquet"):
        with pytest.raises(SchemaError, match=r"b\.parquet is a link that leads nowhere"):
            totals(source, AGE, count())
        with pytest.raises(SchemaError, match="leads nowhere"):
            seen_from_here(source)
    with pytest.raises(SchemaError, match=r"there is no file .*b\.parquet|leads nowhere"):
        totals(tmp_path / "b.parquet", AGE, count())


def test_of_many_files_the_one_that_is_damaged_is_named(tmp_path):
    for place in range(5):
        pq.write_table(ROWS, tmp_path / f"{place}.parquet")
    (tmp_path / "3.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SchemaError, match=r"3\.parquet, number 4 of .* cannot be read as a \.parquet file"):
        totals(tmp_path, AGE, count())


def test_a_home_is_not_looked_up_and_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    pq.write_table(ROWS, "~.parquet")
    pq.write_table(ROWS.slice(0, 1), "home.parquet")  # what an engine makes of the first
    assert totals("~.parquet", AGE, count()) == [[5]]
    with duckdb.connect(tmp_path / "~.duckdb") as connection:
        connection.execute("CREATE TABLE held AS SELECT * FROM 'home.parquet'")
    assert totals("~.duckdb", AGE, count()) == [[1]]
    with pytest.raises(SchemaError, match="in which ~ stands for no folder"):
        totals("~/a.parquet", AGE, count())
    (tmp_path / "~/part").mkdir(parents=True)
    (tmp_path / "home/part").mkdir(parents=True)
    pq.write_table(ROWS, tmp_path / "~/part/a.parquet")
    assert totals("~", AGE, count()) == totals("~/part/a.parquet", AGE, count()) == [[5]]
    pq.write_table(ROWS.slice(0, 1), tmp_path / "home/part/a.parquet")  # what Arrow makes of it
    assert totals("~", AGE, count()) == totals("~/part/*.parquet", AGE, count()) == [[5]]


@pytest.mark.parametrize("low", [-5, 3, -(2**40)])
@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int8(), pa.int16(), pa.int64()])
def test_whole_numbers_of_every_type_are_taken_into_bounds_of_either_sign(tmp_path, kind, low):
    values = [0, 1, 4, 100, 127, None]
    pq.write_table(pa.table({"x": pa.array(values, kind)}), tmp_path / "x.parquet")
    held = [min(max(value, low), 120) - low for value in values if value is not None]
    for source in (tmp_path / "x.parquet", pq.read_table(tmp_path / "x.parquet").to_pandas(types_mapper=pd.ArrowDtype)):
        assert totals(source, {"x": sf.Integers(low, 120)}, sum("x")) == [[builtins.sum(held)]]


def test_several_text_files_are_one_table(tmp_path):
    for place, ending in enumerate(("csv", "tsv")):
        (tmp_path / f"{place}.{ending}").write_text(f"age\n{place + 1}\nx\n")
    files = [tmp_path / "0.csv", tmp_path / "1.tsv"]
    assert totals(files, AGE, sum("age"), count()) == [[3], [4]]
    with pytest.raises(SchemaError, match="named twice"):
        totals([files[0], files[0]], AGE)


def test_lazy_frames_are_read_by_their_declared_columns():
    frame = pl.DataFrame({"age": [1.0, None, 3.0], "name": ["a", "b", "c"]})
    for source in (frame, frame.lazy(), frame.lazy().filter(pl.col("name") != "zz")):
        assert totals(source, AGE, sum("age"), count()) == [[4], [3]]


def test_addresses_of_stores_say_what_they_need(tmp_path):
    pq.write_table(pa.table({"age": [2.0]}), tmp_path / "a b.parquet")
    assert totals(f"file://{quote(str(tmp_path / 'a b.parquet'))}", AGE, sum("age")) == [[2]]
    for address, words in [
        ("https://example.org/a.parquet", "https:// are not read"),
        ("s3://key:secret@bucket/a.parquet", "credentials into the environment"),
        ("s3://bucket/a.parquet?region=eu&secret_key=secret", "credentials into the environment"),
        ("abfss://people@place/a.parquet?sas%5ftoken=secret", "credentials into the environment"),
        (f"file://{tmp_path}/none", "cannot be read; check the address"),
        (f"file://{tmp_path}/a.csv", "cannot be read; check the address"),
    ]:
        with pytest.raises(SchemaError, match=words) as caught:
            totals(address, AGE)
        assert "secret" not in str(caught.value)
