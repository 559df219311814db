"""The relay: takes messages of single reports, forgets who sent them, and sends them on shuffled, in large batches.

What it keeps is one SQLite file: records that wait, a batch until it is delivered, and marks of what has left, until
the round ends.  Records stand in the order of their marks, keyed hashes with a secret of the file, next to no address
and no time; of a sealed report it can read nothing.  A message is acknowledged (`add` returns) when it is durable, and
sent again it is recognized, waiting or gone.  A batch leaves with the removal of its records in one step, and is
delivered under one random name until the collector has it, who counts a name once: killed at any moment, the relay
loses nothing that it acknowledged, and nothing counts twice.

A batch never has fewer than `least` reports.  Batches of `full` reports leave as soon as that and `least` more wait,
so that enough are left for the last one; without `full`, all reports of a round leave together when it ends.  Which
ones leave, and in which order, is drawn uniformly by the operating system's generator: neither arrival nor value
decides.  Proof of what that buys: docs/proofs/local-relay.md.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from sfumato.cards import counted
from sfumato.errors import ParameterError, ReportError
from sfumato.local.client.binding import SEALED, Address
from sfumato.local.client.sealing import SEAL
from sfumato.local.client.wire import NAME, batch_of, elsewhere, header_of, packed, rows_of
from sfumato.local.collection.collector import Receipt
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.journal import CLOSED
from sfumato.local.relay.store import STORE, RelayError, create
from sfumato.storage import clear_drafts, whole

__all__ = ["Relay"]

SUFFIX = ".sfr"
LARGEST = 1 << 28  # bytes of a batch, unless `least` needs more
HELD = 10**9 - 1_000  # bytes of a batch that the file can hold
Row = tuple[bytes, bytes]


class Relay:
    """A relay for one collection; `path` is its file, made if missing.

    `least` is the smallest batch; a collection that declares one needs no other, and takes no smaller.

    >>> import tempfile
    >>> from sfumato.local import Client, collect
    >>> pets = collect("pets", ["cat", "dog"], spend=1.0, people=1000, batch=3)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     relay = Relay(pets, f"{place}/relay.db")
    ...     receipts = relay.add_all([Client(pets).report("cat") for _ in range(4)])
    ...     print(relay.end(), relay.deliver(place)[0].suffix, relay.waiting())
    4 .sfr 0
    """

    __slots__ = ("_addresses", "_digest", "_secret", "_width", "collection", "full", "least", "path")

    def __init__(
        self, collection: Collection, path: str | os.PathLike[str], least: int | None = None, full: int | None = None
    ) -> None:
        self.collection, self.path = collection, Path(path)
        self.least, self.full = _sizes(collection, least, full)
        self._width = collection.protocol.report_bytes + NAME + (0 if collection.key is None else SEAL)
        if max(self.least, self.full or 0) * self._width > HELD:
            raise ParameterError(f"batches of this collection can have at most {HELD // self._width:,} reports")
        self._addresses = {
            address: name for address, name in collection.addresses().items() if collection.bound and name is not None
        }
        if not self._addresses:
            raise ParameterError(
                f"messages of {collection.name!r}, of an earlier format, name no round; declare it anew"
            )
        self._digest = collection.digest
        if not self.path.exists():
            create(self.path, self._digest)
        with STORE.reading(self.path) as connection:
            held, self._secret = connection.execute("SELECT digest, secret FROM terms").fetchone()
        if held != self._digest:
            raise RelayError(f"relay file {self.path} belongs to another collection; give that one, or another file")

    def __repr__(self) -> str:
        return f"Relay({self.collection.name!r}, least={self.least})"

    def add(self, message: bytes) -> Receipt:
        """Take in a device's message; returns when it is durable."""
        return self.add_all([message])[0]

    def add_all(self, messages: Iterable[bytes]) -> list[Receipt]:
        """Take in messages of devices with one wait for the disk: a receipt for each, all durable when this returns."""
        found = [self._examined(message) for message in messages]
        if not any(isinstance(part, tuple) for part in found):
            return [part for part in found if isinstance(part, Receipt)]
        with STORE.writing(self.path) as connection:
            closed = {name for (name,) in connection.execute("SELECT round FROM ended")}
            receipts = [part if isinstance(part, Receipt) else _kept(connection, closed, *part) for part in found]
            for round in {part[0] for part in found if isinstance(part, tuple)} - closed:
                self._fill(connection, round)
        return receipts

    def end(self, round: str | None = None, *, discard: bool = False) -> int:
        """End a round: what waits leaves as one batch, later messages are refused; how many left.  Again it is idle.

        What would be more than LARGEST bytes leaves in several batches, of about one size and none below `least`.

        If fewer than `least` wait, nothing leaves: the round goes on, or with `discard` its reports are thrown away.
        So does a round that nothing came of: ended by mistake it would take no report any more.
        """
        named = self._named(round)
        with STORE.writing(self.path) as connection:
            count = _count(connection, named)
            before = connection.execute("SELECT 1 FROM ended WHERE round = ?", (named,)).fetchone()
            if count < self.least and not (before or discard):
                raise RelayError(
                    f"{counted(count, 'report')} of round {named} waiting, and fewer than {self.least:,} never leave "
                    "together; wait for more, or end it all the same with discard (--discard)"
                )
            for part in self._parts(count):
                self._depart(connection, named, part)
            connection.execute("DELETE FROM waiting WHERE round = ?", (named,))
            connection.execute("DELETE FROM gone WHERE round = ?", (named,))
            connection.execute("INSERT OR IGNORE INTO ended VALUES (?)", (named,))
        return count if count >= self.least else 0

    def ended(self, round: str | None = None) -> bool:
        """Whether a round has ended here."""
        with STORE.reading(self.path) as connection:
            found = connection.execute("SELECT 1 FROM ended WHERE round = ?", (self._named(round),)).fetchone()
            return found is not None

    def waiting(self, round: str | None = None) -> int:
        """How many reports of a round wait."""
        with STORE.reading(self.path) as connection:
            return _count(connection, self._named(round))

    def outgoing(self) -> list[bytes]:
        """The batches that were not delivered yet, the same bytes each time."""
        with STORE.reading(self.path) as connection:
            return [message for (message,) in connection.execute("SELECT message FROM batches ORDER BY name")]

    def delivered(self, message: bytes) -> None:
        """Forget a batch that the collector has."""
        with STORE.writing(self.path) as connection:
            connection.execute("DELETE FROM batches WHERE name = ?", (header_of(message).name,))

    def deliver(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Put each batch that is left into a file of a folder, whole and durable, and forget it; the files.

        They are called by the random names of the batches, and tell no time.
        """
        done = []
        for message in self.outgoing():
            place = Path(folder) / f"{header_of(message).name.hex()}{SUFFIX}"
            with whole(place) as draft:
                draft.write_bytes(message)
            with suppress(FileNotFoundError):  # the collector was quicker
                os.utime(place, (0, 0))
            self.delivered(message)
            done.append(place)
        if done:
            clear_drafts(Path(folder))
        return done

    def _parts(self, count: int) -> list[int]:
        """The sizes of the batches that a round ends with; none if too few wait."""
        batches = min(-(-count * self._width // LARGEST), count // self.least)
        return [count // batches + (place < count % batches) for place in range(batches)]

    def _named(self, round: str | None) -> str:
        return self._addresses[self.collection.address(round)]

    def _examined(self, message: bytes) -> Receipt | tuple[str, bytes, bytes]:
        """What is wrong with a message, or its round, the mark of its record, and the record."""
        protocol = self.collection.protocol
        try:
            head = header_of(message)
            if head.address not in self._addresses:
                raise ReportError(elsewhere(head.address, next(iter(self._addresses)), protocol))
            if head.count != 1:
                raise ReportError(f"a device sends one report a message, not {head.count}")
            rows = rows_of(protocol, head, message)
            if head.address.version == SEALED:
                record = rows.tobytes()
            else:
                batch = batch_of(protocol, head, message)
                name = head.name if batch.tokens is None else batch.tokens.tobytes()
                record = name + protocol.encode(batch.reports)
        except ReportError as error:
            return Receipt(0, {"not for this relay": 1}, words=str(error))
        mark = hashlib.blake2b(record, digest_size=NAME, key=self._secret).digest()
        return self._addresses[head.address], mark, record

    def _fill(self, connection: sqlite3.Connection, round: str) -> None:
        """Let batches leave while another one stays behind."""
        if self.full is not None:
            for _ in range((_count(connection, round) - self.least) // self.full):
                self._depart(connection, round, self.full)

    def _depart(self, connection: sqlite3.Connection, round: str, count: int) -> None:
        """A batch of so many records, any of those that wait, in any order."""
        rows: Sequence[Row] = connection.execute(
            "SELECT mark, record FROM waiting WHERE round = ?", (round,)
        ).fetchall()
        chosen = secrets.SystemRandom().sample(rows, count)
        payload, name = b"".join(record for _, record in chosen), secrets.token_bytes(NAME)
        message = packed(self._address(round), name, count, payload)
        connection.execute("INSERT INTO batches VALUES (?, ?)", (name, message))
        marks = sorted((round, mark) for mark, _ in chosen)
        connection.executemany("DELETE FROM waiting WHERE round = ? AND mark = ?", marks)
        connection.executemany("INSERT INTO gone VALUES (?, ?)", marks)

    def _address(self, round: str) -> Address:
        return self.collection.address(round)


def _kept(connection: sqlite3.Connection, closed: set[str], round: str, mark: bytes, record: bytes) -> Receipt:
    """Put a record to those that wait, unless it does already, or has left."""
    if round in closed:
        return Receipt(0, {CLOSED: 1}, words=f"round {round} has ended here")
    gone = connection.execute("SELECT 1 FROM gone WHERE round = ? AND mark = ?", (round, mark)).fetchone()
    if gone or not connection.execute("INSERT OR IGNORE INTO waiting VALUES (?, ?, ?)", (round, mark, record)).rowcount:
        return Receipt(1, {}, before=True, words="this report is known already")
    return Receipt(1, {}, words="1 report taken")


def _count(connection: sqlite3.Connection, round: str) -> int:
    (count,) = connection.execute("SELECT count(*) FROM waiting WHERE round = ?", (round,)).fetchone()
    return int(count)


def _sizes(collection: Collection, least: int | None, full: int | None) -> tuple[int, int | None]:
    """The smallest batch and the usual one, checked against what was declared."""
    found = collection.batch if least is None else least
    if found is None:
        raise ParameterError(
            f"least must say how many reports leave together at least; {collection.name!r} declares no batch"
        )
    if not (type(found) is int and found >= max(2, collection.batch or 0)):
        declared = "" if collection.batch is None else f", the declared batch of {collection.batch:,}"
        raise ParameterError(f"least must be a whole number from 2 on{declared}, got {found!r}")
    if full is not None and not (type(full) is int and full >= found):
        raise ParameterError(f"full must be a number of reports from least on ({found:,}), got {full!r}")
    return found, full
