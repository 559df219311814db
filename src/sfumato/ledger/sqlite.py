"""The ledger in a SQLite file: for one machine, many processes and threads.

It holds no connection, so an object survives a fork; each operation opens its own.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import ClassVar

from sfumato import arguments
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import contents, rules
from sfumato.ledger.book import Book, Page, entry_of
from sfumato.ledger.database import LEDGER, SCHEMAS, create, insert
from sfumato.ledger.entries import BATCH, Entry
from sfumato.ledger.terms import Terms
from sfumato.privacy.adjacency import Adjacency, Unit
from sfumato.privacy.assumptions import assumed
from sfumato.privacy.filters import Amounts
from sfumato.privacy.guarantees import Guarantee
from sfumato.storage import clear_drafts, free_bytes, turn

__all__ = ["Ledger"]

LONGEST_NAME = 240  # file systems allow 255 bytes, SQLite's journal adds eight
PAGE = 1000  # entries read per transaction, so that a long look never holds up a charge
_SELECT = "SELECT sequence, body, hash FROM entries"
_SCHEMA_QUERY = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"


class Ledger(Book):
    """An append-only record of charges and releases, bound to one dataset, adjacency and budget.

    Open it with `Ledger.open` to spend, or `Ledger.existing` to look.  One object may serve several
    threads and survive a fork: it holds no connection, only the last head it saw.
    """

    laboratory: ClassVar[str | None] = None  # a file pays for what is shown to others

    def __init__(self, path: Path, allow: frozenset[str] | None) -> None:
        """Read the opening.  Callers use `open` or `existing`."""
        self.path = arguments.path("path", path)
        self._begin(allow)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        dataset: str,
        adjacency: Adjacency,
        unit: Unit,
        budget: Guarantee | None,
        allow: Iterable[str] = (),
    ) -> Ledger:
        """The ledger at `path`, made if missing; all that is declared must match its terms."""
        place = arguments.path("path", path)
        if len(os.fsencode(place.name)) > LONGEST_NAME:
            raise ParameterError(
                f"the ledger's file name must take at most {LONGEST_NAME} bytes, since others add to it"
            )
        clear_drafts(place.parent)
        if not place.exists():
            if budget is None:
                raise LedgerError(f"ledger {place} does not exist yet; give budget= to create it")
            create(place, Terms(dataset, adjacency, unit, budget).opening())
        ledger = cls(place, assumed(allow))
        ledger.terms.must_match(dataset, adjacency, unit, budget)
        return ledger

    @classmethod
    def existing(cls, path: str | os.PathLike[str]) -> Ledger:
        """The ledger at `path`, to show, verify or export; it refuses to spend."""
        return cls(arguments.path("path", path), None)

    def __repr__(self) -> str:
        terms = self.terms
        amounts = f"spent {self.spent()!r} of {terms.budget!r}"
        return f"Ledger({str(self.path)!r}, dataset={terms.dataset!r}, {amounts})"

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def name(self) -> str:
        """The name of the file, which a report may print."""
        return self.path.name

    def turn(self, name: str) -> AbstractContextManager[None]:
        """Wait while another process or thread on this machine publishes the same name."""
        return turn(self.path, name)

    def room(self) -> int | None:
        """How many bytes the disk has free."""
        return free_bytes(self.path.parent)

    def content(self, release: Entry) -> bytes | None:
        """The stored bytes of a release entry, unchecked; none if they are gone."""
        if release.description.get("place") == "beside":
            return contents.read_beside(self.path, str(release.description.get("content")))
        query = "SELECT content FROM contents WHERE sequence = ?"
        with LEDGER.reading(self.path) as connection:
            row = connection.execute(query, (release.sequence,)).fetchone()
        return None if row is None else bytes(row[0])

    def _keep(self, content: bytes) -> str:
        if len(content) <= contents.INSIDE_BYTES:
            return "inside"
        contents.write_beside(self.path, content)
        return "beside"

    def _findings(self) -> list[str]:
        problems: list[str] = []
        with LEDGER.reading(self.path) as connection:
            present = {row[0] for row in connection.execute(_SCHEMA_QUERY)}
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if present != set(SCHEMAS[version]):
                problems.append("the file's tables or its append-only triggers were changed")
            if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                problems.append("the file's tables and indexes do not agree")
        if self.terms.format != version:
            problems.append(f"the file says format {version}, its opening {self.terms.format}")
        return problems

    @contextmanager
    def _reading(self) -> Iterator[Page]:
        with LEDGER.reading(self.path) as connection:
            yield _Page(connection)

    @contextmanager
    def _writing(self) -> Iterator[Page]:
        with LEDGER.writing(self.path) as connection:
            yield _Page(connection)

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        after = -1
        while True:
            query = f"{_SELECT} WHERE sequence > ? ORDER BY sequence LIMIT ?"
            with LEDGER.reading(self.path) as connection:
                page = connection.execute(query, (after, PAGE)).fetchall()
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1][0]


class _Page:
    """One transaction of the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def last(self) -> Entry:
        row = self._connection.execute(f"{_SELECT} ORDER BY sequence DESC LIMIT 1").fetchone()
        if row is None:
            raise LedgerError("an entry of the ledger is missing; run verify with printed heads")
        return entry_of(row)

    def entry(self, sequence: int) -> Entry | None:
        row = self._connection.execute(f"{_SELECT} WHERE sequence = ?", (sequence,)).fetchone()
        return None if row is None else entry_of(row)

    def named(self, name: str) -> list[Entry]:
        query = f"{_SELECT} WHERE name IN (?, ?) AND sequence > 0 ORDER BY sequence"
        found = (entry_of(row) for row in self._connection.execute(query, (name, BATCH)))
        return [entry for entry in found if entry.name == name or entry.batch is not None]

    def after(self, sequence: int) -> list[Entry]:
        query = f"{_SELECT} WHERE sequence > ? ORDER BY sequence"
        return [entry_of(row) for row in self._connection.execute(query, (sequence,))]

    def first(self) -> Amounts | None:
        rows = self._connection.execute(f"{_SELECT} WHERE sequence > 0 ORDER BY sequence")
        return rules.first_of(map(entry_of, rows))

    def append(self, entry: Entry, content: bytes | None = None) -> None:
        insert(self._connection, entry)
        if content is not None:
            query = "INSERT INTO contents (sequence, content) VALUES (?, ?)"
            self._connection.execute(query, (entry.sequence, content))
