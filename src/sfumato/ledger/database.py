"""The SQLite file of a ledger: its tables, and what its failures mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sfumato.errors import LedgerError
from sfumato.ledger.entries import FORMAT, FORMATS, Entry
from sfumato.storage import DatabaseKind

__all__ = ["LEDGER", "SCHEMA", "SCHEMAS", "create", "insert"]

LEDGER = DatabaseKind(
    noun="ledger",
    application=0x5346554D,  # "SFUM"
    formats=FORMATS,
    error=LedgerError,
    absent="check the path, or open it with a budget",
    foreign="(an empty or foreign file)",
    damaged="restore it from a copy and verify it with printed heads",
    refused="refused the entry, since a ledger is append-only; run verify",
    failed="count the charge as spent, mend the disk, run verify",
)

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


def create(path: Path, first: Entry) -> None:
    """Put a new ledger with its opening in place whole, unless one appeared meanwhile."""

    def fill(connection: sqlite3.Connection) -> None:
        for statement in SCHEMA:
            connection.execute(statement)
        insert(connection, first)

    LEDGER.create(path, FORMAT, fill)


def insert(connection: sqlite3.Connection, entry: Entry) -> None:
    """Append one entry inside the current transaction."""
    row = (entry.sequence, entry.body(), entry.hash)
    connection.execute("INSERT INTO entries (sequence, body, hash) VALUES (?, ?, ?)", row)
