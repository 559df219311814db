"""Spark's types: no value of one that is read decides whether a question fails."""

import os

import pytest

from typing_cases import compare, list_spaces

pytestmark = pytest.mark.spark

# Plain values and odd ones, as SQL expressions where Python cannot say them.
ODD = {
    "boolean": (["true"], ["false"]),
    "tinyint": (["1"], ["-128", "127"]),
    "smallint": (["1"], ["-32768", "32767"]),
    "int": (["1"], ["-2147483648", "2147483647"]),
    "bigint": (["1"], ["-9223372036854775808", "9223372036854775807"]),
    "float": (["1"], ["'NaN'", "'Infinity'", "'-Infinity'", "3.4e38", "1e-45", "'-0'"]),
    "double": (["1"], ["'NaN'", "'Infinity'", "'-Infinity'", "1.7e308", "5e-324", "'-0'"]),
    "decimal(38, 0)": (["1"], ["9" * 38, "-" + "9" * 38]),
    "decimal(38, 37)": (["1"], ["9." + "9" * 37]),
    "binary": (["X'31'"], ["X'FF00'", "X''"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def session():
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("sfumato").config("spark.ui.enabled", "false")
    held = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield held
    held.stop()


def store(session, kind, values):
    lines = [f"SELECT CAST({v} AS {kind}) AS v, {i % 9} AS x, 'p{i}' AS pid" for i, v in enumerate([*values, "null"])]
    return session.sql(" UNION ALL ".join(lines))


@pytest.mark.parametrize("kind", ODD)
def test_no_value_of_spark_decides_whether_a_question_fails(session, kind):
    plain, odd = ODD[kind]
    tables = store(session, kind, plain), store(session, kind, [*plain, *odd])
    failures = []
    for name in ("imputed", "dates", "clock", "labels", "sets"):
        compare(f"{kind} as {name}", *tables, list_spaces()[name], failures)
    assert not failures
