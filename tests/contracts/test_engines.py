"""The contract of engines: the same whole numbers as plain Python, on every backend, whatever the rows hold."""

import math
import os
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

import reference
import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.privacy.adjacency import Person, Row
from sfumato.queries import bind, bins, col, count, discovered, histogram, mean, median, sum, top, variance
from sfumato.schema import Schema

ENGINES = ["duckdb", pytest.param("spark", marks=pytest.mark.spark)]

COLUMNS = {
    "x": sf.Interval(-2.5, 7.5, 0.1),
    "n": sf.Integers(-5, 300, missing=7),
    "d": sf.Interval(-3000, 3000, 3),
    "t": sf.Interval(0, 1, 1e-4, missing=0.5),
    "wide": sf.Interval(0, 2**30, 1),
    "c": sf.Categories(["a", "b", "é"], other="else", missing="none"),
    "label": sf.Categories([0, 1, 300]),
    "h": sf.Subsets(["judo", "go", "é", "chess"], cap=2),
    "g": sf.Subsets([1, 20, 3], cap=2, separator="|"),
    "value": sf.Texts(3),
}

HOSTILE = pa.table(
    {
        "x": pa.array([math.nan, math.inf, -math.inf, 1e308, -0.0, None, 0.25, 0.15, 7.45, -2.449999999, 5e-324, 0.05]),
        "n": pa.array([2**63 - 1, -(2**63), None, 0, 300, -5, 301, -6, 7, 7, 8, 9], pa.int64()),
        "d": pa.array([None, *(Decimal(v) for v in ("1.5", "-1.5", "4.5", "1e20", "-1e20", "3", "2.9999999999", "0",
                                                    "-0.5", "1499.9", "7"))], pa.decimal128(38, 10)),
        "t": pa.array(["0.00005", " 1e-4", "nan", "inf", "-inf", "1e999", "", None, "0x1", "1_0", "0.5\n", ".5\t"]),
        "wide": pa.array([2.0**30] * 6 + [2.0**30 - 0.5, 0.4, 0.5, None, math.nan, 1e9]),
        "c": pa.array(["a", "b", "é", "A", "", None, "a ", "else", "none", "a", "b", "zzz"]),
        "label": pa.array(["0", " 1", "+300", "300.0", None, "", "9" * 30, "-0", "1", "0", "0", "300"]),
        "h": pa.array([["go", "go", None, "golf"], ["judo", "go", "é", "chess"], [], None, [None], ["é"], ["", "go"],
                       ["chess"], ["judo"], ["go"], ["go", "judo"], ["GO"]]),
        "g": pa.array(["1|20", "3 | 1|1|20", "", None, "|", "20", "x|3", "03", "1", "99", "1;3", "3"]),
        "value": pa.array(["Ljubljana", "Lju", "", None, "日本語文字", "a", "a", "b", "b", "c", "é", "x\x1fy"]),
        "id": pa.array([1, 1, 1, 1, 2, 2, None, 3, 3, None, 4, 2], pa.int64()),
    }
)  # fmt: skip

UNITS = [Row(), Person("id", 1), Person("id", 3)]
QUESTIONS = [
    count(),
    count().where("x >= 0.2 or not (c == 'a')"),
    count().where((col("h").contains("go") | col("g").contains(3)) & ~(col("n") < 7)),
    histogram("c", "label"),
    histogram(bins("x", -2.5, 0, 0.1, 7.5), bins("n", -5, 305, count=10)),
    sum("d").by("c"),
    sum("wide"),
    mean("x").by("label", "c"),
    mean("t").where("label != 0"),
    variance("wide"),
    variance("n").by(bins("x", -2.5, 0, 2.5, 5, 7.5)),
    median("x").by("c"),
    median("d"),
    median("t"),
    top("h", 2).by("label"),
    top("g", 2),
    top("c", 2),
    count().by(discovered("value")),
    count().where("x < 1").by(discovered("value")),
]


@pytest.fixture(scope="module")
def spark():
    """A local Spark session."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("sfumato").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(params=ENGINES)
def opened(request):
    """A function from an Arrow table to what `sf.read` takes, on one backend."""
    if request.param == "duckdb":
        return lambda table: table
    import ibis

    session = request.getfixturevalue("spark")

    def on_spark(table):
        with quiet():
            session.createDataFrame(table).createOrReplaceTempView("held")
            return ibis.pyspark.connect(session).table("held")

    return on_spark


def asked(source, rows, schema, questions):
    """Every question's answer on the engine beside the reference's."""
    table = sf.read(source, schema=schema)
    for question in questions:
        statistic = bind(question, schema).statistic
        found = reference.comparable(table.answer(statistic), statistic)
        yield question.name, found, reference.answer(rows, statistic, schema)


@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_hostile_rows_give_the_integers_of_plain_python(opened, unit):
    schema = Schema(COLUMNS, unit)
    for name, found, expected in asked(opened(HOSTILE), HOSTILE.to_pylist(), schema, QUESTIONS):
        assert found == expected, name


@pytest.mark.parametrize("where", [None, "x >= 0.2 or not (c == 'a')"], ids=["all", "some"])
@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_streamed_rows_are_those_of_plain_python(opened, unit, where):
    schema, wanted = Schema(COLUMNS, unit), ["c", "x", "label", "n", "h", "t", "g", "c"]
    condition = None if where is None else count().where(where).bound_condition(schema)
    table = sf.read(opened(HOSTILE), schema=schema)
    found = Counter()
    for batch in table.rows(wanted, condition):
        found.update(zip(*(batch[name].tolist() for name in wanted), strict=True))
    kept = [row for row in reference.counted(HOSTILE.to_pylist(), schema) if reference.holds(condition, row, schema)]
    assert found == Counter(tuple(reference.position(row[name], schema.space(name)) for name in wanted) for row in kept)


def test_streamed_rows_come_in_bounded_batches(opened):
    held = pa.table({"x": pa.array([float(i % 97) for i in range(150_000)])})
    batches = list(sf.read(opened(held), schema=Schema({"x": sf.Interval(0, 100, 1)})).rows(["x"]))
    assert max(len(batch["x"]) for batch in batches) <= 65_536
    assert sorted(value for batch in batches for value in batch["x"]) == sorted(i % 97 for i in range(150_000))


@pytest.mark.parametrize("unit", UNITS[:2], ids=["row", "person-1"])
@pytest.mark.parametrize("rows", [0, 1])
def test_no_row_and_one_row_take_the_same_path(opened, unit, rows):
    schema, held = Schema(COLUMNS, unit), HOSTILE.slice(0, rows)
    for name, found, expected in asked(opened(held), held.to_pylist(), schema, QUESTIONS):
        assert found == expected, name


def test_a_person_with_very_many_rows_counts_as_m(opened):
    many = 20_000
    held = pa.table({"x": pa.array([float(i % 97) for i in range(many)] + [1.0]), "id": pa.array([1] * many + [2])})
    schema = Schema({"x": sf.Interval(0, 100, 1)}, Person("id", 2))
    for name, found, expected in asked(opened(held), held.to_pylist(), schema, [count(), mean("x"), median("x")]):
        assert found == expected, name


def test_sums_outgrow_64_bits_without_overflow(opened):
    rows = 40_000  # of 2^60 each: 2^75 in all
    held = pa.table({"wide": pa.array([2.0**30] * rows)})
    schema = Schema({"wide": sf.Interval(0, 2**30, 1)})
    statistic = bind(variance("wide"), schema).statistic
    assert int(sf.read(opened(held), schema=schema).answer(statistic)[2][0]) == rows * 2**60
