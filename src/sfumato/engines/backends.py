"""Settings that make backends agree, applied anew for each answer where whoever owns a connection may change them.

DuckDB answers on a cursor of its own, so that threads do not meet; connections of our own are set up once, since some
settings belong to all cursors and must not change under a question of another thread.  Its statistics are not believed:
a Parquet footer leaves NaN out of its extremes, or may be stale, and an optimizer that trusts it removes the clipping.
Statistics propagation is off, and `isolated` hides the statistics of numbers should it be on again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, finalize

import ibis
import ibis.expr.operations as ops
from ibis.formats.pyarrow import PyArrowDatasetProxy

from sfumato.engines import spark
from sfumato.engines.spill import spilling
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from pathlib import Path

    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir
    import pyarrow as pa
    from duckdb import DuckDBPyConnection
    from duckdb.sqltypes import DuckDBPyType
    from ibis.backends import BaseBackend
    from ibis.backends.duckdb import Backend

__all__ = [
    "OWN",
    "bound",
    "configured",
    "connected",
    "decode",
    "deposited",
    "describe",
    "encode",
    "executed",
    "isolated",
    "quiet",
    "resumes",
    "selected",
    "streamed",
    "take_care",
]

SETTINGS = {
    "duckdb": (
        "SET disabled_optimizers = 'statistics_propagation'",
        "SET lambda_syntax = 'ENABLE_SINGLE_ARROW'",  # Ibis 12 writes lambdas with an arrow
        "SET ieee_floating_point_ops = true",  # infinities, not errors
        "SET integer_division = false",
        "SET default_collation = ''",
        "SET TimeZone = 'UTC'",
        "SET preserve_insertion_order = true",  # rows that are streamed anew come in the same order
    ),
    # Spark: overflow, bad casts and missing entries raise under ANSI rules; our expressions need neither.
    "pyspark": (
        "SET spark.sql.ansi.enabled = false",
        "SET spark.sql.session.timeZone = UTC",
        "SET spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED",
        "SET spark.sql.parquet.int96RebaseModeInRead = CORRECTED",
    ),
}
OWN: WeakSet[BaseBackend] = WeakSet()  # connections that nobody else has
PLAIN: WeakSet[BaseBackend] = WeakSet()  # those that hold only what was put there: no column with a collation
# An optimizer that computes an expression once for several columns computes it outside of its TRY.
CARE = "SET disabled_optimizers = 'statistics_propagation,common_subexpressions'"
# Connections on which a value has made an expression raise, each by its id: Ibis takes some of them for equal.
_careful: set[int] = set()
# What keeps the order of stored rows: joins, groups, windows and unions need not.
ORDERED = frozenset(
    {"PROJECTION", "FILTER", "SEQ_SCAN", "READ_PARQUET", "COLUMN_DATA_SCAN", "ARROW_SCAN", "EMPTY_RESULT"}
)
_caring = Lock()  # settings of a whole instance change: `disabled_optimizers` belongs to all of its cursors
_writing = Lock()  # an option of Ibis is changed meanwhile
_filtering = Lock()
_quiet: list[warnings.catch_warnings[None]] = []  # one for each thread that is in `quiet`


def configured(backend: BaseBackend) -> BaseBackend:
    """The same Ibis backend, set up; refused if it is none of ours or does not let itself be set up."""
    if backend.name == "postgres":
        from sfumato.engines.postgres.sessions import opened

        return opened(backend)
    if backend.name not in SETTINGS:
        raise SchemaError(
            f"tables of the backend {backend.name!r} are not supported; "
            f"use {', '.join(SETTINGS)} or postgres, or read the data from a file"
        )
    if not _set_up(backend):
        raise SchemaError(
            f"the {backend.name} connection refuses settings that clipping relies on (is its configuration locked?); "
            "open another connection, or read the data from a file"
        )
    return backend


def connected(database: str | Path = ":memory:", **options: object) -> Backend:
    """A DuckDB connection of our own, which spills to a private folder, or not at all."""
    connection = ibis.duckdb.connect(database, temp_directory=spilling(), **options)
    for setting in SETTINGS["duckdb"]:  # of every cursor; nobody else is there to change them
        connection.con.execute(setting.replace("SET ", "SET GLOBAL ", 1))
    OWN.add(connection)
    if database == ":memory:":
        PLAIN.add(connection)
    return connection


def take_care(backend: BaseBackend) -> None:
    """Have TRY hold on a DuckDB connection from now on, which makes texts of numbers slower to read."""
    with _caring:
        if id(backend) in _careful:
            return
        if backend in OWN:
            with closing(backend.con.cursor()) as cursor:  # others may be using the connection itself
                cursor.execute(CARE.replace("SET ", "SET GLOBAL ", 1))
        _careful.add(id(backend))
        finalize(backend, _careful.discard, id(backend))


def _apply_settings(backend: BaseBackend, execute: Callable[[str], object]) -> None:
    """Apply every setting: none of a thread that knows of no care yet comes after those of one that took care."""
    with _caring:
        careful = id(backend) in _careful
        for setting in SETTINGS[backend.name]:
            execute(CARE if careful and "disabled_optimizers" in setting else setting)


def selected(backend: BaseBackend, query: str, kinds: Mapping[str, dt.DataType | str]) -> ir.Table:
    """The rows of a DuckDB query as an Ibis table: text alone, so that every cursor knows it."""
    return ops.SQLQueryResult(query, ibis.schema(kinds), backend).to_expr()


def isolated(table: ir.Table, numbers: Collection[str] | None = None, identifier: str | None = None) -> ir.Table:
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
    if backend.name == "postgres":
        return table  # as `plain` reads it
    plain = {name: _by_bytes(table[name], _cast_twice) for name in table.columns}
    return table.mutate(**{name: column if name == identifier else _valid(column) for name, column in plain.items()})


def bound(table: ir.Table, backend: BaseBackend) -> ir.Table:
    """A table in memory that DuckDB is to read on this connection."""
    none = selected(backend, "SELECT 1 AS one WHERE false", {"one": "int32"})
    return table.union(none.select(**{name: ibis.null(kind) for name, kind in table.schema().items()}))


def executed(expression: ir.Table) -> pa.Table:
    """The rows of an expression as an Arrow table."""
    backend = expression.get_backend()
    if backend.name == "postgres":
        from sfumato.engines.postgres import sessions

        return sessions.executed(expression, backend)
    if backend.name != "duckdb":
        with quiet():
            return spark.executed(expression, configured(backend))
    with _cursor(expression, backend) as cursor:
        return cursor.sql(_written(expression, backend)).to_arrow_table()


def describe(expression: ir.Table) -> dict[str, DuckDBPyType]:
    """Return the types of an expression's columns as DuckDB itself calls them; no row is read."""
    with _cursor(expression, expression.get_backend()) as cursor:
        relation = cursor.sql(_written(expression, expression.get_backend()))
        return dict(zip(relation.columns, relation.types, strict=True))


def deposited(expression: ir.Table, place: str) -> None:
    """Compute the rows of an expression on DuckDB into the table `held` of a new database in memory of this name.

    Every cursor of the instance sees it, whatever its own database is, and none of them writes to that.
    """
    backend = expression.get_backend()
    with _cursor(expression, backend) as cursor:
        cursor.execute(f"ATTACH ':memory:' AS {place} (READ_WRITE)")
        try:
            cursor.execute(f"CREATE TABLE {place}.main.held AS {_written(expression, backend)}")
        except BaseException:
            cursor.execute(f"DETACH {place}")
            raise


def resumes(expression: ir.Table) -> bool:
    """Tell, from DuckDB's plan alone, whether a second run hands out the same rows in the same order as a first one.

    It does where rows are only read, filtered and computed; and where sorting comes last, nothing is handed out before
    every row is computed.
    """
    backend = expression.get_backend()
    try:
        with _cursor(expression, backend) as cursor:
            query = f"EXPLAIN (FORMAT json) {_written(expression, backend)}"
            ((_, plan),) = cursor.execute(query).fetchall()
    except Exception:
        return False
    names = list(_list_operators(json.loads(plan)))
    return names[:1] == ["ORDER_BY"] or ORDERED.issuperset(names)


def _list_operators(plans: list[dict[str, Any]]) -> Iterator[str]:
    for plan in plans:
        yield plan["name"].strip()
        yield from _list_operators(plan["children"])


def streamed(expression: ir.Table, size: int) -> Iterator[pa.RecordBatch]:
    """Arrow batches of at most `size` rows."""
    backend = expression.get_backend()
    if backend.name == "postgres":
        from sfumato.engines.postgres import sessions

        yield from sessions.streamed(expression, backend, size)
        return
    if backend.name != "duckdb":
        with quiet():
            yield from _sliced(spark.streamed(expression, configured(backend)), size)
        return
    with _cursor(expression, backend) as cursor:
        yield from _sliced(cursor.sql(_written(expression, backend)).to_arrow_reader(size), size)


@contextmanager
def quiet() -> Iterator[None]:
    """Deprecations between Ibis and its backends are nobody's to act on, also where warnings are errors.

    Filters belong to the whole process: the first thread to come sets them, the last to leave restores them.
    """
    with _filtering:
        if not _quiet:
            filters = warnings.catch_warnings()
            filters.__enter__()
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
        else:
            filters = _quiet[-1]
        _quiet.append(filters)
    try:
        yield
    finally:
        with _filtering:
            if len(_quiet) == 1:
                _quiet[0].__exit__(None, None, None)
            _quiet.pop()


@contextmanager
def _cursor(expression: ir.Table, backend: Backend) -> Iterator[DuckDBPyConnection]:
    """A cursor of its own for one question, set up, that knows the tables in memory which the question reads."""
    with closing(backend.con.cursor()) as cursor:
        if backend not in OWN:
            _apply_settings(backend, cursor.execute)
        for table in expression.op().find(ops.InMemoryTable):
            whole = isinstance(table.data, PyArrowDatasetProxy)
            held = table.data.to_pyarrow_dataset(table.schema) if whole else table.data.to_pyarrow(table.schema)
            cursor.register(table.name, held)
        yield cursor


def _written(expression: ir.Table, backend: Backend) -> str:
    """The expression in SQL, one SELECT within the other: DuckDB joins them by itself, and Ibis takes long to."""
    with _writing:
        fused = ibis.options.sql.fuse_selects
        ibis.options.sql.fuse_selects = False
        try:
            return str(backend.compile(expression))
        finally:
            ibis.options.sql.fuse_selects = fused


def _attempted(column: ir.Column) -> ir.Column:
    return _try_of(column.type())(_by_bytes(column, lambda text: decode(encode(text))))


@lru_cache(maxsize=256)
def _try_of(kind: dt.DataType) -> Callable[[ir.Column], ir.Column]:
    """DuckDB's own TRY of values of one kind: to Ibis a class of its own, so that it is made once."""
    attempt: Callable[[ir.Column], ir.Column] = ibis.udf.scalar.builtin(
        lambda held: held, name="try", signature=((kind,), kind)
    )
    return attempt


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def encode(text: str) -> bytes:  # type: ignore[empty-body]
    """DuckDB's own: a text as bytes."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def decode(text: bytes) -> str:  # type: ignore[empty-body]
    """DuckDB's own: bytes as a text in UTF-8."""


def _cast_twice(text: ir.StringValue) -> ir.StringValue:
    return text.cast("binary").cast("string")


def _by_bytes(column: ir.Column, way: Callable[[ir.StringValue], ir.StringValue]) -> ir.Column:
    """The same texts by way of their bytes, which have no collation."""
    if not _is_text(column):
        return column
    return way(column) if column.type().is_string() else column.map(way)


def _is_text(column: ir.Column) -> bool:
    kind = column.type()
    return bool(kind.is_string() or (kind.is_array() and kind.value_type.is_string()))


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def try_validate_utf8(text: str) -> str:  # type: ignore[empty-body]
    """Spark's own: null where a text is not UTF-8."""


def _valid(column: ir.Column) -> ir.Column:
    kind = column.type()
    if kind.is_string():
        return ibis.ifelse(column.isnull(), column, ibis.coalesce(try_validate_utf8(column), ibis.literal("?")))
    return column.map(_valid) if kind.is_array() and kind.value_type.is_string() else column


def _set_up(backend: BaseBackend) -> bool:
    try:
        with quiet():
            if backend.name == "duckdb":
                _apply_settings(backend, backend.raw_sql)
                return True
            for setting in SETTINGS[backend.name]:  # of Spark, without a query to plan
                name, value = setting.removeprefix("SET ").split(" = ")
                backend._session.conf.set(name, value)
    except Exception:
        return False
    return True


def _sliced(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, size):
            yield batch.slice(start, size)
