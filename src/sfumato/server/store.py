"""What the service keeps beside the ledger: tokens, sessions, what was asked, and jobs; a file, or tables of a server.

Nothing here pays for anything or is an answer: the ledger holds both.  One statement set serves both kinds of place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from sfumato.errors import LedgerError
from sfumato.ledger.server import Server
from sfumato.plans import Plan
from sfumato.storage import DatabaseKind

__all__ = ["Store", "opened_store"]

Value = str | int | float | None
Row = tuple[Any, ...]

TABLES = (
    """CREATE TABLE IF NOT EXISTS {0}tokens (
  dataset TEXT NOT NULL, hash TEXT NOT NULL, analyst TEXT NOT NULL, created TEXT NOT NULL, expires TEXT, revoked TEXT,
  PRIMARY KEY (dataset, hash)
)""",
    """CREATE TABLE IF NOT EXISTS {0}asked (
  dataset TEXT NOT NULL, analyst TEXT NOT NULL, request TEXT NOT NULL, body TEXT NOT NULL, digests TEXT NOT NULL,
  names TEXT NOT NULL, time TEXT NOT NULL, sequence BIGINT NOT NULL,
  PRIMARY KEY (dataset, analyst, request)
)""",
    """CREATE TABLE IF NOT EXISTS {0}jobs (
  dataset TEXT NOT NULL, id TEXT NOT NULL, analyst TEXT NOT NULL, request TEXT NOT NULL, body TEXT NOT NULL,
  state TEXT NOT NULL, stage TEXT NOT NULL, progress DOUBLE PRECISION NOT NULL, digests TEXT NOT NULL,
  problem TEXT, canceled INTEGER NOT NULL, created DOUBLE PRECISION NOT NULL, begun DOUBLE PRECISION,
  touched DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION,
  PRIMARY KEY (dataset, id)
)""",
    """CREATE TABLE IF NOT EXISTS {0}sessions (
  dataset TEXT NOT NULL, hash TEXT NOT NULL, token TEXT NOT NULL, begun DOUBLE PRECISION NOT NULL,
  touched DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION,
  PRIMARY KEY (dataset, hash)
)""",
    """CREATE TABLE IF NOT EXISTS {0}given (
  dataset TEXT NOT NULL, hash TEXT NOT NULL, plans TEXT NOT NULL,
  PRIMARY KEY (dataset, hash)
)""",
)
LATEST = "given"  # the table that was added last: where it is missing, an earlier version made the place

SERVICE = DatabaseKind(
    noun="service file",
    application=0x53465356,  # "SFSV"
    formats=(1,),
    error=LedgerError,
    absent="start the service, or add an analyst",
    foreign="(an empty or foreign file)",
    damaged="restore it from a copy, or remove it and make new tokens: it pays for nothing",
    refused="refused what was written",
    failed="mend the disk and try again",
)


class Store(Protocol):
    """Where the service keeps what is not the ledger's.  Statements have `{0}` before a table and `?` for values."""

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """What a query finds."""

    def write(self, statement: str, values: Sequence[Value] = ()) -> int:
        """Carry out a statement durably; how many rows it changed."""


class FileStore:
    """A SQLite file beside the ledger's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            SERVICE.create(path, 1, _fill)
        elif not self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (LATEST,)):
            with SERVICE.writing(path) as connection:
                _fill(connection)

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """What a query finds."""
        with SERVICE.reading(self.path) as connection:
            return connection.execute(statement.format(""), tuple(values)).fetchall()

    def write(self, statement: str, values: Sequence[Value] = ()) -> int:
        """Carry out a statement durably."""
        with SERVICE.writing(self.path) as connection:
            return connection.execute(statement.format(""), tuple(values)).rowcount


def _fill(connection: sqlite3.Connection) -> None:
    for table in TABLES:
        connection.execute(table.format(""))


class ServerStore:
    """Tables of the schema `sfumato` on the ledger's server."""

    def __init__(self, address: str) -> None:
        self._server = Server(address)
        with self._server.transaction("service") as con:
            (made,) = con.execute(f"SELECT to_regclass('sfumato.{LATEST}') IS NOT NULL").fetchone() or (False,)
            for statement in () if made else ("CREATE SCHEMA IF NOT EXISTS sfumato", *TABLES):
                con.execute(statement.format("sfumato."))

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """What a query finds."""
        return self._server.rows(_dialect(statement), tuple(values))

    def write(self, statement: str, values: Sequence[Value] = ()) -> int:
        """Carry out a statement durably."""
        with self._server.transaction("service") as con:
            return int(con.execute(_dialect(statement), tuple(values)).rowcount)


def _dialect(statement: str) -> str:
    return statement.format("sfumato.").replace("?", "%s")


def opened_store(plan: Plan) -> Store:
    """The place beside a plan's ledger, made if it is missing."""
    if plan.ledger.connection is not None:
        return ServerStore(str(plan.ledger.address))
    assert plan.ledger.file is not None
    return FileStore(plan.ledger.file.with_name(f"{plan.ledger.file.name}.service"))
