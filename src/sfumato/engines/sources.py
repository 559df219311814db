"""Where tables come from: files, databases, data frames, Ibis.  Nothing here looks at a value."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa

from sfumato import arguments
from sfumato.addresses import SERVERS
from sfumato.engines import frames, parquet, spark, text
from sfumato.engines.backends import connected, executed, quiet
from sfumato.engines.canary import trusted
from sfumato.engines.coercion import check_declared
from sfumato.engines.files import PARQUET, Files, files_of, local, must_be_apart
from sfumato.engines.growing import Growing, Part, must_be_private
from sfumato.engines.guarding import guard_types
from sfumato.engines.joining import joined, of_events, of_people
from sfumato.engines.origins import based
from sfumato.engines.parquet import engine_types
from sfumato.engines.physical_types import check_arrow
from sfumato.engines.servers import on_server
from sfumato.engines.table import Table
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import ADJACENCIES, AddRemove, Adjacency, Person, Row
from sfumato.spaces import Space
from sfumato.spaces.derived import Derived
from sfumato.spaces.schema import Schema, named_after

if TYPE_CHECKING:
    pass

__all__ = ["column_types", "open_source", "read"]

DATABASES = (".duckdb", ".ddb", ".db")
TABLES = "SELECT table_schema, table_name, table_type = 'VIEW' FROM information_schema.tables ORDER BY ALL"


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
    keep: str | Path | None = None,
) -> Table:
    """A sensitive table from a file, a data frame or an Ibis table, behind its public schema.

    `source`: a CSV, TSV, Parquet or DuckDB file (with `table` naming the table inside); a folder of Parquet files,
    whose partitions (`month=3/...`) are columns; several files of the same columns (a list, or a pattern such as
    "months/*.parquet"); the address of such a file or folder in an object store ("s3://bucket/people"); a pandas,
    polars (also lazy), Spark or Arrow frame; the address of a PostgreSQL server such as
    "postgresql://reader@host/database" (with `table`); or any Ibis table on DuckDB, Spark or PostgreSQL.
    `unit`: the column that identifies a person, with at most `rows` rows each; without it a row is protected.
    `adjacency`: "add-remove" (the default) or "replace": what neighboring tables differ in.
    `size`: the public number of units; under replacement the number of rows, which is compared with the table.
    `version`: which state of the dataset this is, such as "2026-11"; releases of each have names of their own.
    `quoted_lines`: quotes in a text file may hold line ends; see `Schema`.
    `people`: a second table with one line a person, under the same identifier, and in `attributes` the spaces of its
    columns, which questions then use like those of the first; an event whose person has no line there lacks them.
    `derived`: columns that are computed from declared ones, such as {"bmi": ("kg / (m * m)", Interval(10, 60))}.
    `keep`: a private folder where what was counted in each of several Parquet files is kept, so that a table that grew
    by a file costs one pass over that file; as secret as the data.
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
    if keep is not None:
        if people is not None or table is not None:
            raise SchemaError("keep= is for tables that are Parquet files alone; leave out people= and table=")
        return _growing(source, declared, arguments.path("keep", keep))
    if people is None:
        if attributes is not None:
            raise SchemaError("attributes= are columns of a table of people; say which with people=")
        return Table(open_source(source, table, declared), declared)
    return Table(_joined(source, table, people, declared), declared)


def _growing(source: object, schema: Schema, folder: Path) -> Table:
    """A table of files, each of which is answered by itself where it is not known what it answered."""
    files = files_of(source)
    if files is None or files.store is not None or _kind(files) not in PARQUET:
        raise SchemaError("keep= is for Parquet files of this machine: a list of them, a folder or a pattern")
    if isinstance(schema.unit, Person):
        raise SchemaError(
            "keep= is for tables that protect rows: a person's rows may lie in several files, whose answers do not add "
            "up; leave it out"
        )
    alone = replace(schema, adjacency=AddRemove(), size=None)  # of one file no size is known

    def part(path: Path) -> Part:
        one = replace(files, paths=(path,))

        @cache
        def opened() -> Table:
            return Table(guard_types(parquet.opened(one, alone), alone), alone)

        return Part(path, lambda: _read_through(one, alone), lambda statistic: opened().answer(statistic))

    if files.folder is not None and files.folder.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise SchemaError(f"keep={str(folder)!r} lies in the folder of the table; name a folder elsewhere")
    growing = Growing(must_be_private(folder), alone, tuple(part(path) for path in files.paths))
    growing.read()
    with quiet():
        return Table(guard_types(parquet.opened(files, schema), schema), schema, growing)


def _read_through(files: Files, schema: Schema | None, kind: str = PARQUET[0], table: str | None = None) -> ibis.Table:
    opened = _opened(files, kind, table, schema)
    if opened is None:  # raised out here, so that the engine's own error is not its context
        raise _unreadable(files, kind)
    return opened


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
    """Return an Ibis table over the source; with a schema, of files and frames only the columns that it declares."""
    if isinstance(source, ibis.Table) and table is None:
        return guard_types(based(source, schema), schema)
    if spark.is_frame(source) and table is None:
        with quiet():
            return based(spark.named(source), schema)
    if isinstance(source, str) and source.startswith(SERVERS):
        return based(on_server(source, table), schema)
    files = files_of(source)
    kind = None if files is None else _kind(files)
    if table is not None and kind not in DATABASES:
        raise SchemaError(
            "table= names a table inside a DuckDB file or on a PostgreSQL server; "
            f"{'a frame' if files is None else files.name} holds one alone: leave it out"
        )
    if files is None or kind is None:
        return _frame(source, schema)
    return _read_through(files, schema, kind, table)


def _kind(files: Files) -> str:
    """The ending that says how files are read."""
    if files.keys or files.folder is not None:
        return PARQUET[0]
    for path in files.paths if files.store is None else ():
        if not path.is_file():
            home = ", in which ~ stands for no folder" if "~" in path.parts else ""
            raise SchemaError(f"there is no file {path}; check the path{home}")
    endings = [path.suffix.lower() if path.suffix.lower() != ".gz" else Path(path.stem).suffix.lower()
               for path in files.paths]  # fmt: skip
    known = [*text.SEPARATORS, *PARQUET, *DATABASES] if files.store is None else PARQUET
    if not set(endings) <= set(known):
        raise SchemaError(
            f"{files.name} has no known ending; use .csv, .tsv, .parquet, .duckdb, or pass a data frame"
            if files.store is None
            else f"{files.name}: of an object store Parquet files are read; use .parquet, or download the file"
        )
    if len(endings) > 1 and not (set(endings) <= set(PARQUET) or set(endings) <= set(text.SEPARATORS)):
        raise SchemaError("several files are read together if all are Parquet, or all text; store others in one table")
    return endings[0]


def _unreadable(files: Files, kind: str) -> SchemaError:
    named = files.name
    if kind in PARQUET and len(files.paths) > 1:
        for number, path in enumerate(files.paths, start=1):
            if not _has_footer(files, path):  # folders' names may be values, and are not repeated
                named = f"{path.name}, number {number} of {files.name} by their paths,"
                break
    return SchemaError(f"{named} cannot be read as a {kind} file; check that it is complete and readable")


def _has_footer(files: Files, path: Path) -> bool:
    with contextlib.suppress(Exception):
        return bool(files.footer(path).names) or True
    return False


def _opened(files: Files, kind: str, table: str | None, schema: Schema | None) -> ibis.Table | None:
    try:
        with quiet():
            if kind in text.SEPARATORS:
                must_be_apart(files)
                return _loaded(_lines(path, schema) for path in files.paths)
            if kind in PARQUET:
                return parquet.everything(files) if schema is None else _whole(parquet.opened(files, schema), schema)
            return _whole(_database(files.paths[0], table, schema), schema)
    except SchemaError:
        raise
    except Exception:
        return None


def _lines(path: Path, schema: Schema | None) -> pa.RecordBatchReader:
    """The declared columns of a text file, or all of them, as texts."""
    separator = text.SEPARATORS[_kind(local([path]))]
    wanted = {name: name for name in text.names(path, separator)} if schema is None else _stored(schema)
    return text.batches(path, separator, wanted, schema is not None and schema.quoted_lines)


def unread(source: object, quoted_lines: bool) -> text.Unread | None:
    """What of text files is missing for how their lines are written, for the steward alone; None of other tables."""
    files = files_of(source)
    if files is None or files.store is not None or (kind := _kind(files)) not in text.SEPARATORS:
        return None
    with contextlib.suppress(OSError, EOFError, zlib.error):
        found = (text.unread(path, text.SEPARATORS[_kind(local([path]))], quoted_lines) for path in files.paths)
        return sum(found, text.Unread())
    raise _unreadable(files, kind)


def column_types(source: object, table: str | None = None) -> dict[str, str]:
    """Column names and types, never values; a text file knows names only."""
    files = files_of(source)
    if files is None or table is not None:
        return {name: str(kind) for name, kind in open_source(source, table).schema().items()}
    kind = _kind(files)
    if kind in text.SEPARATORS:
        with contextlib.suppress(OSError, EOFError, zlib.error):
            return dict.fromkeys(text.names(files.paths[0], text.SEPARATORS[kind]), "string")
        raise _unreadable(files, kind)
    if kind in PARQUET:
        with contextlib.suppress(pa.ArrowException, OSError):
            return {name: str(kind) for name, kind in parquet.engine_types(parquet.file_types(files)).items()}
        raise _unreadable(files, kind)
    return {name: str(kind) for name, kind in open_source(files.paths[0]).schema().items()}


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
    table = guard_types(table, schema)
    held = set(table.columns)
    wanted = [name for name in _wanted(schema) if name in held] if schema is not None else []
    if wanted:
        executed(table.aggregate(**{f"h{place}": table[name].hash().max() for place, name in enumerate(wanted)}))
    return table


def _loaded(parts: Iterable[pa.Table | pa.RecordBatchReader]) -> ibis.Table:
    """A table of our own with all these rows, read to their end: what is damaged is found here."""
    connection = connected()
    for place, rows in enumerate(parts):
        connection.con.register("rows_of_source", rows)
        added = "INSERT INTO source" if place else "CREATE TABLE source AS"
        connection.con.execute(f"{added} SELECT * FROM rows_of_source")
        connection.con.unregister("rows_of_source")
    return connection.table("source")


def _database(path: Path, table: str | None, schema: Schema | None) -> ibis.Table:
    connection = trusted(connected(path.absolute(), read_only=True))  # DuckDB gives a meaning to some first characters
    connection.raw_sql("SET enable_external_access = false")  # what a view in the file reads lies in the file
    listed = connection.raw_sql(TABLES).fetchall()  # Ibis 12 cannot list them on DuckDB 2
    tables = {name if place == "main" else f"{place}.{name}": (place, name, seen) for place, name, seen in listed}
    if table is None and len(tables) == 1:
        (table,) = tables
    if table not in tables:
        asked = "" if table is None else f"no table {table!r:.200}; it holds "
        named = f"the tables {', '.join(tables)}; name one with table=" if tables else "no table"
        raise SchemaError(f"{path} holds {asked}{named}")
    place, name, computed = tables[table]
    if computed:  # it may fail by what a row holds, which would be seen
        raise SchemaError(f"{table!r} in {path} is a view; store its rows: CREATE TABLE ... AS SELECT * FROM {name}")
    return based(connection.table(name, database=place), schema)


def _frame(source: object, schema: Schema | None) -> ibis.Table:
    try:
        wanted = dict.fromkeys(getattr(source, "columns", ())) if schema is None else _wanted(schema)
        with quiet():
            found = frames.arrow_table(source, wanted, {} if schema is None else schema.paths)
            if found is not None:
                if schema is not None:  # by their types alone, before a value is converted
                    check_declared(schema, engine_types(found.schema))
                    check_arrow(schema, {field.name: field.type for field in found.schema})
                return guard_types(_loaded([found]), schema)
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
