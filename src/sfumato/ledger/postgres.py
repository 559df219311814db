"""The ledger on a PostgreSQL server: for many machines and many writers.

One database holds any number of ledgers, each under its name, in the schema `sfumato`.  Writers of one ledger take
turns by an advisory lock of their transaction; every entry is committed synchronously, whatever the server's default,
and rows can only be appended (triggers, beside the rights that the owner grants).  An object survives a fork: each
process has connections of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.errors import LedgerError
from sfumato.ledger import rules
from sfumato.ledger.book import Book, Page, entry_of
from sfumato.ledger.entries import BATCH, Entry, label
from sfumato.ledger.server import CONNECTED, ENABLED, PATIENCE, TRIGGERS, Server, append, driver
from sfumato.ledger.terms import Terms
from sfumato.privacy.adjacency import Adjacency, Unit
from sfumato.privacy.assumptions import assumed
from sfumato.privacy.filters import Amounts
from sfumato.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresLedger"]

PAGE = 1000  # entries read per transaction
_SELECT = "SELECT sequence, body, hash FROM sfumato.entries WHERE ledger = %s"


class PostgresLedger(Book):
    """An append-only record of charges and releases on a server, bound to one dataset, adjacency and budget.

    Open it with `PostgresLedger.open` to spend, or `PostgresLedger.existing` to look; `name` tells it from others in
    the same database.
    """

    laboratory: ClassVar[str | None] = None  # a server pays for what is shown to others

    def __init__(self, server: Server, name: str, allow: frozenset[str] | None) -> None:
        """Read the opening.  Callers use `open` or `existing`."""
        self._server, self._name = server, name
        self._begin(allow)

    @classmethod
    def open(
        cls,
        address: str,
        *,
        dataset: str,
        adjacency: Adjacency,
        unit: Unit,
        budget: Guarantee | None,
        name: str | None = None,
        allow: Iterable[str] = (),
    ) -> PostgresLedger:
        """The ledger `name` (the dataset's, by default), made if missing; all that is declared must match its terms."""
        server, called = Server(address), label("name", dataset if name is None else name)
        if not server.holds(called):
            if budget is None:
                raise LedgerError(f"ledger {server.place(called)} does not exist yet; give budget= to create it")
            server.create(called, Terms(dataset, adjacency, unit, budget).opening())
        ledger = cls(server, called, assumed(allow))
        ledger.terms.must_match(dataset, adjacency, unit, budget)
        return ledger

    @classmethod
    def existing(cls, address: str, name: str) -> PostgresLedger:
        """A ledger, to show, verify or export; it refuses to spend."""
        server = Server(address)
        if not server.holds(label("name", name)):
            raise LedgerError(f"there is no ledger {server.place(name)}; check the name, or open it with a budget")
        return cls(server, name, None)

    def __repr__(self) -> str:
        amounts = f"spent {self.spent()!r} of {self.terms.budget!r}"
        return f"PostgresLedger({self.place!r}, dataset={self.terms.dataset!r}, {amounts})"

    @property
    def place(self) -> str:
        """The name of the ledger and its server; never a password."""
        return self._server.place(self._name)

    @property
    def name(self) -> str:
        """The name of the ledger, which a report may print."""
        return self._name

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait while anybody else, on whatever machine, publishes the same name; a courtesy that gives up in time."""
        with CONNECTED.hold_turn(PATIENCE) as granted, self._locked(name) if granted else nullcontext():
            yield

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        process = os.getpid()
        with self._server.connection() as con:
            with suppress(driver().Error):
                con.execute("SELECT pg_advisory_lock(hashtextextended(%s, 1))", (f"{self._name}\n{name}",))
            try:
                yield
            finally:
                if process == os.getpid():  # the turn is not over when a fork of this process leaves it
                    with suppress(driver().Error):
                        con.execute("SELECT pg_advisory_unlock_all()")

    def room(self) -> int | None:
        """No limit is known."""
        return None

    def content(self, release: Entry) -> bytes | None:
        """The stored bytes of a release entry, unchecked; none if they are gone."""
        query = "SELECT content FROM sfumato.contents WHERE ledger = %s AND sequence = %s"
        with self._server.transaction() as con:
            row = con.execute(query, (self._name, release.sequence), binary=True).fetchone()
        return None if row is None else bytes(row[0])

    def _keep(self, content: bytes) -> str:
        return "inside"

    def _findings(self) -> list[str]:
        with self._server.transaction() as con:
            enabled = {name for (name,) in con.execute(ENABLED)}
        return [] if enabled >= TRIGGERS else ["the triggers that make the tables append-only were changed"]

    @contextmanager
    def _reading(self) -> Iterator[Page]:
        with self._server.transaction() as con:
            yield _Page(con, self._name)

    @contextmanager
    def _writing(self) -> Iterator[Page]:
        with self._server.transaction(self._name) as con:
            yield _Page(con, self._name)

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        after = -1
        while True:
            with self._server.transaction() as con:
                query = f"{_SELECT} AND sequence > %s ORDER BY sequence LIMIT {PAGE}"
                page = con.execute(query, (self._name, after)).fetchall()
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1][0]


class _Page:
    """One transaction on the server."""

    def __init__(self, con: Connection[Any], name: str) -> None:
        self._con, self._name = con, name

    def last(self) -> Entry:
        row = self._con.execute(f"{_SELECT} ORDER BY sequence DESC LIMIT 1", (self._name,)).fetchone()
        if row is None:
            raise LedgerError("an entry of the ledger is missing; run verify with printed heads")
        return entry_of(row)

    def entry(self, sequence: int) -> Entry | None:
        row = self._con.execute(f"{_SELECT} AND sequence = %s", (self._name, sequence)).fetchone()
        return None if row is None else entry_of(row)

    def named(self, name: str) -> list[Entry]:
        query = f"{_SELECT} AND name IN (%s, %s) AND sequence > 0 ORDER BY sequence"
        found = [entry_of(row) for row in self._con.execute(query, (self._name, name, BATCH))]
        return [entry for entry in found if entry.name == name or entry.batch is not None]

    def after(self, sequence: int) -> list[Entry]:
        query = f"{_SELECT} AND sequence > %s ORDER BY sequence"
        return [entry_of(row) for row in self._con.execute(query, (self._name, sequence))]

    def first(self) -> Amounts | None:
        with self._con.cursor("first_charges") as cursor:  # on the server: the first is mostly among the first few
            cursor.itersize = 50
            cursor.execute(f"{_SELECT} AND sequence > 0 ORDER BY sequence", (self._name,))
            return rules.first_of(map(entry_of, cursor))

    def append(self, entry: Entry, content: bytes | None = None) -> None:
        append(self._con, self._name, entry)
        if content is not None:
            query = "INSERT INTO sfumato.contents (ledger, sequence, content) VALUES (%s, %s, %b)"
            self._con.execute(query, (self._name, entry.sequence, content))
