"""The rows of persons with each row's place within its person, which all declared columns decide and no question does.

Beside the columns that are wanted stand the person (`UNIT`), the `place`, and whole numbers whose bits say in which
columns nothing stood before `missing` or `other` took its place.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import ibis

from sfumato.engines.attempts import attempt
from sfumato.engines.backends import isolated
from sfumato.engines.bounding import placed
from sfumato.engines.coercion import blank, coerced, held, held_labels, present, read_items
from sfumato.engines.positions import FEW, labelled, positioned
from sfumato.engines.sets import known_items, many
from sfumato.spaces.forms import Entries, Form, Labels, Numbers, Sets, Strings
from sfumato.spaces.schema import Schema
from sfumato.spaces.subsets import UNIT_SEPARATOR

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["UNIT", "numbers_of", "placed_rows", "read_first", "usable", "vacancy", "with_vacancies"]

UNIT = "unit"
MODULUS = 2**31 - 1
BITS = 62  # columns that one whole number tells of


def vacancy(name: str) -> str:
    """What the column is called that says whether nothing stands in a declared column."""
    return f"v_{name}"


def usable(schema: Schema) -> dict[str, Form]:
    """The columns that decide the order of a person's rows, and that questions can read."""
    forms = {name: space.form for name, space in schema.held.items()}
    return {name: form for name, form in forms.items() if form is not None and type(form) in LARGEST}


def placed_rows(schema: Schema, person: str, table: ir.Table, wanted: Collection[str]) -> ir.Table:
    """The rows whose person is known: the wanted columns, coerced, in the order that all of them decide."""
    forms = usable(schema)
    table = isolated(table.select(*forms, person), numbers_of(schema, forms), person)
    columns = {held(name): read_first(table[name], form) for name, form in forms.items()}
    rows = table.select(**{UNIT: present(table[person])}, **columns, **_blanks(table, forms))
    rows = known_items(rows, {held(name): form for name, form in forms.items()})
    numbers = {name: f"n{place}" for place, name in enumerate(forms)}
    labels = {numbers[name]: (held(name), form.labels or ()) for name, form in forms.items() if labelled(form)}
    rows = positioned(rows, labels, first=1)  # known labels as 1, 2, ..., everything else as 0
    ties = {name: f"s{place}" for place, name in enumerate(forms) if type(forms[name]) in TEXT}
    computed = {numbers[name]: NUMBER[type(form)](rows[held(name)]) for name, form in forms.items()
                if not labelled(form)}  # fmt: skip
    computed |= {column: TEXT[type(forms[name])](rows[held(name)]) for name, column in ties.items()}
    whole = {name: form for name, form in forms.items() if type(form) not in READ_BACK or len(form.labels or ()) > FEW}
    for column, (label, _) in labels.items():  # an unknown label is kept by nobody
        if any(held(name) == label for name in whole):
            computed[label] = ibis.ifelse(rows[column] > 0, rows[label], ibis.null(rows[label].type()))
    kinds = {name: rows[held(name)].type() for name in forms}
    rows = rows.mutate(**computed) if computed else rows
    marks = {column: 2 ** len(names) - 1 for column, names in _bits(forms).items()}
    order = {numbers[name]: LARGEST[type(form)](form) for name, form in forms.items()}
    travelling = [held(name) for name in whole if name in wanted]
    rows = placed(rows, UNIT, order, marks, list(ties.values()), travelling)  # rows that tie agree in all that is asked
    read = {
        held(name): READ_BACK[type(form)](rows, numbers[name], ties.get(name, ""), form, kinds[name])
        for name, form in forms.items()
        if name in wanted and name not in whole
    }
    return rows.select(UNIT, "place", *marks, *travelling, **read)


def with_vacancies(rows: ir.Table, schema: Schema, tested: Collection[str]) -> ir.Table:
    """The placed rows with, for each tested column, whether nothing stands in it."""
    forms = usable(schema)
    bits = {name: (column, bit) for column, names in _bits(forms).items() for bit, name in enumerate(reversed(names))}
    found = {
        vacancy(name): (rows[bits[name][0]] & 2 ** bits[name][1]) > 0 if name in bits else rows[held(name)].isnull()
        for name in forms
        if name in tested
    }
    return rows.mutate(**found) if found else rows


def numbers_of(schema: Schema, names: Iterable[str]) -> list[str]:
    """Which of these columns hold numbers."""
    spaces = {name: space for name, space in schema.held.items() if name in set(names)}
    return [name for name, space in spaces.items() if space.lattice is not None or space.size is not None]


def read_first(raw: ir.Column, form: Form, real: bool = False) -> ir.Column:
    """The coerced column; of sets of very many items all that they hold, for `known_items`."""
    return attempt(read_items(raw, form)) if many(form) else coerced(raw, form, real)


def _bits(forms: Mapping[str, Form]) -> dict[str, list[str]]:
    """The columns whose values do not say whether nothing stood there, by the number that tells, the first highest.

    In all others nothing stands where the coerced value is missing.
    """
    told = [name for name, form in forms.items() if type(form) in TOLD and TOLD[type(form)](form)]
    return {f"b{start // BITS}": told[start : start + BITS] for start in range(0, len(told), BITS)}


def _blanks(table: ir.Table, forms: Mapping[str, Form]) -> dict[str, ir.Column]:
    """Ordering by these numbers is ordering by one column after the other."""

    def told(names: list[str]) -> ir.Column:
        bits = (
            ibis.ifelse(blank(table[name], forms[name]), ibis.literal(2**bit, "int64"), ibis.literal(0, "int64"))
            for bit, name in enumerate(reversed(names))
        )
        return reduce(operator.add, bits)

    return {column: told(names) for column, names in _bits(forms).items()}


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


# Columns that may hold something where nothing stood, or nothing where something did.
TOLD: dict[type[Form], Callable[[Any], bool]] = {
    Labels: lambda form: True,
    Numbers: lambda form: form.missing is not None,
}
# The largest number that stands for a value, where it is known.
LARGEST: dict[type[Form], Callable[[Any], int | None]] = {
    Numbers: lambda form: form.lattice.width + 1,
    Labels: lambda form: len(form.labels),
    Sets: lambda form: form.cap + 1,
    Entries: lambda form: None,
    Strings: lambda form: 1,
}
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
# Columns as they were, from the numbers and texts that put them in order; others travel with their rows.
READ_BACK: dict[type[Form], Callable[..., ir.Column]] = {
    Numbers: lambda rows, number, text, form, kind: ibis.ifelse(rows[number] > 0, rows[number] - 1, ibis.null(kind)),
    Strings: lambda rows, number, text, form, kind: ibis.ifelse(rows[number] > 0, rows[text], ibis.null(kind)),
    Labels: lambda rows, number, text, form, kind: ibis.ifelse(
        rows[number] > 0,
        ibis.array([ibis.literal(label, kind) for label in held_labels(form.labels)])[(rows[number] - 1).cast("int32")],
        ibis.null(kind),
    ),
}
