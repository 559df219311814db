"""Settings that make backends agree, applied anew for each answer, since whoever owns a connection may change them.

DuckDB answers on a cursor of its own, so that threads do not meet.  Its statistics are not believed: a Parquet footer
leaves NaN out of its extremes, or may be stale, and an optimizer that trusts it removes the clipping.  Statistics
propagation is off, and `isolated` hides the statistics of numbers should it be on again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from typing import Any
from weakref import WeakSet

import ibis
import ibis.expr.operations as ops

from sfumato.engines.spill import private_folder
from sfumato.errors import SchemaError

__all__ = ["OWN", "bound", "configured", "connected", "decode", "executed", "isolated", "quiet", "selected", "streamed"]

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
PLAIN: WeakSet[Any] = WeakSet()  # those of them that hold only what was put there, and so no column with a collation


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
    if database == ":memory:":
        PLAIN.add(connection)
    return connection


def selected(backend: Any, query: str, kinds: Any) -> Any:
    """The rows of a DuckDB query as an Ibis table: text alone, so that every cursor knows it."""
    return ops.SQLQueryResult(query, ibis.schema(kinds), backend).to_expr()


def isolated(table: Any, numbers: Collection[str] | None = None, identifier: str | None = None) -> Any:
    """The same rows, of whose numbers (or all columns) no optimizer knows anything; on Spark, bad texts become `?`.

    DuckDB carries no statistics through TRY, wherever it moves an expression: extremes and null counts that a file or a
    database claims reach no comparison.  What others gave a column for its collation is left behind too: texts are
    compared as bytes, so that no row matches two labels and no two identifiers are one.  Spark cannot hand out bad
    texts; identifiers never leave it.
    """
    backend = table.get_backend()
    if backend.name == "duckdb":
        texts = [] if backend in PLAIN else [name for name in table.columns if _is_text(table[name])]
        hidden = [name for name in table.columns if numbers is None or name in numbers or name in texts]
        return table.mutate(**{name: _attempted(table[name]) for name in hidden}) if hidden else table
    plain = {name: _by_bytes(table[name], _cast_twice) for name in table.columns}
    return table.mutate(**{name: column if name == identifier else _valid(column) for name, column in plain.items()})


def bound(table: Any, backend: Any) -> Any:
    """A table in memory that DuckDB is to read on this connection."""
    none = selected(backend, "SELECT 1 AS one WHERE false", {"one": "int32"})
    return table.union(none.select(**{name: ibis.null(kind) for name, kind in table.schema().items()}))


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


def _attempted(column: Any) -> Any:
    kind, plain = column.type(), _by_bytes(column, lambda text: decode(encode(text)))
    return ibis.udf.scalar.builtin(lambda held: held, name="try", signature=((kind,), kind))(plain)


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def encode(text: str) -> bytes:  # type: ignore[empty-body]
    """DuckDB's own: a text as bytes."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def decode(text: bytes) -> str:  # type: ignore[empty-body]
    """DuckDB's own: bytes as a text in UTF-8."""


def _cast_twice(text: Any) -> Any:
    return text.cast("binary").cast("string")


def _by_bytes(column: Any, way: Callable[[Any], Any]) -> Any:
    """The same texts by way of their bytes, which have no collation."""
    if not _is_text(column):
        return column
    return way(column) if column.type().is_string() else column.map(way)


def _is_text(column: Any) -> bool:
    kind = column.type()
    return bool(kind.is_string() or (kind.is_array() and kind.value_type.is_string()))


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def try_validate_utf8(text: str) -> str:  # type: ignore[empty-body]
    """Spark's own: null where a text is not UTF-8."""


def _valid(column: Any) -> Any:
    kind = column.type()
    if kind.is_string():
        return ibis.ifelse(column.isnull(), column, ibis.coalesce(try_validate_utf8(column), ibis.literal("?")))
    return column.map(_valid) if kind.is_array() and kind.value_type.is_string() else column


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
