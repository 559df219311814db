"""The rows a statistic is computed from: declared columns only, coerced, and at most m of each person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

import ibis

from sfumato.engines.backends import isolated
from sfumato.engines.bounding import bounded, placed
from sfumato.engines.coercion import blank, coerced, held, held_labels, present, read_items
from sfumato.engines.derivation import computed
from sfumato.engines.positions import positioned
from sfumato.engines.sets import known_items, many
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Frequencies, Statistic, asked_columns, conditions_of
from sfumato.queries.conditions import Between, OneOf
from sfumato.queries.formulas import Term, formula
from sfumato.queries.grouping import Key
from sfumato.queries.predicates import Predicate
from sfumato.spaces.forms import Entries, Form, Labels, Numbers, Sets, Strings
from sfumato.spaces.schema import Schema
from sfumato.spaces.subsets import UNIT_SEPARATOR

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["UNIT", "Bounded", "counted_rows", "form_of", "holding"]

UNIT = "unit"
MODULUS = 2**31 - 1
Bounded = dict[frozenset[str], "ir.Table"]  # the rows of persons, by the columns that are tested for being missing


def vacancy(name: str) -> str:
    """What the column is called that says whether nothing stands in a declared column."""
    return f"v_{name}"


def counted_rows(
    statistic: Statistic, schema: Schema, table: ir.Table, real: bool = False, known: Bounded | None = None
) -> ir.Table:
    """The coerced rows; for persons, the bounded ones, or all with their places where groups are bounded later.

    Those of persons are the same for every statistic that tests the same columns for being missing: `known` keeps them.
    """
    named = _mentioned_columns(statistic)
    formulas = {name: formula(schema, name) for name in sorted(named) if schema.origin(name) is not None}
    entries = {name: entry for name in sorted(named) if (entry := schema.entry(name)) is not None}
    conditions = [*conditions_of(statistic), *(one for term in formulas.values() for one in term.conditions())]
    tested = {test.column for one in conditions for test in one.tests() if test.kind == "missing"}
    if isinstance(schema.unit, Person):
        known = {} if known is None else known
        if frozenset(tested) not in known:
            known[frozenset(tested)] = _of_persons(schema, schema.unit, table, tested)
        return _derived(known[frozenset(tested)], schema, formulas, entries, tested)
    sources = {source for name in (*formulas, *entries) for source in schema.sources(name)}
    wanted = [name for name in schema.held if name in named | sources]
    other = sources.union(_mentioned(statistic.where), *([key.column] for key in _keys(statistic)))
    table = isolated(table.select(*(wanted or schema.held)), _numbers(schema, wanted))
    forms = {name: form_of(schema, name) for name in wanted}
    columns = {held(name): _first(table[name], form, real and name not in other) for name, form in forms.items()}
    columns |= {vacancy(name): blank(table[name], forms[name]) for name in wanted if name in tested}
    rows = table.select(**columns) if columns else table
    rows = known_items(rows, {held(name): form for name, form in forms.items()})
    return _derived(rows, schema, formulas, entries, tested)


def _derived(
    rows: ir.Table,
    schema: Schema,
    formulas: dict[str, Term],
    entries: dict[str, tuple[str, int]],
    tested: Collection[str],
) -> ir.Table:
    """The rows with the entries of their arrays and their derived columns, each computed from its own row."""
    columns = {held(name): rows[held(whole)][place] for name, (whole, place) in entries.items()}
    columns |= {vacancy(name): columns[held(name)].isnull() for name in entries if name in tested}
    for name, term in formulas.items():
        value, form = computed(term, schema, rows, holding), form_of(schema, name)
        columns[held(name)] = coerced(value, form)
        if name in tested:
            columns[vacancy(name)] = blank(value, form)
    return rows.mutate(**columns) if columns else rows


def form_of(schema: Schema, name: str) -> Form:
    """How a column is read; one that no engine reads is refused."""
    space = schema.space(name)
    if space.form is None:
        fields = f"; name a field of it, such as {name}.{next(iter(space.fields))}" if space.fields else ""
        raise SchemaError(f"column {name!r} ({type(space).__name__}) is not read by any question{fields}")
    return space.form


def _of_persons(schema: Schema, unit: Person, table: ir.Table, tested: Collection[str]) -> ir.Table:
    """All usable columns coerced, the order of each person's rows decided by all of them; see `compiled`."""
    forms = {name: space.form for name, space in schema.held.items() if space.form is not None}
    usable = {name: form for name, form in forms.items() if type(form) in (Labels, *NUMBER)}
    table = isolated(table.select(*usable, unit.column), _numbers(schema, usable), unit.column)
    columns = {held(name): _first(table[name], form) for name, form in usable.items()}
    blanks = {vacancy(name): blank(table[name], form) for name, form in usable.items() if name in tested}
    rows = table.select(**{UNIT: present(table[unit.column])}, **columns, **blanks)
    rows = known_items(rows, {held(name): form for name, form in usable.items()})
    numbers = {name: f"n{place}" for place, name in enumerate(usable)}
    labels = {numbers[name]: (held(name), form.labels or ()) for name, form in usable.items() if type(form) is Labels}
    rows = positioned(rows, labels, first=1)  # known labels as 1, 2, ..., everything else as 0
    ties = {name: f"s{place}" for place, name in enumerate(usable) if type(usable[name]) in TEXT}
    computed = {numbers[name]: NUMBER[type(form)](rows[held(name)]) for name, form in usable.items()
                if type(form) is not Labels}  # fmt: skip
    computed |= {column: TEXT[type(usable[name])](rows[held(name)]) for name, column in ties.items()}
    rows = rows.mutate(**computed) if computed else rows
    order = list(numbers.values()), [*ties.values(), *blanks]  # rows that tie agree in all that can be asked
    return bounded(rows, UNIT, unit.rows, *order) if unit.groups is None else placed(rows, UNIT, *order)


def _first(raw: ir.Column, form: Form, real: bool = False) -> ir.Column:
    """The coerced column; of sets of very many items all that they hold, for `known_items`."""
    return read_items(raw, form) if many(form) else coerced(raw, form, real)


def _size(column: ir.Column) -> ir.Column:
    """The size of a set, counted from 1; 0 where it is missing."""
    size = column.length().fill_null(-1) + 1
    return size.cast("int32").cast("int64")  # Spark's sizes have 32 bits, whatever Ibis believes


def _entries_sum(column: ir.Column) -> ir.Column:
    """The sum of an array's indices, each reduced so that none overflows, counted from 1; 0 where it is missing."""
    return column.map(lambda entry: entry % MODULUS).sums().cast("int64").fill_null(-1) + 1


def _joined(column: ir.Column) -> ir.Column:
    """The items of a set, or an array's indices, in one text: with the number beside it, this tells any two apart."""
    items = column if column.type().value_type.is_string() else column.cast("array<string>")
    return items.join(UNIT_SEPARATOR).fill_null("")


# A coerced column as a whole number that is never null; texts and sets need a text beside it.
NUMBER: dict[type[Form], Callable[[ir.Column], ir.Column]] = {
    Numbers: lambda column: column.fill_null(-1) + 1,
    Sets: _size,
    Entries: _entries_sum,
    Strings: lambda column: ibis.ifelse(column.isnull(), 0, 1).cast("int64"),
}
TEXT: dict[type[Form], Callable[[ir.Column], ir.Column]] = {
    Sets: _joined,
    Entries: _joined,
    Strings: lambda column: column.fill_null(""),
}


def _numbers(schema: Schema, names: Iterable[str]) -> list[str]:
    spaces = {name: space for name, space in schema.held.items() if name in set(names)}
    return [name for name, space in spaces.items() if space.lattice is not None or space.size is not None]


def _keys(statistic: Statistic) -> tuple[Key, ...]:
    return statistic.cells.keys if isinstance(statistic, Aggregation | Frequencies) else ()


def _mentioned_columns(statistic: Statistic) -> set[str]:
    return {*asked_columns(statistic), *_mentioned(statistic.where), *(key.column for key in _keys(statistic))}


def _mentioned(condition: Predicate | None) -> list[str]:
    return [] if condition is None else [test.column for test in condition.tests()]


def holding(condition: Predicate, schema: Schema, rows: ir.Table) -> ir.BooleanColumn:
    """A bound condition as a column that is never null."""
    return condition.holds(lambda test: TESTS[test.kind](test, schema, rows).fill_null(False))


def _between(test: Between, schema: Schema, rows: ir.Table) -> ir.BooleanColumn:
    column, low = rows[held(test.column)], schema.lattice(test.column).low
    return (column >= test.low - low) & (column <= test.high - low)


def _one_of(test: OneOf, schema: Schema, rows: ir.Table) -> ir.BooleanColumn:
    return rows[held(test.column)].isin(held_labels(test.labels)) if test.labels else ibis.literal(False)


# Each test of a condition, null where the value is.
TESTS: dict[str, Callable[..., ir.BooleanColumn]] = {
    "between": _between,
    "one of": _one_of,
    "contains": lambda test, schema, rows: rows[held(test.column)].contains(test.item),
    "starts": lambda test, schema, rows: rows[held(test.column)].startswith(test.prefix),
    "missing": lambda test, schema, rows: rows[vacancy(test.column)],
}
