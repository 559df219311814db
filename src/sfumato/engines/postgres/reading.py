"""What a PostgreSQL table holds, column by column, as the other engines hold it; from its catalogue alone.

Texts compare by their bytes, whatever collation a column has.  Decimals are read as doubles, infinite dates as
missing, arrays as lists that count from one, values of an enumerated type as texts.  Only stored rows are read: a view,
a foreign table or a policy for rows may fail by value, or leave rows out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import sqlglot.expressions as sge

from sfumato.engines.physical_types import POSTGRES, refuse_types
from sfumato.engines.postgres.sessions import session
from sfumato.engines.postgres.writing import NUMBER
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends.postgres import Backend

__all__ = ["plain"]

RELATION = """
SELECT c.relkind::text, c.relpersistence::text, row_security_active(c.oid),
       EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated = 'v'),
       EXISTS (WITH RECURSIVE parts(oid) AS (SELECT c.oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN parts p
               ON i.inhparent = p.oid)
               SELECT FROM parts JOIN pg_class k USING (oid) WHERE k.relkind NOT IN ('r', 'p', 'm'))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %s AND n.nspname = %s
"""
TEXTS = """
SELECT a.attname -- read as texts though their type is another
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND (t.typtype = 'e' OR t.typname = 'citext')
"""
GRANTED = """
SELECT a.attname -- that this role may read
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND has_column_privilege(c.oid, a.attnum, 'SELECT')
"""
TYPES = """
SELECT t.oid, t.typelem,
       CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typtype = 'c' THEN 'composite'
            WHEN EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid) THEN 'array'
            WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname::text
            WHEN EXISTS (SELECT FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
                         WHERE d.objid = t.oid AND d.deptype = 'e' AND x.extname = 'citext') THEN 'citext'
            ELSE t.typname || ' of ' || t.typnamespace::regnamespace END
FROM pg_type t WHERE t.oid = ANY(%s)
"""
SCHEMA = "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)"


def plain(table: ir.Table, schema: Schema | None) -> ir.Table:
    """The same rows, of columns that every engine holds alike; refused where a table's rows are not stored.

    Without a schema, which is how plans are drafted, all columns that the role may read.
    """
    backend: Backend = table.get_backend()
    leaves = {leaf: _qualified(leaf, backend) for leaf in table.op().find(ops.DatabaseTable)}
    if table.op() in leaves:
        named = leaves[table.op()]
        source = sge.Table(this=_name(named.name), db=_name(named.namespace.database)).sql("postgres")
        texts, granted = _found(TEXTS, named, backend), _found(GRANTED, named, backend)
    else:
        whole = table.op().replace(leaves).to_expr() if leaves else table
        source, texts, granted = f"({backend.compile(whole)})", set(), set(table.columns)
    wanted = [name for name in (table.columns if schema is None else _declared(schema)) if name in table.columns]
    if schema is None and granted:
        wanted = [name for name in wanted if name in granted]
    _must_be_readable([name for name in wanted if name not in granted])
    kinds = {name: dt.string if name in texts else table[name].type() for name in wanted}
    unit = schema.unit.column if schema is not None and isinstance(schema.unit, Person) else None
    elapsed = [name for name, kind in kinds.items() if kind.is_interval()]
    if elapsed and schema is not None:
        raise SchemaError(
            f"elapsed times on PostgreSQL ({', '.join(elapsed)}) are not read; store them as numbers of their unit"
        )
    if schema is not None and wanted:
        refuse_types("PostgreSQL", schema, _typed(wanted, unit, source, backend), POSTGRES)
    columns = [f"{_held(_name(name).sql('postgres'), kind, name == unit)} AS {_name(name).sql('postgres')}"
               for name, kind in kinds.items()]  # fmt: skip
    held = {name: kind if name == unit else _kind(kind) for name, kind in kinds.items()}
    query = f"SELECT {', '.join(columns)} FROM {source} AS source"
    _must_be_granted(query, backend)
    if unit is not None and unit in held:
        _must_be_comparable(unit, query, backend)
    return ops.SQLQueryResult(query, ibis.schema(held), backend).to_expr()


def _must_be_readable(refused: list[str]) -> None:
    if refused:
        raise SchemaError(
            f"this role may not read {', '.join(refused)}; let the table's owner GRANT SELECT on "
            f"{'this column' if len(refused) == 1 else 'these columns'} to the role, or leave out what is not needed"
        )


def _must_be_granted(query: str, backend: Backend) -> None:
    """Refuse what the role may not read: a charge must not come first."""
    if not _planned(query, backend):
        raise SchemaError(
            "this role may not read the table; let its owner GRANT SELECT ON the table TO the role, and USAGE ON its "
            "schema"
        )


def _typed(wanted: list[str], unit: str | None, source: str, backend: Backend) -> dict[str, list[str]]:
    """Return the server's own names of the columns' types, those of arrays before those of their items.

    Domains are named as their base type.
    """
    query = f"SELECT {', '.join(_name(name).sql('postgres') for name in wanted)} FROM {source} AS source LIMIT 0"
    _must_be_granted(query, backend)
    with session(backend) as con:
        cursor = con.execute(query)
        found = [column.type_code for column in cursor.description or ()]
        lengths = [cursor.pgresult.fmod(place) for place in range(len(found))] if cursor.pgresult else []
        known = {oid: (name, item) for oid, item, name in con.execute(TYPES, [found]).fetchall()}
        items = [item for name, item in known.values() if name == "array"]
        known |= {oid: (name, 0) for oid, _, name in con.execute(TYPES, [items]).fetchall()}
    kinds = {}
    for column, oid, length in zip(wanted, found, lengths, strict=True):
        name, item = known[oid]
        kinds[column] = [name, known[item][0]] if name == "array" else [name]
        if column == unit and name == "bpchar" and length < 0:  # blanks at the end are stored, and overlooked
            kinds[column] = ["bpchar without a length"]
    return kinds


def _must_be_comparable(unit: str, query: str, backend: Backend) -> None:
    """Refuse identifiers of a type whose values the server cannot tell apart, such as points."""
    if not _planned(f"SELECT DISTINCT {_name(unit).sql('postgres')} FROM ({query}) AS rows", backend):
        raise SchemaError(
            f"{unit!r} identifies persons and is of a type whose values PostgreSQL does not compare; store one number "
            "or text for each person"
        )


def _planned(query: str, backend: Backend) -> bool:
    """Whether the server can run the query: it looks at rights and types where it plans, before any row is read.

    The server's own message is not the context of ours.
    """
    with session(backend) as con:
        try:
            with con.transaction():
                con.execute(f"EXPLAIN {query}")
            return True
        except Exception:
            return False


def _declared(schema: Schema) -> dict[str, None]:
    unit = {schema.unit.column: None} if isinstance(schema.unit, Person) else {}
    stored = dict.fromkeys([*schema.held, *(path[0] for path in schema.paths.values())])
    return {**stored, **unit}


def _name(name: str) -> sge.Identifier:
    return sge.Identifier(this=name, quoted=True)


def _qualified(leaf: ops.DatabaseTable, backend: Backend) -> ops.DatabaseTable:
    """The table under its full name; refused unless its rows are stored, and all of them are seen."""
    with backend.con.cursor() as cursor:
        place = leaf.namespace.database
        if place is None:
            found = cursor.execute(SCHEMA, [_name(leaf.name).sql("postgres")]).fetchone()
            (place,) = found or (None,)
    with session(backend) as con:
        found = con.execute(RELATION, [leaf.name, place]).fetchone()
    if found is None:
        raise SchemaError(f"there is no table {leaf.name!r} on this PostgreSQL server; check its name")
    kind, kept, hidden, computed, elsewhere = found
    if kept == "t":
        raise SchemaError(f"the table {leaf.name!r} is temporary, and other sessions do not see it; store its rows")
    if kind not in ("r", "p", "m") or elsewhere or computed:
        raise SchemaError(
            f"{leaf.name!r} is a view, a foreign table or computed when it is read, which may fail by value; only "
            "stored tables and materialized views are supported"
        )
    if hidden:
        raise SchemaError(
            f"a policy for rows of {leaf.name!r} hides some of them from this role; use a role that sees all "
            "(BYPASSRLS), or a table without one"
        )
    return leaf.copy(namespace=ops.Namespace(database=place))


def _found(query: str, leaf: ops.DatabaseTable, backend: Backend) -> set[str]:
    """Columns of the table that a query of the catalogue names."""
    with session(backend) as con:
        return {name for (name,) in con.execute(query, [leaf.namespace.database, leaf.name]).fetchall()}


def _kind(kind: dt.DataType) -> dt.DataType:
    """The type that a column is read as."""
    if kind.is_array():
        return dt.Array(_kind(kind.value_type))
    return dt.float64 if kind.is_decimal() else kind


def _held(column: str, kind: dt.DataType, identifies: bool = False) -> str:
    """The SQL that reads one column, or one entry of an array."""
    if kind.is_array():
        entry = _held("e", kind.value_type)
        return f"CASE WHEN {column} IS NOT NULL THEN ARRAY(SELECT {entry} FROM UNNEST({column}) AS u(e)) END"
    if kind.is_string():
        return f'CAST({column} AS TEXT) COLLATE "C"'
    if kind.is_decimal():
        if identifies:
            return f"NULLIF({column}, CAST('NaN' AS NUMERIC))"
        usual = f"ABS({column}) < 1e150 AND (ABS({column}) > 1e-150 OR {column} = 0)"
        return f"CASE WHEN {usual} THEN CAST({column} AS DOUBLE PRECISION) ELSE {NUMBER}(CAST({column} AS TEXT)) END"
    if kind.is_date() or kind.is_timestamp():
        return f"CASE WHEN ISFINITE({column}) THEN {column} END"
    return column
