"""Small neighboring tables made from a schema alone: one unit with extreme, ordinary or missing rows more or other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.privacy.adjacency import Person, Replace
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["invented", "neighbors"]

KINDS = 5  # of rows: the lowest values, the highest, ordinary ones, others, missing

Row = dict[str, object]


def neighbors(schema: Schema) -> list[tuple[pa.Table, pa.Table]]:
    """Pairs of Arrow tables that differ by one unit, under the schema's own relation."""
    others = [_rows(schema, kind, f"other {kind}") for kind in range(KINDS)]
    units = [_rows(schema, kind, "the one") * schema.unit.rows for kind in range(KINDS)]
    if isinstance(schema.adjacency, Replace):
        size = schema.fixed_size
        around = (others[0] + others[1]) * 3 if size is None else (others[0] * size)[: size - 1]
        pairs = [(around + one, around + other) for one in units for other in units if one is not other]
    else:
        bases: list[list[Row]] = [[], others[2] * 3, others[0] + others[1]]
        pairs = [(base + unit, base) for unit in units for base in bases]
    return [(invented(schema, one), invented(schema, other)) for one, other in pairs]


def _rows(schema: Schema, kind: int, person: str) -> list[Row]:
    row: Row = {name: (*space.examples(), None)[kind] for name, space in schema.columns.items()}
    return [row | ({schema.unit.column: person} if isinstance(schema.unit, Person) else {})]


def invented(schema: Schema, rows: list[Row]) -> pa.Table:
    """An Arrow table of these rows, with the types that the schema expects."""
    import pyarrow as pa

    kinds = {name: space.arrow() for name, space in schema.columns.items()}
    if isinstance(schema.unit, Person):
        kinds[schema.unit.column] = pa.string()
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})
    for name, space in schema.columns.items():
        if space.stored is not None:  # a day and a time of day in one column: the text of both
            texts = [
                " ".join(str(row[one]) for one in (space.stored, name) if row.get(one) is not None) for row in rows
            ]
            table = table.drop_columns([one for one in (space.stored, name) if one in table.column_names])
            table = table.append_column(space.stored, pa.array([text or None for text in texts], pa.string()))
    return table
