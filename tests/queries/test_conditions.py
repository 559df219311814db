"""Conditions are values: whatever constant or column a caller writes, the record means the same when read back."""

from __future__ import annotations

import datetime
import decimal
import fractions
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.queries import bind
from sfumato.queries.parsing import condition
from sfumato.queries.predicates import DEEPEST, Both, Compare, Either, Negated, condition_from, condition_record
from sfumato.queries.query import Query

names = st.text(min_size=1, max_size=12) | st.sampled_from(["age", "first name", "class", "a.b", "`", "not", "x`y``"])
finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.booleans() | st.integers(-(10**40), 10**40) | finite | st.text(max_size=8)
scalars = (
    plain
    | st.dates()
    | st.datetimes()
    | st.fractions()
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    | st.floats(-(2.0**90), 2.0**90, width=32).map(np.float32)
    | finite.map(np.float64)
    | st.integers(0, 200).map(np.uint8)
    | st.booleans().map(np.bool_)
    | st.text(max_size=5).map(np.str_)
    | st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1)).map(pd.Timestamp)
    | st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1)).map(np.datetime64)
)
comparisons = st.builds(Compare, names, st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "contains"]), scalars)
lookups = st.builds(lambda name, found: Compare(name, "in", found), names, st.lists(scalars, max_size=4))
conditions = st.recursive(
    comparisons | lookups,
    lambda inner: st.builds(Both, inner, inner) | st.builds(Either, inner, inner) | st.builds(Negated, inner),
    max_leaves=8,
)


@given(conditions)
def test_a_record_means_the_same_when_read_back(one):
    record = json.loads(json.dumps(condition_record(one)))
    again = condition_from(record)
    assert again == one
    assert condition_record(again) == record
    assert Query.from_record(sf.count().where(one).to_record()) == sf.count().where(one)


@given(conditions)
def test_the_words_of_a_condition_are_its_text(one):
    if all(name.isprintable() for name in sf.count().where(one).columns):
        assert condition(one.words()) == one


@pytest.mark.parametrize(
    ("constant", "means"),
    [
        (np.float64(18), 18.0),
        (np.float32(0.1), 0.1),
        (np.int64(18), 18),
        (fractions.Fraction(37, 2), 18.5),
        (fractions.Fraction(1, 3), "1/3"),
        (decimal.Decimal("18.5"), 18.5),
        (datetime.date(2020, 1, 5), "2020-01-05"),
        (pd.Timestamp("2020-01-05"), "2020-01-05T00:00:00"),
        (np.datetime64("2020-01-05"), "2020-01-05"),
        (np.str_("CA"), "CA"),
    ],
)
def test_constants_become_plain(constant, means):
    found = (sf.col("x") >= constant).constant
    assert (type(found), found) == (type(means), means)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: sf.count().where("age in 5"),
        lambda: sf.count().where(["age >= 18"]),
        lambda: sf.count().where(None),
        lambda: sf.count().where(" or ".join(["age == 1"] * 3000)),
        lambda: sf.count().where("(" * 5000 + "age == 1" + ")" * 5000),
        lambda: sf.count().where("first name == 3"),
        lambda: sf.count().where("a. == 3"),
        lambda: sf.count().where("age == 1e999"),
        lambda: sf.count().where("age == __import__('os')"),
        lambda: sf.count().where("age == []"),
        lambda: sf.col("a") == sf.col("b"),
        lambda: sf.col("a") == None,  # noqa: E711
        lambda: sf.col("a") >= float("nan"),
        lambda: sf.col("a") >= decimal.Decimal("1e999999999"),
        lambda: sf.col("a").isin("CA"),
        lambda: sf.bins("a", 1, "2"),
        lambda: sf.bins("a", 1, None),
        lambda: Query.from_record({"query": "count", "where": {"all": []}}),
        lambda: Query.from_record({"query": "count", "where": {"column": "a", "is": "~", "constant": 1}}),
        lambda: Query.from_record({"query": "count", "where": 5}),
    ],
)
def test_what_is_no_condition_is_refused_in_words(wrong):
    with pytest.raises((ParameterError, SchemaError)):
        wrong()


def test_a_condition_of_many_terms_is_answered(tmp_path):
    table = sf.read(pa.table({"a": [1, 2, 3]}), schema={"a": sf.Integers(0, 999)}, dataset="d")
    session = sf.Session(table, budget=sf.Pure(9.0), ledger=tmp_path / "a.ledger")
    text = " or ".join(f"a == {i}" for i in range(DEEPEST))
    assert session.release(sf.count().where(text), spend=sf.Pure(1.0), name="many").value is not None


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_every_question_that_is_charged_is_read_back(tmp_path_factory, data):
    column = data.draw(st.sampled_from(["age", "first name", "class", "a.b", "x`y"]))
    constant = data.draw(st.integers(0, 120) | st.fractions(0, 100) | finite | st.integers(0, 9).map(np.int16))
    place = tmp_path_factory.mktemp("asked")
    table = sf.read(pa.table({column: [30.0, 41.0]}), schema={column: sf.Interval(0, 120, step=1)}, dataset="two")
    session = sf.Session(table, budget=sf.Pure(9.0), ledger=place / "a.ledger")
    question = sf.count().where(~(sf.col(column) >= constant))
    try:
        release = session.release(question, spend=sf.Pure(1.0), name="asked")
    except SfumatoError:
        assert len(session.ledger.entries()) == 1
        return
    assert session.release(question, spend=sf.Pure(1.0), name="asked").to_bytes() == release.to_bytes()
    assert sf.load(release.save(place / "a.json")).to_bytes() == release.to_bytes()
    assert len(session.ledger.entries()) == 3


def test_a_list_of_numbers_outside_the_bounds_never_holds():
    table = sf.read(pa.table({"x": [None, 1, 2, 5]}), schema={"x": sf.Integers(1, 5)}, dataset="d")
    for text, held in (("x in [7, 9]", 0), ("x in [1.5]", 0), ("not x in [0, 6]", 4), ("x in [0, 5, 9]", 1)):
        question = bind(sf.count().where(text), table.schema)
        assert question.answer(table).tolist() == [held], text


def test_a_column_of_truth_values_is_a_condition_by_itself():
    for bare, means in (
        ("member", "member == True"),
        ("not member and age > 3", "not member == True and age > 3"),
        ("`of age` or member", "`of age` == True or member == True"),
        ("`true`", "`true` == True"),
    ):
        assert condition(bare) == condition(means)
    schema = sf.Schema({"member": sf.Categories([False, True]), "age": sf.Integers(0, 9)})
    assert bind(sf.share("member"), schema).name == bind(sf.share("member == True"), schema).name
    for wrong in ("true", "null", "3", "'member'", "member and"):
        with pytest.raises(SchemaError):
            condition(wrong)
    with pytest.raises(SfumatoError, match="'age'"):
        bind(sf.count().where("age"), schema)


@pytest.mark.parametrize(
    "query",
    [
        sf.count().where("day >= 2024"),
        sf.count().where(sf.col("day") == 2024.0),
        sf.count().where("2024 < day"),
        sf.count().where("day in [2024, '2025-01-01']"),
        sf.count().where("day between 2020 and 2024"),
        sf.share("day > 2024"),
        sf.count().by(sf.bins("day", 2020, 2024)),
        sf.synthetic(keep=["day >= 2024"]),
        sf.synthetic(workload=[sf.count().where("day < 2024")]),
    ],
    ids=lambda query: query.name[:40],
)
def test_the_number_of_a_year_is_no_date_wherever_it_stands(query):
    schema = sf.Schema({"day": sf.Dates("2020-01-01", "2026-12-31"), "x": sf.Integers(0, 9)})
    with pytest.raises(SfumatoError, match=r"compared with a date such as '2020-01-31', not with 20.*year\("):
        bind(query, schema)
    assert bind(sf.count().where("year(day) >= 2024 and day < '2026-01-01'"), schema)
