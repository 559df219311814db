"""The SQLite file of a collector's journal: its tables, and what its failures mean."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from sfumato.errors import SfumatoError
from sfumato.storage import DatabaseKind, clear_drafts

__all__ = ["JOURNAL", "NEW_ROUND", "CollectionError", "create"]

FORMAT = 1

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


JOURNAL = DatabaseKind(
    noun="journal",
    application=0x5346524A,  # "SFRJ"
    formats=(FORMAT,),
    error=CollectionError,
    absent="check the path",
    foreign=f"of reports in format {FORMAT}",
    damaged="restore it from a copy",
    refused="refused what was sent; send it again",
    failed="mend that and send again",
    settings=(
        "PRAGMA temp_store = MEMORY",
        "PRAGMA cache_spill = OFF",  # a spill waits for the disk; a message fits in memory
    ),
)


def create(path: Path, digest: str, tally: bytes) -> None:
    """Put a new journal in place whole, unless one appeared meanwhile."""

    def fill(connection: sqlite3.Connection) -> None:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO terms VALUES (?, ?, 0)", (digest, secrets.token_bytes(16)))
        connection.execute(NEW_ROUND, (1, tally))

    clear_drafts(path.parent)
    JOURNAL.create(path, FORMAT, fill)
