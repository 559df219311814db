"""A column of every type with values within its bounds, and the extremes of that type, for tests through files."""

import datetime
import itertools
import math
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

import reference
import sfumato as sf
from sfumato.queries import bind, col, count, discovered, histogram, mean, median, top, variance

BASE = 24
EARLY, LATE = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
NUMBER, WHOLE = sf.Interval(0, 120, 1), sf.Integers(0, 120)
DATES = sf.Dates("1990-01-01", "2030-01-01")
LABELS = sf.Categories(["aa", "bb"], other="else")
DAY = 86_400


@dataclass(frozen=True)
class Column:
    """A column: its Arrow type, its space, base values as stored, odd values as stored beside what they mean."""

    kind: Any
    space: Any
    base: list[Any]
    odd: list[tuple[Any, Any]]
    view: Any = None  # stored as this type, then seen as `kind`

    def array(self, odd):
        """The base values, then one odd one; bytes are texts that nobody has checked."""
        values = [*self.base, *([] if odd is None else [self.odd[odd % len(self.odd)][0]])]
        if any(isinstance(value, bytes) for value in values) and pa.types.is_string(self.kind):
            raw = [value if isinstance(value, bytes) or value is None else value.encode() for value in values]
            held = pa.array(raw, pa.binary())
            return pa.Array.from_buffers(pa.string(), len(held), held.buffers())
        return pa.array(values, self.view).view(self.kind) if self.view else pa.array(values, self.kind)

    def meanings(self, odd):
        """The same values as plain Python takes them."""
        meant = [float(value) if isinstance(value, np.floating) else value for value in self.base]
        meant = meant if self.view is None else [_day(value, self.kind) for value in self.base]
        return [*meant, *([] if odd is None else [self.odd[odd % len(self.odd)][1]])]


def _day(value, kind):
    ticks = 1 if pa.types.is_date(kind) else DAY * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=value // ticks)


def _same(*values):
    return [(value, value) for value in values]


def _columns():
    draw = random.Random(7)
    whole = [draw.randint(10, 90) for _ in range(BASE)]
    real = [draw.uniform(10, 90) for _ in range(BASE)]
    days = [draw.randint(9_000, 20_000) for _ in range(BASE)]
    labels = [draw.choice(["aa", "bb"]) for _ in range(BASE)]
    words = [draw.choice(["go", "judo", "chess"]) for _ in range(BASE)]
    found = {
        "f16": Column(pa.float16(), NUMBER, [np.float16(v) for v in whole],
                      [(np.float16(v), float(np.float16(v))) for v in (math.nan, math.inf, -math.inf, 65504, -0.0)]),
        "f32": Column(pa.float32(), NUMBER, [float(v) for v in whole],
                      _same(math.nan, math.inf, -math.inf, 2.0**127, None)),
        "f64": Column(pa.float64(), NUMBER, real, _same(math.nan, math.inf, -math.inf, 1.7e308, 5e-324)),
        "whole": Column(pa.float64(), WHOLE, real, _same(math.nan, -1e300, None, 1e15, 0.5)),
        "d38": Column(pa.decimal128(38, 10), NUMBER, [Decimal(v) for v in whole],
                      _same(Decimal("9e27"), Decimal("-9e27"), None, Decimal("0.5"), Decimal("89.5"))),
        "d5": Column(pa.decimal128(5, 2), NUMBER, [Decimal(v) for v in whole],
                     _same(Decimal("999.99"), Decimal("-999.99"), None, Decimal("0.49"), Decimal("119.99"))),
        "number": Column(pa.string(), NUMBER, [str(v) for v in whole],
                         [("nan", None), (b"1\xe9", None), ("1e999", math.inf), ("-inf", -math.inf), (None, None)]),
        "label": Column(pa.string(), LABELS, labels,
                        [(b"caf\xe9", "?"), ("zz", "zz"), (None, None), ("", ""), (b"\xff\xfe", "?")]),
        "coded": Column(pa.dictionary(pa.int32(), pa.string()), LABELS, labels, _same("zz", None, "", "aa", "aaa")),
        "text": Column(pa.string(), sf.Texts(4), words,
                       [(b"\xf0\x9f\x98a", "?"), *_same("chess", None, "", "日本語文字")]),
        "items": Column(pa.list_(pa.string()), sf.Subsets(["go", "judo"], cap=1),
                        [draw.choice([["go"], ["judo"], []]) for _ in range(BASE)],
                        _same(["judo", "go"], None, [None], ["x", "go"], [])),
        "codes": Column(pa.list_(pa.int64()), sf.Subsets([1, 2], cap=1), [draw.choice([[1], [2]]) for _ in range(BASE)],
                        _same([2**63 - 1], [-(2**63), 1], None, [None], [2, 1])),
        "day": Column(pa.date32(), DATES, days,
                      [(2**31 - 1, LATE), (-(2**31), EARLY), (None, None), (-719_162, EARLY), (10**6, LATE)],
                      pa.int32()),
    }  # fmt: skip
    for bits, sign in itertools.product((8, 16, 32, 64), ("int", "uint")):
        kind = getattr(pa, f"{sign}{bits}")()
        ends = (0, 2**bits - 1) if sign == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        found[f"{sign}{bits}"] = Column(kind, WHOLE, whole, _same(*ends, None, 0, 121))
    for unit, zone in (("s", None), ("ms", None), ("us", None), ("ns", None), ("ms", "UTC"), ("us", "UTC")):
        ticks = DAY * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        most = 2**63 // 1000 - 1 if unit == "s" else 2**63 - 1  # Parquet holds seconds as milliseconds
        odd = [
            (-most - 1, EARLY),
            (most, LATE),
            (9_001 * ticks - 1, _day(9_000, pa.date32())),
            (None, None),
            (-1, EARLY),
        ]
        base = [day * ticks + draw.randrange(ticks) for day in days]
        found[f"t{unit}{zone or ''}"] = Column(pa.timestamp(unit, zone), DATES, base, odd, pa.int64())
    return found


COLUMNS = _columns()
UNDECLARED = {
    "clock": (pa.time64("us"), pa.int64(), [-(2**63), 2**63 - 1]),
    "short": (pa.time32("ms"), pa.int32(), [-(2**31), 2**31 - 1]),
    "span": (pa.duration("ns"), pa.int64(), [-(2**63), 2**63 - 1]),
    "bytes": (pa.binary(), None, [b"\xff", b""]),
    "flag": (pa.bool_(), None, [True, None]),
    "struct": (pa.struct([("a", pa.float64())]), None, [{"a": math.nan}, None]),
    "map": (pa.map_(pa.string(), pa.float64()), None, [[("k", math.inf)], None]),
    "times": (pa.list_(pa.timestamp("ms")), None, [[], None]),
    "d76": (pa.decimal256(76, 4), None, [Decimal("9" * 60), None]),
    "nothing": (pa.null(), None, [None, None]),
}


def table_of(names, odd, unit, undeclared=False):
    """An Arrow table of the columns, with the odd row last, and the rows as plain Python takes them."""
    size = BASE + (odd is not None)
    meant = {name: COLUMNS[name].meanings(odd) for name in names}
    held = {name: COLUMNS[name].array(odd) for name in names}
    meant["id"] = [i // 2 for i in range(size)]  # the odd row's person is another one
    held["id"] = pa.array([f"p{i}" for i in meant["id"]]) if unit == "text" else pa.array(meant["id"], pa.int64())
    if undeclared:
        for name, (kind, view, ends) in UNDECLARED.items():
            values = [ends[0 if i < size - 1 or odd is None else 1 - odd % 2] for i in range(size)]
            held[name] = pa.array(values, view).view(kind) if view else pa.array(values, kind)
    rows = [dict(zip(meant, values, strict=True)) for values in zip(*meant.values(), strict=True)]
    return pa.table(held), rows


def questions(name):
    """A few questions about a column."""
    space = COLUMNS[name].space
    if isinstance(space, sf.Dates):
        return [mean(name), count().where(col(name) >= "2010-01-01")]
    if isinstance(space, sf.Interval | sf.Integers):
        return [
            mean(name),
            variance(name),
            median(name),
            count().where(~(col(name) >= 50)),
            count().where(col(name) >= 0),
        ]
    if isinstance(space, sf.Categories):
        return [histogram(name), count().where(col(name) == "aa"), top(name, 1), mean("f64").by(name)]
    if isinstance(space, sf.Subsets):
        return [top(name, 1), count().where(col(name).contains(space.of[0]))]
    return [count().by(discovered(name))]


def check(path, rows, schema, asked):
    """Every answer through the file is plain Python's."""
    table = sf.read(path, schema=schema)
    for question in asked:
        statistic = bind(question, schema).statistic
        found = reference.comparable(table.answer(statistic), statistic)
        if not isinstance(found, list):  # how many marks stand for bad bytes is the reader's matter
            found = {"?" if isinstance(key, str) and "?" in key else key: times for key, times in found.items()}
        assert found == reference.answer(rows, statistic, schema), (question.name, schema.unit)
