"""Entries: canonical text, strict reading."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.entries import DESCRIPTION_BYTES, GENESIS, Entry, plain
from sfumato.records import canonical_ascii as canonical

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abé", max_size=3), inner),
    max_leaves=10,
)  # fmt: skip
DESCRIPTIONS = st.dictionaries(st.text("xyz", max_size=3), JSON, max_size=4)


def entry(**changes):
    fields = {
        "sequence": 1, "kind": "charge", "time": "2025-01-01T00:00:00+00:00", "name": "a",
        "digest": "d", "guarantee": {"type": "pure", "epsilon": 0.1, "assumptions": []},
        "amounts": (1,), "total": (1,), "description": {}, "previous": GENESIS,
    }  # fmt: skip
    return Entry(**{**fields, **changes})


@given(DESCRIPTIONS, st.lists(st.integers(0, 10**40), min_size=1, max_size=4))
def test_an_entry_reads_back_as_itself_with_the_same_hash(description, amounts):
    before = entry(description=plain(description), amounts=tuple(amounts))
    after = Entry.read(before.body())
    assert (after, after.hash) == (before, before.hash)


@given(DESCRIPTIONS)
def test_canonical_text_does_not_depend_on_the_order_of_keys(description):
    assert canonical(dict(reversed(description.items()))) == canonical(description)


@pytest.mark.parametrize(
    "change",
    [{"name": "b"}, {"amounts": (2,)}, {"total": (2,)}, {"previous": "1" * 64}, {"sequence": 2}],
)
def test_every_part_is_in_the_hash(change):
    assert entry(**change).hash != entry().hash


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "refund"}, {"surplus": 1}, {"amounts": [-1]}, {"amounts": [0.5]},
        {"total": [True]}, {"sequence": "1"}, {"sequence": True}, {"description": []},
        {"guarantee": 0.1},
    ],
)  # fmt: skip
def test_reading_refuses_what_it_does_not_know(change):
    with pytest.raises(LedgerError):
        Entry.read(canonical({**entry().record(), **change}))


@pytest.mark.parametrize("body", ["", "[]", "null", '{"kind":"charge"}', "[" * 100_000])
def test_reading_refuses_what_is_no_entry(body):
    with pytest.raises(LedgerError):
        Entry.read(body)


def test_descriptions_are_bounded_and_copied():
    inner = [1]
    kept = plain({"x": inner})
    inner.append(2)
    assert kept == {"x": [1]}
    with pytest.raises(ParameterError, match="at most"):
        plain({"x": "y" * DESCRIPTION_BYTES})
    with pytest.raises(ParameterError, match="text keys"):
        plain({"x": [{"y": {1: 2}}]})
    assert json.loads(canonical(plain({"x": (1, 2)}))) == {"x": [1, 2]}
