"""Each space's rule for bad values, as an expression that runs inside the engine.

Numbers become `t`, the lattice index counted from the lower bound; sets keep declared items only; categories keep
their raw label unless `other` or `missing` is declared (unknown labels fall out of every cell and condition); null
stands for missing.  Engines order NaN above every number, and a comparison with null is null: the branches below
rely on both.  The rules in words: docs/guide/coercion.md.
"""

from __future__ import annotations

import math
import re
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa

from sfumato.errors import SchemaError
from sfumato.spaces import Categories, Curves, Dates, Integers, Interval, Label, Lattice, Space, Subsets, Texts
from sfumato.spaces.dates import DAY, day_number
from sfumato.spaces.numerals import INFINITE, MINUS_INFINITE, NUMBER, WHOLE

__all__ = ["check_type", "coerced", "lookup"]

MARGINS = r"^[ \t]+|[ \t]+\z"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def floor(value: float) -> float:  # type: ignore[empty-body]
    """The engine's own FLOOR; Ibis' method adds a cast to an integer."""


def coerced(raw: Any, space: Space, real: bool = False) -> Any:
    """A column's coerced value; with `real`, whole numbers that come from floats stay floats, which add up faster."""
    if isinstance(space, Dates):
        return _number(_day(raw), space, real)
    if isinstance(space, Interval | Integers):
        return _number(raw, space, real)
    if isinstance(space, Categories):
        return _category(raw, space)
    if isinstance(space, Subsets):
        return _set(raw, space)
    if isinstance(space, Curves):
        return raw.cast("array<float64>")  # each number is coerced where rows are streamed
    assert isinstance(space, Texts)
    return raw.substr(0, space.longest)


def lookup(labels: tuple[Label, ...]) -> Any:
    """A small table (label, position), to turn declared labels into whole numbers by a join."""
    kind = pa.string() if isinstance(labels[0], str) else pa.int64()
    return ibis.memtable(pa.table({"label": pa.array(labels, kind), "position": pa.array(range(len(labels)))}))


def check_type(name: str, space: Space, kind: dt.DataType) -> None:
    """Refuse, from types alone, a column that cannot hold what the schema declares."""
    if not _fits(space, kind):
        raise SchemaError(
            f"column {name!r} is declared as {type(space).__name__}, but the table holds {kind} there; "
            "declare a space that fits, or convert the column first"
        )


def _fits(space: Space, kind: dt.DataType) -> bool:
    if isinstance(kind, dt.Boolean):
        return False
    if isinstance(space, Dates):
        return isinstance(kind, dt.Date | dt.Timestamp | dt.String)
    if isinstance(space, Interval | Integers):
        return isinstance(kind, dt.Numeric | dt.String)
    if isinstance(space, Categories):
        return isinstance(kind, dt.String) or (isinstance(kind, dt.Integer) and isinstance(space.values[0], int))
    if isinstance(space, Subsets):
        item = kind.value_type if isinstance(kind, dt.Array) else kind
        whole = isinstance(item, dt.Integer) and isinstance(kind, dt.Array) and isinstance(space.of[0], int)
        return isinstance(item, dt.String) or whole
    if isinstance(space, Curves):
        return isinstance(kind, dt.Array) and isinstance(kind.value_type, dt.Integer | dt.Floating)
    return isinstance(kind, dt.String) if isinstance(space, Texts) else True


def _number(raw: Any, space: Interval | Integers, real: bool) -> Any:
    """The index above the lower bound: clipped, rounded; null where missing and not imputed."""
    lattice, kind = space.lattice, raw.type()
    whole = isinstance(kind, dt.Integer) and kind != dt.uint64 and lattice.step == 1
    if isinstance(kind, dt.String):
        raw = _number_in(raw)
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


def _day(raw: Any) -> Any:
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
    label = _label(raw, space.values)
    if space.other is None and space.missing is None:
        return label
    other = ibis.null(label.type()) if space.other is None else ibis.literal(space.other, label.type())
    missing = ibis.null(label.type()) if space.missing is None else ibis.literal(space.missing, label.type())
    return ibis.cases((label.isin(space.values), label), (raw.isnull(), missing), else_=other)


def _set(raw: Any, space: Subsets) -> Any:
    """The declared items, each once, at most `cap` of them in order."""
    items = raw
    if raw.type().is_string():
        apart = raw.re_split(f"[{re.escape(space.separator)}]")  # a plain split means a pattern on Spark
        items = apart.map(lambda item: item.re_replace(MARGINS, ""))
    items = items.map(lambda item: _label(item, space.of)) if _needs_reading(items.type(), space.of) else items
    return items.filter(lambda item: item.isin(space.of)).unique().sort()[: space.cap]


def _needs_reading(kind: Any, labels: tuple[Label, ...]) -> bool:
    return isinstance(labels[0], int) and kind.value_type != dt.int64


def _label(raw: Any, labels: tuple[Label, ...]) -> Any:
    """Texts as they are; whole numbers as int64, read from texts where need be; null for what is none."""
    kind = raw.type()
    if isinstance(labels[0], str) or kind == dt.int64:
        return raw
    if kind == dt.uint64:
        fits = raw <= ibis.literal(2**63 - 1, "uint64")
        return ibis.ifelse(fits, raw, ibis.null("uint64")).cast("int64")
    if not kind.is_string():
        return raw.cast("int64")
    return ibis.ifelse(_matches(raw, WHOLE), raw, ibis.null("string")).strip().cast("int64")


def _number_in(raw: Any) -> Any:
    number = ibis.ifelse(_matches(raw, NUMBER), raw, ibis.null("string")).strip().cast("float64")
    return ibis.cases(
        (_matches(raw, INFINITE), ibis.literal(float("inf"), "float64")),
        (_matches(raw, MINUS_INFINITE), ibis.literal(float("-inf"), "float64")),
        else_=number,
    )


def _matches(raw: Any, pattern: str) -> Any:
    return raw.re_search(rf"^{pattern}\z")
