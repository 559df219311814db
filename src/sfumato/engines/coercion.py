"""Each space's rule for bad values, as an expression that runs inside the engine.

Numbers become `t`, the lattice index counted from the lower bound; sets keep declared items only; categories keep
their raw label unless `other` or `missing` is declared (unknown labels fall out of every cell and condition); null
stands for missing.  Engines order NaN above every number, and a comparison with null is null: the branches below
rely on both.  The rules in words: docs/guide/coercion.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import ibis
import ibis.expr.datatypes as dt

from sfumato.engines.columns import absent
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.schema import Schema
from sfumato.spaces import Categories, Curves, Dates, Integers, Interval, Label, Lattice, Space, Subsets, Texts
from sfumato.spaces.codes import Code, numbers_of, texts_of, wholes_of
from sfumato.spaces.dates import DAY, day_number
from sfumato.spaces.numerals import FALSE, INFINITE, MINUS_INFINITE, NUMBER, TRUE, WHOLE, WHOLE_LIMIT

__all__ = ["check_declared", "coerced", "day_of", "fits", "held_labels", "items_of", "numeral", "present", "vacant"]

MARGINS = r"^[ \t]+|[ \t]+\z"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def floor(value: float) -> float:  # type: ignore[empty-body]
    """The engine's own FLOOR; Ibis' method adds a cast to an integer."""


def coerced(raw: Any, space: Space, real: bool = False) -> Any:
    """A column's coerced value; with `real`, whole numbers that come from floats stay floats, which add up faster."""
    if isinstance(space, Dates):
        return _number(_without(day_of(raw), space.coded_days), space, real)
    if isinstance(space, Interval | Integers):
        return _number(_uncoded(raw, numbers_of(space.na)), space, real)
    if isinstance(space, Categories):
        return _category(raw, space)
    if isinstance(space, Subsets):
        return _set(raw, space)
    if isinstance(space, Curves):
        points, na = raw.cast("array<float64>"), numbers_of(space.na)  # each is coerced where rows are streamed
        return points.map(lambda point: _without(point, na)) if na else points
    assert isinstance(space, Texts)
    return _without(raw, texts_of(space.na)).substr(0, space.longest)


def held_labels(labels: tuple[Label, ...]) -> tuple[Label, ...]:
    """Labels as engines hold them: false and true as 0 and 1."""
    return tuple(int(label) if isinstance(label, bool) else label for label in labels)


def check_declared(schema: Schema, held: Mapping[str, dt.DataType]) -> None:
    """Refuse, from names and types alone, a table that cannot hold what the schema declares."""
    unit = [schema.unit.column] if isinstance(schema.unit, Person) else []
    for name in [*schema.columns, *unit]:
        if name not in held:
            raise absent(name, held)
    for name, space in schema.columns.items():
        _check_type(name, space, held[name])


def _check_type(name: str, space: Space, kind: dt.DataType) -> None:
    if not fits(space, kind):
        raise SchemaError(
            f"column {name!r} is declared as {type(space).__name__}, but the table holds {kind} there; "
            "declare a space that fits, or convert the column first"
        )


def fits(space: Space, kind: dt.DataType) -> bool:
    """Whether a column of this type can hold what the space declares."""
    if isinstance(kind, dt.Boolean):
        return isinstance(space, Categories) and isinstance(space.values[0], bool)
    if isinstance(space, Dates):
        return isinstance(kind, dt.Date | dt.Timestamp | dt.String)
    if isinstance(space, Interval | Integers):
        return isinstance(kind, dt.Numeric | dt.String)
    if isinstance(space, Categories):
        return isinstance(kind, dt.String) or (isinstance(kind, dt.Numeric) and isinstance(space.values[0], int))
    if isinstance(space, Subsets):
        item = kind.value_type if isinstance(kind, dt.Array) else kind
        whole = isinstance(item, dt.Numeric) and isinstance(kind, dt.Array) and isinstance(space.of[0], int)
        return isinstance(item, dt.String) or whole
    if isinstance(space, Curves):
        return isinstance(kind, dt.Array) and isinstance(kind.value_type, dt.Integer | dt.Floating)
    return isinstance(kind, dt.String) if isinstance(space, Texts) else True


def _number(raw: Any, space: Interval | Integers, real: bool) -> Any:
    """The index above the lower bound: clipped, rounded; null where missing and not imputed."""
    lattice, kind = space.lattice, raw.type()
    whole = isinstance(kind, dt.Integer) and kind != dt.uint64 and lattice.step == 1
    if isinstance(kind, dt.String):
        raw = numeral(raw)
    elif not whole:
        raw = raw.cast("float64")
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
    if space.missing is None:
        return index
    return index.fill_null(ibis.literal(lattice.index(space.missing) - lattice.low, held))


def day_of(raw: Any) -> Any:
    """The day's number, null for what is no date; no cast can fail on a value."""
    if isinstance(raw.type(), dt.String):
        text = ibis.ifelse(_matches(raw, DAY), raw, ibis.null("string")).re_replace(MARGINS, "")
        parts = [text.substr(start, length).cast("int64") for start, length in ((0, 4), (5, 2), (8, 2))]
    else:
        parts = [part.cast("int64") for part in (raw.year(), raw.month(), raw.day())]
    year = ibis.cases((parts[0] < 0, ibis.literal(0, "int64")), else_=parts[0])
    return day_number(year, parts[1], parts[2]).cast("int64")


def _rounded(value: Any, lattice: Lattice, held: str) -> Any:
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


def _category(raw: Any, space: Categories) -> Any:
    """The label; `other` and `missing` take the rest, where they are declared."""
    raw = present(raw)
    label = _label(raw, space.values)
    if space.other is None and space.missing is None:
        return label  # a code is no declared label, so it falls out as well
    other, missing = (
        ibis.null(label.type()) if chosen is None else ibis.literal(chosen, label.type())
        for chosen in held_labels((space.other, space.missing))  # type: ignore[arg-type]
    )
    return ibis.cases((label.isin(held_labels(space.values)), label), (vacant(raw, space), missing), else_=other)


def vacant(raw: Any, space: Categories) -> Any:
    """Whether a column of categories holds nothing: null, NaN or a code."""
    raw = present(raw)
    return raw.isnull() | _coded(raw, _label(raw, space.values), space.na) if space.na else raw.isnull()


def _set(raw: Any, space: Subsets) -> Any:
    """The declared items, each once, at most `cap` of them in order."""
    items = items_of(raw, space)
    read = items.map(lambda item: _label(item, space.of)) if _needs_reading(items.type(), space.of) else items
    known = read.filter(lambda item: item.isin(space.of)).unique().sort()[: space.cap]
    if not space.na:
        return known
    uncoded = items.filter(lambda item: ~_coded(item, _label(item, space.of), space.na).fill_null(False))
    return ibis.ifelse((items.length() > 0) & (uncoded.length() == 0), ibis.null(known.type()), known)


def items_of(raw: Any, space: Subsets) -> Any:
    """The items of a set as they stand, from a list or from a text."""
    if not raw.type().is_string():
        return raw
    apart = raw.re_split(f"[{re.escape(space.separator)}]")  # a plain split means a pattern on Spark
    return apart.map(lambda item: item.re_replace(MARGINS, ""))


def _needs_reading(kind: Any, labels: tuple[Label, ...]) -> bool:
    return isinstance(labels[0], int) and kind.value_type != dt.int64


def _label(raw: Any, labels: tuple[Label, ...]) -> Any:
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


def _truth_in(raw: Any) -> Any:
    truths = ((_matches(raw, TRUE), ibis.literal(1, "int64")), (_matches(raw, FALSE), ibis.literal(0, "int64")))
    return ibis.cases(*truths, else_=_whole_in(raw))


def _whole_in(raw: Any) -> Any:
    text = ibis.ifelse(_matches(raw, WHOLE), raw, ibis.null("string")).strip()
    return text.re_replace(r"[.]0*\z", "").cast("int64")


def present(raw: Any) -> Any:
    """The column with NaN as null."""
    return ibis.ifelse(raw <= math.inf, raw, ibis.null(raw.type())) if raw.type().is_floating() else raw


def _coded(raw: Any, label: Any, na: tuple[Code, ...]) -> Any:
    """Whether a label stands for a missing value: by its text, or as a whole number."""
    named = ibis.literal(False)
    if raw.type().is_string():
        trimmed = raw if label.type().is_string() else raw.re_replace(MARGINS, "")
        named = trimmed.isin(texts_of(na))
    wholes = wholes_of(na)
    return named | label.isin(wholes).fill_null(False) if wholes and label.type().is_integer() else named


def _uncoded(raw: Any, na: tuple[float, ...]) -> Any:
    """A column of numbers, or of texts of numbers, without its codes."""
    if not na:
        return raw
    number = numeral(raw) if raw.type().is_string() else raw
    return ibis.ifelse(number.cast("float64").isin(na), ibis.null(number.type()), number)


def _without(raw: Any, codes: tuple[Any, ...]) -> Any:
    return ibis.ifelse(raw.isin(codes), ibis.null(raw.type()), raw) if codes else raw


def numeral(raw: Any) -> Any:
    """The number that a text stands for, null for none."""
    number = ibis.ifelse(_matches(raw, NUMBER), raw, ibis.null("string")).strip().cast("float64")
    return ibis.cases(
        (_matches(raw, INFINITE), ibis.literal(float("inf"), "float64")),
        (_matches(raw, MINUS_INFINITE), ibis.literal(float("-inf"), "float64")),
        else_=number,
    )


def _matches(raw: Any, pattern: str) -> Any:
    return raw.re_search(rf"^{pattern}\z")
