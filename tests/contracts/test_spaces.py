"""The contract of spaces: a metric within its diameter, and a coercion that never raises and repeats itself."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.spaces import (
    SPACES,
    Box,
    Categories,
    Curves,
    Dates,
    Integers,
    Interval,
    Record,
    Subsets,
    Texts,
    space_from,
)

EXAMPLES = [
    Interval(-1.5, 4, 0.25), Interval(0, 1, 1e-4, missing=0.5), Integers(-3, 9), Integers(0, 5, missing=2),
    Categories(["a", "b"]), Categories([1, 2, 3], other=0, missing=9), Subsets(["a", "b", "c"], cap=2),
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
    Box(0, 255, shape=(2,), step=1, na=[999]),
]  # fmt: skip
BAD = [None, math.nan, math.inf, -math.inf, 1e308, -0.0, 10**400, -(10**400), True, "", " 1 ", "1_0", "nan", "a;b;a;z",
       b"a", [], [None, "a", []], ["b", "a", "c"], {}, {"x": "?"}, (1, math.nan), [[1, 2], [3, math.nan]], np.int64(2),
       np.str_("a"), Decimal("0.3"), datetime.date(2026, 1, 1), datetime.datetime(1, 1, 1), "2020-01-31",
       "true", " FALSE ", "3.0", "1.", 3.0, 99, "99", 9, "unknown", ["none"], [0, 0], "9999-12-31", "\ud800", 10**18,
       object(), {"a", "b"}, float, 1j]  # fmt: skip
VALUES = st.one_of(st.sampled_from(BAD), st.floats(), st.integers(), st.text(max_size=4), st.lists(st.integers(0, 4)))
every_space = pytest.mark.parametrize("space", EXAMPLES, ids=lambda space: type(space).__name__)


def same(one, other):
    """Equality that also knows arrays."""
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else one == other


@every_space
@settings(max_examples=150, deadline=None, derandomize=True)
@given(value=VALUES)
def test_coercion_never_raises_and_repeats_itself(space, value):
    point = space.coerce(value)
    if point is not None:
        assert same(space.coerce(point), point)


@every_space
@settings(max_examples=80, deadline=None, derandomize=True)
@given(values=st.tuples(VALUES, VALUES, VALUES))
def test_the_distance_is_a_metric_within_the_diameter(space, values):
    points = [point for point in map(space.coerce, [*values, *BAD]) if point is not None]
    for one in points[:3]:
        assert space.distance(one, one) == 0
        for other in points:
            assert 0 <= space.distance(one, other) <= space.diameter + 1e-12
            assert space.distance(one, other) == space.distance(other, one)
            for third in points[:3]:
                direct = space.distance(one, other)
                assert direct <= space.distance(one, third) + space.distance(third, other) + 1e-9


@every_space
def test_plans_carry_a_space_unchanged(space):
    assert space_from(space.to_record(), "column") == space


def test_every_space_is_tried():
    assert {type(space) for space in EXAMPLES} == set(SPACES.values())
