"""The rows a statistic is computed from: declared columns only, coerced, and at most m of each person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ibis

from sfumato.engines.backends import isolated
from sfumato.engines.bounding import bounded
from sfumato.engines.coercion import coerced, present
from sfumato.engines.positions import positioned
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Frequencies, Rows, Statistic
from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import Both, Either, Negated, Predicate
from sfumato.schema import Schema
from sfumato.spaces import Categories, Integers, Interval, Subsets, Texts
from sfumato.spaces.subsets import UNIT_SEPARATOR

__all__ = ["UNIT", "counted_rows", "held"]

UNIT = "unit"


def held(name: str) -> str:
    """What a declared column is called here: the prefix keeps it apart from our own names."""
    return f"c_{name}"


def counted_rows(statistic: Statistic, schema: Schema, table: Any, real: bool = False) -> Any:
    """The coerced rows; for persons, the bounded ones.  `real`: see `compiled`."""
    if isinstance(schema.unit, Person):
        return _of_persons(schema, schema.unit, table)
    wanted = _mentioned_columns(statistic, schema)
    other = _mentioned(statistic.where) + [key.column for key in getattr(statistic, "cells", Cells(())).keys]
    table = isolated(table.select(*(wanted or schema.columns)), _numbers(schema, wanted))
    columns = {held(name): coerced(table[name], schema.columns[name], real and name not in other) for name in wanted}
    return table.select(**columns) if columns else table


def _of_persons(schema: Schema, unit: Person, table: Any) -> Any:
    """All usable columns coerced, the order of each person's rows decided by all of them."""
    usable = {
        name: space
        for name, space in schema.columns.items()
        if isinstance(space, Interval | Integers | Categories | Subsets | Texts)
    }
    table = isolated(table.select(*usable, unit.column), _numbers(schema, usable), unit.column)
    columns = {held(name): coerced(table[name], space) for name, space in usable.items()}
    rows = table.select(**{UNIT: present(table[unit.column])}, **columns)
    numbers = {name: f"n{place}" for place, name in enumerate(usable)}
    labels = {numbers[name]: (held(name), space.values) for name, space in usable.items()
              if isinstance(space, Categories)}  # fmt: skip
    rows = positioned(rows, labels, first=1)  # known labels as 1, 2, ..., everything else as 0
    ties = {name: f"s{place}" for place, name in enumerate(usable) if isinstance(usable[name], Subsets | Texts)}
    computed = {numbers[name]: _number_of(rows[held(name)], space) for name, space in usable.items()
                if not isinstance(space, Categories)}  # fmt: skip
    computed |= {column: _text_of(rows[held(name)], usable[name]) for name, column in ties.items()}
    rows = rows.mutate(**computed) if computed else rows
    return bounded(rows, UNIT, unit.rows, list(numbers.values()), list(ties.values()))


def _number_of(column: Any, space: Any) -> Any:
    """A coerced column as a whole number that is never null; texts and sets need a text beside it."""
    if isinstance(space, Interval | Integers):
        return column.fill_null(-1) + 1
    if isinstance(space, Subsets):
        size = column.length().fill_null(-1) + 1
        return size.cast("int32").cast("int64")  # Spark's sizes have 32 bits, whatever Ibis believes
    return ibis.ifelse(column.isnull(), 0, 1).cast("int64")


def _text_of(column: Any, space: Any) -> Any:
    """Together with the number, this tells any two texts, or any two sets, apart."""
    if not isinstance(space, Subsets):
        return column.fill_null("")
    items = column if isinstance(space.of[0], str) else column.cast("array<string>")
    return items.join(UNIT_SEPARATOR).fill_null("")


def _numbers(schema: Schema, names: Iterable[str]) -> list[str]:
    return [name for name in names if isinstance(schema.columns[name], Interval | Integers)]


def _mentioned_columns(statistic: Statistic, schema: Schema) -> list[str]:
    named = set(_mentioned(statistic.where))
    if isinstance(statistic, Aggregation | Frequencies):
        named |= {key.column for key in statistic.cells.keys}
    if isinstance(statistic, Aggregation):
        named |= {measure.column for measure in statistic.measures if measure.column is not None}
    elif isinstance(statistic, Rows):
        named |= set(statistic.columns)
    else:
        named.add(statistic.column)
    return [name for name in schema.columns if name in named]


def _mentioned(condition: Predicate | None) -> list[str]:
    if condition is None:
        return []
    if isinstance(condition, Both | Either):
        return _mentioned(condition.one) + _mentioned(condition.other)
    return _mentioned(condition.one) if isinstance(condition, Negated) else [condition.column]
