"""Hypothesis strategies: spaces, schemas, hostile tables, queries and guarantees."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
from hypothesis import strategies as st

from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bins, col, count, discovered, histogram, items, mean, quantiles, sum, top, variance
from sfumato.spaces import Categories, Integers, Interval, Subsets, Texts
from sfumato.spaces.schema import Schema

STEPS = (0.1, 0.25, 3, 1e-4, 1, 7, 0.01, 1e-9, 1000)
LABELS = ("a", "b", "", " a", "é", "日本", "A", "nan", "x'y", "0")
HUGE = (math.nan, math.inf, -math.inf, 1e308, -1e308, -0.0, 0.0, 5e-324, 2.0**63, -(2.0**63), 2.0**53 + 2)
NUMERALS = ("", " ", "nan", "NaN", "inf", "-Infinity", "+INF", "1e999", "-1e999", "1e-999", "1e99999", "1_0", "0x1",
            " 2", "2\t", "2\n", "1.", ".5", "+3", "-0", "--1", "1,5", "٣", "1e", "e1", "9" * 400, "true",
            "\x00")  # fmt: skip


@st.composite
def numeric_spaces(draw):
    """Intervals and whole numbers, with and without a public value for missing ones; negative bounds included."""
    low = draw(st.integers(-60, 40))
    high = low + draw(st.integers(1, 90))
    if draw(st.booleans()):
        return Integers(low, high, missing=draw(st.none() | st.integers(low, high)))
    step = Fraction(str(draw(st.sampled_from(STEPS))))
    missing = draw(st.none() | st.integers(low, high))
    ends = [float(end * step) for end in (low, high)]
    return Interval(*ends, float(step), missing=None if missing is None else float(missing * step))


@st.composite
def category_spaces(draw):
    """Texts or whole numbers, with or without `other` and `missing`."""
    pool = LABELS if draw(st.booleans()) else (-3, 0, 1, 2, 300, 10**12)
    values = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4, unique=True))
    other, missing = (draw(st.none() | st.sampled_from(pool)) for _ in range(2))
    return Categories(values, other=other, missing=missing)


@st.composite
def subset_spaces(draw):
    """Sets of texts or whole numbers."""
    pool = ("a", "b", "", "é", "c d", "A") if draw(st.booleans()) else (-3, 0, 1, 2, 300, 10**12)
    items = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=5, unique=True))
    return Subsets(items, cap=draw(st.integers(1, len(items))), separator=draw(st.sampled_from(";|, \\]^.")))


@st.composite
def schemas(draw):
    """A number x, a category c, a set h and a text k; rows or persons, either adjacency."""
    spaces = {"x": draw(numeric_spaces()), "c": draw(category_spaces()), "h": draw(subset_spaces()), "k": Texts(3)}
    unit = Person("id", draw(st.integers(1, 3))) if draw(st.booleans()) else Row()
    return Schema(spaces, unit, draw(st.sampled_from((AddRemove(), Replace()))), size=5)


def numbers(space):
    """A physical type for a numeric column, and values that try its rules."""
    lattice = space.lattice
    near = st.builds(
        lambda index, part: float((index + part) * lattice.step),
        st.integers(lattice.low - 2, lattice.high + 2),
        st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(-1, 2), Fraction(499, 1000), Fraction(1, 3)]),
    )
    whole = st.integers(-130, 130) | st.sampled_from([lattice.low, lattice.high]).map(lambda i: int(i * lattice.step))
    floats = near | st.sampled_from(HUGE) | st.floats(width=32)
    small = Decimal(10) ** 12

    def as_decimal(value):
        fits = math.isfinite(value) and abs(value) < small
        return round(Decimal(value), 10) if fits else small

    return st.sampled_from(
        [
            (pa.float64(), floats | st.floats()),
            (pa.float32(), st.floats(width=32)),
            (pa.int8(), st.integers(-128, 127)),
            (pa.int64(), whole | st.integers(-(2**63), 2**63 - 1)),
            (pa.uint64(), whole.map(abs) | st.integers(0, 2**64 - 1)),
            (pa.decimal128(38, 10), near.map(as_decimal)),
            (pa.decimal128(9, 2), st.decimals(-(10**6), 10**6, places=2)),
            (pa.string(), near.map(repr) | st.sampled_from(NUMERALS)),
        ]
    )


def members(labels):
    """A physical type for declared labels, and values beside them."""
    if isinstance(labels[0], str):
        return st.just((pa.string(), st.sampled_from(labels) | st.sampled_from(LABELS) | st.text(max_size=3)))
    small = [label for label in labels if abs(label) < 100] or [0]
    return st.sampled_from(
        [
            (pa.int64(), st.sampled_from(labels) | st.integers(-(2**63), 2**63 - 1)),
            (pa.int8(), st.sampled_from(small) | st.integers(-128, 127)),
            (pa.uint64(), st.sampled_from([abs(label) for label in labels]) | st.integers(0, 2**64 - 1)),
            (pa.string(), st.sampled_from(labels).map(str) | st.sampled_from(NUMERALS)),
        ]
    )


@st.composite
def sets(draw, space):
    """A physical type for a set column: a list, or a text with a separator."""
    kind, items = draw(members(space.of))
    many = st.lists(st.none() | items, max_size=7)
    if draw(st.booleans()):
        return pa.list_(kind), many
    joined = many.map(lambda chosen: space.separator.join(f"{item}" for item in chosen))
    return pa.string(), joined | joined.map(lambda text: f" {text}\t")


@st.composite
def tables(draw, schema, most=8):
    """An Arrow table with missing values everywhere, repeated and missing ids, no rows, one, or several."""
    rows = draw(st.integers(0, most))
    kinds = {
        "x": draw(numbers(schema.columns["x"])),
        "c": draw(members(schema.columns["c"].values)),
        "h": draw(sets(schema.columns["h"])),
        "k": (pa.string(), st.sampled_from(["", "a", "b", "abc", "abcd", "日本語文", "\x1f"])),
    }
    ids = st.sampled_from([(pa.int64(), st.integers(1, 3)), (pa.string(), st.sampled_from(["", "p", "q"]))])
    kinds["id"] = draw(ids)
    held = {}
    for name, (kind, values) in kinds.items():
        entries = draw(st.lists(values if draw(st.booleans()) else st.none() | values, min_size=rows, max_size=rows))
        held[name] = pa.array(entries, kind)
    return pa.table(held)


@st.composite
def conditions(draw, schema, depth=2):
    """Comparisons of the three public columns, joined by and, or, not."""
    if depth and draw(st.booleans()):
        one = draw(conditions(schema, depth - 1))
        if draw(st.booleans()):
            return ~one
        other = draw(conditions(schema, depth - 1))
        return one & other if draw(st.booleans()) else one | other
    spaces = schema.columns
    kind = draw(st.sampled_from("xch"))
    if kind == "x":
        lattice = spaces["x"].lattice
        halves = draw(st.integers(2 * lattice.low - 2, 2 * lattice.high + 2))
        constant, column = float(Fraction(halves, 2) * lattice.step), col("x")
        return draw(st.sampled_from([column < constant, column >= constant, column == constant, column != constant]))
    if kind == "h":
        return col("h").contains(draw(st.sampled_from(spaces["h"].of)))
    chosen = draw(st.lists(st.sampled_from(spaces["c"].values), max_size=3, unique=True))
    return draw(st.sampled_from([col("c").isin(chosen), col("c") == spaces["c"].values[0]]))


@st.composite
def groupings(draw, schema):
    """The category, bins of the number, both or neither."""
    lattice = schema.columns["x"].lattice
    inner = draw(st.lists(st.integers(lattice.low + 1, lattice.high), max_size=3, unique=True).map(sorted))
    if draw(st.booleans()):  # equal widths take another route
        width = draw(st.integers(1, lattice.width))
        inner = list(range(lattice.low + width, lattice.high, width))
    edges = [float(index * lattice.step) for index in (lattice.low, *inner, lattice.high)]
    if len(edges) > 2 and edges[-2] == edges[-1]:
        edges.pop(-2)
    cut = bins("x", *edges)
    return draw(st.sampled_from([(), ("c",), (cut,), ("c", cut), (cut, "c")]))


@st.composite
def queries(draw, schema):
    """Every kind of question, filtered and grouped."""
    asked = [
        count(),
        sum("x"),
        mean("x"),
        variance("x"),
        quantiles("x", [0.25, 0.5]),
        top("h", 1),
        items("h"),
        top("c", 1),
    ]
    keys = draw(groupings(schema))
    query = draw(st.sampled_from([*(question.by(*keys) for question in asked), histogram(*(keys or ("c",))),
                                  count().by(discovered("k"))]))  # fmt: skip
    return query.where(draw(conditions(schema))) if draw(st.booleans()) else query


@st.composite
def guarantees(draw):
    """Pure, approximate and concentrated claims."""
    epsilon = draw(st.floats(1e-3, 20))
    delta = draw(st.sampled_from([1e-12, 1e-6, 0.01]))
    return draw(st.sampled_from([Pure(epsilon), Approximate(epsilon, delta), Concentrated(epsilon**2 / 2)]))


def sized(schema, rows):
    """The same schema for a table of so many rows: under replacement that number is public, and at least one."""
    if schema.fixed_size is None:
        return schema
    return replace(schema, size=rows) if rows else replace(schema, adjacency=AddRemove())
