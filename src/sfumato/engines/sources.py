"""Where tables come from: files, databases, data frames, Ibis.  Nothing here looks at a value."""

from __future__ import annotations

import csv
import glob
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from sfumato.engines import parquet
from sfumato.engines.backends import connected, quiet, selected
from sfumato.engines.canary import trusted
from sfumato.engines.engine import Table
from sfumato.engines.origins import based
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import ADJACENCIES, Adjacency, Person, Row
from sfumato.schema import Schema
from sfumato.spaces import Space

__all__ = ["column_types", "open_source", "read"]

DATABASES = (".duckdb", ".ddb", ".db")
PARQUET = (".parquet", ".pq")
TEXT = {".csv": ",", ".tsv": "\t"}
READING = (
    "auto_detect = false, header = true, quote = '\"', escape = '\"', null_padding = true, strict_mode = false, "
    "ignore_errors = true, parallel = false"
)
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
) -> Table:
    """A sensitive table from a file, a data frame or an Ibis table, behind its public schema.

    `source`: a CSV, TSV, Parquet or DuckDB file (with `table` naming the table inside), a pandas, polars or
    Arrow frame, or any Ibis table on DuckDB or Spark.
    `unit`: the column that identifies a person, with at most `rows` rows each; without it a row is protected.
    """
    declared = schema if isinstance(schema, Schema) else _schema(schema, unit, rows, adjacency, size, dataset, source)
    return Table(open_source(source, table, declared), declared)


def open_source(source: Any, table: str | None = None, schema: Schema | None = None) -> Any:
    """An Ibis table over the source; with a schema, of a Parquet file only the columns that it declares."""
    if isinstance(source, ibis.Table):
        return based(source, schema)
    if not isinstance(source, str | Path):
        return _frame(source)
    path = Path(source)
    if not path.exists():
        raise SchemaError(f"there is no file {path}; check the path")
    kind = path.suffix.lower() if path.suffix.lower() != ".gz" else Path(path.stem).suffix.lower()
    if kind not in (*TEXT, *PARQUET, *DATABASES):
        raise SchemaError(f"{path} has no known ending; use .csv, .tsv, .parquet, .duckdb, or pass a data frame")
    opened = _opened(path, kind, table, schema)
    if opened is None:  # raised out here, so that the engine's own error is not its context
        raise SchemaError(f"{path} cannot be read as a {kind} file; check that it is complete and readable")
    return opened


def _opened(path: Path, kind: str, table: str | None, schema: Schema | None) -> Any:
    try:
        with quiet():
            if kind in TEXT:
                return _text(path, TEXT[kind])
            if kind in PARQUET:
                return parquet.everything([path]) if schema is None else parquet.opened([path], schema)
            return _database(path, table)
    except SchemaError:
        raise
    except Exception:
        return None


def column_types(source: Any, table: str | None = None) -> dict[str, str]:
    """Column names and types, never values; a text file knows names only."""
    if isinstance(source, str | Path) and Path(source).suffix.lower() in PARQUET and Path(source).is_file():
        return {name: str(kind) for name, kind in parquet.engine_types(parquet.file_types([Path(source)])).items()}
    held = open_source(source, table).schema()
    return {name: str(kind) for name, kind in held.items()}


def _schema(
    columns: Mapping[str, Space],
    unit: str | None,
    rows: int | None,
    adjacency: str | Adjacency,
    size: int | None,
    dataset: str | None,
    source: Any,
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
        dataset = Path(source).name.split(".")[0]
    person = Row() if unit is None or rows is None else Person(unit, rows)
    return Schema(columns, person, adjacency, size, dataset)


def _text(path: Path, separator: str) -> Any:
    """Every field as text; short rows are padded, long ones cut, unreadable ones dropped.

    One thread reads: with several, DuckDB refuses a line break inside quotes, which is a matter of values.
    """
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        names = next(csv.reader(file, delimiter=separator), [])
    if not names or "" in names or len({name.lower() for name in names}) != len(names):
        raise SchemaError(f"the first line of {path} must name the columns, each once (capitals make no difference)")
    named = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
    options = f"columns = {{{named}}}, delim = {_quoted(separator)}, {READING}"
    query = f"SELECT * FROM read_csv({_quoted(glob.escape(str(path)))}, {options})"
    return selected(connected(), query, dict.fromkeys(names, "string"))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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


def _frame(source: Any) -> Any:
    try:
        with quiet():
            return connected().create_table("source", ibis.memtable(_typed(source)))
    except Exception:
        kind = type(source).__name__
    raise SchemaError(
        f"cannot read a table from {kind}; pass a file's path, a pandas, polars or Arrow table, or an Ibis table"
    )


def _typed(source: Any) -> Any:
    """The same table; columns without a type, which hold nothing but nulls, become texts.

    Whether a column is empty is in its data: the engine must not refuse it.
    """
    home = type(source).__module__.partition(".")[0]
    if isinstance(source, pa.Table):
        for place, field in enumerate(source.schema):
            if pa.types.is_null(field.type):
                source = source.set_column(place, field.name, source.column(place).cast(pa.string()))
    elif home == "pandas":
        empty = [name for name in source.columns if source[name].dtype == object and source[name].isna().all()]
        source = source.astype(dict.fromkeys(empty, "string")) if empty else source
    elif home == "polars":
        source = source.with_columns([column.cast(str) for column in source if str(column.dtype) == "Null"])
    return source
