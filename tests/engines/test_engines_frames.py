"""Data frames: no value makes reading fail, none changes how another is read, and plain Python gives the same."""

import datetime
import functools
import math
import random
import uuid
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import reference
import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.engines.coercion import coerced
from sfumato.engines.identities import identity
from sfumato.errors import SchemaError
from sfumato.queries import bind, count, discovered
from sfumato.spaces.schema import Schema
from thinned import thinned

EAST = datetime.timezone(datetime.timedelta(hours=14))
ODD = [
    None, math.nan, math.inf, -math.inf, 0, 1, 2, 3, 3.0, 2.5, -0.0, 99, True, False, np.True_, np.int8(2),
    np.float32(3), np.float64("nan"), 2**63, -(2**70), 10**400, 10**5000, Decimal("2.5"), Decimal("NaN"),
    Decimal("sNaN"), Decimal("1e50"), Fraction(5, 2), 1j, "1", " 2 ", "3.0", "two", "", "nan", "inf", "TRUE",
    "false", "a", "b", "a;b", "unknown", "\ud800", "x" * 300, "\x00", "\N{REPLACEMENT CHARACTER}", b"a", b"\xff",
    [], ["a"], ["b", None, 1], [1, 2.0, "2"], ("a", "a"), {"a"}, {"a": 1}, [[1]], [0.5, None], [1, "x"],
    np.array([1.0, 2.0]), datetime.date(2020, 5, 5), datetime.time(3, 4), datetime.datetime(2020, 5, 5, 3,
    tzinfo=EAST), datetime.datetime.min.replace(tzinfo=EAST), datetime.datetime.max, datetime.date(9999, 12, 31),
    "2020-02-30", "9999-12-31", "2020-05-05T10:00", "2020-05-05 \n\r\u2028x",
    pd.Timestamp("2020-06-01", tz="UTC"), pd.NaT, pd.NA,
    pd.Timestamp.max, pd.Timedelta(1), pd.Period("2020-01"), np.datetime64("2020-05-05"), uuid.UUID(int=5),
    np.datetime64("2020-05-05T13:45:10.9", "ns"), np.datetime64("20000-05-05T13:45"), np.datetime64("NaT"),
    np.datetime64(2**62, "Y"), np.timedelta64(13, "ns"), np.timedelta64(3, "D"), np.timedelta64(2**62, "s"),
    np.timedelta64("NaT"), np.timedelta64(2, "Y"), np.array("a"), np.longdouble(2.5),
    object(), float, range(2),
]  # fmt: skip
SPACES = {
    "number": sf.Interval(0, 10, 0.5, na=[99]), "filled": sf.Integers(0, 10, missing=4), "whole": sf.Categories([1,
    2, 3]), "imputed": sf.Categories([1, 2], other=0, missing=7, na=["unknown", 99]), "text": sf.Categories(["a",
    "1"], other="o"), "odd": sf.Categories(["\N{REPLACEMENT CHARACTER}", "a"], other="o", missing="m"), "flag":
    sf.Categories([False, True]), "guess": sf.Categories([False, True], other=True, missing=False, na=[3]), "day":
    sf.Dates("2020-01-01", "2021-01-01"), "coded": sf.Dates("2020-01-01", "2021-01-01", missing="2020-07-07",
    na=["9999-12-31"]), "clock": sf.TimeOfDay("06:00"), "set": sf.Subsets(["a", "b"], cap=1), "numbers":
    sf.Subsets([1, 2], cap=2, na=[99]),
}  # fmt: skip


def found_in(source, spaces):
    """What the engine makes of the column `c`, once for each space: indices, labels, sorted items; as often as each."""
    held = dict.fromkeys(spaces, source["c"])
    if isinstance(source, pd.DataFrame):
        frame = pd.concat(held, axis=1)
    else:
        frame = pl.DataFrame(held) if isinstance(source, pl.DataFrame) else pa.table(held)
    table = sf.read(frame, schema=Schema(spaces, dataset="d")).source
    with quiet():
        rows = table.select(**{name: coerced(table[name], space.form) for name, space in spaces.items()}).to_pyarrow()
    return {name: Counter(shown(value, spaces[name]) for value in rows[name].to_pylist()) for name in spaces}


def shown(value, space):
    """A coerced value of the engine; a label that is not declared is in no cell."""
    if isinstance(space, sf.Categories):
        return value if value in space.values else None
    return tuple(sorted(value)) if isinstance(value, list) else value


def meant(values, spaces):
    """The same by `space.coerce` alone."""
    return {name: Counter(plain(value, space) for value in values) for name, space in spaces.items()}


def plain(value, space):
    point = reference.coerced(value, space)
    if isinstance(space, sf.Subsets):
        return None if point is None else tuple(sorted(point))
    return point if point is None or isinstance(space, sf.Categories) else point - space.lattice.low


def column(values):
    """A pandas column of objects."""
    held = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        held[place] = value
    return pd.DataFrame({"c": pd.Series(held, dtype=object)})


@pytest.mark.heavy
def test_objects_of_every_kind_are_read_one_by_one():
    assert found_in(column(ODD), SPACES) == meant(ODD, SPACES)
    drawn = random.Random(1).choices(ODD, k=30)
    assert found_in(pl.DataFrame({"c": pl.Series(drawn, dtype=pl.Object)}), SPACES) == meant(drawn, SPACES)


GOOD = [[1.0, 2.5, 99.0], ["a", "b", "1"], [np.datetime64("2020-05-05T13:45"), np.datetime64("2020-06-05T14:45:30")]]
MORE = [[np.timedelta64(13, "h"), np.timedelta64(90, "s")], [1, 2], [True, False], [["a"], ["b"], []]]


@pytest.mark.parametrize("good", thinned([*GOOD, *MORE], 1))
def test_one_odd_value_changes_no_other(good):
    assert found_in(pd.DataFrame({"c": good}), SPACES) == meant(good, SPACES)
    for odd in random.Random(str(good)).sample(ODD, 2):
        for held in (column([*good, odd]), pd.DataFrame({"c": pd.Series([*good, odd])})):
            assert found_in(held, SPACES) == meant([*good, odd], SPACES)


TYPED = [
    pd.Series([1, 2, None], dtype="Int64"), pd.Series([1.0, None, 3.0], dtype="Float64"), pd.Series(["a", None, "1"]),
    pd.Series([True, None, False], dtype="boolean"), pd.Series(["a", None, "3.0"], dtype="string"),
    pd.Series(["a", "b", None, "a"], dtype="category"), pd.Series([1, 2, 2, None], dtype="category"),
    pd.Series([3.0, 99.0], dtype="float32"), pd.Series([3, 99], dtype="uint8"), pd.Series([True, False]),
    pd.Series([1, 2, None], dtype="int64[pyarrow]"), pd.Series(["a", None], dtype=pd.ArrowDtype(pa.string())),
    pd.Series(pd.to_datetime(["2020-05-05", None, "1800-01-01"])), pd.Series(pd.period_range("2020-01", periods=2)),
    pd.Series(pd.to_datetime(["2020-05-05 20:00", "2020-05-06 01:00"]).tz_localize("America/New_York")),
    pd.Series(pd.to_timedelta([1, 2])), pd.Series(pd.arrays.SparseArray([1, 2, 1])), pd.Series([], dtype=object),
    pd.Series(np.array(["0001-01-01", "9999-12-31", "NaT"], dtype="datetime64[s]")), pd.Series([2**63], dtype="uint64"),
    pd.Series(pd.Categorical([datetime.date(2020, 3, 3), "2020-05-05", 1, None, "a"])), pd.Series([None, None]),
    pd.Series(np.array([1.5, np.nan], dtype="float16")), pd.Series(np.array([3, 2.5], dtype=np.longdouble)),
]  # fmt: skip


@pytest.mark.parametrize("number", thinned(range(len(TYPED)), 5))
def test_columns_of_every_type_are_what_their_elements_are(number):
    series = TYPED[number]
    assert found_in(pd.DataFrame({"c": series}), SPACES) == meant(list(series), SPACES)


FAR = [-(2**63) + 1, -1, 0, 10**9 * 5, 2**63 - 1, None]
ARROW = [
    *[(pa.array(FAR, pa.int64()).cast(pa.timestamp(unit, zone)), "day") for unit in ("s", "ms", "us", "ns")
      for zone in (None, "UTC")],
    (pa.array([-(2**31), 2**31 - 1, 18_000, None], pa.int32()).cast(pa.date32()), "day"),
    (pa.array([-(10**18), 10**18, 86_400_000, None], pa.int64()).view(pa.date64()), "day"),
    (pa.array([1, 2, None], pa.decimal256(40, 3)), "number"), (pa.array([1.5, None], pa.float16()), "number"),
    (pa.array(["a", None]).cast(pa.string_view()), "text"), (pa.array(["a", None]).dictionary_encode(), "text"),
    (pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["a", "b"])), "text"), (pa.nulls(3), "number"),
    (pa.nulls(2), "text"), (pa.array([["a"], None, ["b", "x"]], pa.large_list(pa.string())), "set"),
    (pa.array([[1, 2], None], pa.list_(pa.float64(), 2)), "numbers"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ARROW)))
def test_arrow_types_are_read_to_their_extremes(number):
    held, name = ARROW[number]
    space = SPACES[name]
    if name == "day":
        unit = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
        ticks = held.cast(pa.int32() if pa.types.is_date32(held.type) else pa.int64()).to_pylist()
        day = 1 if pa.types.is_date32(held.type) else unit[getattr(held.type, "unit", "ms")]
        low, high = space.lattice.low, space.lattice.high
        expected = {name: Counter(None if tick is None else min(max(tick // day, low), high) - low for tick in ticks)}
    else:
        expected = meant(held.to_pylist(), {name: space})
    assert found_in(pa.table({"c": held}), {name: space}) == expected


def test_arrow_texts_that_are_not_unicode_are_values():
    broken = pa.StringArray.from_buffers(3, pa.py_buffer(np.array([0, 1, 2, 3], np.int32)), pa.py_buffer(b"a\xffb"))
    text = {"text": SPACES["text"]}
    assert found_in(pa.table({"c": broken}), text) == meant(["a", object(), "b"], text)
    table = sf.read(pa.table({"c": broken}), schema=Schema({"c": sf.Texts()}, dataset="d"))
    statistic = bind(count().by(discovered("c")), table.schema).statistic
    assert reference.comparable(table.answer(statistic), statistic) == {"a": 1, "b": 1}


def test_texts_and_identifiers_are_read_one_by_one():
    schema = Schema({"c": sf.Texts(3, na=["unknown"])}, sf.Person("id", 1), dataset="d")
    held = column(ODD)
    held["id"] = range(len(ODD))
    table = sf.read(held, schema=schema)
    statistic = bind(count().by(discovered("c")), schema).statistic
    expected = Counter(text for text in map(schema.columns["c"].coerce, ODD) if text is not None)
    assert reference.comparable(table.answer(statistic), statistic) == expected
    people = column([1, "1", 1.0, 2**70, b"x", "b", "b", None, math.nan, pd.NA, "\ud800", True, uuid.UUID(int=1), 1.5])
    people = people.rename(columns={"c": "id"}).assign(c="x")
    table = sf.read(people, schema=schema)
    statistic = bind(count(), schema).statistic
    assert reference.comparable(table.answer(statistic), statistic) == [[6]]


def test_columns_that_are_not_declared_are_not_touched():
    class Trap:
        def __getattribute__(self, name):
            raise RuntimeError("touched")

    held = column([1, 2]).assign(note=pd.Series([Trap(), 1], dtype=object))
    schema = Schema({"c": SPACES["number"]}, dataset="d")
    assert [batch["c"].tolist() for batch in sf.read(held, schema=schema).rows(["c"])] == [[2, 4]]
    far = pa.table({"c": [1, 2], "when": pa.array([2**62, 0], pa.int64()).cast(pa.timestamp("ms"))})
    assert [batch["c"].tolist() for batch in sf.read(far, schema=schema).rows(["c"])] == [[2, 4]]


def test_curves_in_frames():
    space = sf.Curves((0, 1), 0, 10, 1)
    values = [[1, 2], (3, None), [math.nan, 20], "ab", [1], None, [1, "x"], [[1], [2]], 5, np.array([4.0, 5.0])]
    table = sf.read(column(values), schema=Schema({"c": space}, dataset="d"))
    rows = [tuple(row) for batch in table.rows(["c"]) for row in batch["c"].tolist()]
    expected = [(1, 2), (3, -1), (-1, 10), *[(-1, -1)] * 6, (4, 5)]
    assert Counter(rows) == Counter(expected)


def test_the_columns_of_a_lazy_frame_stay_together():
    """A frame of no fixed order comes in another one each time it is collected."""
    lazy = pl.DataFrame({"id": range(50_000), "c": range(50_000)}).lazy().unique()
    rows = sf.read(lazy, schema={"c": sf.Integers(0, 50_000)}, unit="id", rows=1, dataset="d").source.to_pyarrow()
    assert rows["id"].equals(rows["c"])


def test_what_a_lazy_frame_raises_is_withheld():
    lazy = pl.LazyFrame({"c": ["1", "secret"]}).with_columns(pl.col("c").cast(pl.Int64))
    with pytest.raises(SchemaError, match=r"could not be read.*withheld.*collect it first") as raised:
        sf.read(lazy, schema={"c": sf.Integers(0, 5)}, dataset="d")
    assert raised.value.__context__ is None


def people_in(identifiers):
    """How many persons there are, each with one row."""
    held = column(identifiers)["c"] if isinstance(identifiers, list) else identifiers
    ones = [1] * len(identifiers)
    frame = pd.DataFrame({"id": held, "c": ones}) if isinstance(held, pd.Series) else pa.table({"id": held, "c": ones})
    schema = Schema({"c": sf.Integers(0, 5)}, sf.Person("id", 1), dataset="d")
    (count_of,) = sf.read(frame, schema=schema).answer(bind(count(), schema).statistic)[0]
    return int(count_of)


@pytest.mark.parametrize("seed", range(3))
def test_no_two_persons_are_one(seed):
    """Numbers of many digits, and bytes: whatever differs, differs still when it is read."""
    draw = random.Random(seed)
    whole = {draw.randrange(10 ** draw.randrange(1, 60)) for _ in range(200)}
    whole |= {number + 1 for number in whole}
    assert people_in(list(whole)) == people_in([*whole, None, *map(str, whole)]) == len(whole)
    decimals = {Decimal(number) / 10 ** draw.randrange(9) for number in whole if number < 10**19}
    assert people_in(list(decimals)) == len(decimals)
    assert people_in([Fraction(number, 7**30) for number in whole]) == len(
        {Fraction(number, 7**30) for number in whole}
    )
    assert people_in([math.nextafter(0.1, 1), 0.1, 1e300, math.nextafter(1e300, 1), 3.0, 3, Decimal("3.00")]) == 5
    assert people_in([b"\x12", 12, "12", b"12"]) == 2
    for kind in (pa.decimal64(18, 0), pa.decimal128(38, 2), pa.decimal256(76, 0)):
        fitting = [number for number in whole if number < 10 ** (kind.precision - kind.scale)]
        assert people_in(pa.array(list(map(Decimal, fitting)), kind)) == len(fitting)
    elapsed = [number for number in whole if number < 2**63]
    for unit in ("s", "ms", "us", "ns"):
        assert people_in(pa.array([*elapsed, None], pa.duration(unit))) == len(elapsed)


@pytest.mark.parametrize(
    "odd", [None, math.nan, 2.5, True, "x", 2**63, -(2**70), 1j, np.complex64(2), b"x", pd.NaT, pd.NA]
)
@pytest.mark.parametrize("good", [[1, 2, 3], [1.0, 2.0, 2.5], [True, False], ["1", "2"]], ids=str)
def test_the_type_that_pandas_infers_from_one_value_changes_no_other(good, odd):
    """Columns as pandas makes them from lists, not of objects: identifiers, numbers and labels."""
    (before, persons), (after, more) = inferred(*good), inferred.__wrapped__(*good, odd)
    for name in before:
        changed = (after[name] - before[name]) + (before[name] - after[name])
        assert changed.total() == 1, (name, before[name], after[name])
    assert 0 <= more - persons <= 1


@functools.lru_cache(typed=True)
def inferred(*values):
    """What is found in a column of these values, in each of several spaces, and how many people they are."""
    spaces = {name: SPACES[name] for name in ("number", "filled", "whole", "imputed", "flag", "guess")}
    return found_in(pd.DataFrame({"c": [*values]}), spaces), people_in(pd.Series([*values]))


@pytest.mark.parametrize("time", ["2020-05-05T13:45:10.123456789", "2020-05-05"])
def test_times_identify_persons_alike_in_columns_of_times_and_of_objects(time):
    moment, east = np.datetime64(time), pd.Timestamp(time, tz="Asia/Tokyo")
    assert identity(moment) == identity(pd.Timestamp(moment)) is not None
    assert identity(east) == identity(east.tz_convert(None)) == identity(east.tz_convert("UTC"))
    assert identity(np.timedelta64(1, "s")) is None
