"""Parquet files on Spark: the same odd rows as on DuckDB, and settings of the user's own."""

import os
import random
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from extremes import COLUMNS, check, questions, table_of
from sfumato.engines.backends import quiet
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person, Row
from sfumato.queries import bind, count, mean
from sfumato.spaces.schema import Schema

pytestmark = pytest.mark.spark

CARRIED = ["f32", "f64", "d38", "label", "number", "text", "items", "coded", "int64", "uint64", "day", "tus", "tusUTC"]
REBASING = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")


@pytest.fixture(scope="module")
def spark():
    """A local Spark session whose owner wants old dates to raise."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("sfumato").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def opened(session, path, name):
    """A view over a file, as an Ibis table."""
    import ibis

    with quiet():
        for setting in REBASING:
            session.conf.set(setting, "EXCEPTION")
        session.read.parquet(str(path)).createOrReplaceTempView(name)
        return ibis.pyspark.connect(session).table(name)


@pytest.mark.parametrize("unit", [Row(), Person("id", 1)], ids=["row", "person"])
@pytest.mark.parametrize("odd", range(5))
def test_answers_through_files_on_spark_are_those_of_plain_python(spark, tmp_path, odd, unit):
    draw = random.Random(f"{odd} {unit}")
    names = list(dict.fromkeys([*draw.sample(CARRIED, 4), "f64", ["text", "tus", "day", "f32", "label"][odd]]))
    table, rows = table_of([*names, "tms"], odd, "text")  # the last one is not declared, so it is not read
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=odd == 3)
    source = opened(spark, tmp_path / "a.parquet", f"held{odd}{type(unit).__name__}")
    asked = [count(), *(draw.choice(questions(name)) for name in names)]
    rows = [row | {"id": f"p{row['id']}"} for row in rows]
    check(source, rows, Schema({name: COLUMNS[name].space for name in names}, unit), asked)


def test_times_in_milliseconds_are_refused_by_name(spark, tmp_path):
    table, _ = table_of(["tms"], None, "whole")
    pq.write_table(table, tmp_path / "a.parquet")
    source = opened(spark, tmp_path / "a.parquet", "times")
    with pytest.raises(SchemaError, match=r"milliseconds \(tms\).*store them in microseconds"):
        sf.read(source, schema=Schema({"tms": COLUMNS["tms"].space}))


def test_settings_changed_after_opening_change_no_answer(spark, tmp_path):
    table, rows = table_of(["number", "day"], 1, "whole")
    pq.write_table(table, tmp_path / "a.parquet")
    schema = Schema({name: COLUMNS[name].space for name in ("number", "day")})
    source = opened(spark, tmp_path / "a.parquet", "changed")
    held = sf.read(source, schema=schema)
    spark.conf.set("spark.sql.ansi.enabled", "true")
    check(held.source, rows, schema, [mean("number"), mean("day")])


def test_a_column_s_own_collation_changes_no_answer_on_spark(spark):
    import ibis

    held = "SELECT id COLLATE UTF8_LCASE AS id, c COLLATE UTF8_LCASE AS c, 1.0D AS f64 FROM VALUES"
    spark.sql(f"{held} ('a', 'ca'), ('A', 'CA'), ('b', 'Ca') AS t(id, c)").createOrReplaceTempView("collated")
    with quiet():
        source = ibis.pyspark.connect(spark).table("collated")
    for unit in (Row(), Person("id", 1)):
        schema = Schema({"c": sf.Categories(["ca", "CA"]), "f64": COLUMNS["f64"].space}, unit, dataset="d")
        asked = [bind(question, schema) for question in (count(), count().by("c"))]
        table = sf.read(source, schema=schema)
        assert [question.vector(table.answer(question.statistic)).tolist() for question in asked] == [[3], [1, 1]], unit


def test_rows_come_before_the_last_partition_is_computed(spark):
    computed, parts = spark.sparkContext.accumulator(0), 6

    def recorded(batches):
        computed.add(1)
        yield from batches

    frame = spark.range(0, 60_000, 1, parts).selectExpr("cast(id % 97 as double) AS x").mapInArrow(recorded, "x double")
    rows = sf.read(frame, schema={"x": sf.Interval(0, 100, 1)}, dataset="d").rows(["x"])
    first = next(rows)
    assert computed.value <= 2  # the one that was handed out, and the next
    found = np.bincount(np.concatenate([batch["x"] for batch in (first, *rows)]))
    assert computed.value == parts
    assert (found == np.bincount(np.arange(60_000) % 97)).all()


def test_a_table_that_is_drawn_anew_each_time_is_refused(spark):
    from pyspark.sql import functions

    for frame in (spark.range(9).select(functions.rand().alias("x")), spark.range(9).filter("rand() < 0.5")):
        with pytest.raises(SchemaError, match=r"drawn at random.*store its rows"):
            sf.read(frame, schema={"x": sf.Interval(0, 1, 0.1)}, dataset="d")
