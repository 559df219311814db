"""The ledger in a SQLite file: for one machine, many processes and threads.

Guarantee.  If every release follows `charge`, compute, `store`, show, then at any time, after any
crash, everything shown is paid for by admitted charges whose composition meets the budget, however
the charges were chosen.  Proof: docs/proofs/ledger.md.  Format: docs/formats/ledger.md.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sfumato import arguments
from sfumato.disk import clear_drafts
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import contents, rules
from sfumato.ledger.database import SCHEMAS, create, insert, reading, writing
from sfumato.ledger.entries import Entry, label
from sfumato.ledger.protocol import Charge, Stored, Verification
from sfumato.ledger.terms import Terms
from sfumato.ledger.verification import checked_heads, verify_chain
from sfumato.privacy.adjacency import Adjacency, Unit
from sfumato.privacy.assumptions import assumed
from sfumato.privacy.filters import Amounts
from sfumato.privacy.guarantees import Guarantee

__all__ = ["Ledger"]

LONGEST_NAME = 240  # file systems allow 255 bytes, SQLite's journal adds eight
PAGE = 1000  # entries read per transaction, so that a long look never holds up a charge
_SELECT = "SELECT sequence, body, hash FROM entries"


class Ledger:
    """An append-only record of charges and releases, bound to one dataset, adjacency and budget.

    Open it with `Ledger.open` to spend, or `Ledger.existing` to look.  One object may serve several
    threads and survive a fork: it holds no connection, only the last head it saw.
    """

    def __init__(self, path: Path, allow: frozenset[str] | None) -> None:
        """Read the opening.  Callers use `open` or `existing`."""
        self.path = arguments.path("path", path)
        self._allow = allow  # None: opened for looking only
        with reading(self.path) as connection:
            first = _one(connection, f"{_SELECT} WHERE sequence = 0")
            last = _last(connection)
        self.terms = Terms.read(first)
        self.format = first.description["format"]
        self._seen = (last.sequence, last.hash)

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
        return f"Ledger({str(self.path)!r}, dataset={terms.dataset!r}, budget={terms.budget!r})"

    @property
    def head(self) -> str:
        """The hash of the latest entry: what a release prints."""
        with reading(self.path) as connection:
            return _last(connection).hash

    def charge(self, name: str, digest: str, claim: Guarantee, description: Mapping[str, object]) -> Charge:
        """Spend `claim` durably for the release `name`, or raise and spend nothing."""
        label("name", name)
        label("digest", digest)
        rules.must_be_allowed(claim, self._spending())
        with writing(self.path) as connection:
            last = self._continued(connection)
            rules.must_be_same_release(name, digest, _named(connection, name))
            entry = rules.charging(self.terms, last, _first(connection), name, digest, claim, description)
            insert(connection, entry)
        self._seen = (entry.sequence, entry.hash)
        return _charge(entry)

    def store(self, charge: Charge, content: bytes) -> str:
        """Keep the release that `charge` paid for, durably; only then may it be shown."""
        self._spending()
        content = bytes(content)
        place = "inside" if len(content) <= contents.INSIDE_BYTES else "beside"
        if place == "beside":
            contents.write_beside(self.path, content)
        with writing(self.path) as connection:
            last = self._continued(connection)
            paid = _paid(connection, charge)
            key = contents.fingerprint(content)
            entry = rules.releasing(last, paid, key, len(content), place)
            insert(connection, entry)
            if place == "inside":
                row = (entry.sequence, content)
                connection.execute("INSERT INTO contents (sequence, content) VALUES (?, ?)", row)
        self._seen = (entry.sequence, entry.hash)
        return entry.hash

    def named(self, name: str) -> tuple[Entry, ...]:
        """The charges and releases of a name, oldest first."""
        label("name", name)
        with reading(self.path) as connection:
            self._continued(connection)
            return tuple(_named(connection, name))

    def find(self, name: str, digest: str) -> Stored | None:
        """The stored release of this name and digest; none if it was never charged or never stored.

        When several processes made the same release at once, each paid; the first is found.
        """
        label("name", name)
        label("digest", digest)
        with reading(self.path) as connection:
            self._continued(connection)
            named = _named(connection, name)
        rules.must_be_same_release(name, digest, named)
        release = next((entry for entry in named if entry.kind == "release"), None)
        if release is None:
            return None
        charge = next((e for e in named if e.sequence == release.description.get("charge")), None)
        content = self.content(release)
        if charge is None or content is None or contents.fingerprint(content) != release.description.get("content"):
            raise LedgerError(
                f"the stored release {name!r} is missing or damaged in ledger {self.path}; "
                "restore the file from a copy, or release under a new name, which is charged again"
            )
        return Stored(name, digest, content, _charge(charge), release.sequence, release.hash)

    def spent(self) -> Guarantee:
        """What everything charged so far costs together, at any moment."""
        return self.terms.filter.spent(*self._totals())

    def remaining(self) -> Guarantee:
        """The largest single charge of the budget's type that would still be admitted."""
        return rules.remaining(self.terms, *self._totals())

    def entries(self) -> tuple[Entry, ...]:
        """Everything recorded, oldest first."""
        return tuple(_entry(row) for row in self._rows())

    def export(self) -> list[dict[str, object]]:
        """Everything recorded, oldest first, as plain values for JSON."""
        return [{**entry.record(), "hash": entry.hash} for entry in self.entries()]

    def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Check file, chain, totals and contents, and that each printed head is in the chain."""
        chosen = checked_heads(heads)
        problems: list[str] = []
        with reading(self.path) as connection:
            present = {row[0] for row in connection.execute(_SCHEMA_QUERY)}
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if present != set(SCHEMAS[version]):
                problems.append("the file's tables or its append-only triggers were changed")
            if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                problems.append("the file's tables and indexes do not agree")
        if self.format != version:
            problems.append(f"the file says format {version}, its opening {self.format}")
        found = verify_chain(self._rows(), self.content, chosen)
        return Verification(found.entries, found.head, found.spent, (*problems, *found.problems))

    def _spending(self) -> frozenset[str]:
        if self._allow is None:
            raise LedgerError(f"ledger {self.path} was opened for looking only; use Ledger.open to spend")
        return self._allow

    def _totals(self) -> tuple[Amounts, Amounts | None]:
        """The total, and what the first charge cost."""
        with reading(self.path) as connection:
            return self._continued(connection).total, _first(connection)

    def _continued(self, connection: sqlite3.Connection) -> Entry:
        """The last entry, of a chain that still holds what this object has seen of it."""
        sequence, head = self._seen
        query = "SELECT hash FROM entries WHERE sequence = ?"
        row = connection.execute(query, (sequence,)).fetchone()
        if row != (head,):
            raise LedgerError(
                f"ledger {self.path} was rolled back or replaced while open; "
                "stop, restore the newest copy, and verify it with printed heads"
            )
        return _last(connection)

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        after = -1
        while True:
            query = f"{_SELECT} WHERE sequence > ? ORDER BY sequence LIMIT ?"
            with reading(self.path) as connection:
                page = connection.execute(query, (after, PAGE)).fetchall()
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def content(self, release: Entry) -> bytes | None:
        """The stored bytes of a release entry, unchecked; none if they are gone."""
        if release.description.get("place") == "beside":
            return contents.read_beside(self.path, str(release.description.get("content")))
        query = "SELECT content FROM contents WHERE sequence = ?"
        with reading(self.path) as connection:
            row = connection.execute(query, (release.sequence,)).fetchone()
        return None if row is None else bytes(row[0])


_SCHEMA_QUERY = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"


def _entry(row: tuple[int, str, str]) -> Entry:
    entry = Entry.read(row[1])
    if (entry.sequence, entry.hash) != (row[0], row[2]):
        raise LedgerError(f"entry {row[0]} of the ledger does not match its hash; run verify")
    return entry


def _one(connection: sqlite3.Connection, query: str, *values: object) -> Entry:
    row = connection.execute(query, values).fetchone()
    if row is None:
        raise LedgerError("an entry of the ledger is missing; run verify with printed heads")
    return _entry(row)


def _last(connection: sqlite3.Connection) -> Entry:
    return _one(connection, f"{_SELECT} ORDER BY sequence DESC LIMIT 1")


def _first(connection: sqlite3.Connection) -> Amounts | None:
    rows = connection.execute(f"{_SELECT} WHERE sequence > 0 ORDER BY sequence")
    return rules.first_of(map(_entry, rows))


def _named(connection: sqlite3.Connection, name: str) -> list[Entry]:
    """The charges and releases of a name, oldest first."""
    query = f"{_SELECT} WHERE name = ? AND sequence > 0 ORDER BY sequence"
    return [_entry(row) for row in connection.execute(query, (name,))]


def _paid(connection: sqlite3.Connection, charge: Charge) -> Entry:
    """The charge's entry, if it is in the chain and nothing was stored for it yet."""
    query = f"{_SELECT} WHERE sequence = ? AND hash = ?"
    row = connection.execute(query, (charge.sequence, charge.head)).fetchone()
    if row is None or _entry(row).kind != "charge":
        raise ParameterError("charge is not in this ledger; pass what its own charge() returned")
    query = "SELECT 1 FROM entries WHERE charge = ?"
    if connection.execute(query, (charge.sequence,)).fetchone() is not None:
        raise LedgerError("charge has already paid for a stored release; charge again for another")
    return _entry(row)


def _charge(entry: Entry) -> Charge:
    return Charge(entry.sequence, entry.hash, entry.amounts)
