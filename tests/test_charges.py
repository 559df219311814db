"""Whatever is wrong in public is found before anything is charged."""

import json
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import SchemaError, SfumatoError
from sfumato.orders import preview
from sfumato.release.recognition import must_be_storable

SPEND = sf.Approximate(0.5, 1e-5)
COLUMNS = {
    "text": sf.Texts(5), "x": sf.Interval(0, 10, step=1), "wide": sf.Interval(0, 2**31, step=1),
    "c": sf.Categories(["u", "v"]), "s": sf.Subsets(["p", "q"], cap=1),
}  # fmt: skip


@pytest.fixture
def session(tmp_path):
    rows = pa.table({
        "text": ["a"] * 30 + ["b"] * 40, "x": [1.0] * 70, "wide": [3.0] * 70, "c": ["u"] * 70, "s": [["p"]] * 70,
    })  # fmt: skip
    table = sf.read(rows, schema=COLUMNS, dataset="d")
    return sf.Session(table, budget=sf.Approximate(10, 1e-3), ledger=tmp_path / "ledger")


WRONG_CONDITIONS = ["nosuch >= 3", "c == 'zz'", "x == 'u'", "c >= 'u'", "'r' in s", "text >= 'a'", "x in ['u']"]
WRONG_OVER_KEYS = {
    "mean of categories": sf.mean("c"), "variance too wide": sf.variance("wide"), "sum of texts": sf.sum("text"),
    "too many items": sf.top("s", 3), "top of numbers": sf.top("x", 1), "no such column": sf.mean("nosuch"),
    "density": sf.density("x", bandwidth=1), "thresholds": sf.thresholds("x", rows=3), "pca": sf.pca(["x"], 1),
    "smooth": sf.smooth(["x"], {(1,): 1.0}), "workload": sf.prefix("x"),
}  # fmt: skip


@pytest.mark.parametrize("asked", [sf.count(), sf.mean("x"), sf.median("x"), sf.top("s", 1)], ids=lambda q: q.name)
@pytest.mark.parametrize("condition", WRONG_CONDITIONS)
def test_a_wrong_condition_over_discovered_keys_costs_nothing(session, asked, condition):
    query = asked.by(sf.discovered("text")).where(condition)
    for refused in (lambda: session.preview(query, spend=SPEND), lambda: session.release(query, spend=SPEND)):
        with pytest.raises(SfumatoError):
            refused()
    assert len(session.ledger.entries()) == 1


@pytest.mark.parametrize("asked", WRONG_OVER_KEYS.values(), ids=WRONG_OVER_KEYS)
def test_a_wrong_question_over_discovered_keys_costs_nothing(session, asked):
    with pytest.raises(SfumatoError):
        session.release(asked.by(sf.discovered("text")), spend=SPEND)
    assert len(session.ledger.entries()) == 1


def test_every_kind_without_cells_of_its_own_refuses_discovered_keys():
    assert {query.kind for query in WRONG_OVER_KEYS.values()} >= {"workload", "density", "thresholds", "pca", "smooth"}


@pytest.mark.parametrize("ask", [sf.mean_curve, sf.covariance], ids=["mean_curve", "covariance"])
def test_curves_of_persons_cost_nothing(tmp_path, ask):
    curves = sf.Curves(points=(0, 1, 2), low=0, high=1, step=0.5)
    rows = pa.table({"id": [1, 2], "day": [[0.0, 0.5, 1.0], [1.0, 1.0, 0.0]]})
    table = sf.read(rows, schema={"day": curves}, unit="id", rows=1, dataset="d")
    session = sf.Session(table, budget=sf.Approximate(10, 1e-3), ledger=tmp_path / "ledger")
    with pytest.raises(SfumatoError, match="one row a unit"):
        session.release(ask(["day"], radius=1, points=(0, 1, 2), waves=1), spend=SPEND)
    assert len(session.ledger.entries()) == 1


FORMS = {
    "a list of keys": (sf.count().by(["c", "s"]), sf.count().by("c", "s")),
    "a list of columns": (sf.density(["x", "wide"], bandwidth=5), sf.density("x", "wide", bandwidth=5)),
    "a list of edges": (sf.count().by(sf.bins("x", [0, 5, 10])), sf.count().by(sf.bins("x", 0, 5, 10))),
}


@pytest.mark.parametrize(("given", "meant"), FORMS.values(), ids=FORMS)
def test_lists_are_taken_where_several_are_meant(given, meant):
    assert given == meant


HINTS = {
    "c == u": "between quotes", "c != u and x > 3": "between quotes",
    "c == 'U'": "did you mean 'u'", "'P' in s": "did you mean 'p'",
}  # fmt: skip


@pytest.mark.parametrize(("condition", "hint"), HINTS.items(), ids=HINTS)
def test_what_is_meant_by_a_condition_is_said(session, condition, hint):
    with pytest.raises(SfumatoError, match=hint):
        session.release(sf.count().where(condition), spend=sf.Pure(0.5))
    assert len(session.ledger.entries()) == 1


@pytest.mark.parametrize(
    ("condition", "void"),
    [
        ("age > 500", True), ("age > 60 and age < 20", True), ("age in [500]", True), ("age < 20 or age > 500", False),
        ("age > 500 or age == 700", True), ("not age > 500", False), ("age > 500 or age is null", False),
    ],
)  # fmt: skip
def test_a_preview_says_that_no_row_can_meet_a_condition(condition, void):
    schema = sf.Schema({"age": sf.Integers(0, 120)})
    hint = preview(sf.count().where(condition), schema, spend=sf.Pure(1.0)).hint
    assert (hint is not None and "no row can meet" in hint) == void


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: sf.Query.from_record({"query": "extent"}), "an extent needs the column"),
        (
            lambda: preview(sf.count_people(), sf.Schema({"age": sf.Integers(0, 9)}), spend=sf.Pure(1.0)),
            "each row is one",
        ),
        (lambda: sf.regression("age", "age"), "on itself"),
    ],
)
def test_what_is_asked_is_named_in_refusals(ask, said):
    with pytest.raises(SfumatoError, match=said):
        ask()


@pytest.mark.parametrize("kind", ["scott", "density", "pca"])
def test_a_kind_without_its_own_parts_is_refused(session, kind):
    with pytest.raises(SfumatoError, match="made by the function of its kind"):
        session.release(sf.Query(kind), spend=sf.Pure(0.5))
    assert len(session.ledger.entries()) == 1


def test_a_question_in_words_is_refused_in_words(session):
    with pytest.raises(SfumatoError, match="mean"):
        session.release("mean age", spend=sf.Pure(0.5))


@pytest.mark.parametrize("name", ["estimate", "low", "rank", "item"])
def test_a_key_that_would_hide_the_answers_is_refused_before_the_charge(tmp_path, name):
    table = sf.read(pa.table({name: ["u", "v"]}), schema={name: sf.Categories(["u", "v"])}, dataset="d")
    session = sf.Session(table, budget=sf.Pure(10), ledger=tmp_path / "ledger")
    with pytest.raises(SfumatoError, match="cannot be a key"):
        session.release(sf.count().by(name), spend=sf.Pure(0.5))
    assert len(session.ledger.entries()) == 1


NUMBERS = st.decimals(-1000, 1000, places=3).map(float)
ENDS = st.tuples(NUMBERS, NUMBERS).filter(lambda ends: ends[0] != ends[1]).map(sorted)


@settings(max_examples=15, deadline=None)
@given(
    st.tuples(NUMBERS, NUMBERS).filter(lambda ends: ends[0] != ends[1]).map(sorted),
    st.sampled_from(["interval", "box", "curves"]),
)
def test_what_may_be_left_out_of_a_space_is_no_mistake(ends, kind):
    """A schema with every default opens a session, and is itself again when it is read back."""
    made = {
        "interval": lambda: sf.Interval(*ends),
        "box": lambda: sf.Box(*ends, shape=(2,)),
        "curves": lambda: sf.Curves(points=(0, 1), low=ends[0], high=ends[1]),
    }
    schema = sf.Schema({"x": made[kind](), "r": sf.Record({"part": sf.Interval(*ends)})}, dataset="d")
    must_be_storable(schema)
    again = sf.Schema.from_record(json.loads(json.dumps(schema.to_record())))
    assert again == schema
    assert hash(again.columns["x"]) == hash(schema.columns["x"])
    assert again.columns["x"].lattice == schema.columns["x"].lattice


def test_a_column_without_a_step_is_asked_about(tmp_path):
    table = sf.read(pa.table({"x": [0.5] * 100}), schema={"x": sf.Interval(0, 1)}, dataset="d")
    session = sf.Session(table, budget=sf.Pure(20), ledger=tmp_path / "ledger")
    assert abs(float(session.release(sf.mean("x"), spend=sf.Pure(20)).value) - 0.5) < 0.2


def test_what_cannot_be_stored_is_named(tmp_path):
    third = sf.Interval(0, 1, step=Fraction(1, 3))
    table = sf.read(pa.table({"x": [0.5], "y": [1.0]}), schema={"y": sf.Interval(0, 1), "x": third}, dataset="d")
    with pytest.raises(SchemaError, match="column 'x'"):
        sf.Session(table, budget=sf.Pure(1), ledger=tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()
