"""The laws of a question, run on every kind of query."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from looping import run_checks
from sfumato.answers.certificate import NoBoundKnown
from sfumato.answers.statements import ErrorByRows, ErrorStatement, NotStated
from sfumato.errors import UnsupportedQuery
from sfumato.orders import preview
from sfumato.planner import options
from sfumato.queries import Query, bind
from sfumato.queries.kinds import ALIASES, KINDS
from sfumato.randomness import seeded
from sfumato.records import canonical

COLUMNS = {
    "x": sf.Integers(0, 20), "y": sf.Integers(0, 20), "c": sf.Categories(["a", "b"]),
    "h": sf.Subsets(["p", "q", "r"], cap=2), "t": sf.Texts(5),
}  # fmt: skip
CURVE = {"columns": ["x", "y"], "radius": 20, "waves": 1}
ASKED = [
    {"query": "count"},
    {"query": "count", "by": [{"discovered": "t"}]},
    {"query": "sum", "column": "x", "where": "y >= 3"},
    {"query": "mean", "column": "x", "by": ["c"]},
    {"query": "variance", "column": "x"},
    {"query": "std", "column": "x"},
    {"query": "share", "condition": "x >= 3", "by": ["c"]},
    {"query": "ratio", "numerator": "x", "denominator": "y", "bounds": [0, 2]},
    {"query": "difference", "of": {"query": "mean", "column": "x"}, "across": "c", "between": ["a", "b"]},
    {"query": "difference", "of": {"query": "count"}, "across": "c", "between": ["a", "b"]},
    {"query": "correlation", "columns": ["x", "y"], "by": ["c"]},
    {"query": "histogram", "by": ["c"]},
    {"query": "running", "column": "x", "edges": [0, 5, 10, 21], "by": ["c"]},
    {"query": "quantiles", "column": "x", "probabilities": [0.25, 0.5]},
    {"query": "extent", "column": "x", "outside": 0.1},
    {"query": "top", "column": "h", "k": 2},
    {"query": "items", "column": "h", "by": ["c"]},
    {"query": "choose", "scores": {"low": {"query": "count", "where": "x < 9"}, "y": {"query": "sum", "column": "y"}}},
    {"query": "keys", "column": "t"},
    {"query": "workload", "by": ["x"], "workload": [{"rows": ["prefix"]}]},
    {"query": "pca", "columns": ["x", "y"], "k": 1},
    {"query": "thresholds", "column": "x", "points": 5, "rows": 3},
    {"query": "gaussian-mixture", "columns": ["x"], "centers": [[0.5]], "sigma": 2.0},
    {"query": "smooth", "columns": ["x"], "degrees": [[1]], "coefficients": [1.0]},
    {"query": "density", "columns": ["x"], "bandwidth": 4},
    {"query": "distribution", "columns": ["x"], "bandwidth": 4},
    {"query": "mean_curve", **CURVE},
    {"query": "covariance", **CURVE},
    {"query": "regression", "target": "y", "columns": ["x"], "bandwidth": 10},
    {"query": "classification", "target": "c", "columns": ["x"], "bandwidth": 10},
]
OF_PERSONS = {"rows_per_person"}  # asked only where a person may have several rows
TABLES = {"synthetic", "sanitized", "small_database", "trigonometric"}  # whole tables have contracts of their own
SPEND, ALLOWED = sf.Approximate(1.0, 1e-5), frozenset({"fixed-dates"})


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(3)
    held = {
        "x": rng.integers(0, 21, 300), "y": rng.integers(0, 21, 300), "c": rng.choice(["a", "b"], 300),
        "h": [["p"], ["q", "r"], []] * 100, "t": rng.choice(["one", "two"], 300),
    }  # fmt: skip
    path = tmp_path_factory.mktemp("questions") / "held.parquet"
    pq.write_table(pa.table(held), path)
    return sf.read(path, schema=COLUMNS, dataset="d", size=300, version="10")


def test_every_kind_is_here():
    assert {record["query"] for record in ASKED} | TABLES | OF_PERSONS == set(KINDS)
    assert all(kind in KINDS for kind, _ in ALIASES.values())


def check_query_reads_back_equal_and_is_frozen(record, table):
    query = Query.from_record(record)
    assert Query.from_record(json.loads(canonical(query.to_record()))) == query
    assert KINDS[record["query"]].kind == query.kind == record["query"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        query.details = None


def check_question_holds_what_was_asked_and_no_mechanism(record, table):
    query = Query.from_record(record)
    question = bind(query, table.schema)
    assert (question.query, question.schema, question.name) == (query, table.schema, query.name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        question.query = None
    made = options(question, SPEND, ALLOWED)[0].mechanism
    held = [getattr(question, field.name) for field in dataclasses.fields(question)]
    assert all(one is not made for one in held)
    assert bind(query, table.schema) == question  # also after mechanisms were made for it


def check_question_is_answered_released_read_and_stored(record, table):
    question = bind(Query.from_record(record), table.schema)
    for option in options(question, SPEND, ALLOWED)[:2]:
        mechanism = option.mechanism
        assert isinstance(question.accuracy(mechanism, 0.05), ErrorStatement | ErrorByRows | NotStated)
        output = mechanism.release(mechanism.take(table), seeded(1))
        answer, kept = question.read(output, mechanism), json.loads(canonical(question.stored(output)))
        again = question.read(question.restored(kept), mechanism)
        assert again.table() == answer.table()
        rows = {len(column) for column in answer.table().values()}
        assert len(rows) == 1
        assert answer.keys.keys() <= answer.table().keys()
        assert isinstance(answer.error(0.9), ErrorStatement | NotStated)
        if "low" in answer.table():
            wide, narrow = answer.interval(0.99), answer.interval(0.5)
            assert np.all(np.asarray(wide[0]) <= np.asarray(narrow[0]))
            assert np.all(np.asarray(narrow[1]) <= np.asarray(wide[1]))


CLASSES = {
    "pure mechanisms": sf.Pure(1.0),
    "mechanisms with epsilon and delta": sf.Approximate(1.0, 0.1),
    "concentrated mechanisms": sf.Concentrated(0.02),
}


def check_certificate_is_about_all_that_keep_to_the_spend(record, table):
    """A pure mechanism that answers a concentrated spend was called best among pure ones, which others beat."""
    query = Query.from_record(record)
    for adjacency in (sf.AddRemove(), sf.Replace()):
        schema = sf.Schema(COLUMNS, adjacency=adjacency, size=300, version="10")
        for named, spend in CLASSES.items():
            try:
                found = preview(query, schema, spend=spend, allow=ALLOWED).certificate
            except UnsupportedQuery:
                continue
            if not isinstance(found, NoBoundKnown):
                assert found.among.startswith(named), (record, adjacency, found)


LAWS = (
    check_query_reads_back_equal_and_is_frozen,
    check_question_holds_what_was_asked_and_no_mechanism,
    check_question_is_answered_released_read_and_stored,
    check_certificate_is_about_all_that_keep_to_the_spend,
)


@pytest.mark.parametrize("record", ASKED, ids=lambda record: f"{record['query']}-{'by' in record}")
def test_a_question_keeps_every_law(record, table):
    run_checks(LAWS, record, table)


def test_no_law_is_left_out():
    assert {name for name in globals() if name.startswith("check_")} == {law.__name__ for law in LAWS}
