"""The SQLite file of a collector's journal: its tables, and what its failures mean."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from sfumato.errors import SfumatoError
from sfumato.storage import DatabaseKind, clear_drafts

__all__ = ["JOURNAL", "CollectionError", "create", "renewed"]

FORMAT, EARLIER = 2, 1

ROUNDS = """CREATE TABLE rounds (
  round INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, closed INTEGER NOT NULL, reports INTEGER NOT NULL,
  tally BLOB NOT NULL, refused TEXT NOT NULL
)"""
BATCHES = """CREATE TABLE batches (
  round INTEGER NOT NULL, mark BLOB NOT NULL, receipt TEXT NOT NULL, PRIMARY KEY (round, mark)
) WITHOUT ROWID"""
TOKENS = "CREATE TABLE tokens (round INTEGER NOT NULL, mark BLOB NOT NULL, PRIMARY KEY (round, mark)) WITHOUT ROWID"
SCHEMA = (
    "CREATE TABLE terms (digest TEXT NOT NULL, piece BLOB NOT NULL, frozen INTEGER NOT NULL)",
    ROUNDS,
    BATCHES,
    TOKENS,
)
RENEWING = (  # rounds had numbers only, and marks of a message's bytes stood beside that of its name
    "ALTER TABLE rounds RENAME TO earlier_rounds",
    "ALTER TABLE batches RENAME TO earlier_batches",
    "ALTER TABLE tokens RENAME TO earlier_tokens",
    ROUNDS,
    BATCHES,
    TOKENS,
    "INSERT INTO rounds SELECT round, CAST(round AS TEXT), closed, reports, tally, refused FROM earlier_rounds",
    "INSERT INTO batches SELECT 0, mark, receipt FROM earlier_batches",
    "INSERT INTO tokens SELECT 0, mark FROM earlier_tokens",
    "DROP TABLE earlier_rounds",
    "DROP TABLE earlier_batches",
    "DROP TABLE earlier_tokens",
    f"PRAGMA user_version = {FORMAT}",
)


class CollectionError(SfumatoError):
    """A collection or its journal cannot be opened, does not fit, or is closed."""


JOURNAL = DatabaseKind(
    noun="journal",
    application=0x5346524A,  # "SFRJ"
    formats=(EARLIER, FORMAT),
    error=CollectionError,
    absent="check the path",
    foreign=f"of reports in format {FORMAT}",
    damaged="restore it from a copy",
    refused="refused what was sent; send it again",
    failed="mend that and send again",
    settings=(
        "PRAGMA temp_store = MEMORY",
        "PRAGMA cache_spill = OFF",  # a spill waits for the disk; a message fits in memory
        "PRAGMA secure_delete = ON",  # marks that are erased are gone from the file
    ),
)


def create(path: Path, digest: str) -> None:
    """Put a new journal in place whole, unless one appeared meanwhile."""

    def fill(connection: sqlite3.Connection) -> None:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO terms VALUES (?, ?, 0)", (digest, secrets.token_bytes(16)))

    clear_drafts(path.parent)
    JOURNAL.create(path, FORMAT, fill)


def renewed(path: Path) -> None:
    """Bring a journal of an earlier format to this one, in one step."""
    with JOURNAL.reading(path) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == FORMAT:
        return
    with JOURNAL.writing(path) as connection:
        if connection.execute("PRAGMA user_version").fetchone() == (EARLIER,):
            for statement in RENEWING:
                connection.execute(statement)
