"""A ledger that cannot store what was paid for says so itself, and asking again charges nothing more."""

import contextlib
import resource
import sqlite3

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import storage
from sfumato.engines import Table
from sfumato.errors import EngineError, LedgerError
from sfumato.ledger import Ledger, contents

LABELS = [f"category {number}" for number in range(600)]  # their release takes some 50 kB
ASKED = sf.count().by("c")


@pytest.fixture
def session(tmp_path):
    table = sf.read(pa.table({"c": LABELS[:70]}), schema={"c": sf.Categories(LABELS)}, dataset="d")
    return sf.Session(table, budget=sf.Pure(10), ledger=tmp_path / "ledger")


@contextlib.contextmanager
def files_at_most(size):
    """No file may grow beyond `size`, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def charged(session):
    return [entry.name for entry in session.ledger.entries() if entry.kind == "charge"]


def test_a_full_disk_burns_one_charge_however_often_one_asks(session):
    room = session.ledger.path.stat().st_size + 16_384  # for the charge, not for the release
    with files_at_most(room):
        for _ in range(8):
            with pytest.raises(LedgerError, match=r"(?s)could not be stored.*disk full.*nothing more"):
                session.release(ASKED, spend=sf.Pure(0.5))
    assert len(charged(session)) == 1
    assert session.ledger.verify().holds
    release = session.release(ASKED, spend=sf.Pure(0.5))
    assert len(charged(session)) == 1
    assert session.spent == sf.Pure(0.5)
    assert session.release(ASKED, spend=sf.Pure(0.5)).to_bytes() == release.to_bytes()
    assert session.ledger.verify([release.provenance.head]).holds


def test_a_disk_too_full_for_the_charge_burns_nothing(session):
    with files_at_most(2048), pytest.raises(LedgerError, match="disk full"):
        session.release(ASKED, spend=sf.Pure(0.5))
    assert charged(session) == []
    assert session.ledger.verify().holds


def test_too_little_room_is_noticed_before_the_charge(session, monkeypatch):
    monkeypatch.setattr(contents, "ROOM", 2**70)  # more than any disk has
    with pytest.raises(LedgerError, match=r"(?s)MB free.*nothing was charged"):
        session.release(ASKED, spend=sf.Pure(0.5))
    assert charged(session) == []


def test_a_ledger_locked_while_the_answer_is_computed_loses_nothing(session, monkeypatch):
    monkeypatch.setattr(storage, "BUSY_SECONDS", 0.05)
    answer, other = Table.answer, sqlite3.connect(session.ledger.path, isolation_level=None)

    def locking(table, statistic):
        other.execute("BEGIN IMMEDIATE")
        return answer(table, statistic)

    with monkeypatch.context() as patched:
        patched.setattr(Table, "answer", locking)
        with pytest.raises(LedgerError, match=r"(?s)locked by another process.*nothing more"):
            session.release(ASKED, spend=sf.Pure(0.5))
    with pytest.raises(LedgerError, match="locked"):
        session.release(ASKED, spend=sf.Pure(0.5))
    other.execute("ROLLBACK")
    session.release(ASKED, spend=sf.Pure(0.5))
    assert len(charged(session)) == 1
    other.close()


def test_what_fails_while_reading_stays_withheld_and_advises_no_blind_retry(session, monkeypatch):
    def failing(table, statistic):
        raise LedgerError("the secret is 42")  # whatever its type: it was raised where data is read

    monkeypatch.setattr(Table, "answer", failing)
    with pytest.raises(EngineError, match="charges again") as caught:
        session.release(ASKED, spend=sf.Pure(0.5))
    assert "42" not in str(caught.value)
    assert caught.value.__context__ is None


# a new ledger


def test_a_session_says_that_its_ledger_is_new(session, tmp_path):
    assert "is new" in session.notice
    assert "is new" in repr(session)
    assert "is new" in str(session.preview(ASKED, spend=sf.Pure(0.5)))
    again = sf.Session(session._table, budget=sf.Pure(10), ledger=tmp_path / "ledger")
    assert again.notice is None
    assert "is new" not in repr(again) + str(again.preview(ASKED, spend=sf.Pure(0.5)))


def test_a_stored_answer_says_when_it_was_computed(session):
    release = session.release(ASKED, spend=sf.Pure(0.5))
    assert release.provenance.time in str(session.release(ASKED, spend=sf.Pure(0.5)))


def test_another_budget_invites_no_second_ledger(session, tmp_path):
    with pytest.raises(LedgerError, match="add up") as caught:
        Ledger.open(tmp_path / "ledger", dataset="d", adjacency=sf.AddRemove(), unit=sf.Row(), budget=sf.Pure(20))
    assert "another ledger file" not in str(caught.value)
