"""Values of every type of pandas' and polars' own, plain ones and odd ones, for `test_physical_types`."""

import datetime
import decimal
import math

import numpy as np

from typing_cases import FLOATS, MOST, TEXTS, TICKS

FLOAT_BITS = {"float16": ("uint16", [0x7E01, 0xFFFF, 0x7C00, 0xFC00, 1]),
              "float32": ("uint32", [0x7FC00001, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 1]),
              "float64": ("uint64", FLOATS)}  # fmt: skip
UNITS = ("s", "ms", "us", "ns")


class Hostile:
    """An object of which nothing can be learned."""

    def fail(self, *given):
        raise RuntimeError("7")

    __str__ = __repr__ = __float__ = __int__ = __len__ = __iter__ = __bool__ = __eq__ = __lt__ = fail
    __hash__ = object.__hash__


OBJECTS = [None, math.nan, 10**400, -(10**400), decimal.Decimal("sNaN"), decimal.Decimal("1e999999"), 1 + 1j, b"\xff",
           "\ud800", "9" * 400, datetime.date(1, 1, 1), datetime.datetime.max, datetime.timedelta.max,
           datetime.time.max, [], [None], {}, {"a": 1}, (1, [2]), object(), Hostile(),
           np.float64("nan"), np.datetime64("NaT"), np.datetime64(2**62, "D"), np.timedelta64(2**62, "W"),
           np.longdouble("inf"), np.array([[1, 2], [3, 4]]), True]  # fmt: skip


def list_numpy():
    """Yield numpy arrays of plain and of odd values for each of numpy's types."""
    for bits in (8, 16, 32, 64):
        yield np.array([1, 2], f"int{bits}"), np.array([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1], f"int{bits}")
        yield np.array([1, 2], f"uint{bits}"), np.array([0, 2**bits - 1], f"uint{bits}")
    for code in "bBhHiIlLqQ":  # some of them other names of those above
        held = np.iinfo(code)
        yield np.array([1, 2], code), np.array([held.min, held.max], code)
    for name, (whole, patterns) in FLOAT_BITS.items():
        yield np.array([1, 2], name), np.array(patterns, whole).view(name)
    for name in ("longdouble", "complex64", "complex128", "clongdouble"):
        yield np.array([1, 2], name), np.array([math.nan, math.inf, -math.inf, -0.0], name)
    yield np.array([True, False]), np.array([True])
    for unit in UNITS:
        ticks = (
            np.array([19_800, 19_801])
            * {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}[unit]
        )
        for kind in ("M8", "m8"):
            yield ticks.view(f"{kind}[{unit}]"), np.array(TICKS, "int64").view(f"{kind}[{unit}]")
    yield np.array(["1", "2"]), np.array(TEXTS)
    yield np.array([b"1", b"2"]), np.array([b"\xff\xfe", b""])
    yield np.array([b"1", b"2"], "V2"), np.array([b"\xff\xfe"], "V2")
    yield np.array(["1", "2"], np.dtypes.StringDType()), np.array(TEXTS, np.dtypes.StringDType())
    yield np.array([1, 2], object), fill_objects(OBJECTS)


def fill_objects(values):
    held = np.empty(len(values), object)
    for place, value in enumerate(values):
        held[place] = value
    return held


def list_pandas():
    """Yield pandas' types, and series of plain and of odd values."""
    import pandas as pd

    for plain, odd in list_numpy():
        if plain.dtype.kind in "SVT":  # which pandas holds as objects
            plain, odd = plain.astype(object), odd.astype(object)
        kind = object if plain.dtype == object else None  # or it would look at the values
        yield plain.dtype, pd.Series(plain, dtype=kind), pd.Series(odd, dtype=kind)
    for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"):
        held = np.iinfo(name.lower())
        yield name, pd.Series([1, 2], dtype=name), pd.Series([held.min, held.max, None], dtype=name)
    for name in ("Float32", "Float64"):
        odd = pd.array(np.array([math.nan, math.inf, -math.inf, -0.0], name.lower()))
        yield name, pd.Series([1, 2], dtype=name), pd.Series(odd, dtype=name)
    yield "boolean", pd.Series([True, False], dtype="boolean"), pd.Series([True, None], dtype="boolean")
    for name in ("string[python]", "string[pyarrow]", "str"):
        yield name, pd.Series(["1", "2"], dtype=name), pd.Series([*TEXTS, None], dtype=name)
    for values, odd in (([1, 2], [MOST - 1]), (["1", "2"], TEXTS), ([1.0, 2.0], [math.nan, math.inf])):
        yield "category", pd.Series(values, dtype="category"), pd.Series([*odd, None], dtype="category")
    yield "category of objects", pd.Series([1, 2], dtype="category"), pd.Series(["\ud800", 2**70], dtype="category")
    for unit in UNITS:
        for zone in ("UTC", "Asia/Tokyo"):
            held = [pd.Series(np.array(ticks, "int64").view(f"M8[{unit}]")).dt.tz_localize("UTC").dt.tz_convert(zone)
                    for ticks in ([0, 1], [MOST - 1, 1 - MOST, -MOST, 2**62])]  # fmt: skip
            yield f"datetime64[{unit}, {zone}]", *held
    for letter in ("D", "M", "Y", "h", "s", "ns"):
        held = [pd.Series(pd.PeriodIndex.from_ordinals(ticks, freq=letter)) for ticks in ([0, 1], [10**6, -(10**6)])]
        yield f"period[{letter}]", *held
    yield (
        "interval",
        pd.Series(pd.interval_range(0, 2)),
        pd.Series(pd.arrays.IntervalArray.from_breaks([0.0, math.inf])),
    )
    yield "Sparse", pd.Series([0, 2], dtype="Sparse[int]"), pd.Series([math.nan, math.inf], dtype="Sparse[float]")


def list_polars():
    """Yield polars' types, and series of plain and of odd values."""
    import polars as pl

    for bits in (8, 16, 32, 64, 128):
        for name, ends in (
            (f"Int{bits}", (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)),
            (f"UInt{bits}", (0, 2**bits - 1)),
        ):
            kind = getattr(pl, name)
            yield kind, pl.Series([1, 2], dtype=kind), pl.Series([*ends, None], dtype=kind)
    for name in ("Float16", "Float32", "Float64"):
        kind = getattr(pl, name)
        yield (
            kind,
            pl.Series([1.0, 2.0], dtype=kind),
            pl.Series([math.nan, math.inf, -math.inf, -0.0, None], dtype=kind),
        )
    for digits in (9, 38):
        kind, most = pl.Decimal(digits, 2), decimal.Decimal("9" * (digits - 2) + ".99")
        yield kind, pl.Series(["1", "2"]).cast(kind), pl.Series([most, -most, None], dtype=kind)
    yield pl.Boolean, pl.Series([True, False]), pl.Series([True, None])
    yield pl.String, pl.Series(["1", "2"]), pl.Series([*TEXTS, None])
    yield pl.Binary, pl.Series([b"1", b"2"]), pl.Series([b"\xff\xfe", b"", None])
    for kind in (pl.Categorical, pl.Enum(["1", "2", *TEXTS])):
        yield kind, pl.Series(["1", "2"], dtype=kind), pl.Series([*TEXTS, None], dtype=kind)
    days = [0, -1, 2**31 - 1, -(2**31), 3_000_000]
    yield (
        pl.Date,
        pl.Series([19_800, 19_801], dtype=pl.Int32).cast(pl.Date),
        pl.Series(days, dtype=pl.Int32).cast(pl.Date),
    )
    yield pl.Time, pl.Series([datetime.time(7)] * 2), pl.Series([datetime.time.min, datetime.time.max, None])
    ticks = pl.Series([*TICKS, None], dtype=pl.Int64)
    for unit in ("ms", "us", "ns"):
        for kind in (pl.Datetime(unit), pl.Datetime(unit, "Asia/Tokyo"), pl.Duration(unit)):
            yield kind, pl.Series([86_400_000, 1], dtype=pl.Int64).cast(kind), ticks.cast(kind)
    for inner in (pl.Int64, pl.Int128, pl.String, pl.Float64):
        plain, odd = (
            ([["1"], ["2"]], [["9" * 400], [], None]) if inner == pl.String else ([[1], [2]], [[None], [], None])
        )
        yield pl.List(inner), pl.Series(plain, dtype=pl.List(inner)), pl.Series(odd, dtype=pl.List(inner))
        yield (
            pl.Array(inner, 1),
            pl.Series(plain, dtype=pl.Array(inner, 1)),
            pl.Series([None], dtype=pl.Array(inner, 1)),
        )
    yield pl.Struct, pl.Series([{"a": 1}, {"a": 2}]), pl.Series([{"a": None}, None], dtype=pl.Struct({"a": pl.Int64}))
    yield pl.Null, pl.Series([None, None]), pl.Series([None])
    yield pl.Object, pl.Series([1, 2], dtype=pl.Object), pl.Series([Hostile(), None, 10**400], dtype=pl.Object)
