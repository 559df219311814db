"""The file: durability settings, places of contents, and clear errors for every bad file."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path

import pytest

from sfumato import storage
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import Ledger, contents, database, rules
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.privacy.guarantees import Pure
from sfumato.records import sha256
from waiting import let_pass

DIGEST = "d" * 64


def opened(path, **changes):
    terms = {"dataset": "people", "adjacency": AddRemove(), "unit": Row(), "budget": Pure(1.0)}
    return Ledger.open(path, **{**terms, **changes})


@pytest.fixture
def path(tmp_path):
    opened(tmp_path / "people.ledger").charge("a", DIGEST, Pure(0.25), {})
    return tmp_path / "people.ledger"


# durability


def test_charges_commit_with_synchronous_full_and_a_truncated_journal(path):
    with database.LEDGER.writing(path) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("truncate",)
        assert connection.in_transaction


def test_a_new_ledger_outlives_a_power_cut_with_the_directories_above_it(tmp_path, monkeypatch):
    """A directory made just now is as easily lost as the file in it."""
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_ino), fsync(handle))[1])
    home = tmp_path / "new" / "newer"
    home.mkdir(parents=True)
    opened(home / "people.ledger")
    assert {part.stat().st_ino for part in (home, home.parent, tmp_path)} <= set(synced)


def test_a_charge_is_in_the_main_file_when_it_returns(path, tmp_path):
    ledger = opened(path)
    charge = ledger.charge("b", DIGEST, Pure(0.25), {})
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(path, alone / "copy")  # without any journal beside it
    assert Ledger.existing(alone / "copy").verify([charge.head]).holds


def test_creation_leaves_a_whole_ledger_and_no_drafts(tmp_path):
    opened(tmp_path / "new.ledger")
    assert [entry.name for entry in tmp_path.iterdir()] == ["new.ledger"]


def test_an_abandoned_transaction_leaves_nothing(path):
    ledger = opened(path)
    before = ledger.export()
    entry = rules.charging(ledger.terms, ledger.entries()[-1], None, "b", DIGEST, Pure(0.25), {})

    def abandoned():
        with database.LEDGER.writing(path) as connection:
            database.insert(connection, entry)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        abandoned()
    assert ledger.export() == before


# contents


def test_large_contents_live_beside_the_ledger_under_their_hash(path):
    ledger = opened(path)
    size = path.stat().st_size
    content = os.urandom(1024) * (16 * 1024) + b"!"
    assert len(content) == contents.INSIDE_BYTES + 1
    head = ledger.store(ledger.charge("big", DIGEST, Pure(0.25), {}), content)
    assert contents.beside(path, sha256(content)).read_bytes() == content
    assert path.stat().st_size < size + 2**16
    assert ledger.find("big", DIGEST).content == content
    assert ledger.verify([head]).holds


def test_contents_up_to_sixteen_megabytes_live_inside(path):
    ledger = opened(path)
    content = b"x" * contents.INSIDE_BYTES
    ledger.store(ledger.charge("big", DIGEST, Pure(0.25), {}), content)
    assert not list(path.parent.glob("*.release"))
    assert ledger.find("big", DIGEST).content == content


@pytest.mark.parametrize("harm", [Path.unlink, lambda file: file.write_bytes(b"other")])
def test_a_missing_or_changed_file_beside_is_noticed_and_never_charged_again(path, monkeypatch, harm):
    monkeypatch.setattr(contents, "INSIDE_BYTES", 10)
    ledger = opened(path)
    ledger.store(ledger.charge("big", DIGEST, Pure(0.25), {}), b"eleven bytes")
    harm(contents.beside(path, sha256(b"eleven bytes")))
    assert "its stored content" in ledger.verify().words()
    with pytest.raises(LedgerError, match="missing or damaged"):
        ledger.find("big", DIGEST)


def test_no_room_beside_spends_the_charge_and_says_so(path, monkeypatch):
    monkeypatch.setattr(contents, "INSIDE_BYTES", 10)
    ledger = opened(path)
    charge = ledger.charge("big", DIGEST, Pure(0.25), {})
    key = sha256(b"eleven bytes")
    contents.beside(path, key).mkdir()  # the name is taken by something that is no file
    with pytest.raises(LedgerError, match="the charge stays spent"):
        ledger.store(charge, b"eleven bytes")
    assert ledger.find("big", DIGEST) is None
    assert ledger.spent() == Pure(0.5)
    assert not list(path.parent.glob(".*.new"))


# looking only


def test_a_ledger_opened_for_looking_refuses_to_spend(path):
    ledger = Ledger.existing(path)
    assert ledger.spent() == Pure(0.25)
    with pytest.raises(LedgerError, match=r"looking only; use Ledger\.open"):
        ledger.charge("b", DIGEST, Pure(0.25), {})


@contextlib.contextmanager
def unprivileged():
    """Permissions do not bind the superuser, so step down for a moment."""
    privileged = os.geteuid() == 0
    if privileged:
        os.seteuid(65534)
    try:
        yield
    finally:
        if privileged:
            os.seteuid(0)


def test_a_write_protected_ledger_can_be_verified_but_not_charged(path):
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "people.ledger"
        shutil.copy(path, place)
        place.chmod(0o444)
        os.chmod(directory, 0o555)
        with unprivileged():
            assert Ledger.existing(place).verify().holds
            with pytest.raises(LedgerError, match="cannot be written; allow writing"):
                opened(place).charge("b", DIGEST, Pure(0.25), {})
            with pytest.raises(LedgerError, match="directory"):
                opened(Path(directory) / "new.ledger")
        os.chmod(directory, 0o755)


# bad files


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, b"SQLite format 3\x00"])
@pytest.mark.parametrize("attempt", [opened, Ledger.existing])
def test_a_foreign_file_is_refused_and_left_alone(tmp_path, content, attempt):
    place = tmp_path / "file"
    place.write_bytes(content)
    with pytest.raises(LedgerError, match="not a ledger"):
        attempt(place)
    assert place.read_bytes() == content


def test_a_foreign_database_is_refused(tmp_path):
    place = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(place)) as other:
        other.execute("CREATE TABLE entries (sequence, body, hash)")
    with pytest.raises(LedgerError, match="foreign file"):
        opened(place)


@pytest.mark.parametrize("version", [0, 3])
def test_another_format_is_refused(path, version):
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(LedgerError, match=f"has format {version}, this version reads 1 and 2"):
        Ledger.existing(path)


def test_missing_files_and_directories_are_named(tmp_path):
    with pytest.raises(LedgerError, match="does not exist; check the path"):
        Ledger.existing(tmp_path / "none.ledger")
    with pytest.raises(LedgerError, match="create the directory first"):
        opened(tmp_path / "none" / "people.ledger")
    with pytest.raises(LedgerError, match="check that it is a file"):
        Ledger.existing(tmp_path)


def test_a_refused_declaration_creates_no_file(tmp_path):
    with pytest.raises(ParameterError, match="dataset must be printable"):
        opened(tmp_path / "people.ledger", dataset="")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [100, 4096, 9000])
def test_a_truncated_file_never_charges(path, kept):
    os.truncate(path, kept)
    with pytest.raises(LedgerError):
        opened(path).charge("b", DIGEST, Pure(0.25), {})


def test_damaged_pages_never_pass_verification(path):
    ledger = opened(path)
    for turn in range(50):
        ledger.charge(f"n{turn}", DIGEST, Pure(0.0), {})
    size = path.stat().st_size
    for offset in range(4096, size, 4096):
        damaged = path.with_name("damaged")
        content = bytearray(path.read_bytes())
        content[offset : offset + 4096] = bytes(4096)
        damaged.write_bytes(content)
        try:
            holds = Ledger.existing(damaged).verify().holds
        except LedgerError:
            holds = False
        assert not holds


# locks


def test_a_lock_that_never_ends_is_reported_and_nothing_charged(path, monkeypatch):
    monkeypatch.setattr(storage, "BUSY_SECONDS", 0.05)
    ledger = opened(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked by another process"):
            ledger.charge("b", DIGEST, Pure(0.25), {})
        other.execute("ROLLBACK")
        other.execute("BEGIN")
        other.execute("SELECT * FROM entries").fetchone()  # a reader holds up the commit
        with pytest.raises(LedgerError, match="nothing was written"):
            ledger.charge("b", DIGEST, Pure(0.25), {})
    assert ledger.spent() == Pure(0.25)
    ledger.charge("b", DIGEST, Pure(0.25), {})


def test_a_charge_waits_for_a_lock_that_ends(path):
    ledger = opened(path)
    held = threading.Event()

    def hold():
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            held.set()
            let_pass(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    ledger.charge("b", DIGEST, Pure(0.25), {})
    thread.join()
    assert ledger.spent() == Pure(0.5)


def test_a_journal_mode_held_by_another_program_is_refused(path):
    ledger = opened(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("SELECT * FROM entries").fetchone()
        with pytest.raises(LedgerError):
            _with_short_patience(ledger)
    ledger.charge("b", DIGEST, Pure(0.25), {})
    assert ledger.verify().holds


def _with_short_patience(ledger):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "BUSY_SECONDS", 0.05)
        ledger.charge("b", DIGEST, Pure(0.25), {})
