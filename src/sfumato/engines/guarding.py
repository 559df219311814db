"""The last look at a table before questions: DuckDB's own name of each column's type is compared with the closed list.

Ibis' types hide differences that decide whether a value can fail: times of seconds and milliseconds, and whole numbers
of 128 bits that it takes for decimals.  So DuckDB is asked itself, which reads no row for that.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import ibis
import ibis.expr.datatypes as dt

from sfumato.engines.backends import configured, describe
from sfumato.engines.coercion import reads_clock
from sfumato.engines.physical_types import DUCKDB, name_duckdb_type, refuse_types
from sfumato.privacy.adjacency import Person
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["guard_types"]

COARSE = ("timestamp_s", "timestamp_ms")  # they hold times beyond those of microseconds, which every function wants
MIDDLE, FIRST, LAST = datetime.datetime(2000, 1, 1), datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)


def guard_types(table: ir.Table, schema: Schema | None) -> ir.Table:
    """Return the same table, its coarse times in microseconds; refuse types that are not in the list."""
    if schema is None or table.get_backend().name != "duckdb":
        return table
    unit = [schema.unit.column] if isinstance(schema.unit, Person) else []
    declared = [name for name, space in schema.held.items() if space.form is not None]
    wanted = [name for name in (*declared, *unit) if name in table.columns]
    if not wanted:
        return table
    configured(table.get_backend())  # refused by name where its settings are locked
    kinds = {name: name_duckdb_type(kind) for name, kind in describe(table.select(*wanted)).items()}
    refuse_types("DuckDB", schema, kinds, DUCKDB)
    coarse = [name for name in declared if kinds.get(name, [""])[0] in COARSE]
    read = {name: read_coarse_times(table[name], reads_clock(schema.held[name].form)) for name in coarse}
    return table.mutate(**read) if read else table


def read_coarse_times(column: ir.Column, clock: bool) -> ir.Column:
    """Return times of seconds or milliseconds in microseconds, which do not hold all of them.

    Those beyond are the first or last day that can be declared; where the time of day is wanted they are missing.
    """
    near = column.try_cast(dt.Timestamp(scale=6))
    if clock:
        return near
    middle = ibis.literal(MIDDLE).cast(column.type())
    return ibis.cases(
        (near.notnull(), near),
        (column > middle, ibis.literal(LAST)),
        (column <= middle, ibis.literal(FIRST)),
        else_=ibis.null(near.type()),
    )
