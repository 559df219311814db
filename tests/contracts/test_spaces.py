"""The contract of spaces: a metric within its diameter, and a coercion that never raises and repeats itself."""

import datetime
import math
import tomllib
from decimal import Decimal

import ibis.expr.datatypes as dt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from looping import run_checks
from sfumato.engines.coercion import fits
from sfumato.queries.aggregation import Distinct
from sfumato.spaces import (
    SPACES,
    Box,
    Categories,
    Curves,
    Dates,
    Duration,
    Integers,
    Interval,
    Record,
    Subsets,
    Texts,
    TimeOfDay,
    space_from,
)

EXAMPLES = [
    Interval(-1.5, 4, 0.25), Interval(0, 1, 1e-4, missing=0.5), Integers(-3, 9), Integers(0, 5, missing=2),
    Categories(["a", "b"]), Categories([1, 2, 3], other=0, missing=9),
    Categories(["a", "b"], other="z", distances=[[0, 1, 2.5], [1, 0, 2], [2.5, 2, 0]]), Subsets(["a", "b", "c"], cap=2),
    Subsets([1, 2], cap=1, separator="|"), Box(0, 255, shape=(2,), step=1), Box(-1, 1, (2, 2), 0.5, norm="l1"),
    Box(-1, 1, (3,), 0.5, norm="linf"), Texts(2), Record({"x": Interval(0, 1, 1), "c": Categories(["a"])}),
    Record({"x": Integers(0, 9), "y": Integers(0, 9)}, combine="max"), Curves((0, 1, 2), -1, 2, 0.5),
    Curves((1, 3), 0, 5, 1), Dates("2020-01-01", "2026-12-31"), Dates("2020-01-01", "2020-02-01", missing="2020-01-05"),
    Interval(0, 9, 1, na=[99, "-1"]), Integers(0, 5, missing=2, na=[8]), Categories([False, True]),
    Texts(2, na=["n/a"]),
    Categories([1, 2], other=0, missing=3, na=[9, "unknown"]), Categories(["a", "b"], missing="b", na=["", "no", 99]),
    Categories([False, True], missing=False, na=[9]), Subsets(["a", "b"], cap=1, na=["none"]),
    Subsets([1, 2], 2, na=[0]),
    Dates("2020-01-01", "2020-12-31", na=["1900-01-01", "9999-12-31"]), Curves((0, 1, 2), -1, 2, 0.5, na=[-99]),
    Box(0, 255, shape=(2,), step=1, na=[999]), Duration(0, 48, "hours", step=0.25), Duration(-5, 5, "minutes", na=[9]),
    Duration(0, 90, "seconds", step=0.5, missing=3), TimeOfDay(), TimeOfDay("06:30", "22:00", 900, missing="12:00"),
    TimeOfDay(step=1, na=["03:03:03"], of="x"),
]  # fmt: skip
BAD = [None, math.nan, math.inf, -math.inf, 1e308, -0.0, 10**400, -(10**400), True, "", " 1 ", "1_0", "nan", "a;b;a;z",
       b"a", [], [None, "a", []], ["b", "a", "c"], {}, {"x": "?"}, (1, math.nan), [[1, 2], [3, math.nan]], np.int64(2),
       np.str_("a"), Decimal("0.3"), datetime.date(2026, 1, 1), datetime.datetime(1, 1, 1), "2020-01-31",
       "true", " FALSE ", "3.0", "1.", 3.0, 99, "99", 9, "unknown", ["none"], [0, 0], "9999-12-31", "\ud800", 10**18,
       object(), {"a", "b"}, float, 1j]  # fmt: skip
VALUES = st.one_of(st.sampled_from(BAD), st.floats(), st.integers(), st.text(max_size=4), st.lists(st.integers(0, 4)))


def same(one, other):
    """Equality that also knows arrays."""
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else one == other


@settings(max_examples=150, deadline=None, derandomize=True)
@given(value=VALUES)
def check_coercion_never_raises_and_repeats_itself(space, value):
    point = space.coerce(value)
    if point is not None:
        assert same(space.coerce(point), point)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(values=st.tuples(VALUES, VALUES, VALUES))
def check_distance_is_a_metric_within_the_diameter(space, values):
    points = [point for point in map(space.coerce, [*values, *BAD]) if point is not None]
    for one in points[:3]:
        assert space.distance(one, one) == 0
        for other in points:
            assert 0 <= space.distance(one, other) <= space.diameter + 1e-12
            assert space.distance(one, other) == space.distance(other, one)
            for third in points[:3]:
                direct = space.distance(one, other)
                assert direct <= space.distance(one, third) + space.distance(third, other) + 1e-9


def check_plans_carry_a_space_unchanged(space):
    assert space_from(space.to_record(), "column") == space


def test_every_space_is_tried():
    assert {type(space) for space in EXAMPLES} == set(SPACES.values())


# what a space knows besides
READ = [space for space in EXAMPLES if space.form is not None]
every_read_space = pytest.mark.parametrize("space", READ, ids=lambda space: type(space).__name__)
HOSTILE = [
    "", " ", "nan", "NaN", "inf", "-Infinity", "1e309", "0x10", "1_000", "\u0661", "true", "9999-99-99", "P", "-1:00",
    "1 day", "2020-02-30", "'", '"', ";", "a;b;;zzz", "\ufffd", "99", "none", "1e400", "00000000000000000000000001",
]  # fmt: skip


def check_examples_lie_inside_and_fit_the_type(space):
    column = pa.array([*space.examples(), None], space.arrow())
    assert column.null_count == 1
    for example in space.examples():
        point = space.coerce(example)
        assert point is not None
        assert same(np.asarray(point, dtype=object), np.asarray(example, dtype=object)) or point == frozenset(example)
        assert 0 <= space.distance(point, space.coerce(space.examples()[0])) <= space.diameter + 1e-12


@every_read_space
def test_files_and_frames_of_hostile_values_are_read_as_the_space_says(space, tmp_path):
    """The same column as a text file, a Parquet file and a frame: each row by itself, none of them fails."""
    texts = [*HOSTILE, *map(str, ORDINARY)]
    schema = sf.Schema({"x": space}, dataset="hostile")
    if space.curve is None:
        escaped = ['"' + text.replace('"', '""') + '"' for text in texts]
        (tmp_path / "x.csv").write_text("x,y\n" + "".join(f"{text},1\n" for text in escaped), encoding="utf-8")
        pq.write_table(pa.table({"x": texts}), tmp_path / "x.parquet")
        from_csv, from_parquet = (held(tmp_path / name, schema) for name in ("x.csv", "x.parquet"))
        assert from_csv == held(pa.table({"x": [text or None for text in texts]}), schema)
        assert from_parquet == held(pa.table({"x": texts}), schema)
        assert held(pd.DataFrame({"x": pd.Series(texts, dtype=object)}), schema) == from_parquet
    examples = pa.table({"x": pa.array([*space.examples(), None], space.arrow())})
    pq.write_table(examples, tmp_path / "own.parquet")
    assert held(examples, schema) == held(tmp_path / "own.parquet", schema)


ORDINARY = [0, 1, 2, 2.5, 3.0, -1, 9, 99, "a", "b", "yes", datetime.date(2020, 1, 5), datetime.timedelta(hours=3)]


def held(source, schema):
    """What an engine makes of a column: sorted whole numbers, or the texts that it counts."""
    table = sf.read(source, schema=schema)
    if schema.space("x").discoverable:
        texts, counts = table.answer(Distinct(None, "x"))
        return sorted(zip(texts, map(int, counts), strict=True))
    return sorted(np.asarray(row).tolist() for batch in table.rows(["x"]) for row in batch["x"])


def check_published_whole_numbers_are_found_again(space):
    if space.form is None or (space.lattice is None and space.labels is None):
        return
    size = len(space.labels) if space.labels is not None else space.lattice.width + 1
    places = np.unique(np.random.default_rng(3).integers(0, size, 50))
    column = pa.chunked_array([space.decoded(places, None)])
    assert column.type == space.arrow()
    assert space.places(column).tolist() == places.tolist()
    assert all(space.coerce(value) == value for value in column.to_pylist())
    gap = space.decoded(np.zeros(2, dtype=np.int64), np.array([True, False]))
    assert space.places(pa.chunked_array([gap])).tolist() == [-1, 0]


def check_column_is_of_numbers_or_labels_or_neither(space):
    assert space.lattice is None or space.labels is None
    assert space.items is None or space.lattice is None
    if space.lattice is not None:
        shown = [space.shown(space.lattice.value(index)) for index in range(space.lattice.low, space.lattice.low + 20)]
        assert shown == sorted(shown)
        assert isinstance(space.label(space.lattice.high), str | int)
        assert space.number(space.shown(space.lattice.low_value)) == pytest.approx(space.lattice.low_value)
    assert space.settled == (getattr(space, "missing", None) is not None and getattr(space, "other", 0) is not None)


LAWS = (
    check_coercion_never_raises_and_repeats_itself,
    check_distance_is_a_metric_within_the_diameter,
    check_plans_carry_a_space_unchanged,
    check_examples_lie_inside_and_fit_the_type,
    check_column_is_of_numbers_or_labels_or_neither,
    check_published_whole_numbers_are_found_again,
)


@pytest.mark.parametrize("space", EXAMPLES, ids=lambda space: type(space).__name__)
def test_a_space_keeps_every_law(space):
    run_checks(LAWS, space=space)


def test_no_law_is_left_out():
    assert {name for name in globals() if name.startswith("check_")} == {law.__name__ for law in LAWS}


@pytest.mark.parametrize("kind", ["int64", "float64", "decimal(9, 2)", "string", "boolean", "date", "timestamp('UTC')",
                                  "timestamp(6)", "time", "interval('us')", "array<string>", "array<array<float64>>",
                                  "struct<rent: float64, rooms: int64>"])  # fmt: skip
def test_what_a_draft_writes_for_a_stored_type_is_a_space_once_it_is_filled_in(kind):
    lines = next(lines for lines in (space.drafted(kind, "FILL IN") for space in SPACES.values()) if lines is not None)
    record = tomllib.loads("\n".join(lines))
    answers = {"low": 0, "high": 12, "step": 1, "cap": 1, "unit": "hours", "values": ["a"], "of": ["a"]}
    if record["type"] == "dates":
        answers |= {"low": "2020-01-01", "high": "2020-12-31"}
    if record["type"] == "box":
        answers |= {"shape": [2, 2]}
    answers |= {"parts": {part: {"type": "interval", "low": 0, "high": 9} for part in ("rent", "rooms")}}
    record = {name: answers[name] if "FILL IN" in str(value) else value for name, value in record.items()}
    space = space_from(record, "x")
    assert set(space.needed) <= set(record)
    assert space.form is None or fits(space.form, dt.dtype(kind))


def test_spaces_that_a_draft_offers_have_a_line_that_reads_back():
    for name, space in SPACES.items():
        if space.hint is not None:
            record = tomllib.loads(f"x = {{ {space.hint[1].partition('  (')[0]} }}")["x"]
            assert set(space.needed) <= set(record), name
            assert space_from({"type": name, **record}, "x").kind == name
