"""The ledger on a PostgreSQL server: many processes, lost connections, little rights, tampering."""

import dataclasses
import multiprocessing
import os
import subprocess
import threading
from pathlib import Path

import pytest

from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.ledger.server import CONNECTED
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.privacy.guarantees import Pure

pytestmark = pytest.mark.postgres

TERMS = {"dataset": "people", "adjacency": AddRemove(), "unit": Row(), "budget": Pure(2.0)}
DIGEST = "a" * 64


def address(user="postgres"):
    return f"host={os.environ['SFUMATO_POSTGRES']} user={user} dbname=postgres"


def ledger(name, user="postgres", **changes):
    from sfumato.ledger.postgres import PostgresLedger

    return PostgresLedger.open(address(user), name=name, **{**TERMS, **changes})


@pytest.fixture
def owner():
    import psycopg

    with psycopg.connect(address(), autocommit=True) as con:
        yield con


def spend(name, worker, paid):
    """As much as there is, in steps of a tenth; what was paid is told."""
    own = ledger(name, budget=None)
    for step in range(40):
        try:
            own.store(own.charge(f"{worker}-{step}", DIGEST, Pure(0.1), {}), b"x")
        except BudgetExceeded:
            break
        with paid.get_lock():
            paid.value += 1


def test_processes_together_spend_the_budget_and_no_more(tmp_path):
    name, spawn = str(tmp_path), multiprocessing.get_context("spawn")
    ledger(name)
    paid = spawn.Value("i", 0)
    workers = [spawn.Process(target=spend, args=(name, worker, paid)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert paid.value == 20
    found = ledger(name).verify()
    assert found.holds, found.words()
    assert found.entries == 41
    assert found.spent == Pure(2.0)


def test_who_opens_it_at_once_opens_one_ledger(tmp_path):
    opened, wait = [], threading.Barrier(6)

    def open_it():
        wait.wait()
        opened.append(ledger(str(tmp_path)).head)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6
    assert len(set(opened)) == 1


def test_a_fork_within_a_turn_takes_no_connection_of_its_parent_and_ends_no_turn(tmp_path, owner):
    own = ledger(str(tmp_path))
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
    parent = os.getpid()
    with own.turn("a"):
        before = owner.execute(waiting).fetchone()
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            assert owner.execute(waiting).fetchone() == before
    if os.getpid() != parent:
        os._exit(CONNECTED.count)
    assert os.waitstatus_to_exitcode(status) == 0


ENDED = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sfumato ledger'"


def test_a_connection_lost_midway_spends_nothing_and_the_next_goes_on(tmp_path, owner):
    own = ledger(str(tmp_path))
    own.charge("a", DIGEST, Pure(0.5), {})

    def lose_it():
        with own._writing() as page:
            page.last()
            owner.execute(ENDED)
            page.last()

    with pytest.raises(LedgerError, match="count the charge as spent"):
        lose_it()
    assert own.spent() == Pure(0.5)
    own.charge("b", DIGEST, Pure(0.5), {})  # idle connections that the server ended are noticed
    assert ledger(str(tmp_path)).verify().holds
    assert own.spent() == Pure(1.0)


def test_a_role_that_may_read_and_append_can_spend_and_nothing_else(tmp_path, owner):
    import psycopg

    name = str(tmp_path)
    ledger(name)
    with pytest.raises(LedgerError, match="SELECT and INSERT"):
        ledger(name, "reader")
    owner.execute("GRANT USAGE ON SCHEMA sfumato TO reader")
    owner.execute("GRANT SELECT, INSERT ON sfumato.entries, sfumato.contents TO reader")
    own = ledger(name, "reader")
    own.store(own.charge("a", DIGEST, Pure(0.5), {}), b"x")
    assert own.find("a", DIGEST).content == b"x"
    with psycopg.connect(address("reader"), autocommit=True) as con:
        for statement in ("UPDATE sfumato.entries SET hash = ''", "DELETE FROM sfumato.contents"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                con.execute(statement)
        with pytest.raises(psycopg.errors.RaiseException):  # a gap, which nobody may leave
            con.execute(
                "INSERT INTO sfumato.entries (ledger, sequence, body, hash) "
                """VALUES (%s, 9, '{"sequence": 9, "kind": "charge"}', '')""",
                (name,),
            )


@pytest.mark.parametrize(
    "forged",
    [
        {"total": (0, 0)}, {"total": ()}, {"amounts": (-1, 0), "total": (5 * 10**11 - 1, 0)}, {"previous": "0" * 64},
        {"kind": "open"}, {},
    ],
)  # fmt: skip
def test_a_role_that_may_append_gives_no_budget_back(tmp_path, owner, forged):
    import psycopg

    name = str(tmp_path)
    own = ledger(name)
    own.charge("a", DIGEST, Pure(0.5), {})
    (*_, last) = own.entries()
    width = len(last.total)
    cut = {part: value[:width] if isinstance(value, tuple) else value for part, value in forged.items()}
    kept = {"sequence": 2, "name": "b", "previous": last.hash, "amounts": (0,) * width}
    entry = dataclasses.replace(last, **{**kept, **cut})
    row = (name, entry.sequence, entry.body(), entry.hash)
    insert = "INSERT INTO sfumato.entries (ledger, sequence, body, hash) VALUES (%s, %s, %s, %s)"
    if forged:
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            owner.execute(insert, row)
        assert own.spent() == Pure(0.5)
    else:  # the same without a lie is an entry like any other
        owner.execute(insert, row)


@pytest.mark.parametrize("change", ["UPDATE {} SET ledger = ledger", "DELETE FROM {}", "TRUNCATE {} CASCADE"])
@pytest.mark.parametrize("table", ["sfumato.entries", "sfumato.contents"])
def test_not_even_the_owner_changes_a_row_by_accident(change, table, tmp_path, owner):
    import psycopg

    ledger(str(tmp_path))
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        owner.execute(change.format(table))


def test_tampering_by_the_owner_is_found(tmp_path, owner):
    name = str(tmp_path)
    own = ledger(name)
    own.charge("a", DIGEST, Pure(0.5), {})
    head = own.head
    owner.execute("ALTER TABLE sfumato.entries DISABLE TRIGGER entries_change")
    try:
        assert "triggers" in own.verify().words()
        owner.execute("DELETE FROM sfumato.entries WHERE ledger = %s AND sequence = 1", (name,))
    finally:
        owner.execute("ALTER TABLE sfumato.entries ENABLE TRIGGER entries_change")
    with pytest.raises(LedgerError, match="rolled back"):
        own.charge("b", DIGEST, Pure(0.5), {})
    assert not ledger(name).verify([head]).holds


def test_errors_say_what_to_do_and_hold_no_password():
    from sfumato.ledger.postgres import PostgresLedger

    with pytest.raises(LedgerError, match="does not let us in") as error:
        PostgresLedger.existing("host=/nowhere user=x password=secret dbname=y", "people")
    assert "secret" not in str(error.value)
    with pytest.raises(LedgerError, match="there is no ledger 'nobody'"):
        PostgresLedger.existing(address(), "nobody")
    with pytest.raises(LedgerError, match="give budget="):
        ledger("nothing yet", budget=None)


def test_a_session_spends_from_a_server_and_finds_its_releases_again(tmp_path):
    import pandas as pd

    import sfumato as sf

    place = f"postgresql://postgres@/postgres?host={os.environ['SFUMATO_POSTGRES']}"
    table = sf.read(pd.DataFrame({"age": [20, 30, 40]}), schema={"age": sf.Integers(0, 99)}, dataset=tmp_path.name)
    first = sf.Session(table, budget=sf.Pure(1), ledger=place)
    made = first.release(sf.count(), spend=sf.Pure(0.25), name="people")
    again = sf.Session(table, budget=sf.Pure(1), ledger=place)
    assert again.release(sf.count(), spend=sf.Pure(0.25), name="people").to_bytes() == made.to_bytes()
    assert again.ledger.spent() == Pure(0.25)
    assert "new, started by this session" not in str(again.preview(sf.mean("age"), spend=sf.Pure(0.25)))


def test_a_dump_restores_a_ledger_and_an_older_one_is_noticed_by_a_later_head(tmp_path, owner):
    """As docs/guide/service.md says it: pg_dump of the schema while others spend, psql into an empty database."""
    import psycopg

    from sfumato.ledger.copying import written_off
    from sfumato.ledger.postgres import PostgresLedger

    name, folder = str(tmp_path), os.environ["SFUMATO_POSTGRES"]
    programs = max(Path("/usr/lib/postgresql").glob("*/bin/pg_dump"), key=lambda path: int(path.parts[-3])).parent
    reach = ["-h", folder, "-U", "postgres"]
    own = ledger(name)
    earlier = own.store(own.charge("monday", DIGEST, Pure(0.5), {}), b"x")
    dumped = subprocess.run(
        [programs / "pg_dump", *reach, "--schema=sfumato", "postgres"], capture_output=True, check=True
    ).stdout
    later = own.store(own.charge("tuesday", DIGEST, Pure(0.25), {}), b"y")
    owner.execute("CREATE DATABASE restored")
    try:
        into = [programs / "psql", *reach, "-q", "-v", "ON_ERROR_STOP=1", "--single-transaction", "restored"]
        subprocess.run(into, input=dumped, stdout=subprocess.DEVNULL, check=True)
        there = f"host={folder} user=postgres dbname=restored"
        restored = PostgresLedger.open(there, name=name, **{**TERMS, "budget": None})
        assert restored.verify([earlier]).holds
        assert not restored.verify([later]).holds
        written_off(restored, Pure(0.25))
        assert restored.remaining() == own.remaining() == Pure(1.25)
        with psycopg.connect(there) as con, pytest.raises(psycopg.errors.RaiseException):
            con.execute("DELETE FROM sfumato.entries")  # the triggers came with the dump
    finally:
        owner.execute("DROP DATABASE restored WITH (FORCE)")


def test_what_a_server_has_forgotten_is_written_off_by_the_plan(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from sfumato.cli.app import app

    dataset = f"people {tmp_path.name}"
    own = ledger(dataset, dataset=dataset)
    monkeypatch.setenv("LEDGER_SERVER", f"postgresql://postgres@/postgres?host={os.environ['SFUMATO_POSTGRES']}")
    plan = tmp_path / "people.toml"
    plan.write_text(
        f'format = "sfumato-plan/2"\n[table]\npath = "people.parquet"\ndataset = "{dataset}"\nunit = "row"\n'
        '[columns.age]\ntype = "integers"\nlow = 0\nhigh = 100\n[budget]\nepsilon = 2.0\n'
        '[ledger]\nconnection = "LEDGER_SERVER"\n'
    )
    done = CliRunner().invoke(app, ["ledger", "writeoff", str(plan), "--epsilon", "0.5"])
    assert done.exit_code == 0, done.output
    assert own.remaining() == Pure(1.5)
    refused = CliRunner().invoke(app, ["ledger", "backup", str(plan), str(tmp_path / "copy")])
    assert "pg_dump" in str(refused.exception)
