"""Sets of very many declared items: which of a set's items are declared is found by a join, not by a long list.

An expression that names thousands of items takes a minute to write and to run.  Here each set that occurs is taken
apart once, its items meet the declared ones, and what is left of it takes its place: a function of the set alone, so
that a row still depends on nothing but itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

import ibis

from sfumato.engines.positions import lookup
from sfumato.spaces.forms import Form, Sets

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["known_items", "many"]

FEW = 200  # items that an expression may name


def many(form: Form) -> TypeGuard[Sets]:
    """Whether the declared items of a set are too many for an expression."""
    return form.listed and len(form.labels or ()) > FEW


def known_items(rows: ir.Table, sets: Mapping[str, Form]) -> ir.Table:
    """The rows with, in each of these columns of whole sets, the declared items, each once, at most `cap` in order."""
    for column, form in sets.items():
        if many(form):
            rows = _known(rows, column, form)
    return rows


def _known(rows: ir.Table, column: str, form: Sets) -> ir.Table:
    occurring = rows.select(whole=rows[column]).distinct()
    items = occurring.select("whole", item=occurring["whole"].unnest())
    declared = lookup(form.labels).select("label")
    met = items.join(declared, items["item"] == declared["label"])
    kept = met.group_by("whole").aggregate(kept=met["label"].collect())
    kept = kept.mutate(kept=kept["kept"].unique().sort()[: form.cap])
    joined = rows.left_join(kept, rows[column] == kept["whole"])
    none = ibis.literal([], joined["kept"].type())
    known = ibis.ifelse(joined[column].isnull(), ibis.null(none.type()), ibis.coalesce(joined["kept"], none))
    return joined.mutate(**{column: known}).select(*rows.columns)
