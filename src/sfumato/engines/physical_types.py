"""The types that columns may have, source by source, as each source itself calls them: closed lists.

A type that is read here is read by an expression that has a value for every bit pattern of the type, so that no value
decides whether a question fails.  A type that identifies persons has an equality that never takes two values for one
that the source itself tells apart.  Every other type is refused by name when a table is opened, before any charge;
`tests/engines/test_physical_types.py` compares the lists with what each source enumerates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType

__all__ = [
    "ARROW",
    "DUCKDB",
    "POSTGRES",
    "SPARK",
    "Physical",
    "check_arrow",
    "name_arrow_type",
    "name_duckdb_type",
    "name_spark_type",
    "refuse_types",
]


@dataclass(frozen=True, slots=True)
class Physical:
    """What becomes of columns of one type: whether declared columns are read, and whether it may identify persons."""

    is_read: bool
    identifies: bool


BOTH, READ, IDENTIFIES, LIST, REFUSED = (
    Physical(True, True), Physical(True, False), Physical(False, True), Physical(True, False), Physical(False, False),
)  # fmt: skip

# DuckDB's own names, of tables in its files and of whatever else it holds.
DUCKDB: Mapping[str, Physical] = {
    "boolean": BOTH,
    "tinyint": BOTH, "smallint": BOTH, "integer": BOTH, "bigint": BOTH,
    "utinyint": BOTH, "usmallint": BOTH, "uinteger": BOTH, "ubigint": BOTH,
    "hugeint": BOTH,  # as doubles; Ibis takes it for decimal(38, 0), which does not hold all of it
    "uhugeint": REFUSED, "bignum": REFUSED,
    "decimal": BOTH, "float": BOTH, "double": BOTH,
    "varchar": BOTH, "enum": BOTH, "json": REFUSED,
    "blob": IDENTIFIES, "uuid": IDENTIFIES, "bit": REFUSED,
    "date": BOTH,
    "timestamp": BOTH, "timestamp_ns": BOTH, "timestamp with time zone": BOTH,
    "timestamp_s": BOTH, "timestamp_ms": BOTH,  # by way of `read_coarse_times`: they hold more than microseconds do
    "timestamptz_ns": REFUSED,
    "time": BOTH, "time_ns": REFUSED,
    "time with time zone": REFUSED,  # what its clock shows depends on a zone, and its equality overlooks that
    "interval": READ,  # one day is 24 hours to its equality
    "list": LIST, "array": LIST,
    "struct": REFUSED, "tuple": REFUSED, "map": REFUSED, "union": REFUSED, "variant": REFUSED, "geometry": REFUSED,
    "null": REFUSED, "type": REFUSED,
}  # fmt: skip

# Arrow's type ids, of Arrow tables, frames and the footers of Parquet files.
ARROW: Mapping[str, Physical] = {
    "na": BOTH, "bool": BOTH,
    "int8": BOTH, "int16": BOTH, "int32": BOTH, "int64": BOTH,
    "uint8": BOTH, "uint16": BOTH, "uint32": BOTH, "uint64": BOTH,
    "half_float": BOTH, "float": BOTH, "double": BOTH,
    "decimal32": BOTH, "decimal64": BOTH, "decimal128": BOTH, "decimal256": BOTH,
    "string": BOTH, "large_string": BOTH, "string_view": BOTH,
    "binary": IDENTIFIES, "large_binary": IDENTIFIES, "fixed_size_binary": IDENTIFIES,
    "binary_view": IDENTIFIES,
    "date32": BOTH, "date64": BOTH, "timestamp": BOTH, "time32": BOTH, "time64": BOTH, "duration": BOTH,
    "interval_months": REFUSED, "interval_day_time": REFUSED, "interval_month_day_nano": REFUSED,
    "list": LIST, "large_list": LIST, "fixed_size_list": LIST, "list_view": REFUSED, "large_list_view": REFUSED,
    "struct": REFUSED, "map": REFUSED, "sparse_union": REFUSED, "dense_union": REFUSED,
}  # fmt: skip
ENCODED = ("dictionary", "run_end_encoded", "extension")  # Arrow types that stand for the one that they hold

# PostgreSQL's names in pg_type; domains are their base type, and every enumerated type is "enum".
POSTGRES: Mapping[str, Physical] = {
    "bool": BOTH, "int2": BOTH, "int4": BOTH, "int8": BOTH, "float4": BOTH, "float8": BOTH, "numeric": BOTH,
    "text": BOTH, "varchar": BOTH, "citext": BOTH, "enum": BOTH,
    "bpchar": BOTH,  # identifiers of a declared length alone: see `postgres/reading.py`
    "name": REFUSED, "char": REFUSED,
    "date": BOTH, "timestamp": BOTH, "timestamptz": BOTH, "time": BOTH, "timetz": REFUSED, "interval": REFUSED,
    "uuid": IDENTIFIES, "bytea": IDENTIFIES,
    "inet": REFUSED, "cidr": REFUSED, "macaddr": REFUSED, "macaddr8": REFUSED,
    "json": REFUSED, "jsonb": REFUSED, "jsonpath": REFUSED, "xml": REFUSED, "money": REFUSED,
    "bit": REFUSED, "varbit": REFUSED,
    "oid": REFUSED, "regproc": REFUSED, "regprocedure": REFUSED, "regoper": REFUSED, "regoperator": REFUSED,
    "regclass": REFUSED, "regcollation": REFUSED, "regtype": REFUSED, "regrole": REFUSED, "regnamespace": REFUSED,
    "regconfig": REFUSED, "regdictionary": REFUSED, "tid": REFUSED, "xid": REFUSED, "xid8": REFUSED, "cid": REFUSED,
    "pg_lsn": REFUSED, "pg_snapshot": REFUSED, "txid_snapshot": REFUSED, "refcursor": REFUSED, "aclitem": REFUSED,
    "tsvector": REFUSED, "tsquery": REFUSED, "gtsvector": REFUSED, "int2vector": REFUSED, "oidvector": REFUSED,
    "point": REFUSED, "lseg": REFUSED, "path": REFUSED, "box": REFUSED, "polygon": REFUSED, "line": REFUSED,
    "circle": REFUSED, "pg_node_tree": REFUSED, "pg_ndistinct": REFUSED, "pg_dependencies": REFUSED,
    "pg_mcv_list": REFUSED, "pg_brin_bloom_summary": REFUSED, "pg_brin_minmax_multi_summary": REFUSED,
    "pg_ddl_command": REFUSED,
    "int4range": REFUSED, "int8range": REFUSED, "numrange": REFUSED, "tsrange": REFUSED, "tstzrange": REFUSED,
    "daterange": REFUSED, "int4multirange": REFUSED, "int8multirange": REFUSED, "nummultirange": REFUSED,
    "tsmultirange": REFUSED, "tstzmultirange": REFUSED, "datemultirange": REFUSED,
    "array": LIST, "composite": REFUSED,
}  # fmt: skip

# The classes of pyspark.sql.types.
SPARK: Mapping[str, Physical] = {
    "BooleanType": BOTH, "ByteType": BOTH, "ShortType": BOTH, "IntegerType": BOTH, "LongType": BOTH,
    "FloatType": BOTH, "DoubleType": BOTH, "DecimalType": BOTH,
    "StringType": BOTH, "CharType": BOTH, "VarcharType": BOTH, "BinaryType": IDENTIFIES,
    "DateType": BOTH, "TimestampType": BOTH, "TimestampNTZType": BOTH, "TimeType": REFUSED,
    "DayTimeIntervalType": REFUSED, "YearMonthIntervalType": REFUSED, "CalendarIntervalType": REFUSED,
    "ArrayType": LIST, "MapType": REFUSED, "StructType": REFUSED, "VariantType": REFUSED,
    "NullType": REFUSED, "UserDefinedType": REFUSED, "GeometryType": REFUSED, "GeographyType": REFUSED,
}  # fmt: skip

REMEDIES = {
    "DuckDB": "store the table with the column cast, as in CREATE TABLE ... AS SELECT CAST({} AS VARCHAR) ...",
    "Arrow": "cast the column to a number, a text or a date first",
    "Parquet": "write the file with the column cast to a number, a text or a date",
    "PostgreSQL": "store the column cast to text or a number in a materialized view, and read that",
    "Spark": "cast the column to a number, a text or a date in the DataFrame",
}


def refuse_types(
    source: str, schema: Schema, kinds: Mapping[str, Iterable[str]], listed: Mapping[str, Physical]
) -> None:
    """Refuse declared columns and identifiers whose type is not read.

    `kinds` holds the names of each column's type, from the outside in: those of lists come before those of their items.
    """
    unit = schema.unit.column if isinstance(schema.unit, Person) else None
    for column, names in kinds.items():
        for depth, name in enumerate(names):
            known = listed.get(name, REFUSED)
            if column == unit and not known.identifies:
                raise SchemaError(
                    f"{column!r} identifies persons and is of the {source} type {name}, of which two values may be "
                    "read as one; store one number or text for each person"
                )
            if column != unit and (not known.is_read or (known is IDENTIFIES and depth)):
                raise SchemaError(
                    f"column {column!r} is of the {source} type {name}, which is not read, since a value could make a "
                    f"question fail; {REMEDIES[source].format(column)}"
                )


def name_duckdb_type(kind: DuckDBPyType) -> list[str]:
    """Return the names of a type, those of lists before those of their items."""
    if str(kind) == "JSON":
        return ["json"]
    if kind.id not in ("list", "array"):
        return [str(kind.id)]
    inner = dict(kind.children)["child"]
    return [str(kind.id), *name_duckdb_type(inner)]  # type: ignore[arg-type]


def name_arrow_type(kind: pa.DataType) -> list[str]:
    """Return the names of a type, those of lists before those of their items; encodings stand for what they hold."""
    if isinstance(kind, pa.BaseExtensionType):
        return name_arrow_type(kind.storage_type)
    name = ARROW_NAMES.get(kind.id, "unknown")
    if name in ("dictionary", "run_end_encoded"):
        return name_arrow_type(kind.value_type)
    return [name, *name_arrow_type(kind.value_type)] if name in LISTS else [name]


def name_spark_type(kind: object) -> list[str]:
    """Return the names of a type, those of lists before those of their items."""
    inner = getattr(kind, "elementType", None)
    return [type(kind).__name__, *([] if inner is None else name_spark_type(inner))]


def check_arrow(schema: Schema, kinds: Mapping[str, pa.DataType], source: str = "Arrow") -> None:
    """Refuse declared columns and identifiers whose Arrow type is not read."""
    unit = {schema.unit.column} if isinstance(schema.unit, Person) else set()
    wanted = unit.union(name for name, space in schema.held.items() if space.form is not None)
    refuse_types(source, schema, {name: name_arrow_type(kind) for name, kind in kinds.items() if name in wanted}, ARROW)


ARROW_NAMES = {
    getattr(pa.lib, name): name.removeprefix("Type_").lower() for name in dir(pa.lib) if name.startswith("Type_")
}
LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
