"""Labels as whole numbers: their places among the declared ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis
import pyarrow as pa

from sfumato.engines.coercion import held_labels
from sfumato.spaces import Label

__all__ = ["lookup", "positioned"]

FEW = 64  # labels that are searched one after another; more are found by a join


def positioned(rows: Any, wanted: Mapping[str, tuple[str, tuple[Label, ...]]], first: int = 0) -> Any:
    """The rows with, for each new name, the place of a column's label, counted from `first`; unknown ones `first` - 1.

    Short lists of labels are searched by an expression, long ones by one flat chain of joins: a hundred columns of
    either kind are one query.
    """
    few = {name: _searched(rows[column], labels) + first
           for name, (column, labels) in wanted.items() if len(labels) <= FEW}  # fmt: skip
    many = {name: pair for name, pair in wanted.items() if len(pair[1]) > FEW}
    rows = rows.mutate(**few) if few else rows
    joined, found = rows, {}
    for place, (name, (column, labels)) in enumerate(many.items()):
        table = lookup(labels).rename({f"label{place}": "label", f"position{place}": "position"})
        joined = joined.left_join(table, rows[column] == table[f"label{place}"])
        found[name] = table[f"position{place}"].fill_null(-1) + first
    return joined.select(*rows.columns, **found) if found else rows


def lookup(labels: tuple[Label, ...]) -> Any:
    """A small table (label, position), to turn declared labels into whole numbers by a join."""
    held = held_labels(labels)
    kind = pa.string() if isinstance(held[0], str) else pa.int64()
    return ibis.memtable(pa.table({"label": pa.array(held, kind), "position": pa.array(range(len(held)))}))


def _searched(column: Any, labels: tuple[Label, ...]) -> Any:
    """The place in a short list; -1 for null and for what is not there."""
    places = ((label, ibis.literal(place, "int32")) for place, label in enumerate(held_labels(labels)))
    return column.cases(*places, else_=ibis.literal(-1, "int32")).cast("int64")  # engines hold literals in 32 bits
