"""Each space's rule for bad values, as an expression that runs inside the engine.

Numbers become `t`, the lattice index counted from the lower bound; categories and sets keep declared
labels only; null stands for missing.  Engines order NaN above every number, and a comparison with null
is null: the branches below rely on both.
"""

from __future__ import annotations

import re
from typing import Any

import ibis
import ibis.expr.datatypes as dt

from sfumato.errors import SchemaError
from sfumato.spaces import Categories, Integers, Interval, Label, Lattice, Space, Subsets, Texts

__all__ = ["check_type", "coerced_category", "coerced_number", "coerced_set", "coerced_text", "lookup"]

# What a number looks like in a text file; matched before the cast, so that engines cannot disagree.
NUMBER = r"^[ \t]*[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,4})?[ \t]*$"
INFINITE = r"^[ \t]*[+]?([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY])[ \t]*$"
MINUS_INFINITE = r"^[ \t]*-([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY])[ \t]*$"


def coerced_number(raw: Any, space: Interval | Integers) -> Any:
    """The index above the lower bound: clipped, rounded; null where missing and not imputed."""
    lattice, kind = space.lattice, raw.type()
    if isinstance(kind, dt.String):
        raw = _number_in_text(raw)
    elif not isinstance(kind, dt.Integer | dt.Floating):
        raw = raw.cast("float64")
    whole = isinstance(kind, dt.Integer) and lattice.step == 1
    low, high = (lattice.low, lattice.high) if whole else (lattice.low_value, lattice.high_value)
    inside = raw.cast("int64") - lattice.low if whole else _rounded(raw.cast("float64"), lattice)
    top = ~raw.isnan() if isinstance(raw.type(), dt.Floating) else raw.notnull()
    index = ibis.cases(
        ((raw > low) & (raw < high), inside),
        (raw <= low, ibis.literal(0, "int64")),
        (top, ibis.literal(lattice.width, "int64")),
        else_=ibis.null("int64"),
    )
    if space.missing is None:
        return index
    return index.fill_null(ibis.literal(lattice.index(space.missing) - lattice.low, "int64"))


def coerced_category(raw: Any, space: Categories) -> Any:
    """The declared label; `other` and `missing` take the rest, or null where they are not declared."""
    label = _labels_in(raw, space.values)
    if space.other is None and space.missing is None:
        return label  # whatever is unknown falls out of every cell and condition
    other = ibis.null(label.type()) if space.other is None else ibis.literal(space.other, label.type())
    missing = ibis.null(label.type()) if space.missing is None else ibis.literal(space.missing, label.type())
    return ibis.cases((label.isin(space.values), label), (raw.isnull(), missing), else_=other)


def coerced_set(raw: Any, space: Subsets) -> Any:
    """The declared items, each once, at most `cap` of them in order."""
    items = raw
    if raw.type().is_string():
        gap = rf"[ \t]*[{re.escape(space.separator)}][ \t]*"
        items = raw.strip().re_replace(gap, space.separator).split(space.separator)
    if isinstance(space.of[0], int):
        items = items.cast("array<int64>") if not raw.type().is_string() else items
    declared = ibis.array([ibis.literal(item) for item in space.of])
    return items.intersect(declared).unique().sort()[: space.cap]


def coerced_text(raw: Any, space: Texts) -> Any:
    """The text, cut to its longest length."""
    return raw.substr(0, space.longest)


def lookup(labels: tuple[Label, ...]) -> Any:
    """A small table (label, position), to turn declared labels into whole numbers by a join."""
    kind = "string" if isinstance(labels[0], str) else "int64"
    rows = [{"label": label, "position": position} for position, label in enumerate(labels)]
    return ibis.memtable(rows, schema={"label": kind, "position": "int64"})


def check_type(name: str, space: Space, kind: dt.DataType) -> None:
    """Refuse, from types alone, a column that cannot hold what the schema declares."""
    fits = {
        Interval: (dt.Numeric, dt.String),
        Integers: (dt.Numeric, dt.String),
        Texts: (dt.String,),
        Subsets: (dt.Array, dt.String),
    }.get(type(space), (dt.DataType,))
    if isinstance(space, Categories):
        fits = (dt.String,) if isinstance(space.values[0], str) else (dt.Integer, dt.String)
    if isinstance(kind, dt.Boolean) or not isinstance(kind, fits):
        raise SchemaError(
            f"column {name!r} is declared as {type(space).__name__}, but the table holds {kind} there; "
            "declare a space that fits, or convert the column first"
        )


def _rounded(value: Any, lattice: Lattice) -> Any:
    numerator, denominator = lattice.step.numerator, lattice.step.denominator
    scaled = value if denominator == 1 else value * float(denominator)
    scaled = scaled if numerator == 1 else scaled / float(numerator)
    index = (scaled + 0.5).floor().cast("int64") - lattice.low
    if lattice.rounding_stays_inside:
        return index
    return ibis.greatest(ibis.least(index, lattice.width), 0)


def _number_in_text(raw: Any) -> Any:
    return ibis.cases(
        (raw.re_search(NUMBER), raw.strip().try_cast("float64")),
        (raw.re_search(INFINITE), ibis.literal(float("inf"), "float64")),
        (raw.re_search(MINUS_INFINITE), ibis.literal(float("-inf"), "float64")),
        else_=ibis.null("float64"),
    )


def _labels_in(raw: Any, values: tuple[Label, ...]) -> Any:
    if isinstance(values[0], int) and raw.type().is_string():
        return ibis.ifelse(raw.re_search(r"^[ \t]*[+-]?[0-9]{1,18}[ \t]*$"), raw.strip(), ibis.null("string")).try_cast(
            "int64"
        )
    return raw
