"""The rows of persons are put into order once, kept by the engine as long as they are needed, and then gone."""

import gc
import random
import threading

import duckdb
import ibis
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.engines.bounding import MULTIPLIER, PRIME, SHIFT, linear, packed
from sfumato.errors import EngineError
from sfumato.queries import bind, count, discovered, mean, median, sum

COLUMNS = {"x": sf.Integers(0, 99, missing=7), "c": sf.Categories(["a", "b"]), "w": sf.Texts(4)}
KEPT = "SELECT database_name FROM duckdb_databases() WHERE database_name LIKE 'sfumato_%'"
HELD = st.integers(0, 2**40) | st.integers(0, 3)


def visits(rows=400, seed=1):
    draw = random.Random(seed)
    return pa.table({
        "id": [draw.randrange(60) for _ in range(rows)],
        "x": [draw.choice([None, draw.randrange(100)]) for _ in range(rows)],
        "c": [draw.choice(["a", "b", "unknown", None]) for _ in range(rows)],
        "w": [f"w{draw.randrange(9)}" for _ in range(rows)],
    })  # fmt: skip


def store(con):
    con.register("held_here", visits())
    con.execute("CREATE TABLE visits AS SELECT * FROM held_here")
    con.unregister("held_here")


def on_own_connection():
    """A table on a connection of the user's own, and the connection."""
    backend = ibis.duckdb.connect()
    store(backend.con)
    with quiet():
        source = backend.table("visits")
    return sf.read(source, schema=COLUMNS, unit="id", rows=3, dataset="visits"), backend.con


@pytest.fixture
def opened():
    return on_own_connection()


def asked(table, *queries):
    for query in queries:
        question = bind(query, table.schema)
        table.under(question.schema).answer(question.statistic)


def kept(con):
    return [name for (name,) in con.cursor().execute(KEPT).fetchall()]


def held_columns(con):
    (name,) = kept(con)
    return {column for column, *_ in con.cursor().execute(f"DESCRIBE {name}.main.held").fetchall()}


# one pass


def test_questions_of_a_plan_share_one_pass_and_store_what_they_need(opened):
    table, con = opened
    queries = [count(), mean("x").by("c"), count().where("x is null"), count().per_person(rows=5)]
    for query in queries:
        question = bind(query, table.schema)
        table.expect(question.schema, query.columns)
    asked(table, *queries)
    assert held_columns(con) == {"unit", "place", "b0", "c_x", "c_c"}
    (name,) = kept(con)
    assert con.cursor().execute(f"SELECT max(place) FROM {name}.main.held").fetchone() == (4,)


def test_a_session_that_asks_one_by_one_stores_at_most_twice(opened):
    table, con = opened
    asked(table, count(), count().where("x is null"), count().by("c"), count().per_person(rows=9), median("x"))
    asked(table, sum("x").by("c").per_person(each=1, groups=2), count().by(discovered("w")))
    assert len(kept(con)) == 2


def test_a_batch_of_a_session_expects_its_questions(tmp_path, opened):
    table, con = opened
    session = sf.Session(table, budget=sf.Approximate(9.0, 1e-5), ledger=tmp_path / "visits.ledger")
    spend = sf.Approximate(1.0, 1e-6)
    requests = [{"query": query, "spend": spend} for query in (count(), median("x"), count().by(discovered("w")))]
    session.preview(count(), spend=spend)
    assert kept(con) == []  # nothing is read before a charge
    session.release_all(requests)
    assert held_columns(con) == {"unit", "place", "b0", "c_x", "c_w"}


def test_threads_wait_for_the_first(opened):
    table, con = opened
    workers = [threading.Thread(target=asked, args=(table, count())) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(kept(con)) == 1


# what is kept


def test_answers_come_from_one_state_of_the_data(opened):
    table, con = opened
    question = bind(count(), table.schema)
    before = table.answer(question.statistic).tolist()
    con.execute("DELETE FROM visits")
    assert table.answer(question.statistic).tolist() == before != [[0]]
    again = sf.read(table.source, schema=table.schema)
    assert again.answer(question.statistic).tolist() == [[0]]


def test_undeclared_labels_are_not_kept(opened):
    table, con = opened
    asked(table, count().by("c"))
    (name,) = kept(con)
    labels = con.cursor().execute(f"SELECT DISTINCT c_c FROM {name}.main.held").fetchall()
    assert {label for (label,) in labels} == {"a", "b", None}


def test_nothing_stays_when_the_table_is_gone():
    table, con = on_own_connection()
    limited = table.under(bind(count().per_person(rows=1), table.schema).schema)
    asked(limited, count())
    asked(table, mean("x"))  # more rows, and a column
    stream = table.rows(["x"])
    next(stream)
    del table
    gc.collect()
    assert len(kept(con)) == 2  # another one still uses them
    del limited, stream
    gc.collect()
    assert kept(con) == []


def test_nothing_stays_of_a_pass_that_failed(opened):
    table, con = opened
    con.execute("DROP TABLE visits")
    with pytest.raises(EngineError):
        asked(table, count())
    assert kept(con) == []
    store(con)
    asked(table, count())
    assert len(kept(con)) == 1


def test_of_a_file_that_is_only_read_rows_are_kept_elsewhere(tmp_path):
    with duckdb.connect(tmp_path / "visits.duckdb") as con:
        store(con)
    table = sf.read(tmp_path / "visits.duckdb", schema=COLUMNS, unit="id", rows=3)
    asked(table, count(), mean("x"))
    assert len(kept(table.source.get_backend().con)) == 2
    before = (tmp_path / "visits.duckdb").read_bytes()
    del table
    gc.collect()
    assert (tmp_path / "visits.duckdb").read_bytes() == before


# the order


@given(st.lists(st.tuples(HELD, st.booleans()), min_size=1, max_size=12))
def test_the_mixture_is_the_linear_form_modulo_the_prime(pairs):
    found = linear([(number, number if known else None) for number, known in pairs])
    expected = SHIFT
    for place, (number, _) in enumerate(pairs):
        expected += number * pow(MULTIPLIER, place + 1, PRIME)
    assert found == expected % PRIME


@given(st.lists(st.none() | st.integers(0, 2**40), min_size=1, max_size=8), st.randoms())
def test_packed_numbers_order_as_they_did(largest, draw):
    def row():
        return [draw.randint(0, min(3 if draw.random() < 0.5 else 2**62, 9 if one is None else one)) for one in largest]

    rows = [row() for _ in range(20)]
    keys = [packed(list(zip(one, largest, strict=True))) for one in rows]
    assert sorted(rows) == [one for _, one in sorted(zip(keys, rows, strict=True))]
    assert max(map(max, keys)) < 2**63
