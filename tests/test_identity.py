"""What makes two releases the same: what a question reads, and nothing else."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import LedgerError
from sfumato.queries import bind
from sfumato.records import digest as sha
from sfumato.release.recognition import identify

sys.path.insert(0, str(Path(__file__).parent / "fixtures/v0_2_0"))
from generate import APPROXIMATE, CONCENTRATED, PURE, QUERIES, TERMS, people

OLD = Path(__file__).parent / "fixtures/v0_2_0"
AGE, STATE = sf.Interval(0, 120, step=1), sf.Categories(["CA", "NY"])
ROWS = pa.table({"age": [30.0, 41.0], "state": ["CA", "NY"], "id": [1, 2]})


def digest(query, spend=PURE, columns=None, **terms):
    return identify(query, sf.Schema(columns or {"age": AGE}, dataset="d", **terms), spend).digest


@pytest.mark.parametrize("title", sorted(QUERIES))
@pytest.mark.parametrize("terms", ["rows", "replaced"])
def test_a_question_can_be_asked_of_its_own_columns_alone(title, terms):
    query, schema = QUERIES[title], TERMS[terms]
    read = {name: schema.columns[name] for name in query.columns or ("age",)}
    bind(query, sf.Schema(read, adjacency=schema.adjacency, size=schema.size, dataset="people"))


def test_columns_and_sizes_that_a_question_does_not_read_leave_it_the_same():
    wide = {"age": AGE, "state": STATE}
    assert digest(sf.mean("age")) == digest(sf.mean("age"), columns=wide)
    assert digest(sf.mean("age"), size=10) == digest(sf.mean("age"), size=20)
    assert digest(sf.count(), columns=wide) == digest(sf.count(), columns={"state": STATE})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"spend": sf.Pure(0.25)}),
        ({}, {"columns": {"age": sf.Interval(0, 110, step=1)}}),
        ({}, {"version": "2026-02"}),
        ({}, {"unit": sf.Person("id", 1)}),
        ({"size": 5, "adjacency": sf.Replace()}, {"size": 6, "adjacency": sf.Replace()}),
        ({"unit": sf.Person("id", 1)}, {"unit": sf.Person("id", 2)}),
        ({"unit": sf.Person("id", 1)}, {"unit": sf.Person("id", 1), "columns": {"age": AGE, "state": STATE}}),
    ],
)
def test_what_the_release_depends_on_makes_it_another(one, other):
    assert digest(sf.mean("age"), **one) != digest(sf.mean("age"), **other)


def test_a_size_counts_where_the_question_needs_one():
    ruled = sf.density("age", bandwidth="scott")
    assert digest(ruled, size=100) != digest(ruled, size=200)
    assert digest(sf.density("age", bandwidth=9), size=100) == digest(sf.density("age", bandwidth=9), size=200)


def test_a_column_more_and_another_guess_of_the_size_cost_nothing(tmp_path):
    def session(columns, size):
        table = sf.read(ROWS, schema=sf.Schema(columns, size=size, dataset="d"))
        return sf.Session(table, budget=sf.Pure(9.0), ledger=tmp_path / "a.ledger")

    first = session({"age": AGE}, 2).release(sf.count(), spend=PURE, name="rows")
    again = session({"age": AGE, "state": STATE}, 500).release(sf.count(), spend=PURE, name="rows")
    assert again.to_bytes() == first.to_bytes()
    assert len(sf.Ledger.existing(tmp_path / "a.ledger").entries()) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spend": sf.Pure(0.25)}, ["spend was", "0.5", "0.25"]),
        ({"columns": {"age": sf.Interval(0, 99, step=1)}}, ["column 'age'", "120", "99"]),
        ({"query": sf.mean("age").where("age >= 18")}, ["query was", "where"]),
    ],
)
def test_the_same_name_for_another_thing_is_refused_and_says_what_differs(tmp_path, change, words):
    def ask(query=sf.mean("age"), spend=PURE, columns=None, **terms):  # noqa: B008
        table = sf.read(ROWS, schema=sf.Schema(columns or {"age": AGE}, dataset="d", **terms))
        session = sf.Session(table, budget=sf.Pure(9.0), ledger=tmp_path / "a.ledger")
        return session.release(query, spend=spend, name="asked")

    ask()
    with pytest.raises(LedgerError) as refusal:
        ask(**change)
    for word in ("'asked'", "new name", *words):
        assert word in str(refusal.value)
    assert len(sf.Ledger.existing(tmp_path / "a.ledger").entries()) == 3


@pytest.mark.parametrize(
    ("file", "terms", "budget", "spend"),
    [
        ("pure", "rows", sf.Pure(4.0), PURE),
        ("approximate", "rows", sf.Approximate(4.0, 1e-5), APPROXIMATE),
        ("concentrated", "rows", sf.Concentrated(2.0), CONCENTRATED),
        ("persons", "persons", sf.Approximate(4.0, 1e-5), PURE),
    ],
)
def test_questions_that_0_2_0_stored_are_answered_free(tmp_path, file, terms, budget, spend):
    place = Path(shutil.copy(OLD / f"ledgers/{file}.sqlite", tmp_path))
    session = sf.Session(sf.read(people(), schema=TERMS[terms]), budget=budget, ledger=place)
    before = session.ledger.head
    stored = {entry.name for entry in session.ledger.entries() if entry.kind == "release"}
    for title in stored & QUERIES.keys():
        assert session.release(QUERIES[title], spend=spend, name=title).name == title
    if file == "approximate":
        session.release(QUERIES["discovered"], spend=sf.Approximate(1.0, 1e-6), name="cities")
    if file == "persons":
        asked = {"spend": sf.Approximate(1.0, 1e-6), "rows": 60, "name": "synthetic"}
        assert len(session.synthesize(["age", "state", "sex"], **asked)) == 60
    assert session.ledger.head == before
    with pytest.raises(LedgerError, match="already used"):
        session.release(sf.sum("age"), spend=spend, name="count")


def replaced_session(place):
    columns = {name: TERMS["replaced"].columns[name] for name in ("age", "state", "letter", "hobbies", "h0", "h1")}
    small = sf.Schema(columns, dataset="people", adjacency=sf.Replace(), size=60)
    budget = sf.Approximate(40.0, 1e-4)
    return sf.Session(sf.read(people().slice(0, 60), schema=small), budget=budget, ledger=place)


def test_tables_that_0_2_0_stored_are_found_free(tmp_path):
    session = replaced_session(Path(shutil.copy(OLD / "ledgers/replaced.sqlite", tmp_path)))
    before = session.ledger.head
    parts = ["age", "state", "hobbies", sf.together("h0", "h1")]
    sanitized = session.release(sf.sanitized(parts), spend=sf.Approximate(2.0, 1e-7), name="sanitized")
    weighted = session.release(sf.trigonometric(["age"], order=3, grid=12), spend=sf.Pure(1.0), name="weighted")
    assert session.ledger.head == before
    assert sanitized.rows.equals(sf.load(OLD / "tables/sanitized.parquet").rows)
    assert weighted.rows.equals(sf.load(OLD / "tables/weighted.parquet").rows)
    with pytest.raises(LedgerError, match="already used"):
        session.release(sf.trigonometric(["age"], order=4, grid=12), spend=sf.Pure(1.0), name="weighted")


def test_a_smooth_table_named_by_its_mechanism_is_found_free(tmp_path):
    """As versions before 0.4.0 named it: the noise they would have chosen is part of the name."""
    asked, spend = sf.trigonometric(["age"], order=3, grid=12), sf.Approximate(1.0, 1e-6)
    first = replaced_session(tmp_path / "first.ledger")
    made = first.release(asked, spend=spend, name="smooth")
    identity = first.order(asked, spend, "smooth").identity
    assert identity.digest not in {sha(one) for one in identity.former}
    later = replaced_session(tmp_path / "later.ledger")
    later.ledger.store(later.ledger.charge("smooth", sha(identity.former[0]), made.guarantee, {}), made.to_bytes())
    before = later.ledger.head
    assert later.release(asked, spend=spend, name="smooth").to_bytes() == made.to_bytes()
    assert later.ledger.head == before
