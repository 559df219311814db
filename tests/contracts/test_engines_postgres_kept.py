"""Rows of persons that a PostgreSQL server keeps in a temporary table, and connections that end midway."""

import gc
import os
import subprocess
import sys
import threading

import pytest

import sfumato as sf
from sfumato.errors import EngineError
from sfumato.ledger import Ledger
from sfumato.queries import bind, count, mean
from waiting import wait_until

pytestmark = pytest.mark.postgres
COLUMNS = {"x": sf.Integers(0, 9)}
KEPT = "SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relname LIKE 'sfumato_%'"
WAITING = "SELECT pid FROM pg_stat_activity WHERE usename = 'reader' AND wait_event_type = 'Lock'"
# A process of its own that asks two questions about persons: one, and when it is told to, one that needs more of them.
ASKING = """
import sys
import sfumato as sf

address, ledger = sys.argv[1:]
people = sf.read(address, table="public.people", schema={"x": sf.Integers(0, 9)}, unit="id", rows=3, dataset="people")
session = sf.Session(people, budget=sf.Pure(9.0), ledger=ledger)
print("shown", session.release(sf.count(), spend=1.0).name, flush=True)
sys.stdin.readline()
print("shown", session.release(sf.mean("x"), spend=1.0).name, flush=True)
"""
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader' AND pid <> {own}"


@pytest.fixture
def people(server):
    """The reader's table of two hundred persons with a hundred rows each, and a connection of the owner's."""
    import psycopg

    _, reader = server
    with psycopg.connect(host=os.environ["SFUMATO_POSTGRES"], user="postgres", autocommit=True) as con:
        con.execute("DROP TABLE IF EXISTS people")
        con.execute("CREATE TABLE people AS SELECT g % 200 AS id, g % 10 AS x FROM generate_series(1, 20000) g")
        con.execute("GRANT SELECT ON people TO reader")
        yield sf.read(reader.table("people"), schema=COLUMNS, unit="id", rows=3, dataset="people"), con
        con.execute("DROP TABLE people")


def answer(table, query):
    question = bind(query, table.schema)
    return table.under(question.schema).answer(question.statistic).tolist()


def until(con, query, wanted):
    """Wait for others: the outcome depends on no time."""
    wait_until(lambda: wanted(con.execute(query).fetchall()))


def test_nothing_stays_on_the_server_when_the_table_is_gone(server, people):
    _, con = people
    gc.collect()
    before = con.execute(KEPT).fetchall()
    table = sf.read(server[1].table("people"), schema=COLUMNS, unit="id", rows=3, dataset="people")
    answer(table, count())
    assert con.execute(KEPT).fetchall() != before
    del table
    gc.collect()
    until(con, KEPT, lambda rows: rows == before)


def test_one_temporary_table_serves_overlapping_questions(people):
    table, con = people
    expected = [answer(table, query) for query in (count(), mean("x"))]
    (made,) = con.execute(KEPT).fetchone()
    assert made == 2  # of the first question, and of one that needs more
    stream, other = table.rows(["x"]), table.rows(["x"])
    first = len(next(stream)["x"])
    next(other)
    assert [answer(table, query) for query in (count(), mean("x"))] == expected
    del other  # left in the middle
    assert first + sum(len(batch["x"]) for batch in stream) == 600
    assert con.execute(KEPT).fetchone() == (made,)
    con.execute("DELETE FROM people")
    assert [answer(table, query) for query in (count(), mean("x"))] == expected
    assert con.execute(KEPT).fetchone() == (made,)


def test_an_idle_session_that_was_ended_is_made_anew(people, server):
    table, con = people
    expected = answer(table, count())
    con.execute(END.format(own=server[1].con.info.backend_pid))
    until(con, KEPT, lambda rows: rows == [(0,)])
    assert answer(table, count()) == expected
    assert con.execute(KEPT).fetchone() == (1,)


def test_a_connection_that_ends_midway_has_paid_and_a_retry_is_safe(people, server, tmp_path):
    import psycopg

    table, con = people
    session = sf.Session(table, budget=sf.Pure(9.0), ledger=tmp_path / "people.ledger")
    raised = []

    def release():
        try:
            session.release(count(), spend=1.0)
        except EngineError as error:
            raised.append(error)

    with psycopg.connect(host=os.environ["SFUMATO_POSTGRES"], user="postgres") as locking:
        locking.execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
        worker = threading.Thread(target=release)
        worker.start()
        until(con, WAITING, bool)  # charged, and in the middle of making its table
        con.execute(END.format(own=server[1].con.info.backend_pid))
        worker.join()
    until(con, KEPT, lambda rows: rows == [(0,)])
    (error,) = raised
    assert error.__context__ is None
    kinds = [entry.kind for entry in Ledger.existing(tmp_path / "people.ledger").entries()]
    assert kinds.count("charge") == 1
    assert "release" not in kinds
    session.release(count(), spend=1.0)
    kinds = [entry.kind for entry in Ledger.existing(tmp_path / "people.ledger").entries()]
    assert (kinds.count("charge"), kinds.count("release")) == (2, 1)


def test_a_process_that_is_killed_midway_has_paid_and_leaves_nothing_on_the_server(people, tmp_path):
    import psycopg

    folder, ledger = os.environ["SFUMATO_POSTGRES"], tmp_path / "people.ledger"
    command = [sys.executable, "-c", ASKING, f"postgresql://reader@/postgres?host={folder}", str(ledger)]

    def entries():
        found = Ledger.existing(ledger).entries()
        return [[one.name for one in found if one.kind == kind] for kind in ("charge", "release")]

    _, con = people
    before = con.execute(KEPT).fetchall()
    with psycopg.connect(host=folder, user="postgres") as locking:
        asking = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert asking.stdout.readline() == "shown count\n"
        assert con.execute(KEPT).fetchall() != before  # rows of persons lie on the server
        locking.execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
        asking.stdin.write("\n")
        asking.stdin.flush()
        until(con, WAITING, bool)  # charged, and in the middle
        asking.kill()
        assert asking.communicate()[0] == ""
        until(con, KEPT, lambda rows: rows == before)  # though the statement could not end
    assert entries() == [["count", "mean of x"], ["count"]]
    again = subprocess.run(command, input="\n", capture_output=True, text=True, check=True)
    assert again.stdout.splitlines() == ["shown count", "shown mean of x"]
    assert entries() == [["count", "mean of x", "mean of x"], ["count", "mean of x"]]
    until(con, KEPT, lambda rows: rows == before)
