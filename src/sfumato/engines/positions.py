"""Labels as whole numbers: their places among the declared ones, found by the engine or in what it hands out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import ibis
import ibis.expr.datatypes as dt
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engines.coercion import held_labels, substring
from sfumato.spaces import Label
from sfumato.spaces.forms import Form

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = [
    "FEW",
    "found",
    "found_text",
    "handed_out",
    "handed_out_text",
    "labelled",
    "lookup",
    "positioned",
]

FEW = 64  # labels that are searched one after another; more are found by a join


def positioned(rows: ir.Table, wanted: Mapping[str, tuple[str, tuple[Label, ...]]], first: int = 0) -> ir.Table:
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


def lookup(labels: tuple[Label, ...]) -> ir.Table:
    """A small table (label, position), to turn declared labels into whole numbers by a join."""
    held = held_labels(labels)
    kind = pa.string() if isinstance(held[0], str) else pa.int64()
    return ibis.memtable(pa.table({"label": pa.array(held, kind), "position": pa.array(range(len(held)))}))


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def list_position(texts: list[str], text: str) -> dt.int32:
    """DuckDB's own: the place of a text, counted from 1, searched once for each entry of a dictionary; not so cases."""


def _searched(column: ir.Column, labels: tuple[Label, ...]) -> ir.Column:
    """The place in a short list; -1 for null and for what is not there."""
    if column.type().is_string() and column.get_backend().name == "duckdb":
        return list_position(ibis.literal(list(labels), "array<string>"), column).cast("int64").fill_null(0) - 1
    places = ((label, ibis.literal(place, "int32")) for place, label in enumerate(held_labels(labels)))
    return column.cases(*places, else_=ibis.literal(-1, "int32")).cast("int64")  # engines hold literals in 32 bits


def labelled(form: Form) -> bool:
    """Whether a column holds one label a row."""
    return form.labels is not None and not form.listed


def handed_out(column: ir.Column, labels: tuple[Label, ...]) -> ir.Column:
    """The labels of a column for `found`; of texts only those that are no longer than the longest declared one."""
    if not column.type().is_string():
        return column
    longest = max(len(label) for label in held_labels(labels) if isinstance(label, str))
    return ibis.ifelse(column.length() <= longest, column, ibis.null("string"))


def handed_out_text(column: ir.Column, known: tuple[str, ...]) -> ir.Column:
    """The texts of a column for `found_text`, cut where they are longer than all known ones."""
    return substring(column, 1, 1 + max(map(len, known), default=0))


def found_text(column: pa.Array, form: Form, known: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """The place of each text among the known ones, of others the place after the last; -1 for null."""
    places = pc.fill_null(pc.index_in(column, pa.array(known, column.type)), len(known))
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, -1, places.to_numpy(zero_copy_only=False).astype(np.int64))


def found(column: pa.Array, form: Form) -> npt.NDArray[np.int64]:
    """The place of each label that an engine handed out; -1 for null and for what is not there.

    A join for each column of long lists would take the engine minutes to plan where there are many of them.
    """
    known = pa.array(held_labels(form.labels or ()))
    places = pc.index_in(column, known.cast(column.type))
    return np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False).astype(np.int64))
