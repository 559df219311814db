"""From a statistic to one expression over the table: filter, group, and add up whole numbers."""

from __future__ import annotations

import itertools
import math
import operator
from functools import reduce
from typing import TYPE_CHECKING

import ibis

from sfumato.engines.bounding import in_groups, totals_of
from sfumato.engines.coercion import held, held_labels
from sfumato.engines.keeping import Kept
from sfumato.engines.places import UNIT
from sfumato.engines.positions import FEW, handed_out, handed_out_text, labelled, lookup, positioned
from sfumato.engines.rows import counted_rows, form_of, holding
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Distinct, Frequencies, Measure, Rows, Statistic
from sfumato.queries.grouping import Key
from sfumato.queries.limits import ends_of
from sfumato.spaces import Label
from sfumato.spaces.forms import Form
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["LIMB", "compiled", "limbs"]

LIMB = 26  # bits of a summand added up at a time; sums hold more than 90 bits, which no table fills


def compiled(
    statistic: Statistic,
    schema: Schema,
    table: ir.Table,
    real: bool = False,
    kept: Kept | None = None,
    narrow: bool = False,
) -> ir.Table:
    """The expression whose rows are the statistic's answer: whole numbers, all of them within the public cells.

    With `real`, measured columns that come from floats are added up as floats.  Whole numbers that are not
    negative add up exactly in any order while the total stays below 2^53: the caller checks that with the counts.
    With `narrow`, limbs are added up in 64 bits where an engine has nothing wider but decimals, and `rows` says of how
    many rows: the caller checks that too.
    Columns: `key0, key1, ...` (positions, -1 for all that no cell holds), then `sum0_0, sum0_1, ...` (limbs of each
    measure), or `value` and `count`; for rows `value0, value1, ...`, and `person` where those of one come together.
    `kept`: see `counted_rows`.
    """
    rows = counted_rows(statistic, schema, table, real, kept)
    if statistic.where is not None:
        rows = rows.filter(holding(statistic.where, schema, rows))
    if isinstance(statistic, Distinct):
        return _distinct(statistic, schema, rows)
    if isinstance(statistic, Rows):
        return _records(statistic, schema, rows)
    keys = {f"key{i}": _cell_of(key, schema, rows) for i, key in enumerate(statistic.cells.keys)}
    if isinstance(statistic, Frequencies):
        answer = _frequencies(statistic, schema, rows, keys)
    elif isinstance(schema.unit, Person) and schema.unit.groups is not None:  # binding refuses all others
        return _within_groups(statistic, schema, schema.unit, rows)
    else:
        totals = _totals(statistic, schema, rows, narrow and rows.get_backend().name == "pyspark")
        answer = rows.group_by(**keys).aggregate(**totals) if keys else rows.aggregate(**totals)
    for i, key in enumerate(statistic.cells.keys):
        answer = _numbered(answer, f"key{i}", key.labels) if key.starts is None else _binned(answer, f"key{i}")
    return answer


def _within_groups(statistic: Aggregation, schema: Schema, unit: Person, rows: ir.Table) -> ir.Table:
    """The totals of the rows that count of each person in each cell; cells are known before rows are chosen."""
    cells = {f"key{i}": key for i, key in enumerate(statistic.cells.keys)}
    rows = positioned(rows, {name: (held(key.column), key.labels) for name, key in cells.items() if key.starts is None})
    binned = {name: _cell_of(key, schema, rows) for name, key in cells.items() if key.starts is not None}
    rows = rows.mutate(**binned) if binned else rows
    for name in cells:
        rows = rows.filter((rows[name] >= 0).fill_null(False))
    rows = in_groups(rows, UNIT, list(cells), None if unit.total is not None else unit.rows, unit.groups or 1)
    if unit.total is not None:
        (column,) = {measure.column for measure in statistic.measures if measure.column is not None}
        rows = totals_of(rows, UNIT, list(cells), held(column), schema.lattice(column).low, ends_of(schema, column))
    totals = _totals(statistic, schema, rows)
    return rows.group_by(list(cells)).aggregate(**totals) if cells else rows.aggregate(**totals)


def limbs(measure: Measure, schema: Schema) -> int:
    """How many parts a measure is added up in, decided by the declared range alone, so that none can overflow."""
    ends = [(*ends_of(schema, column), power) for column, power in measure.factors]
    largest = math.prod((high - low) ** power for low, high, power in ends)
    return max(1, -(-int(largest).bit_length() // LIMB))


def _totals(statistic: Aggregation, schema: Schema, rows: ir.Table, narrow: bool = False) -> dict[str, ir.Scalar]:
    totals: dict[str, ir.Scalar] = {"rows": rows.count()} if narrow else {}
    for i, measure in enumerate(statistic.measures):
        summand = _summand(measure, schema, rows)
        if summand is None:
            totals[f"sum{i}_0"] = _count_present(measure, schema, rows)
            continue
        if summand.type().is_floating():
            totals[f"sum{i}_0"] = summand.sum()
            continue
        parts = limbs(measure, schema)
        for j in range(parts):
            part = summand >> (LIMB * j) if j else summand
            part = part & (2**LIMB - 1) if j < parts - 1 else part
            totals[f"sum{i}_{j}"] = part.sum() if narrow else _added(part)
    return totals


def _summand(measure: Measure, schema: Schema, rows: ir.Table) -> ir.Column | None:
    """What is added up, null where a row does not count; None where rows are only counted."""
    powers = [rows[held(column)] for column, power in measure.factors for _ in range(power)]
    if not powers:
        return None
    product = reduce(operator.mul, powers)
    counted = None if measure.is_plain else _counted(measure, schema, rows)
    return product if counted is None else ibis.ifelse(counted, product, ibis.null("int64"))


def _count_present(measure: Measure, schema: Schema, rows: ir.Table) -> ir.Scalar:
    """Count the rows that count; of one column alone without a test of every row, which is a tenth of an answer."""
    if measure.is_plain and measure.column is not None:
        return rows[held(measure.column)].count()
    return rows.count(where=_counted(measure, schema, rows))


def _counted(measure: Measure, schema: Schema, rows: ir.Table) -> ir.BooleanColumn | None:
    """Where the measure's columns are present and its condition holds; None for every row."""
    parts = [rows[held(column)].notnull() for column, _ in measure.factors]
    parts += [] if measure.where is None else [holding(measure.where, schema, rows)]
    return reduce(operator.and_, parts) if parts else None


def _added(part: ir.Column) -> ir.Scalar:
    """The sum in more than 64 bits: DuckDB adds up integers so by itself, Spark only decimals."""
    return part.sum() if part.get_backend().name == "duckdb" else part.cast("decimal(19, 0)").sum()


def _frequencies(statistic: Frequencies, schema: Schema, rows: ir.Table, keys: dict[str, ir.Column]) -> ir.Table:
    if statistic.column is None:
        return _rows_of_persons(schema, rows)
    form = form_of(schema, statistic.column)
    column = rows[held(statistic.column)]
    if statistic.within is not None:
        shift, runs = statistic.within
        rows = rows.filter((column >> shift).isin(runs))
    column = column >> statistic.shift if statistic.shift else column
    column = column.unnest() if form.listed else _known(column, form.labels or ())
    rows = rows.select(value=column, **keys)
    counted = _present(rows.group_by([*keys, "value"]).aggregate(count=rows.count()), "value")
    return counted if form.labels is None else _numbered(counted, "value", form.labels)


def _rows_of_persons(schema: Schema, rows: ir.Table) -> ir.Table:
    """How many persons have each number of rows, up to the most that count."""
    assert isinstance(schema.unit, Person)
    assert schema.unit.total is not None
    held_by = rows.group_by(UNIT).aggregate(value=rows.count())
    most = ibis.literal(int(schema.unit.total[1]), "int64")
    capped = held_by.select(value=ibis.ifelse(held_by["value"] < most, held_by["value"], most))
    return capped.group_by("value").aggregate(count=capped.count())


def _distinct(statistic: Distinct, schema: Schema, rows: ir.Table) -> ir.Table:
    present = _present(rows, held(statistic.column))
    units = present[UNIT].nunique() if isinstance(schema.unit, Person) else present.count()
    return present.group_by(value=present[held(statistic.column)]).aggregate(count=units)


def _records(statistic: Rows, schema: Schema, rows: ir.Table) -> ir.Table:
    """Each row's numbers and positions, -1 where missing or unknown; DuckDB hands out labels as they are."""
    named = {f"value{i}": (name, form_of(schema, name)) for i, name in enumerate(statistic.columns)}
    labels = {value: (held(name), form.labels or ()) for value, (name, form) in named.items() if labelled(form)}
    texts = {value: (held(name), dict(statistic.texts)[name]) for value, (name, form) in named.items()
             if name in dict(statistic.texts)}  # fmt: skip
    if rows.get_backend().name == "duckdb":
        outside = {value: handed_out(rows[column], known) for value, (column, known) in labels.items()}
        outside |= {value: handed_out_text(rows[column], known) for value, (column, known) in texts.items()}
    else:
        rows = positioned(rows, {**labels, **{value: pair for value, pair in texts.items() if pair[1]}})
        outside = {value: rows[value] for value in labels}
        outside |= {value: _place_of_text(rows, value, *pair) for value, pair in texts.items()}
    values = {
        value: outside[value] if value in outside else _whole_value(rows, name, form)
        for value, (name, form) in named.items()
    }
    if rows.get_backend().name != "duckdb":  # they travel
        values = {value: _in_few_bytes(column, named[value][1]) for value, column in values.items()}
    if not statistic.together:
        return rows.select(**values)
    return rows.select(**values, person=ibis.dense_rank().over(order_by=rows[UNIT])).order_by("person")


def _place_of_text(rows: ir.Table, value: str, column: str, known: tuple[str, ...]) -> ir.Column:
    """The place among the known texts, of others the place after the last; -1 for null."""
    others = ibis.literal(len(known), "int64")
    place = ibis.ifelse(rows[value] < 0, others, rows[value]) if known else others
    return ibis.ifelse(rows[column].isnull(), ibis.literal(-1, "int64"), place)


def _whole_value(rows: ir.Table, name: str, form: Form) -> ir.Column:
    """A number, -1 where missing; sets and curves as lists, which are turned into numbers outside."""
    return rows[held(name)] if form.listed else rows[held(name)].cast("int64").fill_null(-1)


def _in_few_bytes(column: ir.Column, form: Form) -> ir.Column:
    """Positions as whole numbers of no more bytes than the declared ones need."""
    if form.last is None:
        return column
    bits = next((bits for bits in (8, 16, 32) if form.last < 1 << (bits - 1)), 64)
    return column.cast(f"int{bits}")


def _cell_of(key: Key, schema: Schema, rows: ir.Table) -> ir.Column:
    """A label, or the number of the bin."""
    column = rows[held(key.column)]
    if key.starts is None:
        return _known(column, key.labels)
    low = schema.lattice(key.column).low
    inner = [start - low for start in key.starts[1:]]
    widths = {b - a for a, b in itertools.pairwise([key.starts[0] - low, *inner])}
    if len(widths) == 1 and key.starts[0] == low:
        (width,) = widths
        if width == 1 and len(inner) == schema.lattice(key.column).width:
            return column  # a bin of its own for each point
        last = ibis.literal(len(inner), "int64")  # not `least`, which overlooks a null
        return ibis.ifelse(column >= inner[-1], last, (column / width).floor().cast("int64"))
    place = ibis.ifelse(column.isnull(), ibis.null("int64"), ibis.literal(0, "int64"))
    for start in inner:
        place = place + (column >= start).cast("int64")
    return place


def _known(column: ir.Column, labels: tuple[Label, ...]) -> ir.Column:
    """The column with null for labels that are not declared, where `_numbered` searches a list.

    A filter after grouping would be moved before it by Spark, and every row searched one label after the other.
    """
    if not labels or _joins(column, labels):
        return column
    return ibis.ifelse(column.isin(held_labels(labels)), column, ibis.null(column.type()))


def _joins(held: ir.Column | ir.Table, labels: tuple[Label, ...]) -> bool:
    """Whether labels become positions by a join, which is a job of its own on Spark."""
    return len(labels) > FEW or held.get_backend().name == "duckdb"


def _numbered(answer: ir.Table, column: str, labels: tuple[Label, ...]) -> ir.Table:
    """Labels as positions; unknown ones end here, before anything leaves the engine."""
    if not _joins(answer, labels):
        known = positioned(answer, {"position": (column, labels)})
        return known.mutate(**{column: known["position"]}).drop("position")
    table = lookup(labels)
    kept = {name: answer[name] for name in answer.columns}
    return answer.join(table, answer[column] == table["label"]).select(**{**kept, column: table["position"]})


def _binned(answer: ir.Table, column: str) -> ir.Table:
    if answer.get_backend().name == "duckdb":
        return _present(answer, column)
    return answer.mutate(**{column: answer[column].fill_null(-1)})


def _present(answer: ir.Table, column: str) -> ir.Table:
    return answer.filter(answer[column].notnull())
