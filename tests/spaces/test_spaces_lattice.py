"""Rounding is one rule, and mistakes in a declaration are refused."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.spaces import Box, Categories, Integers, Interval, Lattice, Record, Subsets, Texts, space_from
from sfumato.spaces.numerals import number_in, whole_in

STEPS = ("0.1", "0.25", "3", "1e-4", "1", "0.3", "7e-5", "1000")


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from(STEPS), st.integers(-500, 500), st.integers(1, 1000), st.floats(-1e6, 1e6))
def test_a_value_goes_to_a_nearest_point_within_the_bounds(step, low, width, value):
    lattice = Lattice(Fraction(step), low, low + width)
    index = lattice.index(value)
    clipped = min(max(Fraction(value), low * lattice.step), lattice.high * lattice.step)
    assert low <= index <= lattice.high
    slack = Fraction(1, 2) + Fraction(abs(value)) / lattice.step * Fraction(2) ** -51  # double rounding near a half
    assert abs(index - clipped / lattice.step) <= slack


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.sampled_from(STEPS), st.integers(-500, 500), st.integers(1, 1000), st.data())
def test_points_are_fixed_and_order_is_kept(step, low, width, data):
    lattice = Lattice(Fraction(step), low, low + width)
    index = data.draw(st.integers(low, low + width))
    assert lattice.index(lattice.value(index)) == index
    one, other = sorted(data.draw(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))))
    assert lattice.index(one) <= lattice.index(other)


def test_halves_go_up_and_bounds_take_what_lies_beyond():
    lattice = Lattice.between(-10, 10, 1)
    assert [lattice.index(v) for v in (0.5, -0.5, 1.5, -1.5, 1e308, -1e308)] == [1, 0, 2, -1, 10, -10]


def test_default_steps_divide_both_bounds():
    assert Interval(0, 120).lattice.step == Fraction(1, 100)
    assert Interval(-0.5, 0.25).lattice.step == Fraction(1, 100_000)


MISTAKES = [
    (lambda: Interval(1, 1), "low must be below high"), (lambda: Interval(0, float("inf")), "high must be a finite"),
    (lambda: Interval(float("nan"), 1), "low must be a finite"), (lambda: Interval(0, 1, 0.3), "choose a step that"),
    (lambda: Interval(0, 1, -1), "step must be positive"), (lambda: Interval(0, 1, 1e-17), "choose a larger step"),
    (lambda: Interval(0, 1, 1, missing=2), "missing=2 must lie between"), (lambda: Integers(0.5, 2), "use Interval"),
    (lambda: Interval(0, 1.2345678901e-12), "no power of ten divides"),
    (lambda: Categories([]), "declare at least one"), (lambda: Categories(["a", "a"]), "repeats a category"),
    (lambda: Categories("ab"), "must be a list"), (lambda: Categories(["a", 1]), "all texts or all whole numbers"),
    (lambda: Categories([1], other="x"), "same type"), (lambda: Subsets(["a"], cap=2), "cap must be a whole number"),
    (lambda: Subsets(["a"], cap=1, separator="::"), "single character"), (lambda: Subsets(["\x1f"], cap=1), "rename"),
    (lambda: Box(0, 1, shape=()), "shape must hold"), (lambda: Box(0, 1, (2,), norm="l3"), "norm must be one of"),
    (lambda: Record({}), "at least one named space"), (lambda: Record({"x": Texts()}, "mean"), "'sum' or 'max'"),
    (lambda: Texts(0), "longest must be"), (lambda: Interval(-1e308, 1e308), "must lie between"),
    (lambda: Interval(1e-310, 2e-310), "must lie between"), (lambda: Interval(0, 1e-305), "too fine or too large"),
    (lambda: Interval(0, 1, step=5e-324), "too fine or too large"), (lambda: Box(-1e308, 1e308, (2,)), "must lie"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistaken_declaration_is_refused(number):
    mistake, words = MISTAKES[number]
    with pytest.raises(ParameterError, match=words):
        mistake()


def test_a_plan_s_mistakes_name_the_column():
    with pytest.raises(SchemaError, match="column 'age' has type 'intervall'; choose one of interval"):
        space_from({"type": "intervall"}, "age")
    with pytest.raises(SchemaError, match=r"column 'age' \(interval\) takes low, high, step, missing, na; got lo"):
        space_from({"type": "interval", "lo": 1}, "age")
    with pytest.raises(SchemaError, match="column 'age': low must be below high"):
        space_from({"type": "interval", "low": 2, "high": 1}, "age")


def test_numbers_in_texts_are_those_of_the_patterns():
    texts = ["1", " 1\t", "1\n", "1.5e-3", "1e99999", "1_0", "٣", "0x1", "NaN", "+inf", "-iNfInItY", "", "1 2"]
    inf = float("inf")
    expected = [1.0, 1.0, None, 0.0015, None, None, None, None, None, inf, -inf, None, None]
    assert [number_in(text) for text in texts] == expected
    assert [whole_in(text) for text in ["-07", "1.0", "1.5", "9" * 18, "9" * 19, ""]] == [
        -7, 1, None, 10**18 - 1, None, None,
    ]  # fmt: skip
