"""From a statistic to one expression over the table: filter, group, and add up whole numbers."""

from __future__ import annotations

import itertools
from typing import Any

import ibis

from sfumato.engines.rows import counted_rows
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Distinct, Frequencies, Measure, Statistic
from sfumato.queries.grouping import Key
from sfumato.queries.predicates import Between, Both, Contains, Either, Negated, OneOf, Predicate
from sfumato.schema import Schema
from sfumato.spaces import Subsets

__all__ = ["SPLIT", "compiled", "is_split"]

SPLIT = 20  # bits in the low part of a sum that could outgrow 64 bits
SAFE = 2**23  # 2^40 rows of a smaller summand stay within 63 bits


def compiled(statistic: Statistic, schema: Schema, table: Any) -> Any:
    """The expression whose rows are the statistic's answer, all of them within the public cells."""
    rows = counted_rows(statistic, schema, table)
    if statistic.where is not None:
        rows = rows.filter(_holds(statistic.where, schema, rows))
    if isinstance(statistic, Distinct):
        return _distinct(statistic, schema, rows)
    keys = {f"key{i}": _cell_of(key, schema, rows) for i, key in enumerate(statistic.cells.keys)}
    if isinstance(statistic, Frequencies):
        return _within_cells(statistic, _frequencies(statistic, schema, rows, keys))
    totals = _totals(statistic, schema, rows)
    grouped = rows.group_by(**keys).aggregate(**totals) if keys else rows.aggregate(**totals)
    return _within_cells(statistic, grouped)


def is_split(measure: Measure, schema: Schema) -> bool:
    """Whether a measure is added up in two parts, decided by the declared range alone."""
    if measure.column is None or measure.power == 0:
        return False
    width: int = schema.space(measure.column).lattice.width  # type: ignore[attr-defined]
    return bool(width**measure.power >= SAFE)


def _totals(statistic: Aggregation, schema: Schema, rows: Any) -> dict[str, Any]:
    totals: dict[str, Any] = {}
    for i, measure in enumerate(statistic.measures):
        if measure.column is None:
            totals[f"sum{i}"] = rows.count()
            continue
        index = rows[measure.column]
        if measure.power == 0:
            totals[f"sum{i}"] = index.count()
            continue
        summand = index if measure.power == 1 else index * index
        if is_split(measure, schema):
            totals[f"high{i}"] = (summand >> SPLIT).sum()
            totals[f"sum{i}"] = (summand & (2**SPLIT - 1)).sum()
        else:
            totals[f"sum{i}"] = summand.sum()
    return totals


def _frequencies(statistic: Frequencies, schema: Schema, rows: Any, keys: dict[str, Any]) -> Any:
    if isinstance(schema.space(statistic.column), Subsets):
        rows = rows.select(value=rows[statistic.column].unnest(), **keys)
        keys = {name: rows[name] for name in keys}
    else:
        rows = rows.select(value=rows[statistic.column], **keys)
        keys = {name: rows[name] for name in keys}
    present = rows.filter(rows["value"].notnull())
    return present.group_by([*keys, "value"]).aggregate(count=present.count())


def _distinct(statistic: Distinct, schema: Schema, rows: Any) -> Any:
    present = rows.filter(rows[statistic.column].notnull())
    units = present["_unit"].nunique() if isinstance(schema.unit, Person) else present.count()
    return present.group_by(value=present[statistic.column]).aggregate(count=units)


def _cell_of(key: Key, schema: Schema, rows: Any) -> Any:
    """A label, or the number of the bin."""
    column = rows[key.column]
    if key.starts is None:
        return column
    low: int = schema.space(key.column).lattice.low  # type: ignore[attr-defined]
    inner = [start - low for start in key.starts[1:]]
    widths = {b - a for a, b in itertools.pairwise([key.starts[0] - low, *inner])}
    if len(widths) == 1 and key.starts[0] == low:
        (width,) = widths
        return ibis.least((column / width).floor().cast("int64"), len(key.starts) - 1) if width > 1 else column
    place = ibis.ifelse(column.isnull(), ibis.null("int64"), ibis.literal(0, "int64"))
    for start in inner:
        place = place + (column >= start).cast("int64")
    return place


def _within_cells(statistic: Aggregation | Frequencies, answer: Any) -> Any:
    """Unknown labels and missing keys end here, before anything leaves the engine."""
    for i, key in enumerate(statistic.cells.keys):
        column = answer[f"key{i}"]
        answer = answer.filter(column.isin(key.labels) if key.starts is None else column.notnull())
    return answer


def _holds(condition: Predicate, schema: Schema, rows: Any) -> Any:
    """The condition as a column that is never null."""
    if isinstance(condition, Both):
        return _holds(condition.one, schema, rows) & _holds(condition.other, schema, rows)
    if isinstance(condition, Either):
        return _holds(condition.one, schema, rows) | _holds(condition.other, schema, rows)
    if isinstance(condition, Negated):
        return ~_holds(condition.one, schema, rows)
    column = rows[condition.column]
    if isinstance(condition, Between):
        low: int = schema.space(condition.column).lattice.low  # type: ignore[attr-defined]
        inside = (column >= condition.low - low) & (column <= condition.high - low)
    elif isinstance(condition, OneOf):
        inside = column.isin(condition.labels) if condition.labels else ibis.literal(False)
    else:
        assert isinstance(condition, Contains)
        inside = column.contains(condition.item)
    return inside.fill_null(False)
