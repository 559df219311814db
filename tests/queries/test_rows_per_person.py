"""How many rows people have: exact numbers, what one person moves, a release, a plan's form, refusals."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.queries.query import Query

SCHEMA = sf.Schema({"x": sf.Integers(0, 9)}, sf.Person("id", 2), size=300, dataset="d")


def table(counts, schema=SCHEMA):
    """A table in which person i has so many rows."""
    ids = [str(person) for person, rows in enumerate(counts) for _ in range(rows)]
    held = pa.table(
        {"id": pa.array([*ids, None], pa.string()), "x": pa.array([place % 10 for place in range(len(ids) + 1)])}
    )
    return sf.read(held, schema=schema)


def test_each_person_is_one_number_whatever_the_schema_s_limit():
    question = bind(sf.rows_per_person(0.5, most=6), SCHEMA)
    held = table([1, 1, 3, 9, 0, 6]).under(question.schema)
    cells, values, counts = held.answer(question.statistic)
    assert sorted(zip(values.tolist(), counts.tolist(), strict=True)) == [(1, 2), (3, 1), (6, 2)]
    assert set(cells.tolist()) == {0}
    assert question.spread == 1
    assert bind(sf.rows_per_person(), sf.Schema(SCHEMA.columns, SCHEMA.unit, sf.Replace())).spread == 2


def test_one_person_moves_one_number():
    question = bind(sf.rows_per_person([0.5, 0.9], most=5), SCHEMA)
    others = [1, 4, 2]
    for mine in range(8):
        held = table([*others, mine]).under(question.schema)
        _, values, counts = held.answer(question.statistic)
        found = np.zeros(6, dtype=int)
        found[values] = counts
        without = np.bincount(np.minimum(others, 5), minlength=6)
        assert np.abs(found - without).sum() == (1 if mine else 0)


def test_a_release_comes_near_stands_in_a_plan_and_opens_again(tmp_path):
    counts = [1 + person % 20 for person in range(300)]
    session = sf.Session(table(counts), budget=sf.Pure(99.0), ledger=tmp_path / "l.ledger")
    query = sf.rows_per_person([0.5, 0.95], most=100)
    assert Query.from_record(query.to_record()) == query
    assert query.to_record() == {"query": "rows_per_person", "probabilities": [0.5, 0.95], "most": 100}
    preview = session.preview(query, spend=sf.Pure(20.0))
    release = session.release(query, spend=sf.Pure(20.0))
    assert np.abs(np.asarray(release.value) - [10.5, 19.5]).max() <= 3
    assert preview.certificate.words()
    assert sf.load(release.save(tmp_path / "r.json")).to_bytes() == release.to_bytes()
    assert session.release(query, spend=sf.Pure(20.0)).to_bytes() == release.to_bytes()
    assert "whose total counts as far as it lies within 0 to 100" in release.words()
    one = session.release(sf.rows_per_person(0.9).where("x < 5"), spend=sf.Pure(20.0))
    assert 1 <= one.value <= 20
    assert one.plot() is not None


def test_every_mechanism_that_may_answer_is_offered_for_one_person():
    for spend, replaced in itertools.product((sf.Pure(1.0), sf.Concentrated(0.5)), (sf.AddRemove(), sf.Replace())):
        schema = sf.Schema(SCHEMA.columns, SCHEMA.unit, replaced, size=300)
        for option in options(bind(sf.rows_per_person(), schema), spend):
            assert option.mechanism.guarantee().implies(spend)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (lambda: sf.rows_per_person(1.5), "strictly between"),
        (lambda: sf.rows_per_person(0.5, most=1), "most must be a whole number from 2"),
        (lambda: sf.rows_per_person().by("x"), "no keys"),
        (lambda: sf.rows_per_person().per_person(rows=2), "no limits"),
    ],
)
def test_what_makes_no_sense_is_refused(query, said):
    with pytest.raises((ParameterError, UnsupportedQuery), match=said):
        bind(query(), SCHEMA)


def test_tables_of_single_rows_have_no_such_numbers():
    with pytest.raises(UnsupportedQuery, match="declare unit="):
        bind(sf.rows_per_person(), sf.Schema({"x": sf.Integers(0, 9)}))
