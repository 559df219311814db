"""Settings that make backends agree, applied anew for each answer, since whoever owns a connection may change them.

DuckDB answers on a cursor of its own, so that threads do not meet.  Its statistics are not believed: a Parquet footer
leaves NaN out of its extremes, or may be stale, and an optimizer that trusts it removes the clipping.  Statistics
propagation is off, and `isolated` hides every column's statistics should it be on.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from weakref import WeakSet

import ibis
import ibis.expr.operations as ops

from sfumato.engines.spill import private_folder
from sfumato.errors import SchemaError

__all__ = ["OWN", "configured", "connected", "executed", "isolated", "quiet", "selected", "streamed"]

SETTINGS = {
    "duckdb": (
        "SET disabled_optimizers = 'statistics_propagation'",
        "SET lambda_syntax = 'ENABLE_SINGLE_ARROW'",  # Ibis 12 writes lambdas with an arrow
        "SET ieee_floating_point_ops = true",  # infinities, not errors
        "SET integer_division = false",
        "SET default_collation = ''",
        "SET TimeZone = 'UTC'",
    ),
    # Spark: overflow, bad casts and missing entries raise under ANSI rules; our expressions need neither.
    "pyspark": (
        "SET spark.sql.ansi.enabled = false",
        "SET spark.sql.session.timeZone = UTC",
        "SET spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED",
        "SET spark.sql.parquet.int96RebaseModeInRead = CORRECTED",
    ),
}
OWN: WeakSet[Any] = WeakSet()  # connections that nobody else has
NOTHING = "SELECT CAST(random() AS VARCHAR) AS r WHERE random() > 2"  # no optimizer may know that it is empty


def configured(backend: Any) -> Any:
    """The same Ibis backend, set up; refused if it is none of ours or does not let itself be set up."""
    if backend.name not in SETTINGS:
        raise SchemaError(
            f"tables of the backend {backend.name!r} are not supported; "
            f"use {' or '.join(SETTINGS)}, or read the data from a file"
        )
    if not _set_up(backend):
        raise SchemaError(
            f"the {backend.name} connection refuses settings that clipping relies on (is its configuration locked?); "
            "open another connection, or read the data from a file"
        )
    return backend


def connected(database: Any = ":memory:", **options: Any) -> Any:
    """A DuckDB connection of our own, which spills to a private folder."""
    connection = ibis.duckdb.connect(database, temp_directory=str(private_folder()), **options)
    OWN.add(connection)
    return connection


def selected(backend: Any, query: str, kinds: Any) -> Any:
    """The rows of a DuckDB query as an Ibis table: text alone, so that every cursor knows it."""
    return ops.SQLQueryResult(query, ibis.schema(kinds), backend).to_expr()


def isolated(table: Any, backend: Any = None) -> Any:
    """The same rows, united on DuckDB with a table that is always empty, which no optimizer can know.

    What is known of a column of a union is what holds in both halves, and nothing is known of the other half: extremes,
    null counts and lengths that a file or a database claims reach no expression above.
    """
    backend = table.get_backend() if backend is None else backend
    if backend.name != "duckdb":
        return table
    none = selected(backend, NOTHING, {"r": "string"})
    return table.union(none.select(**{name: none["r"].try_cast(kind) for name, kind in table.schema().items()}))


def executed(expression: Any) -> Any:
    """The rows of an expression as an Arrow table."""
    backend = expression.get_backend()
    if backend.name != "duckdb":
        with quiet():
            return configured(backend).to_pyarrow(expression)
    with _cursor(expression, backend) as cursor:
        return cursor.sql(backend.compile(expression)).to_arrow_table()


def streamed(expression: Any, size: int) -> Iterator[Any]:
    """Arrow batches of at most `size` rows."""
    backend = expression.get_backend()
    if backend.name != "duckdb":
        with quiet():
            yield from _sliced(configured(backend).to_pyarrow_batches(expression, chunk_size=size), size)
        return
    with _cursor(expression, backend) as cursor:
        yield from _sliced(cursor.sql(backend.compile(expression)).to_arrow_reader(size), size)


@contextmanager
def quiet() -> Iterator[None]:
    """Deprecations between Ibis and its backends are nobody's to act on, also where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


@contextmanager
def _cursor(expression: Any, backend: Any) -> Iterator[Any]:
    """A cursor of its own for one question, set up, that knows the tables in memory which the question reads."""
    with closing(backend.con.cursor()) as cursor:
        for setting in SETTINGS["duckdb"]:
            cursor.execute(setting)
        for table in expression.op().find(ops.InMemoryTable):
            whole = hasattr(table.data, "to_pyarrow_dataset")
            held = table.data.to_pyarrow_dataset(table.schema) if whole else table.data.to_pyarrow(table.schema)
            cursor.register(table.name, held)
        yield cursor


def _set_up(backend: Any) -> bool:
    try:
        with quiet():
            for setting in SETTINGS[backend.name]:
                backend.raw_sql(setting)
    except Exception:
        return False
    return True


def _sliced(batches: Any, size: int) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, size):
            yield batch.slice(start, size)
