"""The SQLite file of a ledger: its tables, how it is opened, and what its failures mean.

Journal mode TRUNCATE with synchronous=FULL: when COMMIT returns, the entry is in the main file and
the journal is void, both synced.  (DELETE would need synchronous=EXTRA, since removing the journal
is not synced and a power cut could roll back; WAL keeps recent charges in a second file, and losing
that file would give spent budget back.)  Each operation opens its own connection, so threads and
forked processes never share one.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sfumato.disk import draft_beside, private_file, sync_names
from sfumato.errors import LedgerError
from sfumato.ledger.entries import FORMAT, FORMATS, Entry

__all__ = ["BUSY_SECONDS", "SCHEMA", "SCHEMAS", "create", "insert", "reading", "writing"]

APPLICATION = 0x5346554D  # "SFUM" in the file header tells a ledger from any other SQLite file
BUSY_SECONDS = 120.0  # a commit takes milliseconds; eight busy writers stay far below this

# The columns derived from a body are computed by SQLite, so they cannot disagree with it.
_FIRST = (
    """CREATE TABLE entries (
  sequence INTEGER PRIMARY KEY,
  body TEXT NOT NULL,
  hash TEXT NOT NULL,
  name TEXT GENERATED ALWAYS AS (json_extract(body, '$.name')) VIRTUAL,
  charge INTEGER GENERATED ALWAYS AS (
    CASE json_extract(body, '$.kind')
    WHEN 'release' THEN json_extract(body, '$.description.charge') END
  ) VIRTUAL,
  CHECK (sequence = json_extract(body, '$.sequence')),
  CHECK (json_extract(body, '$.kind') IN ('open', 'charge', 'release'))
)""",
    "CREATE TABLE contents (sequence INTEGER PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE INDEX entries_by_name ON entries (name, sequence)",
    "CREATE UNIQUE INDEX one_release_per_charge ON entries (charge) WHERE charge IS NOT NULL",
    """CREATE TRIGGER entries_append BEFORE INSERT ON entries
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), -1) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER entries_update BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER entries_delete BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER contents_append BEFORE INSERT ON contents
WHEN NEW.sequence IS NOT (SELECT max(sequence) FROM entries)
  OR EXISTS (SELECT 1 FROM contents WHERE sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER contents_update BEFORE UPDATE ON contents
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER contents_delete BEFORE DELETE ON contents
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
)


_KINDS = "IN ('open', 'charge', 'release')"
_SECOND = {
    _FIRST[0]: _FIRST[0].replace(_KINDS, "IN ('open', 'charge', 'release', 'correction')"),
    _FIRST[3]: "CREATE UNIQUE INDEX one_release_per_charge ON entries (charge, name) WHERE charge IS NOT NULL",
}
# Format 2 knows corrections, and charges that pay for several releases; files of format 1 stay what they are.
SCHEMAS = {1: _FIRST, 2: tuple(_SECOND.get(statement, statement) for statement in _FIRST)}
SCHEMA = SCHEMAS[FORMAT]


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection inside one short read transaction."""
    with _connection(path) as connection:
        connection.execute("BEGIN")
        yield connection


@contextlib.contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection inside a transaction that excludes other writers; durable when the block ends.

    BEGIN IMMEDIATE takes the write lock before anything is read: no transaction ever upgrades a
    read lock, so two of them cannot wait for each other.  Leaving by an exception rolls back.
    """
    with _connection(path) as connection:
        (mode,) = connection.execute("PRAGMA journal_mode = TRUNCATE").fetchone()
        if mode != "truncate":
            raise LedgerError(
                f"ledger {path} is in journal mode {mode!r}, which another program set and holds; "
                "close that program and try again"
            )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: reach the disk, not only the drive
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def create(path: Path, first: Entry) -> None:
    """Put a new ledger with its opening in place whole, unless one appeared meanwhile."""
    draft = draft_beside(path)
    try:
        with _explained(path):
            private_file(draft)  # it will hold what is unpublished; SQLite's journal gets the same rights
            with contextlib.closing(_connect(draft, "rwc")) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY")  # private until linked
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute("BEGIN IMMEDIATE")
                for statement in SCHEMA:
                    connection.execute(statement)
                insert(connection, first)
                connection.execute("COMMIT")
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            sync_names(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def insert(connection: sqlite3.Connection, entry: Entry) -> None:
    """Append one entry inside the current transaction."""
    row = (entry.sequence, entry.body(), entry.hash)
    connection.execute("INSERT INTO entries (sequence, body, hash) VALUES (?, ?, ?)", row)


@contextlib.contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.exists():
        raise LedgerError(f"ledger {path} does not exist; check the path, or open it with a budget")
    with _explained(path), contextlib.closing(_connect(path, "rw")) as connection:
        _must_be_ledger(path, connection)
        yield connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _must_be_ledger(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise LedgerError(f"{path} is not a ledger (an empty or foreign file); give another path")
    if version not in FORMATS:
        known = " and ".join(map(str, FORMATS))
        raise LedgerError(
            f"ledger {path} has format {version}, this version reads {known}; use the version of sfumato that wrote it"
        )


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's and the system's failures as one clear error.  A failed COMMIT may have spent."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeError, OverflowError) as failure:  # the last two: texts and sizes of a wreck
        raise LedgerError(f"ledger {path} {_reason(path, failure)}") from None


def _reason(path: Path, failure: Exception) -> str:
    code = getattr(failure, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if not path.parent.is_dir():
        return "cannot be created: its directory does not exist; create the directory first"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return (
            f"was locked by another process for {BUSY_SECONDS:.0f} seconds; nothing was written; "
            "end that process or wait, then try again"
        )
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or isinstance(failure, UnicodeError | OverflowError):
        return "is damaged or not a ledger; restore it from a copy and verify it with printed heads"
    if code == sqlite3.SQLITE_READONLY or isinstance(failure, PermissionError):
        return "cannot be written; allow writing to the file and its directory"
    if code == sqlite3.SQLITE_CANTOPEN:
        return "cannot be opened; check that it is a file, and that you may write to its directory"
    if code == sqlite3.SQLITE_CONSTRAINT:
        return "refused the entry, since a ledger is append-only; run verify"
    return (
        "could not be written or read (disk full, or a failing or unsuitable file system); "
        "count the charge as spent, mend the disk, run verify"
    )
