"""A table of events beside a table of people: each event with what is said of its person.

An event takes the attributes of the line that has its identifier; where there is none they are missing, and where a
person has several lines the first in the order of their values counts.  A row of the joined table is thus made from
rows of one person alone, in both tables: whoever is added, removed or replaced in both moves no one else's rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import ibis
import numpy as np
import pyarrow as pa

from sfumato.engines.backends import encode, executed, isolated
from sfumato.engines.coercion import present, seconds_of
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

__all__ = ["joined", "of_events", "of_people"]

UNIT, OWNER, ID = (
    "unit",
    "owner",
    "identifier",
)  # columns of ours beside declared ones, which get a prefix in both tables

LONGEST = float(1 << 62)  # microseconds: an elapsed time is cut here, far beyond all that can be declared


def of_events(schema: Schema) -> Schema:
    """What of a schema the events' own table declares."""
    own = {name: space for name, space in schema.columns.items() if name not in schema.people}
    if not own:
        raise SchemaError("no column of the events is declared; declare at least one beside the attributes of people")
    return replace(schema, columns=own, people=(), derived={})


def of_people(schema: Schema) -> Schema:
    """What of a schema the table of people declares."""
    assert isinstance(schema.unit, Person)
    return replace(schema, columns={name: schema.columns[name] for name in schema.people}, people=(), derived={})


def joined(events: ir.Table, people: ir.Table, schema: Schema) -> ir.Table:
    """The events' declared columns and identifier, with the declared attributes of people."""
    assert isinstance(schema.unit, Person)
    unit = schema.unit.column
    own, attributes = list(of_events(schema).held), list(of_people(schema).held)
    lines = isolated(people.select(unit, *attributes), (), unit)
    if people.get_backend() is not events.get_backend():
        lines = _moved(lines, events.get_backend().name)
    rows = isolated(events.select(unit, *own), (), unit)
    theirs, ours = _comparable(present(lines[unit]), present(rows[unit]))
    lines = lines.select(**{OWNER: theirs}, **{f"a_{name}": lines[name] for name in attributes})
    lines = lines.filter(lines[OWNER].notnull())
    turns = ibis.window(group_by=lines[OWNER], order_by=[lines[f"a_{name}"] for name in attributes])
    lines = lines.mutate(turn=ibis.row_number().over(turns))
    lines = lines.filter(lines["turn"] < 1)
    rows = rows.select(**{UNIT: rows[unit], ID: ours}, **{f"e_{name}": rows[name] for name in own})
    both = rows.left_join(lines, rows[ID] == lines[OWNER])
    declared = {f"e_{name}": name for name in own} | {f"a_{name}": name for name in attributes}
    return both.select(**{unit: both[UNIT]}, **{name: both[held] for held, name in declared.items()})


def _moved(lines: ir.Table, engine: str) -> ir.Table:
    """Return the same lines in memory, for another engine; elapsed times travel as their microseconds."""
    elapsed = [name for name in lines.columns if lines[name].type().is_interval()]
    if elapsed and engine != "duckdb":
        raise SchemaError(
            f"elapsed times of people ({', '.join(elapsed)}) are not read beside events of another engine; store them "
            "as numbers of their unit"
        )
    dates = [name for name in lines.columns if lines[name].type().is_temporal()]
    if dates and lines.get_backend().name == "postgres":  # Python, which they go through, does not hold them all
        raise SchemaError(
            f"dates and times of people on PostgreSQL ({', '.join(dates)}) are not read beside events of another "
            "engine or connection; store the events there too, or the dates as texts"
        )
    held = executed(lines.mutate(**{name: seconds_of(lines[name]) for name in elapsed}) if elapsed else lines)
    for name in elapsed:
        place, seconds = held.schema.get_field_index(name), held[name].to_numpy(zero_copy_only=False)
        micros = np.clip(np.nan_to_num(np.floor(seconds * 1e6), nan=0.0), -LONGEST, LONGEST).astype(np.int64)
        gaps = held[name].is_null().to_numpy(zero_copy_only=False)
        held = held.set_column(place, name, pa.array(micros, pa.int64(), mask=gaps).cast(pa.duration("us")))
    return ibis.memtable(held)


def _comparable(one: ir.Column, other: ir.Column) -> tuple[ir.Column, ir.Column]:
    """Identifiers of the two tables in one type: whole numbers and texts are compared as texts, by their bytes where
    one table holds those (as Parquet files do, whose texts are not believed to be UTF-8).
    """
    kinds = one.type(), other.type()
    if kinds[0] == kinds[1]:
        return one, other
    if all(_is_plain(kind) for kind in kinds):
        return one.cast("string"), other.cast("string")
    if all(_is_plain(kind) or kind.is_binary() for kind in kinds) and one.get_backend().name == "duckdb":
        return _bytes(one), _bytes(other)
    raise SchemaError(
        f"the identifiers of people are {kinds[0]} in their own table and {kinds[1]} beside the events; store both as "
        "whole numbers or texts"
    )


def _bytes(column: ir.Column) -> ir.Column:
    return column if column.type().is_binary() else encode(column.cast("string"))


def _is_plain(kind: dt.DataType) -> bool:
    return bool(kind.is_integer() or kind.is_string())
