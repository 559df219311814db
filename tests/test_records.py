"""Records as text: what is written faster is written the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.records import indented, readable

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
plain = st.none() | st.booleans() | numbers | st.text()
values = st.recursive(
    plain, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | numbers, inner)
)


@given(values, st.integers(0, 3), st.booleans())
def test_indented_is_what_the_standard_library_writes(value, step, ascii_only):
    assert indented(value, step, ensure_ascii=ascii_only) == json.dumps(value, indent=step, ensure_ascii=ascii_only)


class Held(dict):
    """A kind of dictionary."""


def test_kinds_of_lists_and_dictionaries_are_written_as_these():
    value = [1, Held(a=[Held(), []]), (2, [3])]
    assert indented(value, 2) == json.dumps(value, indent=2)


@pytest.mark.parametrize("value", [float("nan"), [1.0, float("inf")], {"a": [-float("inf")]}])
def test_readable_refuses_what_json_lacks(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        readable(value)
