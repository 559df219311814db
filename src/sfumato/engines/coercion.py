"""Each space's rule for bad values, as an expression that runs inside the engine.

Numbers become `t`, the lattice index counted from the lower bound; sets keep declared items only; categories keep
their raw label unless `other` or `missing` is declared (unknown labels fall out of every cell and condition); null
stands for missing.  Engines order NaN above every number, and a comparison with null is null: the branches below
rely on both.  The rules in words: docs/guide/coercion.md.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import ibis
import ibis.expr.datatypes as dt

from sfumato.engines.attempts import attempt
from sfumato.engines.columns import absent
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.spaces import Label, Lattice, Space
from sfumato.spaces.codes import Code, texts_of, wholes_of
from sfumato.spaces.dates import EPOCH, day_number
from sfumato.spaces.forms import Entries, Form, Labels, Numbers, Points, Sets, Spelling, Strings
from sfumato.spaces.numerals import FALSE, INFINITE, MINUS_INFINITE, NUMBER, TRUE, WHOLE, WHOLE_LIMIT
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = [
    "blank",
    "check_declared",
    "coerced",
    "fits",
    "held",
    "held_labels",
    "items_of",
    "label_of",
    "number_of",
    "present",
    "read_items",
    "reads_clock",
    "seconds_of",
    "substring",
    "vacant",
]

MARGINS = r"^[ \t]+|[ \t]+\z"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def floor(value: float) -> float:  # type: ignore[empty-body]
    """The engine's own FLOOR; Ibis' method adds a cast to an integer."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def substring(text: str, first: int, length: int) -> str:  # type: ignore[empty-body]
    """The engine's own SUBSTRING, which DuckDB computes once for each entry of a dictionary; not so Ibis' method."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def datediff(part: str, start: datetime.date, end: datetime.date) -> int:  # type: ignore[empty-body]
    """DuckDB's own: how many days lie between two dates, null where one is infinite."""


def coerced(raw: ir.Column, form: Form, real: bool = False) -> ir.Column:
    """A column's coerced value; with `real`, whole numbers that come from floats stay floats, which add up faster."""
    return attempt(COERCED[type(form)](raw, form, real), MISSING[type(form)](form))


def held(name: str) -> str:
    """What a declared column is called here: the prefix keeps it apart from our own names."""
    return f"c_{name}"


def held_labels(labels: tuple[Label, ...]) -> tuple[Label, ...]:
    """Labels as engines hold them: false and true as 0 and 1."""
    return tuple(int(label) if isinstance(label, bool) else label for label in labels)


def check_declared(schema: Schema, held: Mapping[str, dt.DataType]) -> None:
    """Refuse, from names and types alone, a table that cannot hold what the schema declares."""
    unit = [schema.unit.column] if isinstance(schema.unit, Person) else []
    for name in [*schema.held, *unit]:
        if name not in held:
            raise absent(name, held)
    for name, space in schema.held.items():
        _check_type(name, space, held[name])


def _check_type(name: str, space: Space, kind: dt.DataType) -> None:
    if space.form is not None and not fits(space.form, kind):
        raise SchemaError(
            f"column {name!r} is declared as {type(space).__name__}, but the table holds {kind} there; "
            "declare a space that fits, or convert the column first"
        )


def fits(form: Form, kind: dt.DataType) -> bool:
    """Whether a column of this type can hold what the form reads."""
    return FITS[type(form)](form, kind)


def _fits_numbers(form: Numbers, kind: dt.DataType) -> bool:
    if isinstance(kind, dt.Numeric):
        return form.plain and not isinstance(kind, dt.Boolean)
    if isinstance(kind, dt.Timestamp) and form.clock is not None:
        return True
    if isinstance(kind, dt.Date | dt.Timestamp):
        return form.day is not None
    return isinstance(kind, dt.String) or (isinstance(kind, dt.Interval | dt.Time) and form.second is not None)


def reads_clock(form: Form | None) -> bool:
    """Whether timestamps are read by what a clock shows."""
    return form is not None and form.clock is not None


def _fits_labels(form: Labels, kind: dt.DataType) -> bool:
    if isinstance(kind, dt.Boolean):
        return isinstance(form.labels[0], bool)
    return isinstance(kind, dt.String) or (isinstance(kind, dt.Numeric) and isinstance(form.labels[0], int))


def _fits_sets(form: Sets, kind: dt.DataType) -> bool:
    if not isinstance(kind, dt.Array):
        return isinstance(kind, dt.String)
    item = kind.value_type
    return isinstance(item, dt.String) or (isinstance(item, dt.Numeric) and isinstance(form.labels[0], int))


def _fits_points(form: Points, kind: dt.DataType) -> bool:
    return isinstance(kind, dt.Array) and isinstance(kind.value_type, dt.Integer | dt.Floating)


def _fits_entries(form: Entries, kind: dt.DataType) -> bool:
    depth, inner = 0, kind
    while isinstance(inner, dt.Array):
        depth, inner = depth + 1, inner.value_type
    numbers = isinstance(inner, dt.Numeric) and not isinstance(inner, dt.Boolean)
    return isinstance(kind, dt.String) or (numbers and depth in (1, len(form.shape)))


def _fits_strings(form: Strings, kind: dt.DataType) -> bool:
    return isinstance(kind, dt.String)


def _number(raw: ir.Column, form: Numbers, real: bool) -> ir.Column:
    """The index above the lower bound: clipped, rounded; null where missing and not imputed."""
    raw = number_of(raw, form)
    raw = raw.cast("float64") if raw.type().is_decimal() else raw  # no null of Ibis' type holds a HUGEINT
    raw = _without(raw, form.codes, "float64")
    lattice, kind = form.lattice, raw.type()
    whole = isinstance(kind, dt.Integer) and kind != dt.uint64 and lattice.step == 1
    if not whole:
        raw = raw.cast("float64")
    elif kind.is_unsigned_integer():  # which no bound below zero is compared with
        raw = raw.cast("int64")
    low, high = (lattice.low, lattice.high) if whole else (lattice.low_value, lattice.high_value)
    held = "float64" if real and not whole else "int64"
    inside = raw.cast("int64") - lattice.low if whole else _rounded(raw, lattice, held)
    top = raw.notnull() if whole else raw <= math.inf  # not `isnan`, which is false for a null on Spark
    index = ibis.cases(
        ((raw > low) & (raw < high), inside),
        (raw <= low, ibis.literal(0, held)),
        (top, ibis.literal(lattice.width, held)),
        else_=ibis.null(held),
    )
    if form.missing is None:
        return index
    return index.fill_null(ibis.literal(form.missing - lattice.low, held))


def number_of(raw: ir.Column, form: Numbers) -> ir.Column:
    """The number that each value stands for, null for none; no cast can fail on a value."""
    kind = raw.type()
    if isinstance(kind, dt.String):
        read = [*(_spelled(raw, spelling) for spelling in form.spellings), *([numeral(raw)] if form.plain else [])]
        return read[0] if len(read) == 1 else ibis.coalesce(*read)
    if isinstance(kind, dt.Date) and form.day is day_number and raw.get_backend().name == "duckdb":
        return datediff("day", EPOCH, raw)
    if isinstance(kind, dt.Date | dt.Timestamp) and form.day is not None:
        year, month, day = (part.cast("int64") for part in (raw.year(), raw.month(), raw.day()))
        return form.day(ibis.cases((year < 0, ibis.literal(0, "int64")), else_=year), month, day).cast("int64")
    if isinstance(kind, dt.Timestamp) and form.clock is not None:
        hour, minute, second = (part.cast("int64") for part in (raw.hour(), raw.minute(), raw.second()))
        return form.clock(hour * 3600 + minute * 60 + second)
    if isinstance(kind, dt.Interval | dt.Time) and form.clock is not None:
        return form.clock(seconds_of(raw))
    if isinstance(kind, dt.Interval | dt.Time) and form.second is not None:
        return seconds_of(raw) / form.second
    return raw


def seconds_of(elapsed: ir.Column) -> ir.Column:
    """The seconds of an elapsed time, or of a time of day since midnight, by DuckDB's own function; it never fails."""
    signature = ((elapsed.type(),), dt.float64)
    return ibis.udf.scalar.builtin(lambda held: held, name="epoch", signature=signature)(elapsed)


def _spelled(raw: ir.Column, spelling: Spelling) -> ir.Column:
    """The number of a text that matches, null for any other."""
    text = ibis.ifelse(_matches(raw, spelling.pattern), raw, ibis.null("string"))
    parts = [text.re_extract(f"^{spelling.pattern}$", place + 1) for place in range(spelling.groups)]
    return spelling.value(*(ibis.ifelse(part == "", "0", part).cast("float64") for part in parts)).cast("float64")


def _rounded(value: ir.Column, lattice: Lattice, held: str) -> ir.Column:
    """`Lattice.index`, operation by operation."""
    numerator, denominator = lattice.step.numerator, lattice.step.denominator
    scaled = value if denominator == 1 else value * float(denominator)
    scaled = scaled if numerator == 1 else scaled / float(numerator)
    nearest = scaled + 0.5
    index = floor(nearest) if held == "float64" else nearest.floor()
    index = index - lattice.low if lattice.low else index
    if lattice.rounding_stays_inside:
        return index
    return ibis.greatest(ibis.least(index, lattice.width), 0)


def _category(raw: ir.Column, form: Labels, real: bool) -> ir.Column:
    """The label; `other` and `missing` take the rest, where they are declared."""
    raw = present(raw)
    label = label_of(raw, form.labels)
    if form.other is None and form.missing is None:
        return label  # a code is no declared label, so it falls out as well
    other, missing = (
        ibis.null(label.type()) if chosen is None else ibis.literal(held_labels((chosen,))[0], label.type())
        for chosen in (form.other, form.missing)
    )
    return ibis.cases((label.isin(held_labels(form.labels)), label), (vacant(raw, form), missing), else_=other)


def vacant(raw: ir.Column, form: Labels) -> ir.Column:
    """Whether a column of categories holds nothing: null, NaN or a code."""
    raw = present(raw)
    return raw.isnull() | _coded(raw, label_of(raw, form.labels), form.na) if form.na else raw.isnull()


def blank(raw: ir.Column, form: Form) -> ir.BooleanColumn:
    """Whether nothing stands there that the column could hold, before `missing` takes its place; never null."""
    return attempt(BLANK[type(form)](raw, form).fill_null(False)).fill_null(True)


def _set(raw: ir.Column, form: Sets, real: bool) -> ir.Column:
    """The declared items, each once, at most `cap` of them in order."""
    return read_items(raw, form).filter(lambda item: item.isin(form.labels)).unique().sort()[: form.cap]


def read_items(raw: ir.Column, form: Sets) -> ir.Column:
    """The items of a set as labels, declared or not; null where it is missing."""
    items = items_of(raw, form)
    read = items.map(lambda item: label_of(item, form.labels)) if _needs_reading(items.type(), form.labels) else items
    if not form.na:
        return read
    uncoded = items.filter(lambda item: ~_coded(item, label_of(item, form.labels), form.na).fill_null(False))
    return ibis.ifelse((items.length() > 0) & (uncoded.length() == 0), ibis.null(read.type()), read)


def items_of(raw: ir.Column, form: Sets) -> ir.Column:
    """The items of a set as they stand, from a list or from a text."""
    if not raw.type().is_string():
        return raw
    apart = raw.re_split(f"[{re.escape(form.separator)}]")  # a plain split means a pattern on Spark
    return apart.map(lambda item: item.re_replace(MARGINS, ""))


def _curve(raw: ir.Column, form: Points, real: bool) -> ir.Column:
    """The numbers without their codes; each is coerced where rows are streamed."""
    points = raw.cast("array<float64>")
    return points.map(lambda point: _without(point, form.codes)) if form.codes else points


def _entries(raw: ir.Column, form: Entries, real: bool) -> ir.Column:
    """Each entry's index above the lower bound, row after row; null where there are more or fewer of them."""
    fitting, sides = ibis.literal(True), form.shape
    if raw.type().is_string():
        entries = raw.re_replace(form.BRACKETS, " ").re_split(form.SEPARATORS)
    else:
        while raw.type().value_type.is_array():
            rows, columns, *others = sides
            fitting &= (raw.length() == rows) & (raw.filter(_as_long_as(columns)).length() == rows)
            raw, sides = raw.flatten(), (rows * columns, *others)
        entries = raw.cast("array<float64>")
    read = entries.map(lambda entry: _number(entry, form.each, False))
    return ibis.ifelse(fitting & (entries.length() == form.size), read, ibis.null(read.type()))


def _as_long_as(size: int) -> Callable[[ir.Column], ir.Column]:
    return lambda inner: inner.length() == size


def _text(raw: ir.Column, form: Strings, real: bool) -> ir.Column:
    return substring(_without(raw, form.na), 1, form.longest)


def _needs_reading(kind: dt.DataType, labels: tuple[Label, ...]) -> bool:
    return isinstance(labels[0], int) and kind.value_type != dt.int64


def label_of(raw: ir.Column, labels: tuple[Label, ...]) -> ir.Column:
    """Texts as they are; whole numbers as int64, read from texts where need be; null for what is none."""
    kind = raw.type()
    if isinstance(labels[0], str) or kind == dt.int64:
        return raw
    if kind.is_string():
        return _whole_in(raw) if not isinstance(labels[0], bool) else _truth_in(raw)
    if kind == dt.uint64:
        small = raw <= ibis.literal(2**63 - 1, "uint64")
        return ibis.ifelse(small, raw, ibis.null("uint64")).cast("int64")
    if kind.is_floating() or kind.is_decimal():
        number = raw.cast("float64")
        whole = (number == floor(number)) & (number > -WHOLE_LIMIT) & (number < WHOLE_LIMIT)
        return ibis.ifelse(whole, number, ibis.null("float64")).cast("int64")
    return raw.cast("int64")


def _truth_in(raw: ir.Column) -> ir.Column:
    truths = ((_matches(raw, TRUE), ibis.literal(1, "int64")), (_matches(raw, FALSE), ibis.literal(0, "int64")))
    return ibis.cases(*truths, else_=_whole_in(raw))


def _whole_in(raw: ir.Column) -> ir.Column:
    text = ibis.ifelse(_matches(raw, WHOLE), raw, ibis.null("string")).strip()
    return text.re_replace(r"[.]0*\z", "").cast("int64")


def present(raw: ir.Column) -> ir.Column:
    """The column with NaN as null."""
    return ibis.ifelse(raw <= math.inf, raw, ibis.null(raw.type())) if raw.type().is_floating() else raw


def _coded(raw: ir.Column, label: ir.Column, na: tuple[Code, ...]) -> ir.Column:
    """Whether a label stands for a missing value: by its text, or as a whole number."""
    named = ibis.literal(False)
    if raw.type().is_string():
        trimmed = raw if label.type().is_string() else raw.re_replace(MARGINS, "")
        named = trimmed.isin(texts_of(na))
    wholes = wholes_of(na)
    return named | label.isin(wholes).fill_null(False) if wholes and label.type().is_integer() else named


def _without(raw: ir.Column, codes: tuple[Code, ...], compared: str | None = None) -> ir.Column:
    """The column with null for its codes; they are `compared` as another type, where that is given."""
    if not codes:
        return raw
    return ibis.ifelse((raw.cast(compared) if compared else raw).isin(codes), ibis.null(raw.type()), raw)


def numeral(raw: ir.Column) -> ir.Column:
    """The number that a text stands for, null for none."""
    number = ibis.ifelse(_matches(raw, NUMBER), raw, ibis.null("string")).strip().cast("float64")
    return ibis.cases(
        (_matches(raw, INFINITE), ibis.literal(float("inf"), "float64")),
        (_matches(raw, MINUS_INFINITE), ibis.literal(float("-inf"), "float64")),
        else_=number,
    )


def _matches(raw: ir.Column, pattern: str) -> ir.Column:
    return raw.re_search(rf"^{pattern}\z")


COERCED: dict[type[Form], Callable[..., ir.Column]] = {
    Numbers: _number, Labels: _category, Sets: _set, Points: _curve,
    Entries: _entries, Strings: _text,
}  # fmt: skip
FITS: dict[type[Form], Callable[..., bool]] = {
    Numbers: _fits_numbers, Labels: _fits_labels, Sets: _fits_sets, Points: _fits_points,
    Entries: _fits_entries, Strings: _fits_strings,
}  # fmt: skip
# What a missing value comes to.
MISSING: dict[type[Form], Callable[..., int | str | None]] = {
    Numbers: lambda form: None if form.missing is None else form.missing - form.lattice.low,
    Labels: lambda form: None if form.missing is None else held_labels((form.missing,))[0],
    Sets: lambda form: None, Points: lambda form: None, Entries: lambda form: None, Strings: lambda form: None,
}  # fmt: skip
BLANK: dict[type[Form], Callable[..., ir.BooleanColumn]] = {
    Numbers: lambda raw, form: _number(raw, replace(form, missing=None), False).isnull(),
    Labels: vacant,
    Sets: lambda raw, form: read_items(raw, form).isnull(),
    Points: lambda raw, form: raw.isnull(),
    Entries: lambda raw, form: _entries(raw, form, False).isnull(),
    Strings: lambda raw, form: _without(raw, form.na).isnull(),
}
