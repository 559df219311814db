"""The rows a statistic is computed from: declared columns only, coerced, and at most m of each person."""

from __future__ import annotations

from typing import Any

import ibis

from sfumato.engines.bounding import bounded
from sfumato.engines.coercion import (
    coerced_category,
    coerced_number,
    coerced_set,
    coerced_text,
    lookup,
)
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Frequencies, Statistic
from sfumato.queries.predicates import Both, Either, Negated, Predicate
from sfumato.schema import Schema
from sfumato.spaces import Categories, Integers, Interval, Subsets, Texts

__all__ = ["counted_rows"]


def counted_rows(statistic: Statistic, schema: Schema, table: Any) -> Any:
    """The coerced rows; for persons, the bounded ones."""
    if isinstance(schema.unit, Person):
        return _of_persons(schema, schema.unit, table)
    wanted = _mentioned_columns(statistic, schema)
    columns = {name: _coerced(table[name], schema.columns[name]) for name in wanted}
    return table.select(**columns) if columns else table


def _coerced(raw: Any, space: Any) -> Any:
    """A column's coerced value.  Plain categories stay as they are: unknown labels fall out of every cell."""
    if isinstance(space, Interval | Integers):
        return coerced_number(raw, space)
    if isinstance(space, Categories):
        return coerced_category(raw, space)
    if isinstance(space, Subsets):
        return coerced_set(raw, space)
    return coerced_text(raw, space)


def _of_persons(schema: Schema, unit: Person, table: Any) -> Any:
    """All usable columns coerced, the order of each person's rows decided by all of them."""
    usable = {
        name: space
        for name, space in schema.columns.items()
        if isinstance(space, Interval | Integers | Categories | Subsets | Texts)
    }
    columns = {name: _coerced(table[name], space) for name, space in usable.items()}
    rows = table.select(_unit=table[unit.column], **columns)
    numbers: list[str] = []
    ties: list[str] = []
    for place, (name, space) in enumerate(usable.items()):
        if isinstance(space, Categories):
            rows = _with_position(rows, name, space, f"_n{place}")
            numbers.append(f"_n{place}")
        elif isinstance(space, Interval | Integers):
            rows = rows.mutate(**{f"_n{place}": rows[name].fill_null(-1) + 1})
            numbers.append(f"_n{place}")
        else:
            text = rows[name].join("\x1f") if isinstance(space, Subsets) else rows[name]
            rows = rows.mutate(
                **{f"_s{place}": text.fill_null(""), f"_n{place}": ibis.ifelse(rows[name].isnull(), 0, 1)}
            )
            numbers.append(f"_n{place}")
            ties.append(f"_s{place}")
    return bounded(rows, Person("_unit", unit.rows), numbers, ties)


def _with_position(rows: Any, name: str, space: Categories, column: str) -> Any:
    """Known labels as 1, 2, ..., everything else as 0; the label itself is dropped where it is unknown."""
    table = lookup(space.values)
    joined = rows.left_join(table, rows[name] == table["label"])
    return joined.mutate(**{column: joined["position"].fill_null(-1) + 1}).drop("label", "position")


def _mentioned_columns(statistic: Statistic, schema: Schema) -> list[str]:
    named = set(_mentioned(statistic.where))
    if isinstance(statistic, Aggregation | Frequencies):
        named |= {key.column for key in statistic.cells.keys}
    if isinstance(statistic, Aggregation):
        named |= {measure.column for measure in statistic.measures if measure.column is not None}
    else:
        named.add(statistic.column)
    return [name for name in schema.columns if name in named]


def _mentioned(condition: Predicate | None) -> list[str]:
    if condition is None:
        return []
    if isinstance(condition, Both | Either):
        return _mentioned(condition.one) + _mentioned(condition.other)
    return _mentioned(condition.one) if isinstance(condition, Negated) else [condition.column]
