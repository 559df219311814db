"""Events with the attributes of people: what is joined, what a person moves in both tables, files and refusals."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.queries import bind

COLUMNS = {"paid": sf.Interval(0, 10, 1), "shop": sf.Categories(["n", "s"])}
ATTRIBUTES = {"age": sf.Integers(0, 99), "sex": sf.Categories(["f", "m"])}
QUESTIONS = [
    sf.sum("paid").by("sex", "shop"), sf.mean("paid").where("age >= 50"), sf.sum("age"),
    sf.sum("paid").by("sex").per_person(total=(0, 12)),
]  # fmt: skip


def joined(events, people, adjacency="add-remove"):
    held = {"id": pa.string(), "paid": pa.float64(), "shop": pa.string()}
    lines = {"id": pa.string(), "age": pa.int64(), "sex": pa.string()}
    return sf.read(
        arrow(events, held), schema=COLUMNS, unit="id", rows=2, adjacency=adjacency, dataset="shop",
        people=arrow(people, lines), attributes=ATTRIBUTES,
    )  # fmt: skip


def arrow(rows, kinds):
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(kinds.items())})


def exact(query, table):
    question = bind(query, table.schema)
    return np.asarray(question.answer(table.under(question.schema)), dtype=object)


def test_an_event_has_the_attributes_of_its_person_and_lacks_them_where_there_is_no_line():
    events = [("p", 1, "n"), ("p", 2, "s"), ("q", 3, "n"), ("nobody", 4, "n"), (None, 5, "n")]
    people = [("p", 30, "f"), ("q", 60, "m"), ("r", 70, "m"), (None, 10, "f")]
    table = joined(events, people)
    assert exact(sf.count(), table).tolist() == [4]
    assert exact(sf.count().by("sex"), table).tolist() == [2, 1]
    assert exact(sf.sum("paid").by("sex"), table).tolist() == [3, 3]
    assert exact(sf.sum("age"), table).tolist() == [120]


def test_columns_of_any_name_are_those_of_their_own_table(tmp_path):
    names = ("identifier", "a_age", "owner", "turn", "e_age", "Unit")
    events = pa.table({name: [i + 1, 10 * i] for i, name in enumerate(names)} | {"id": [1, 2]})
    people = pa.table({"age": [30, 60], "id": ["1", "2"]})
    pq.write_table(people, tmp_path / "people.parquet")  # where texts are bytes
    for lines in (people, tmp_path / "people.parquet"):
        table = sf.read(
            events, schema=dict.fromkeys(names, sf.Integers(0, 99)), unit="id", rows=1, dataset="shop",
            people=lines, attributes={"age": sf.Integers(0, 99)},
        )  # fmt: skip
        found = [exact(sf.sum(name), table).tolist() for name in (*names, "age")]
        assert found == [*([11 * i + 1] for i in range(len(names))), [90]]


def test_of_several_lines_of_a_person_one_counts_whatever_their_order():
    lines = [("p", 30, "f"), ("p", 20, "m"), ("p", None, "f"), ("q", 40, "f")]
    events = [("p", 1, "n"), ("q", 1, "n")]
    found = {
        tuple(exact(sf.sum("age"), joined(events, [*order]))) for order in (lines, lines[::-1], lines[2:] + lines[:2])
    }
    assert len(found) == 1
    assert exact(sf.count(), joined(events, lines)).tolist() == [2]


EVENTS = [("n", 10.0), ("s", 10.0), ("n", math.nan), ("?", 0.0)]
LINES = [(99, "f"), (0, "m"), (None, None)]


def test_a_person_in_both_tables_moves_answers_no_further_than_claimed():
    others = [("x", 3.0, "n"), ("x", 4.0, "s"), ("y", 5.0, "n")], [("x", 50, "f"), ("y", 20, "m"), ("z", 1, "m")]
    contents = [
        ([("me", paid, shop) for shop, paid in own], [("me", *line) for line in lines])
        for own in ([], EVENTS[:2], EVENTS[1:])
        for lines in ([], [LINES[0]], LINES[1:])
    ]
    tables = [joined([*others[0], *events], [*others[1], *lines]) for events, lines in contents]
    replaced = replace(tables[0].schema, adjacency=sf.Replace())
    for query in QUESTIONS:
        answers = [exact(query, table) for table in tables]
        within(bind(query, tables[0].schema), [abs(one - answers[0]) for one in answers])
        within(bind(query, replaced), [abs(one - other) for one, other in itertools.combinations(answers, 2)])


def within(question, moved):
    assert max(move.sum() for move in moved) <= question.sensitivity("l1"), question.name
    assert max(move.max() for move in moved) <= question.sensitivity("linf"), question.name
    assert max((move**2).sum() for move in moved) <= question.sensitivity("l2") ** 2 * (1 + 1e-12), question.name


def test_tables_are_joined_through_files_of_several_kinds(tmp_path):
    events = pd.DataFrame({"id": [1, 1, 2, 7], "paid": [1.0, 2.0, 3.0, 4.0], "shop": ["n", "s", "n", "n"]})
    people = pd.DataFrame({"id": [1, 2, 3], "age": [30, 60, 70], "sex": ["f", "m", "m"]})
    events.to_csv(tmp_path / "events.csv", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    pq.write_table(pa.Table.from_pandas(events), tmp_path / "events.parquet")
    pq.write_table(pa.Table.from_pandas(people), tmp_path / "people.parquet")
    for one, other in itertools.product(("events.csv", "events.parquet"), ("people.csv", "people.parquet")):
        table = sf.read(
            tmp_path / one, schema=COLUMNS, unit="id", rows=2, people=tmp_path / other, attributes=ATTRIBUTES
        )
        assert exact(sf.sum("paid").by("sex"), table).tolist() == [3, 3], (one, other)
    frames = sf.read(events, schema=COLUMNS, unit="id", rows=2, dataset="e", people=people, attributes=ATTRIBUTES)
    assert exact(sf.count().by("sex"), frames).tolist() == [2, 1]


def test_a_release_says_that_both_tables_are_meant_and_opens_again(tmp_path):
    table = joined([("p", 1, "n")] * 3, [("p", 30, "f")])
    session = sf.Session(table, budget=sf.Pure(9.0), ledger=tmp_path / "l.ledger")
    release = session.release(sf.count().by("sex"), spend=sf.Pure(1.0))
    assert "in the table of events and in that of people" in release.words()
    assert sf.load(release.save(tmp_path / "r.json")).to_bytes() == release.to_bytes()
    assert release.question.schema.people == ("age", "sex")
    assert "people" not in sf.Schema(COLUMNS).to_record()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"unit": None, "rows": None}, "needs unit="),
        ({"people": None}, "say which with people="),
        ({"attributes": {}}, "needs attributes="),
        ({"attributes": {"paid": sf.Integers(0, 9)}}, "declared of events and of people"),
        ({"attributes": {"weight": sf.Integers(0, 9)}}, "the table of people: .*weight"),
        ({"schema": {}}, "no column of the events"),
    ],
)
def test_what_cannot_be_joined_is_refused_in_words(changed, said):
    held = pd.DataFrame({"id": ["p"], "paid": [1.0], "shop": ["n"]})
    lines = pd.DataFrame({"id": ["p"], "age": [1], "sex": ["f"]})
    given = {"schema": COLUMNS, "unit": "id", "rows": 2, "dataset": "d", "people": lines, "attributes": ATTRIBUTES}
    with pytest.raises(SchemaError, match=said):
        sf.read(held, **(given | changed))
