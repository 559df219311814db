"""What an Ibis table rests on, from the engine's plan alone: tables that the engine holds, or Parquet files.

A lazily read source can raise by value (a column of a text file whose type was guessed from its first lines, files of
different types read together), so it is refused by name before anything is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops

from sfumato.engines import parquet, spark
from sfumato.engines.fields import flat
from sfumato.engines.files import local
from sfumato.engines.physical_types import SPARK, name_spark_type, refuse_types
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir
    from ibis.backends.duckdb import Backend
    from ibis.backends.pyspark import Backend as SparkBackend

__all__ = ["based"]

HELD = {"SEQ_SCAN", "INDEX_SCAN", "COLUMN_DATA_SCAN", "DUMMY_SCAN", "EMPTY_RESULT", "CTE_SCAN", "DELIM_SCAN"}
VIEW = "SELECT sql FROM duckdb_views() WHERE view_name = ? AND temporary"
TEXT = "'(?:[^']|'')*'"
FILES = re.compile(rf"AS SELECT \* FROM read_parquet\(list_value\(({TEXT}(?:, {TEXT})*)\)\);?\s*$")


def based(table: ir.Table, schema: Schema | None = None) -> ir.Table:
    """The same table, its Parquet files read anew by named columns; refused where it rests on anything else."""
    backend = table.get_backend()
    if backend.name == "pyspark":
        spark.must_repeat(backend, table)
    if backend.name == "pyspark" and schema is not None:
        for leaf in table.op().find(ops.DatabaseTable):
            _check_times(backend._session.table(leaf.name).inputFiles(), leaf.schema, schema)
        _check_spark(table, schema, backend)
        elapsed = [name for name, kind in table.schema().items() if kind.is_interval() and name in schema.held]
        nested = [path[0] for path in schema.paths.values() if len(path) > 1 and path[0] in table.columns]
        if any(_holds_times(table[name].type()) for name in nested):
            raise SchemaError(
                "times within structures are not read on Spark; store them in columns of their own, named as in "
                "'record.field', or pass the file's path to sf.read"
            )
        if elapsed:
            raise SchemaError(
                f"elapsed times on Spark ({', '.join(elapsed)}) are not read; store them as numbers of their unit, or "
                "pass the file's path to sf.read"
            )
    if backend.name == "postgres":
        from sfumato.engines.postgres.reading import plain

        table = plain(table, schema)
    if backend.name != "duckdb":
        return table if schema is None else flat(table, schema)
    replaced = {}
    for leaf in table.op().find(ops.PhysicalTable):
        if isinstance(leaf, ops.InMemoryTable):
            continue
        files = _files(leaf, backend)
        if files is not None and leaf is table.op() and schema is not None:
            return parquet.opened(local(files), schema, backend)
        if files is not None:
            replaced[leaf] = parquet.everything(local(files), backend).op()
        elif not set(scans := list(_scans(leaf, backend))) <= HELD:
            strange = ", ".join(sorted(set(scans) - HELD)).lower()
            raise SchemaError(
                f"the table {leaf.name!r} rests on {strange}, which may fail by value; only tables that DuckDB holds "
                "and Parquet files are supported. Pass the file's path to sf.read, or store the rows with create_table"
            )
    table = _rebuilt(table, replaced) if replaced else table
    return table if schema is None else flat(table, schema)


def _check_spark(table: ir.Table, schema: Schema, backend: SparkBackend) -> None:
    """Refuse types that are not in the list, by Spark's own names of them."""
    unit = {schema.unit.column} if isinstance(schema.unit, Person) else set()
    declared = unit.union(name for name, space in schema.held.items() if space.form is not None)
    fields = {field.name: field.dataType for field in spark.planned(flat(table, schema), backend).schema.fields}
    kinds = {name: name_spark_type(fields[name]) for name in declared if name in fields}
    refuse_types("Spark", schema, kinds, SPARK)


def _holds_times(kind: dt.DataType) -> bool:
    if isinstance(kind, dt.Struct):
        return any(map(_holds_times, kind.types))
    return isinstance(kind, dt.Timestamp | dt.Time | dt.Interval)


def _check_times(files: list[str], held: ibis.Schema, schema: Schema) -> None:
    """Refuse Parquet times in milliseconds on Spark: it turns them into microseconds, and fails where they overflow.

    A column that is there under its own name and is not declared is never read.
    """
    times = {name for name, kind in held.items() if kind.is_timestamp()}
    unread = times - set(schema.held)
    for file in files:
        if not file.startswith("file:"):
            if times & set(schema.held):
                raise SchemaError(
                    f"times of Parquet files that this machine cannot see ({', '.join(sorted(times))}) may fail by "
                    "value on Spark; store them as dates"
                )
            continue
        coarse = {name for name, unit in parquet.time_units(Path(unquote(urlsplit(file).path))).items() if unit == "ms"}
        if coarse - unread:
            raise SchemaError(
                f"Parquet times in milliseconds ({', '.join(sorted(coarse - unread))}) may fail by value on Spark; "
                "store them in microseconds or as dates, or pass the file's path to sf.read"
            )


def _rebuilt(table: ir.Table, replaced: dict[ops.Node, ops.Node]) -> ir.Table:
    try:
        return table.op().replace(replaced).to_expr()
    except Exception:
        pass
    raise SchemaError(
        "the expression uses a column of a Parquet file whose type may fail by value (a time, or a nested type); leave "
        "it out, or pass the file's path to sf.read"
    )


def _files(leaf: ops.PhysicalTable, backend: Backend) -> list[Path] | None:
    """The files of a view that Ibis made over them."""
    found = backend.con.execute(VIEW, [leaf.name]).fetchall()  # temporary views are the connection's own
    match = FILES.search(found[0][0]) if len(found) == 1 else None
    names = [] if match is None else re.findall(TEXT, match[1])
    return [Path(name[1:-1].replace("''", "'")) for name in names] or None


def _scans(leaf: ops.PhysicalTable, backend: Backend) -> Iterator[str]:
    """The kinds of sources in the plan of a table; one that cannot be planned on another cursor is none of ours."""
    cursor = backend.con.cursor()
    try:
        query = backend.compile(leaf.to_expr())
        ((_, plan),) = cursor.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
    except Exception:
        yield "temporary tables, or sources that cannot be planned"
        return
    finally:
        cursor.close()
    yield from _leaves(json.loads(plan))


def _leaves(plans: list[dict[str, Any]]) -> Iterator[str]:
    for plan in plans:
        if plan["children"]:
            yield from _leaves(plan["children"])
        else:
            yield plan["name"].strip()
