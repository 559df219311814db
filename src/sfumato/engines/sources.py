"""Where tables come from: files, databases, data frames, Ibis.  Nothing here looks at a value."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ibis

from sfumato import arguments
from sfumato.engines import frames, parquet, text
from sfumato.engines.backends import connected, executed, quiet
from sfumato.engines.canary import trusted
from sfumato.engines.engine import Table
from sfumato.engines.origins import based
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import ADJACENCIES, Adjacency, Person, Row
from sfumato.schema import Schema, named_after
from sfumato.spaces import Space

__all__ = ["column_types", "open_source", "read"]

DATABASES = (".duckdb", ".ddb", ".db")
PARQUET = (".parquet", ".pq")
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name"


def read(
    source: Any,
    *,
    schema: Schema | Mapping[str, Space],
    unit: str | None = None,
    rows: int | None = None,
    adjacency: str | Adjacency = "add-remove",
    size: int | None = None,
    dataset: str | None = None,
    table: str | None = None,
    quoted_lines: bool = False,
) -> Table:
    """A sensitive table from a file, a data frame or an Ibis table, behind its public schema.

    `source`: a CSV, TSV, Parquet or DuckDB file (with `table` naming the table inside), a pandas, polars or
    Arrow frame, or any Ibis table on DuckDB or Spark.
    `unit`: the column that identifies a person, with at most `rows` rows each; without it a row is protected.
    `size`: the public number of units; under replacement the number of rows, which is compared with the table.
    `quoted_lines`: quotes in a text file may hold line ends; see `Schema`.
    Text files and frames are read once, here; Parquet and database files are answered from where they lie, after one
    pass over the declared columns that finds damage before anything is charged.
    """
    if isinstance(schema, Schema):
        declared = schema
    else:
        declared = _schema(schema, unit, rows, adjacency, size, dataset, source, quoted_lines)
    return Table(open_source(source, table, declared), declared)


def open_source(source: Any, table: str | None = None, schema: Schema | None = None) -> Any:
    """An Ibis table over the source; with a schema, of files and frames only the columns that it declares."""
    if isinstance(source, ibis.Table):
        return based(source, schema)
    if not isinstance(source, str | Path):
        return _frame(source, schema)
    path = arguments.path("source", source)
    kind = _kind(path)
    opened = _opened(path, kind, table, schema)
    if opened is None:  # raised out here, so that the engine's own error is not its context
        raise _unreadable(path, kind)
    return opened


def _kind(path: Path) -> str:
    """The ending that says how a file is read."""
    if not path.is_file():
        raise SchemaError(f"there is no file {path}; check the path")
    kind = path.suffix.lower() if path.suffix.lower() != ".gz" else Path(path.stem).suffix.lower()
    if kind not in (*text.SEPARATORS, *PARQUET, *DATABASES):
        raise SchemaError(f"{path} has no known ending; use .csv, .tsv, .parquet, .duckdb, or pass a data frame")
    return kind


def _unreadable(path: Path, kind: str) -> SchemaError:
    return SchemaError(f"{path} cannot be read as a {kind} file; check that it is complete and readable")


def _opened(path: Path, kind: str, table: str | None, schema: Schema | None) -> Any:
    try:
        with quiet():
            if kind in text.SEPARATORS:
                wanted = text.names(path, text.SEPARATORS[kind]) if schema is None else list(_wanted(schema))
                joined = schema is not None and schema.quoted_lines
                return _loaded(text.batches(path, text.SEPARATORS[kind], wanted, joined))
            if kind in PARQUET:
                return parquet.everything([path]) if schema is None else _whole(parquet.opened([path], schema), schema)
            return _whole(_database(path, table), schema)
    except SchemaError:
        raise
    except Exception:
        return None


def column_types(source: str | Path, table: str | None = None) -> dict[str, str]:
    """Column names and types, never values; a text file knows names only."""
    path = arguments.path("source", source)
    kind = _kind(path)
    if kind in text.SEPARATORS:
        with contextlib.suppress(OSError, EOFError, zlib.error):
            return dict.fromkeys(text.names(path, text.SEPARATORS[kind]), "string")
        raise _unreadable(path, kind)
    if kind in PARQUET:
        with contextlib.suppress(Exception):
            return {name: str(kind) for name, kind in parquet.engine_types(parquet.file_types([path])).items()}
        raise _unreadable(path, kind)
    held = open_source(path, table).schema()
    return {name: str(kind) for name, kind in held.items()}


def _wanted(schema: Schema) -> dict[str, Space | None]:
    """The declared columns, and who is protected."""
    unit = {schema.unit.column: None} if isinstance(schema.unit, Person) else {}
    return {**schema.columns, **unit}


def _schema(
    columns: Mapping[str, Space],
    unit: str | None,
    rows: int | None,
    adjacency: str | Adjacency,
    size: int | None,
    dataset: str | None,
    source: Any,
    quoted_lines: bool,
) -> Schema:
    if unit is not None and rows is None:
        raise SchemaError(f"unit={unit!r} needs rows=: at most how many rows of a person count?")
    if unit is None and rows is not None:
        raise SchemaError("rows= needs unit=: which column identifies a person?")
    if isinstance(adjacency, str):
        if adjacency not in ADJACENCIES:
            raise SchemaError(f"adjacency must be one of {', '.join(ADJACENCIES)}, got {adjacency!r}")
        adjacency = ADJACENCIES[adjacency]
    if dataset is None:
        if not isinstance(source, str | Path):
            raise SchemaError("dataset= is needed for a table that is not a file: a name for its ledger to be bound to")
        dataset = named_after(Path(source))
    person = Row() if unit is None or rows is None else Person(unit, rows)
    return Schema(columns, person, adjacency, size, dataset, quoted_lines=quoted_lines)


def _whole(table: Any, schema: Schema | None) -> Any:
    """The same table, its declared columns decoded to their end once: a damaged file must not fail after a charge."""
    held = set(table.columns)
    wanted = [name for name in _wanted(schema) if name in held] if schema is not None else []
    if wanted:
        executed(table.aggregate(**{f"h{place}": table[name].hash().max() for place, name in enumerate(wanted)}))
    return table


def _loaded(rows: Any) -> Any:
    """A table of our own with these rows, read to their end: what is damaged is found here."""
    connection = connected()
    connection.con.register("rows_of_source", rows)
    connection.con.execute("CREATE TABLE source AS SELECT * FROM rows_of_source")
    connection.con.unregister("rows_of_source")
    return connection.table("source")


def _database(path: Path, table: str | None) -> Any:
    connection = trusted(connected(path, read_only=True))
    connection.raw_sql("SET enable_external_access = false")  # what a view in the file reads lies in the file
    tables = [name for (name,) in connection.raw_sql(TABLES).fetchall()]  # Ibis 12 cannot list them on DuckDB 2
    if table is None and len(tables) == 1:
        (table,) = tables
    if table not in tables:
        raise SchemaError(f"{path} holds the tables {', '.join(tables)}; name one with table=")
    if not _lies_within(connection, str(table)):
        raise SchemaError(f"{table!r} in {path} is a view of something outside that file; store its rows in a table")
    return based(connection.table(table))


def _lies_within(connection: Any, table: str) -> bool:
    """Whether a table or view can be planned without access to anything outside its file."""
    try:
        connection.con.cursor().execute("EXPLAIN SELECT * FROM " + '"' + table.replace('"', '""') + '"')
    except Exception:
        return False
    return True


def _frame(source: Any, schema: Schema | None) -> Any:
    try:
        wanted = dict.fromkeys(getattr(source, "columns", ())) if schema is None else _wanted(schema)
        with quiet():
            found = frames.arrow_table(source, wanted)
            if found is not None:
                return _loaded(found)
        failed = False
    except SchemaError:
        raise
    except Exception:
        failed = True
    if failed:  # raised out here, so that the cause, which may hold data, is not its context
        raise SchemaError(
            f"this {type(source).__name__} could not be read (the cause is withheld, since it may hold data); if it is "
            "lazy, collect it first and see that this works"
        )
    raise SchemaError(
        f"cannot read a table from {type(source).__name__}; pass a file's path, a pandas, polars or Arrow table, or an "
        "Ibis table"
    )
