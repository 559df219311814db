"""What GROUP BY may hold: columns, parts of dates, bins of equal width, months, and the items of sets."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.errors import UnsupportedQuery
from sfumato.numeric import exact
from sfumato.queries.grouping import Bins, Discovered, Grouping, bins
from sfumato.spaces import numeric
from sfumato.sql.columns import Columns
from sfumato.sql.conditions import number
from sfumato.sql.reading import Tree, written

__all__ = ["Key", "key"]

MOST_BINS = 10_000
MONTHS = {"year": 12, "quarter": 3, "month": 1}
FORMS = (
    "GROUP BY takes columns, parts of dates such as month(day), and bins: width_bucket(age, 0, 120, 4), "
    "floor(age / 10) * 10, date_trunc('month', day); for other groups the steward can declare a derived column"
)
LAST = "the last bin holds its upper end, too, for which width_bucket has a bucket of its own"
FOUND = "groups are the values that enough units hold; which those are costs a delta"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of GROUP BY: its column, and how that is cut into groups; none where these are the items of sets."""

    column: str
    grouping: Grouping | None
    plain: bool = False  # whether the groups are the declared values themselves, or the items of sets
    found: bool = False  # whether the groups are not public
    note: str | None = None


def key(tree: Tree, columns: Columns) -> Key:
    """The key that a tree is."""
    if isinstance(tree, exp.Paren):
        return key(tree.this, columns)
    column = columns.of(tree)
    if column is not None:
        return _column(column, columns)
    if isinstance(tree, exp.Explode | exp.Unnest):
        return _unnested(tree, columns)
    if isinstance(tree, exp.WidthBucket):
        return _buckets(tree, columns)
    if isinstance(tree, exp.TimestampTrunc | exp.DateTrunc):
        return _truncated(tree, columns)
    width = _width(tree, columns)
    if width is None:
        raise UnsupportedQuery(f"{written(tree)} is no key that is supported; {FORMS}")
    return _widths(*width, columns)


def _column(column: str, columns: Columns) -> Key:
    space = columns.schema.space(column)
    if space.discoverable:
        return Key(column, Discovered(column), found=True, note=FOUND)
    if space.items is not None and space.labels is None:
        raise UnsupportedQuery(f"{column!r} holds sets; group by its items: GROUP BY unnest({column})")
    return Key(column, column, plain=True)


def _unnested(tree: Tree, columns: Columns) -> Key:
    inner = tree.this if tree.this is not None else next(iter(tree.expressions), None)
    column = None if inner is None else columns.of(inner)
    space = None if column is None else columns.schema.space(column)
    if column is None or space is None or space.items is None or space.labels is not None:
        raise UnsupportedQuery("unnest takes a column of sets: SELECT unnest(hobbies), count(*) ... GROUP BY 1")
    return Key(column, None, plain=True)


def _buckets(tree: exp.WidthBucket, columns: Columns) -> Key:
    column = columns.of(tree.this)
    given = [
        number(tree.args[name]) if name in tree.args else None for name in ("min_value", "max_value", "num_buckets")
    ]
    low, high, count = given
    if (
        column is None
        or low is None
        or high is None
        or not isinstance(count, int)
        or not low < high
        or count > MOST_BINS
    ):
        raise UnsupportedQuery(
            f"width_bucket takes a column, two ends and at most {MOST_BINS:,} buckets: width_bucket(age, 0, 120, 4)"
        )
    note = LAST if exact(high) == exact(columns.schema.lattice(column).high_value) else None
    return Key(column, bins(column, low, high, count=count), note=note)


def _width(tree: Tree, columns: Columns) -> tuple[str, Fraction] | None:
    """A column and how wide its bins are: floor(x / w), floor(x / w) * w, x // w."""
    if isinstance(tree, exp.Mul):
        factors = (number(tree.this), tree.expression), (number(tree.expression), tree.this)
        for factor, inner in factors:
            found = None if factor is None else _width(inner, columns)
            if found is not None and factor is not None and exact(factor) == found[1]:
                return found
        return None
    if isinstance(tree, exp.Paren):
        return _width(tree.this, columns)
    if isinstance(tree, exp.IntDiv):
        return _positive(columns.of(tree.this), tree.expression, columns)
    if isinstance(tree, exp.Floor) and isinstance(tree.this, exp.Div) and not tree.args.get("decimals"):
        return _divided(columns.of(tree.this.this), tree.this.expression)
    return None


def _divided(column: str | None, tree: Tree) -> tuple[str, Fraction] | None:
    width = number(tree)
    return None if column is None or width is None or not 0 < width < math.inf else (column, exact(width))


def _positive(column: str | None, tree: Tree, columns: Columns) -> tuple[str, Fraction] | None:
    """The same of a division that rounds toward 0, which is another one below 0."""
    if column is not None and columns.schema.lattice(column).low_value < 0:
        raise UnsupportedQuery(
            f"{column!r} may be negative, where // differs between systems; write floor({column} / 10) * 10"
        )
    return _divided(column, tree)


def _widths(column: str, width: Fraction, columns: Columns) -> Key:
    lattice = columns.schema.lattice(column)
    first = math.floor(exact(lattice.low_value) / width)
    last = math.floor(exact(lattice.high_value) / width) + 1
    if last - first > MOST_BINS:
        raise UnsupportedQuery(
            f"bins of {column!r} would be {last - first:,}, at most {MOST_BINS:,} are possible; make them wider"
        )
    edges = (width * place for place in range(first, last + 1))
    return Key(column, Bins(column, tuple(int(edge) if edge.denominator == 1 else float(edge) for edge in edges)))


def _truncated(tree: Tree, columns: Columns) -> Key:
    """Years, quarters or months of a column of dates, one after the other."""
    column, unit = columns.of(tree.this), tree.args["unit"].name.lower() if tree.args.get("unit") else ""
    space = None if column is None else columns.schema.space(column)
    if column is None or space is None or space.part("month") is None or unit not in (*MONTHS, "day"):
        raise UnsupportedQuery(
            "date_trunc takes 'year', 'quarter', 'month' or 'day' and a column of dates: date_trunc('month', day)"
        )
    if unit == "day":
        return Key(column, column, plain=True)
    assert numeric(space)
    months, lattice = MONTHS[unit], space.lattice
    ends: list[Any] = [space.shown(value) for value in (lattice.low_value, lattice.high_value)]
    low, high = ((end.year * 12 + end.month - 1) // months for end in ends)
    starts = [place * months for place in range(low, high + 2)]
    if starts[-1] // 12 > datetime.MAXYEAR:
        raise UnsupportedQuery(f"{column!r} reaches the last year that dates have; group by year({column})")
    edges = tuple(datetime.date(start // 12, start % 12 + 1, 1).isoformat() for start in starts)
    return Key(column, Bins(column, edges))
