"""The fields of records: where a table holds each, and how it becomes a column of its own.

A field is read from a column that has its whole name (`home.rent`), else out of a structure.  That is decided by the
names and types of a source, which are public, and a missing structure has missing fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import ibis.expr.datatypes as dt
import pyarrow as pa

from sfumato.engines.columns import absent
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sfumato.spaces.schema import Schema

__all__ = ["Path", "fields_of", "flat", "found", "kind_at", "nested", "place_in", "places_of"]

Path = tuple[str, ...]


def flat(table: ir.Table, schema: Schema) -> ir.Table:
    """The table with the fields of declared records as columns of their own."""
    held = dict(table.schema().items())
    places = {name: place_in(path, held, _within) for name, path in schema.paths.items()}
    inner = {name: place for name, place in places.items() if place != (name,)}
    return table.mutate(**{name: found(table, place) for name, place in inner.items()}) if inner else table


def _within(kind: dt.DataType) -> Mapping[str, dt.DataType]:
    return dict(kind.items()) if isinstance(kind, dt.Struct) else {}


def found(table: ir.Table, path: Path) -> ir.Column:
    """A column, or a field within it."""
    return reduce(lambda inner, name: inner[name], path[1:], table[path[0]])


def places_of(schema: Schema, kinds: pa.Schema) -> dict[str, Path]:
    """Where each column that the schema declares lies in a source of these Arrow types."""
    held = {field.name: field.type for field in kinds}
    return {name: place_in(path, held, fields_of) for name, path in schema.paths.items()}


def fields_of(kind: pa.DataType) -> Mapping[str, pa.DataType]:
    """The types of an Arrow structure's fields; none of another type."""
    return {field.name: field.type for field in kind} if pa.types.is_struct(kind) else {}


def place_in(path: Path, held: Mapping[str, Any], within: Callable[..., Mapping[str, Any]]) -> Path:
    """Where a declared column or field lies among columns of these types; refused where it is in none of them."""
    whole = ".".join(path)
    if whole in held:
        return (whole,)
    kinds = held
    for depth, name in enumerate(path):
        if name not in kinds:
            raise absent(whole, held) if depth == 0 or kinds else _no_record(path, whole)
        kinds = within(kinds[name])
    return path


def _no_record(path: Path, whole: str) -> SchemaError:
    return SchemaError(
        f"column {path[0]!r} is declared as a Record, but the table holds no structure there; store its fields in "
        f"columns of their own, such as {whole!r}"
    )


def kind_at(kinds: pa.Schema, path: Path) -> pa.DataType:
    """The Arrow type of a column, or of a field within it."""
    return reduce(lambda kind, name: kind.field(name).type, path[1:], kinds.field(path[0]).type)


def nested(kinds: Mapping[Path, pa.DataType]) -> Iterator[pa.Field]:
    """Columns that hold these types at these places, and nothing else."""
    for name in dict.fromkeys(path[0] for path in kinds):
        inner = {path[1:]: kind for path, kind in kinds.items() if path[0] == name}
        yield pa.field(name, inner[()] if () in inner else pa.struct(list(nested(inner))))
