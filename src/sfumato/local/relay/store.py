"""The SQLite file of a relay: records that wait, ordered by keyed marks, batches on their way, marks of the gone."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from sfumato.errors import SfumatoError
from sfumato.storage import DatabaseKind, clear_drafts

__all__ = ["STORE", "RelayError", "create"]

FORMAT = 1
SCHEMA = (
    "CREATE TABLE terms (digest TEXT NOT NULL, secret BLOB NOT NULL)",
    """CREATE TABLE waiting (
  round TEXT NOT NULL, mark BLOB NOT NULL, record BLOB NOT NULL, PRIMARY KEY (round, mark)
) WITHOUT ROWID""",
    "CREATE TABLE gone (round TEXT NOT NULL, mark BLOB NOT NULL, PRIMARY KEY (round, mark)) WITHOUT ROWID",
    "CREATE TABLE batches (name BLOB PRIMARY KEY, message BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE ended (round TEXT PRIMARY KEY) WITHOUT ROWID",
)


class RelayError(SfumatoError):
    """A relay cannot open its file, or may not send on what it holds."""


STORE = DatabaseKind(
    noun="relay file",
    application=0x53465259,  # "SFRY"
    formats=(FORMAT,),
    error=RelayError,
    absent="check the path",
    foreign=f"of a relay in format {FORMAT}",
    damaged="devices keep what was not acknowledged; start with another file",
    refused="refused what was sent; send it again",
    failed="nothing was acknowledged; mend that and send again",
    settings=(
        "PRAGMA temp_store = MEMORY",
        "PRAGMA cache_spill = OFF",
        "PRAGMA secure_delete = ON",  # what has left is gone from the file
    ),
)


def create(path: Path, digest: str) -> None:
    """Put a new file in place whole, unless one appeared meanwhile."""

    def fill(connection: sqlite3.Connection) -> None:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO terms VALUES (?, ?)", (digest, secrets.token_bytes(32)))

    clear_drafts(path.parent)
    STORE.create(path, FORMAT, fill)
