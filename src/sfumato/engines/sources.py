"""Where tables come from: files, databases, data frames, Ibis.  Nothing here looks at a value."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from sfumato.engines.backends import quiet
from sfumato.engines.engine import Table
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import ADJACENCIES, Adjacency, Person, Row
from sfumato.schema import Schema
from sfumato.spaces import Space

__all__ = ["column_types", "open_source", "read"]

DATABASES = (".duckdb", ".ddb", ".db")
PARQUET = (".parquet", ".pq")
TEXT = {".csv": ",", ".tsv": "\t"}
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
    return Table(open_source(source, table), declared)


def open_source(source: Any, table: str | None = None) -> Any:
    """An Ibis table over the source."""
    if isinstance(source, ibis.Table):
        return source
    if not isinstance(source, str | Path):
        return _frame(source)
    path = Path(source)
    if not path.exists():
        raise SchemaError(f"there is no file {path}; check the path")
    kind = path.suffix.lower() if path.suffix.lower() != ".gz" else Path(path.stem).suffix.lower()
    if kind not in (*TEXT, *PARQUET, *DATABASES):
        raise SchemaError(f"{path} has no known ending; use .csv, .tsv, .parquet, .duckdb, or pass a data frame")
    opened = _opened(path, kind, table)
    if opened is None:  # raised out here, so that the engine's own error is not its context
        raise SchemaError(f"{path} cannot be read as a {kind} file; check that it is complete and readable")
    return opened


def _opened(path: Path, kind: str, table: str | None) -> Any:
    try:
        with quiet():
            if kind in TEXT:
                return _text(path, TEXT[kind])
            if kind in PARQUET:
                return ibis.duckdb.connect().read_parquet(path)
            return _database(path, table)
    except SchemaError:
        raise
    except Exception:
        return None


def column_types(source: Any, table: str | None = None) -> dict[str, str]:
    """Column names and types, never values; a text file knows names only."""
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
    return ibis.duckdb.connect().read_csv(
        path,
        columns=dict.fromkeys(names, "VARCHAR"),
        auto_detect=False, header=True, delim=separator, quote='"', escape='"',
        null_padding=True, strict_mode=False, ignore_errors=True, parallel=False,
    )  # fmt: skip


def _database(path: Path, table: str | None) -> Any:
    connection = ibis.duckdb.connect(path, read_only=True)
    tables = [name for (name,) in connection.raw_sql(TABLES).fetchall()]  # Ibis 12 cannot list them on DuckDB 2
    if table is None and len(tables) == 1:
        (table,) = tables
    if table not in tables:
        raise SchemaError(f"{path} holds the tables {', '.join(tables)}; name one with table=")
    return connection.table(table)


def _frame(source: Any) -> Any:
    try:
        with quiet():
            return ibis.duckdb.connect().create_table("source", ibis.memtable(_typed(source)))
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
