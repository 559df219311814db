"""The rows a statistic is computed from: declared columns only, coerced, and at most m of each person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import ibis

from sfumato.engines.attempts import attempt
from sfumato.engines.backends import isolated
from sfumato.engines.coercion import blank, coerced, held, held_labels
from sfumato.engines.derivation import computed
from sfumato.engines.keeping import Kept
from sfumato.engines.places import numbers_of, placed_rows, read_first, usable, vacancy, with_vacancies
from sfumato.engines.sets import known_items
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Frequencies, Statistic, asked_columns, conditions_of
from sfumato.queries.conditions import Between, OneOf
from sfumato.queries.formulas import Term, formula
from sfumato.queries.grouping import Key
from sfumato.queries.predicates import Predicate
from sfumato.spaces.forms import Form
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["counted_rows", "form_of", "holding"]


def counted_rows(
    statistic: Statistic, schema: Schema, table: ir.Table, real: bool = False, kept: Kept | None = None
) -> ir.Table:
    """The coerced rows; for persons, the bounded ones, or all with their places where groups are bounded later.

    Those of persons are the same for every statistic: an engine that has `kept` them does not bound them again.
    """
    named = _mentioned_columns(statistic)
    formulas = {name: formula(schema, name) for name in sorted(named) if schema.origin(name) is not None}
    entries = {name: entry for name in sorted(named) if (entry := schema.entry(name)) is not None}
    conditions = [*conditions_of(statistic), *(one for term in formulas.values() for one in term.conditions())]
    tested = {test.column for one in conditions for test in one.tests() if test.kind == "missing"}
    sources = {source for name in (*formulas, *entries) for source in schema.sources(name)}
    wanted = [name for name in schema.held if name in named | sources]
    forms = {name: form_of(schema, name) for name in wanted}
    if isinstance(schema.unit, Person):
        rows = with_vacancies(_of_persons(schema, schema.unit, table, forms, kept), schema, tested)
        return _derived(rows, schema, formulas, entries, tested)
    other = sources.union(_mentioned(statistic.where), *([key.column] for key in _keys(statistic)))
    table = isolated(table.select(*(wanted or [*schema.held][:1])), numbers_of(schema, wanted))
    columns = {held(name): read_first(table[name], form, real and name not in other) for name, form in forms.items()}
    columns |= {vacancy(name): blank(table[name], forms[name]) for name in wanted if name in tested}
    rows = table.select(**columns) if columns else table
    rows = known_items(rows, {held(name): form for name, form in forms.items()})
    return _derived(rows, schema, formulas, entries, tested)


def _of_persons(
    schema: Schema, unit: Person, table: ir.Table, forms: Mapping[str, Form], kept: Kept | None
) -> ir.Table:
    """The rows that count; where groups are bounded later, all of them."""
    most = unit.rows if unit.groups is None else None
    if kept is None:
        rows = placed_rows(schema, unit.column, table, forms)
    else:
        rows = kept.rows(lambda columns: placed_rows(schema, unit.column, table, columns), usable(schema), forms, most)
    return rows if most is None else rows.filter(rows["place"] < most)


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
        value, form = attempt(computed(term, schema, rows, holding)), form_of(schema, name)
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


def _keys(statistic: Statistic) -> tuple[Key, ...]:
    return statistic.cells.keys if isinstance(statistic, Aggregation | Frequencies) else ()


def _mentioned_columns(statistic: Statistic) -> set[str]:
    return {*asked_columns(statistic), *_mentioned(statistic.where), *(key.column for key in _keys(statistic))}


def _mentioned(condition: Predicate | None) -> list[str]:
    return [] if condition is None else [test.column for test in condition.tests()]


def holding(condition: Predicate, schema: Schema, rows: ir.Table) -> ir.BooleanColumn:
    """A bound condition as a column that is never null."""
    return condition.holds(lambda test: attempt(TESTS[test.kind](test, schema, rows)).fill_null(False))


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
