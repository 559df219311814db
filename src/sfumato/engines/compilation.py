"""From a statistic to one expression over the table: filter, group, and add up whole numbers."""

from __future__ import annotations

import itertools
from typing import Any

import ibis

from sfumato.engines.coercion import held_labels
from sfumato.engines.positions import lookup, positioned
from sfumato.engines.rows import UNIT, counted_rows, held
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Distinct, Frequencies, Measure, Rows, Statistic
from sfumato.queries.grouping import Key
from sfumato.queries.predicates import Between, Both, Contains, Either, Negated, OneOf, Predicate
from sfumato.schema import Schema
from sfumato.spaces import Categories, Curves, Label, Space, Subsets

__all__ = ["LIMB", "compiled", "limbs"]

LIMB = 26  # bits of a summand added up at a time; sums hold more than 90 bits, which no table fills


def compiled(statistic: Statistic, schema: Schema, table: Any, real: bool = False) -> Any:
    """The expression whose rows are the statistic's answer: whole numbers, all of them within the public cells.

    With `real`, measured columns that come from floats are added up as floats.  Whole numbers that are not
    negative add up exactly in any order while the total stays below 2^53: the caller checks that with the counts.
    Columns: `key0, key1, ...` (positions), then `sum0_0, sum0_1, ...` (limbs of each measure), or `value` and `count`;
    for rows `value0, value1, ...`.
    """
    rows = counted_rows(statistic, schema, table, real)
    if statistic.where is not None:
        rows = rows.filter(_holds(statistic.where, schema, rows))
    if isinstance(statistic, Distinct):
        return _distinct(statistic, schema, rows)
    if isinstance(statistic, Rows):
        return _records(statistic, schema, rows)
    keys = {f"key{i}": _cell_of(key, schema, rows) for i, key in enumerate(statistic.cells.keys)}
    if isinstance(statistic, Frequencies):
        answer = _frequencies(statistic, schema, rows, keys)
    else:
        totals = _totals(statistic, schema, rows)
        answer = rows.group_by(**keys).aggregate(**totals) if keys else rows.aggregate(**totals)
    for i, key in enumerate(statistic.cells.keys):
        answer = _numbered(answer, f"key{i}", key.labels) if key.starts is None else _present(answer, f"key{i}")
    return answer


def limbs(measure: Measure, schema: Schema) -> int:
    """How many parts a measure is added up in, decided by the declared range alone, so that none can overflow."""
    if measure.column is None or measure.power == 0:
        return 1
    width: int = schema.space(measure.column).lattice.width  # type: ignore[attr-defined]
    return -(-int(width**measure.power).bit_length() // LIMB)


def _totals(statistic: Aggregation, schema: Schema, rows: Any) -> dict[str, Any]:
    totals: dict[str, Any] = {}
    for i, measure in enumerate(statistic.measures):
        if measure.column is None:
            totals[f"sum{i}_0"] = rows.count()
            continue
        index = rows[held(measure.column)]
        if measure.power == 0:
            totals[f"sum{i}_0"] = index.count()
            continue
        summand = index if measure.power == 1 else index * index
        if summand.type().is_floating():
            totals[f"sum{i}_0"] = summand.sum()
            continue
        parts = limbs(measure, schema)
        for j in range(parts):
            part = summand >> (LIMB * j) if j else summand
            part = part & (2**LIMB - 1) if j < parts - 1 else part
            totals[f"sum{i}_{j}"] = _added(part)
    return totals


def _added(part: Any) -> Any:
    """The sum in more than 64 bits: DuckDB adds up integers so by itself, Spark only decimals."""
    return part.sum() if part.get_backend().name == "duckdb" else part.cast("decimal(19, 0)").sum()


def _frequencies(statistic: Frequencies, schema: Schema, rows: Any, keys: dict[str, Any]) -> Any:
    space: Space = schema.space(statistic.column)
    column = rows[held(statistic.column)]
    rows = rows.select(value=column.unnest() if isinstance(space, Subsets) else column, **keys)
    present = _present(rows, "value")
    counted = present.group_by([*keys, "value"]).aggregate(count=present.count())
    if isinstance(space, Subsets):
        return _numbered(counted, "value", space.of)
    return _numbered(counted, "value", space.values) if isinstance(space, Categories) else counted


def _distinct(statistic: Distinct, schema: Schema, rows: Any) -> Any:
    present = _present(rows, held(statistic.column))
    units = present[UNIT].nunique() if isinstance(schema.unit, Person) else present.count()
    return present.group_by(value=present[held(statistic.column)]).aggregate(count=units)


def _records(statistic: Rows, schema: Schema, rows: Any) -> Any:
    """Each row's numbers and positions, -1 where missing or unknown."""
    spaces = [schema.space(name) for name in statistic.columns]
    labels = {f"value{i}": (held(name), space.values)
              for i, (name, space) in enumerate(zip(statistic.columns, spaces, strict=True))
              if isinstance(space, Categories)}  # fmt: skip
    rows = positioned(rows, labels)
    found = {f"value{i}": _whole_value(rows, f"value{i}", name, space)
             for i, (name, space) in enumerate(zip(statistic.columns, spaces, strict=True))}  # fmt: skip
    return rows.select(**found)


def _whole_value(rows: Any, position: str, name: str, space: Space) -> Any:
    """A number or position, -1 where missing; sets and curves as lists, which are turned into numbers outside."""
    if isinstance(space, Subsets | Curves):
        return rows[held(name)]
    return rows[position if isinstance(space, Categories) else held(name)].cast("int64").fill_null(-1)


def _cell_of(key: Key, schema: Schema, rows: Any) -> Any:
    """A label, or the number of the bin."""
    column = rows[held(key.column)]
    if key.starts is None:
        return column
    low: int = schema.space(key.column).lattice.low  # type: ignore[attr-defined]
    inner = [start - low for start in key.starts[1:]]
    widths = {b - a for a, b in itertools.pairwise([key.starts[0] - low, *inner])}
    if len(widths) == 1 and key.starts[0] == low:
        (width,) = widths
        last = ibis.literal(len(inner), "int64")  # not `least`, which overlooks a null
        return ibis.ifelse(column >= inner[-1], last, (column / width).floor().cast("int64"))
    place = ibis.ifelse(column.isnull(), ibis.null("int64"), ibis.literal(0, "int64"))
    for start in inner:
        place = place + (column >= start).cast("int64")
    return place


def _numbered(answer: Any, column: str, labels: tuple[Label, ...]) -> Any:
    """Labels as positions; unknown ones end here, before anything leaves the engine."""
    table = lookup(labels)
    joined = answer.join(table, answer[column] == table["label"])
    return joined.mutate(**{column: joined["position"]}).drop("label", "position")


def _present(answer: Any, column: str) -> Any:
    return answer.filter(answer[column].notnull())


def _holds(condition: Predicate, schema: Schema, rows: Any) -> Any:
    """The condition as a column that is never null."""
    if isinstance(condition, Both):
        return _holds(condition.one, schema, rows) & _holds(condition.other, schema, rows)
    if isinstance(condition, Either):
        return _holds(condition.one, schema, rows) | _holds(condition.other, schema, rows)
    if isinstance(condition, Negated):
        return ~_holds(condition.one, schema, rows)
    assert isinstance(condition, Between | OneOf | Contains)
    column = rows[held(condition.column)]
    if isinstance(condition, Between):
        low: int = schema.space(condition.column).lattice.low  # type: ignore[attr-defined]
        inside = (column >= condition.low - low) & (column <= condition.high - low)
    elif isinstance(condition, OneOf):
        inside = column.isin(held_labels(condition.labels)) if condition.labels else ibis.literal(False)
    else:
        inside = column.contains(condition.item)
    return inside.fill_null(False)
