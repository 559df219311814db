"""The SQLite file of a collector's journal: its tables, how it is opened, and what its failures mean."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sfumato.disk import clear_drafts, draft_beside, private_file, sync_names
from sfumato.errors import SfumatoError

__all__ = ["NEW_ROUND", "CollectionError", "connected", "create"]

APPLICATION = 0x5346524A  # "SFRJ" in the file header tells a journal from any other SQLite file
FORMAT = 1
BUSY_SECONDS = 120.0  # a commit takes milliseconds

SCHEMA = (
    "CREATE TABLE terms (digest TEXT NOT NULL, piece BLOB NOT NULL, frozen INTEGER NOT NULL)",
    """CREATE TABLE rounds (
  round INTEGER PRIMARY KEY, closed INTEGER NOT NULL, reports INTEGER NOT NULL,
  tally BLOB NOT NULL, refused TEXT NOT NULL
)""",
    "CREATE TABLE batches (mark BLOB PRIMARY KEY, content BLOB NOT NULL, receipt TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE tokens (mark BLOB PRIMARY KEY) WITHOUT ROWID",
)
NEW_ROUND = "INSERT INTO rounds VALUES (?, 0, 0, ?, '{}')"


class CollectionError(SfumatoError):
    """A collection or its journal cannot be opened, does not fit, or is closed."""


def create(path: Path, digest: str, tally: bytes) -> None:
    """Put a new journal in place whole, unless one appeared meanwhile."""
    draft = draft_beside(path)
    clear_drafts(path.parent)
    try:
        with _explained(path):
            private_file(draft)  # tallies and marks are nobody else's before an estimate is published
            address = f"{draft.absolute().as_uri()}?mode=rwc"
            with contextlib.closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY")  # private until linked
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute("BEGIN IMMEDIATE")
                for statement in SCHEMA:
                    connection.execute(statement)
                connection.execute("INSERT INTO terms VALUES (?, ?, 0)", (digest, secrets.token_bytes(16)))
                connection.execute(NEW_ROUND, (1, tally))
                connection.execute("COMMIT")
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            sync_names(path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of its own, to a file that is a journal."""
    if not path.exists():
        raise CollectionError(f"journal {path} does not exist; check the path")
    address = f"{path.absolute().as_uri()}?mode=rw"
    with (
        _explained(path),
        contextlib.closing(
            sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        ) as connection,
    ):
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if (application, version) != (APPLICATION, FORMAT):
            raise CollectionError(f"{path} is not a journal of reports in format {FORMAT}; give another path")
        yield connection


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's and the system's failures as one clear error.  What was not acknowledged may be sent again."""
    try:
        yield
    except (sqlite3.Error, OSError) as failure:
        code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
        if not path.parent.is_dir():
            reason = "cannot be created: its directory does not exist; create it first"
        elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = f"was locked by another process for {BUSY_SECONDS:.0f} seconds; try again"
        elif code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            reason = "is damaged or not a journal; restore it from a copy"
        else:
            reason = "could not be written or read (permission, or a full or failing disk); mend that and send again"
        raise CollectionError(f"journal {path} {reason}") from None
