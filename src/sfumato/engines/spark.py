"""Spark: answers and rows as Arrow, as the executors hold them.

Rows come to the driver partition by partition, each by a job of its own: the driver never holds more than two of them,
one that is handed out and the next.  Every partition is handed out once.  Should the cluster lose what it had computed
and compute it anew, the rows must be the same ones, since otherwise some could come twice: a plan with an expression
that draws at random is refused when the table is opened, and one whose partitions depend on an order that Spark does
not keep when it is read.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard
from uuid import uuid4
from weakref import WeakKeyDictionary

import ibis
import pyarrow as pa

from sfumato.engines.files import must_be_all_rows, must_be_apart, seen_from_here
from sfumato.engines.processes import when_gone
from sfumato.engines.spill import private_folder
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends.pyspark import Backend
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["executed", "held_by", "is_frame", "must_repeat", "named", "planned", "started", "streamed"]

GUESSED = "spark.sql.sources.partitionColumnTypeInference.enabled"
EXTRA = "Spark needs the extra `spark`: pip install 'sfumato[spark]'"
CONNECT = (
    "Spark Connect sessions are not supported, since their rows cannot be read partition by partition; "
    "use a classic session (SparkSession.builder.master(...) or spark-submit)"
)
CHANCE = (
    "this Spark table is drawn at random when it is read (rand, uuid or the like), so that every question would see "
    "another one; store its rows first, for example with df.write.parquet(...), and read those"
)


_known: WeakKeyDictionary[SparkSession, Backend] = WeakKeyDictionary()  # one connection for all frames of a session


def is_frame(source: object) -> TypeGuard[DataFrame]:
    """Whether it is a Spark DataFrame; the package need not be installed."""
    return any((k.__module__.partition(".")[0], k.__name__) == ("pyspark", "DataFrame") for k in type(source).__mro__)


def named(frame: DataFrame) -> ir.Table:
    """A Spark DataFrame as an Ibis table: a temporary view over its plan, which ends with the table."""
    _must_be_classic(frame)
    name = f"sfumato_{uuid4().hex}"
    frame.createOrReplaceTempView(name)
    session = frame.sparkSession
    if session not in _known:
        _known[session] = ibis.pyspark.connect(session)
    table = _known[session].table(name)
    when_gone(table.op(), _dropped, session, name)
    return table


def started() -> SparkSession:
    """The session of this process, or a new one as the cluster's own configuration says.

    A new one has no web page: it would show how many rows each step of a question read.  On this machine alone, and
    unless its configuration names a place, it spills to this process's private folder: should Java be killed, whatever
    it has left goes with that folder, at the end of this process or when the next one starts.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise SchemaError(EXTRA)
    from pyspark.sql import SparkSession

    held = SparkSession.getActiveSession()
    if held is not None:
        return held
    quietly: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    try:
        return SparkSession.builder.appName("sfumato").config(map=quietly | _spill()).getOrCreate()
    except Exception:
        pass
    raise SchemaError(
        "no Spark session could be started; check that Java is installed and, for a cluster, that spark-defaults.conf "
        "or spark-submit names its master"
    )


def _spill() -> dict[str, Any]:
    """Where a session of this machine alone puts what does not fit in memory."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    known = SparkConf()
    named = known.contains("spark.local.dir") or "SPARK_LOCAL_DIRS" in os.environ
    if named or not str(known.get("spark.master", "local[*]")).startswith("local"):
        return {}
    return {"spark.local.dir": str(private_folder())}


def held_by(session: SparkSession, path: str | None, table: str | None) -> DataFrame:
    """A table of the catalogue, or the Parquet files of a path, as Spark sees them."""
    if path is not None and "://" not in path:
        seen = seen_from_here(Path(path))
        must_be_apart(seen)
        if not Path(path).is_file():
            must_be_all_rows(seen.paths, path)
    try:
        return session.table(str(table)) if path is None else _files(session, path)
    except Exception:
        pass
    if path is None:
        raise SchemaError(f"Spark's catalogue holds no table {table!r} that can be read; check the name")
    raise SchemaError(
        f"Spark cannot read {path!r} as Parquet files; check that every worker can see them, and that their columns "
        "have the same types; a table of Spark's catalogue is named by table"
    )


def _files(session: SparkSession, path: str) -> DataFrame:
    """The Parquet files of a path, in which `*` alone is a pattern, unless the path exists.

    What folders are called are texts; Spark would guess types from all of them.
    """
    guessing = session.conf.get(GUESSED, "true")
    session.conf.set(GUESSED, "false")
    try:
        merged = session.read.option("mergeSchema", "true")  # all footers: types that differ fail now, not by value
        meant = r"([*?\[\]{}\\])" if os.path.exists(path) else r"([?\[\]{}\\])"
        return merged.parquet(re.sub(meant, r"\\\1", path))
    finally:
        session.conf.set(GUESSED, str(guessing))


def must_repeat(backend: Backend, table: ir.Table) -> None:
    """Refuse a table that may be another one when it is computed again, from its plan alone."""
    _must_be_classic(backend._session)
    if not planned(table, backend)._jdf.queryExecution().analyzed().deterministic():
        raise SchemaError(CHANCE)


def executed(expression: ir.Table, backend: Backend) -> pa.Table:
    """An answer, collected at once."""
    frame = planned(expression, backend)
    kinds = expression.schema().to_pyarrow()
    return frame.toArrow().cast(kinds)


def streamed(expression: ir.Table, backend: Backend) -> Iterator[pa.RecordBatch]:
    """Arrow batches, one partition of the plan after the other, while the next one is computed."""
    from pyspark.serializers import NoOpSerializer
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.util import _local_iterator_from_socket

    frame = planned(expression, backend)
    kinds = to_arrow_schema(frame.schema, timezone="UTC")
    session, jvm = backend._session._jsparkSession, backend._session.sparkContext._jvm
    batches = frame._jdf.toArrowBatchRdd()
    if batches.outputDeterministicLevel().toString() == "INDETERMINATE":
        raise SchemaError(CHANCE)
    settled = jvm.org.apache.spark.sql.execution.SQLExecutionRDD(batches, session.sessionState().conf())
    served = jvm.PythonRDD.toLocalIteratorAndServe(settled, True)  # the next partition is computed meanwhile
    for held in _local_iterator_from_socket(served, NoOpSerializer()):
        yield pa.ipc.read_record_batch(pa.py_buffer(held), kinds)


def planned(expression: ir.Table, backend: Backend) -> DataFrame:
    """The expression as a DataFrame, whose plan is not run yet."""
    backend._run_pre_execute_hooks(expression)
    frame: DataFrame = backend.raw_sql(backend.compile(expression))
    return frame


def _must_be_classic(held: object) -> None:
    if type(held).__module__.startswith("pyspark.sql.connect"):
        raise SchemaError(CONNECT)


def _dropped(session: SparkSession, name: str) -> None:
    with contextlib.suppress(Exception):  # where the session has ended, so has the view
        session.catalog.dropTempView(name)
