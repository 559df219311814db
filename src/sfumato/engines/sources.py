"""Where tables come from: files, databases, data frames, Ibis.  Nothing here looks at a value."""

from __future__ import annotations

import contextlib
import importlib.util
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

import ibis

from sfumato import arguments
from sfumato.engines import frames, parquet, spark, text
from sfumato.engines.backends import connected, executed, quiet
from sfumato.engines.canary import trusted
from sfumato.engines.coercion import check_declared
from sfumato.engines.joining import joined, of_events, of_people
from sfumato.engines.origins import based
from sfumato.engines.table import Table
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import ADJACENCIES, Adjacency, Person, Row
from sfumato.spaces import Space
from sfumato.spaces.derived import Derived
from sfumato.spaces.schema import Schema, is_pattern, named_after

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends import BaseBackend

__all__ = ["column_types", "open_source", "read"]

DATABASES = (".duckdb", ".ddb", ".db")
PARQUET = (".parquet", ".pq")
SERVERS = ("postgresql://", "postgres://")
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name"


def read(
    source: object,
    *,
    schema: Schema | Mapping[str, Space],
    unit: str | None = None,
    rows: int | None = None,
    adjacency: str | Adjacency | None = None,
    size: int | None = None,
    dataset: str | None = None,
    table: str | None = None,
    version: str | None = None,
    quoted_lines: bool = False,
    people: object = None,
    attributes: Mapping[str, Space] | None = None,
    derived: Mapping[str, Derived | tuple[str, Space]] | None = None,
) -> Table:
    """A sensitive table from a file, a data frame or an Ibis table, behind its public schema.

    `source`: a CSV, TSV, Parquet or DuckDB file (with `table` naming the table inside), several Parquet files of the
    same columns (a list, or a pattern such as "months/*.parquet"), a pandas, polars or Arrow frame, the address of a
    PostgreSQL server such as "postgresql://reader@host/database" (with `table`), or any Ibis table on DuckDB, Spark or
    PostgreSQL.
    `unit`: the column that identifies a person, with at most `rows` rows each; without it a row is protected.
    `adjacency`: "add-remove" (the default) or "replace": what neighboring tables differ in.
    `size`: the public number of units; under replacement the number of rows, which is compared with the table.
    `version`: which state of the dataset this is, such as "2026-11"; releases of each have names of their own.
    `quoted_lines`: quotes in a text file may hold line ends; see `Schema`.
    `people`: a second table with one line a person, under the same identifier, and in `attributes` the spaces of its
    columns, which questions then use like those of the first; an event whose person has no line there lacks them.
    `derived`: columns that are computed from declared ones, such as {"bmi": ("kg / (m * m)", Interval(10, 60))}.
    Text files and frames are read once, here; Parquet and database files are answered from where they lie, after one
    pass over the declared columns that finds damage before anything is charged.
    """
    if isinstance(schema, Schema):
        declared = schema
        _must_say_nothing_else(
            schema, unit=unit, rows=rows, adjacency=adjacency, size=size, dataset=dataset, version=version,
            quoted_lines=quoted_lines, attributes=attributes, derived=derived,
        )  # fmt: skip
    else:
        held = {} if attributes is None else attributes
        computed = {} if derived is None else derived
        declared = _schema(schema, unit, rows, adjacency, size, dataset, source, version, quoted_lines, held, computed)
    if people is None:
        if attributes is not None:
            raise SchemaError("attributes= are columns of a table of people; say which with people=")
        return Table(open_source(source, table, declared), declared)
    return Table(_joined(source, table, people, declared), declared)


def _joined(source: object, table: str | None, people: object, schema: Schema) -> ibis.Table:
    """Events with the attributes of people; each table is opened and checked by itself."""
    if not schema.people:
        raise SchemaError("people= needs attributes=: which columns of the table of people are declared, and how?")
    events, lines = of_events(schema), of_people(schema)
    opened = open_source(source, table, events)
    check_declared(events, dict(opened.schema().items()))
    try:
        held = open_source(people, None, lines)
        check_declared(lines, dict(held.schema().items()))
    except SchemaError as error:
        raise SchemaError(f"the table of people: {error}") from None
    return joined(opened, held, schema)


def open_source(source: object, table: str | None = None, schema: Schema | None = None) -> ibis.Table:
    """An Ibis table over the source; with a schema, of files and frames only the columns that it declares."""
    if isinstance(source, ibis.Table):
        return based(source, schema)
    if spark.is_frame(source):
        with quiet():
            return based(spark.named(source), schema)
    if isinstance(source, str) and source.startswith(SERVERS):
        return based(_on_server(source, table), schema)
    paths = _paths(source)
    if not paths:
        return _frame(source, schema)
    kinds = [_kind(path) for path in paths]
    if len(paths) > 1 and not set(kinds) <= set(PARQUET):
        raise SchemaError("several files are read together if all are Parquet; store the rows of others in one table")
    opened = _opened(paths, kinds[0], table, schema)
    if opened is None:  # raised out here, so that the engine's own error is not its context
        raise _unreadable(paths[0], kinds[0])
    return opened


def _paths(source: object) -> list[Path]:
    """The files that a path, a pattern such as months/*.parquet or a list of paths names; none where it is no such."""
    if isinstance(source, list | tuple) and all(isinstance(one, str | Path) for one in source):
        return [path for one in source for path in _paths(one)]
    if not isinstance(source, str | Path):
        return []
    path = arguments.path("source", source)
    if path.is_file() or not is_pattern(path):
        return [path]
    found = sorted(path.parent.glob(path.name))
    if not found:
        raise SchemaError(f"no file matches {path}; check the pattern")
    return found


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


def _opened(paths: list[Path], kind: str, table: str | None, schema: Schema | None) -> ibis.Table | None:
    path = paths[0]
    try:
        with quiet():
            if kind in text.SEPARATORS:
                wanted = (
                    {name: name for name in text.names(path, text.SEPARATORS[kind])}
                    if schema is None
                    else _stored(schema)
                )
                joined = schema is not None and schema.quoted_lines
                return _loaded(text.batches(path, text.SEPARATORS[kind], wanted, joined))
            if kind in PARQUET:
                return parquet.everything(paths) if schema is None else _whole(parquet.opened(paths, schema), schema)
            return _whole(_database(path, table, schema), schema)
    except SchemaError:
        raise
    except Exception:
        return None


def column_types(source: str | Path, table: str | None = None) -> dict[str, str]:
    """Column names and types, never values; a text file knows names only."""
    paths = _paths(source)
    path, kind = paths[0], _kind(paths[0])
    if kind in text.SEPARATORS:
        with contextlib.suppress(OSError, EOFError, zlib.error):
            return dict.fromkeys(text.names(path, text.SEPARATORS[kind]), "string")
        raise _unreadable(path, kind)
    if kind in PARQUET:
        with contextlib.suppress(Exception):
            return {name: str(kind) for name, kind in parquet.engine_types(parquet.file_types(paths)).items()}
        raise _unreadable(path, kind)
    held = open_source(path, table).schema()
    return {name: str(kind) for name, kind in held.items()}


def _stored(schema: Schema) -> dict[str, str]:
    """What the declared columns are called where they are stored."""
    return {name: name for name in _wanted(schema)} | {name: ".".join(path) for name, path in schema.paths.items()}


def _wanted(schema: Schema) -> dict[str, Space | None]:
    """The declared columns, and who is protected."""
    unit = {schema.unit.column: None} if isinstance(schema.unit, Person) else {}
    return {**schema.held, **unit}


def _schema(
    columns: Mapping[str, Space],
    unit: str | None,
    rows: int | None,
    adjacency: str | Adjacency | None,
    size: int | None,
    dataset: str | None,
    source: object,
    version: str | None,
    quoted_lines: bool,
    attributes: Mapping[str, Space],
    derived: Mapping[str, Any],
) -> Schema:
    arguments.instance("attributes", attributes, Mapping, "a mapping such as {'age': Integers(0, 120)}")
    if isinstance(columns, Mapping) and columns.keys() & attributes.keys():
        raise SchemaError("a column is declared of events and of people; rename it in one of the two tables")
    if unit is not None and rows is None:
        raise SchemaError(f"unit={unit!r} needs rows=: at most how many rows of a person count?")
    if unit is None and rows is not None:
        raise SchemaError("rows= needs unit=: which column identifies a person?")
    adjacency = "add-remove" if adjacency is None else adjacency
    if isinstance(adjacency, str):
        if adjacency not in ADJACENCIES:
            raise SchemaError(f"adjacency must be one of {', '.join(ADJACENCIES)}, got {adjacency!r}")
        adjacency = ADJACENCIES[adjacency]
    if dataset is None:
        if not isinstance(source, str | Path) or str(source).startswith(SERVERS):
            raise SchemaError("dataset= is needed for a table that is not a file: a name for its ledger to be bound to")
        dataset = named_after(Path(source))
    person = Row() if unit is None or rows is None else Person(unit, rows)
    declared = {**columns, **attributes} if isinstance(columns, Mapping) else columns
    people = tuple(attributes)
    return Schema(
        declared, person, adjacency, size, dataset, version, quoted_lines=quoted_lines, people=people, derived=derived
    )


def _must_say_nothing_else(schema: Schema, **said: object) -> None:
    """Refuse what is said beside a whole schema and is not what it says: it would be left out without a word."""
    person = schema.unit if isinstance(schema.unit, Person) else None
    own: dict[str, tuple[object, ...]] = {
        "unit": (None, person and person.column), "rows": (None, person and person.rows), "size": (None, schema.size),
        "adjacency": (None, schema.adjacency, schema.adjacency.name), "dataset": (None, schema.dataset),
        "version": (None, schema.version), "quoted_lines": (False, schema.quoted_lines),
    }  # fmt: skip
    for name, value in said.items():
        if not any(value is one or (type(value) is type(one) and value == one) for one in own.get(name, (None,))):
            raise SchemaError(
                f"{name}= is said beside a Schema, which says it itself and would win; declare it there, or give "
                "the columns alone, as in schema={'age': Integers(0, 120)}"
            )


def _whole(table: ibis.Table, schema: Schema | None) -> ibis.Table:
    """The same table, its declared columns decoded to their end once: a damaged file must not fail after a charge."""
    held = set(table.columns)
    wanted = [name for name in _wanted(schema) if name in held] if schema is not None else []
    if wanted:
        executed(table.aggregate(**{f"h{place}": table[name].hash().max() for place, name in enumerate(wanted)}))
    return table


def _loaded(rows: pa.Table | pa.RecordBatchReader) -> ibis.Table:
    """A table of our own with these rows, read to their end: what is damaged is found here."""
    connection = connected()
    connection.con.register("rows_of_source", rows)
    connection.con.execute("CREATE TABLE source AS SELECT * FROM rows_of_source")
    connection.con.unregister("rows_of_source")
    return connection.table("source")


def _on_server(address: str, table: str | None) -> ibis.Table:
    """A table of a PostgreSQL server; errors name neither the address, which may hold a password, nor a value."""
    if table is None:
        raise SchemaError("which table of the PostgreSQL server? name it with table=, such as table='people'")
    *place, name = table.split(".")
    if importlib.util.find_spec("psycopg") is None:
        raise SchemaError("PostgreSQL needs the extra `postgres`: pip install 'sfumato[postgres]'")
    try:
        backend = ibis.connect(address)
    except Exception:
        backend = None
    if backend is None:
        raise SchemaError("the PostgreSQL server does not let us in; check the address, the database and the role")
    finalize(backend, backend.con.close)
    try:
        return backend.table(name, database=place[0] if place else None)
    except Exception:
        backend.disconnect()
    raise SchemaError(f"there is no table {table!r} that this role may read; name it as table or schema.table")


def _database(path: Path, table: str | None, schema: Schema | None) -> ibis.Table:
    connection = trusted(connected(path, read_only=True))
    connection.raw_sql("SET enable_external_access = false")  # what a view in the file reads lies in the file
    tables = [name for (name,) in connection.raw_sql(TABLES).fetchall()]  # Ibis 12 cannot list them on DuckDB 2
    if table is None and len(tables) == 1:
        (table,) = tables
    if table not in tables:
        raise SchemaError(f"{path} holds the tables {', '.join(tables)}; name one with table=")
    if not _lies_within(connection, str(table)):
        raise SchemaError(f"{table!r} in {path} is a view of something outside that file; store its rows in a table")
    return based(connection.table(table), schema)


def _lies_within(connection: BaseBackend, table: str) -> bool:
    """Whether a table or view can be planned without access to anything outside its file."""
    try:
        connection.con.cursor().execute("EXPLAIN SELECT * FROM " + '"' + table.replace('"', '""') + '"')
    except Exception:
        return False
    return True


def _frame(source: object, schema: Schema | None) -> ibis.Table:
    try:
        wanted = dict.fromkeys(getattr(source, "columns", ())) if schema is None else _wanted(schema)
        with quiet():
            found = frames.arrow_table(source, wanted, {} if schema is None else schema.paths)
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
