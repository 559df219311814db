"""Labels in their several spellings, codes for missing values, and public mistakes in declarations."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.spaces import space_from
from sfumato.spaces.schema import Schema

WHOLE = st.integers(-(10**17), 10**17)


@given(label=WHOLE, other=WHOLE, zeros=st.integers(0, 3))
def test_a_whole_number_is_one_label_in_every_spelling(label, other, zeros):
    space = sf.Categories([label], other=None)
    spellings = [label, str(label), f" {label:+d}\t", f"{label}.{'0' * zeros}", np.int64(label)]
    if abs(label) < 2**53:
        spellings += [float(label), Decimal(label), Fraction(label), np.float64(label)]
    assert [space.coerce(spelling) for spelling in spellings] == [label] * len(spellings)
    if other != label:
        assert space.coerce(other) is None
    assert space.coerce(f"{label}.5") is None
    assert space.coerce(label + 0.5 if abs(label) < 2**50 else 0.5) is None


def test_texts_match_exactly():
    space = sf.Categories(["3", "a"])
    assert [space.coerce(value) for value in ("3", 3, "3.0", " 3", "A", "a ")] == ["3", *[None] * 5]


def test_booleans_are_categories():
    space = sf.Categories([False, True])
    true = [True, np.True_, "true", "TRUE", " True", 1, 1.0, "1", "1.0"]
    false = [False, np.False_, "false", "FALSE", "\tFalse ", 0, 0.0, "0", "0."]
    assert [space.coerce(value) for value in true] == [True] * len(true)
    assert [space.coerce(value) for value in false] == [False] * len(false)
    assert [space.coerce(value) for value in ("yes", "t", 2, "", None, math.nan, 0.5)] == [None] * 7
    assert space_from(space.to_record(), "c").values == (False, True)
    with pytest.raises(ParameterError, match="all texts or all whole numbers"):
        sf.Categories([False, 1])
    with pytest.raises(ParameterError, match="all texts or all whole numbers"):
        sf.Subsets([False, True], cap=1)


@given(code=st.integers(0, 120), missing=st.integers(0, 120), number=st.floats(-50, 200))
def test_codes_are_missing_before_anything_is_clipped_or_rounded(code, missing, number):
    for spelling in (code, str(code), f"{code}.0", float(code)):
        assert sf.Interval(0, 120, 1, na=[code]).coerce(spelling) is None
        assert sf.Interval(0, 120, 1, na=[str(code)], missing=missing).coerce(spelling) == missing
        assert sf.Integers(0, 120, na=[code]).coerce(spelling) is None
    if number != code:
        assert sf.Interval(0, 120, 1, na=[code]).coerce(number) == sf.Interval(0, 120, 1).coerce(number)


def test_codes_of_labels_sets_texts_and_dates():
    rooms = sf.Categories([1, 2], other=0, missing=3, na=[9, "unknown"])
    values = [9, "9", "9.0", " unknown", None, 7, "what", True]
    assert [rooms.coerce(value) for value in values] == [3, 3, 3, 3, 3, 0, 0, 0]
    state = sf.Categories(["CA"], other="else", missing="none", na=["?", 99])
    assert [state.coerce(value) for value in ("?", "99", "99.0", " ?", None)] == [
        "none",
        "none",
        "else",
        "else",
        "none",
    ]
    hobbies = sf.Subsets(["go", "chess"], cap=1, na=["unknown", 99])
    assert hobbies.coerce("unknown") is None
    assert hobbies.coerce(["unknown", "99"]) is None
    assert hobbies.coerce("unknown;go") == {"go"}
    assert hobbies.coerce([]) == frozenset()
    assert sf.Subsets([1, 2], cap=1, na=[9]).coerce("9.0") is None
    assert sf.Texts(3, na=["n/a"]).coerce("n/a") is None
    day = sf.Dates("2020-01-01", "2020-12-31", na=["9999-12-31", datetime.date(1900, 1, 1)])
    assert [day.coerce(value) for value in ("9999-12-31", "1900-01-01 00:00", datetime.date(1900, 1, 1))] == [None] * 3
    assert day.coerce("1900-01-02") == datetime.date(2020, 1, 1)
    assert space_from(day.to_record(), "d") == day


def test_times_with_a_zone_take_their_day_in_utc():
    day, east = sf.Dates("2020-01-01", "2020-12-31"), datetime.timezone(datetime.timedelta(hours=14))
    assert day.coerce(datetime.datetime(2020, 5, 5, 3, tzinfo=east)) == datetime.date(2020, 5, 4)
    assert day.coerce(datetime.datetime.min.replace(tzinfo=east)) == datetime.date(2020, 1, 1)


def test_a_record_without_codes_is_the_record_of_old():
    spaces = [sf.Interval(0, 1, 0.5), sf.Integers(0, 1), sf.Dates("2020-01-01", "2020-01-02"), sf.Categories(["a"]),
              sf.Subsets(["a"], 1), sf.Texts(), sf.Curves((0, 1), 0, 1), sf.Box(0, 1, (2,))]  # fmt: skip
    for space in spaces:
        assert "na" not in space.to_record()
    assert Schema({"a": sf.Interval(0, 1, 0.5)}, dataset="d").to_record() == {
        "dataset": "d", "unit": None, "adjacency": "add-remove", "size": None,
        "columns": {"a": {"type": "interval", "low": 0, "high": 1, "step": 0.5, "missing": None}},
    }  # fmt: skip


MISTAKES = [
    (lambda: sf.Interval("0", "10"), ["low", "number", "'0'"]),
    (lambda: sf.Interval(0, 10, "1"), ["step", "number"]),
    (lambda: sf.Interval(False, 10), ["low", "number"]),
    (lambda: sf.Interval(0, math.inf), ["high", "finite"]),
    (lambda: sf.Interval(0, 10, missing="x"), ["missing", "number", "'x'"]),
    (lambda: sf.Integers(0, 10, missing=[1]), ["missing", "number"]),
    (lambda: sf.Integers(0, 10, missing=2.5), ["missing", "whole"]),
    (lambda: sf.Curves(points=10, low=0, high=1), ["points", "at least two", "10"]),
    (lambda: sf.Curves(points="12", low=0, high=1), ["points", "at least two"]),
    (lambda: sf.Curves(points=["a", "b"], low=0, high=1), ["points", "at least two"]),
    (lambda: sf.Interval(0, 10, na=99), ["na", "list", "99"]),
    (lambda: sf.Texts(na="unknown"), ["na", "list"]),
    (lambda: sf.Interval(0, 10, na=[None]), ["na", "texts and finite numbers"]),
    (lambda: sf.Interval(0, 10, na=[math.nan]), ["na", "finite"]),
    (lambda: sf.Interval(0, 10, na=[9, 9]), ["na", "once"]),
    (lambda: sf.Categories([1, 9], na=["9.0"]), ["9", "category", "code"]),
    (lambda: sf.Categories(["a"], missing="?", na=["?"]), ["'?'", "category", "code"]),
    (lambda: sf.Subsets(["a", "?"], cap=1, na=["?"]), ["'?'", "item", "code"]),
    (lambda: sf.Categories([10**18]), ["18 digits"]),
    (lambda: sf.Categories(["\ud800"]), ["Unicode"]),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_in_a_declaration_are_refused_by_name(number):
    mistake, words = MISTAKES[number]
    with pytest.raises(ParameterError) as caught:
        mistake()
    assert [word for word in words if word not in str(caught.value)] == []
