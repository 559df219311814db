"""The collector: reads messages, refuses what cannot be true, folds the rest into a tally, and forgets them.

A message is acknowledged (`add` returns) only when its effect is on disk; sent again, it is recognized and answered
with its first receipt.  So nothing acknowledged is lost and nothing counts twice, whenever the process dies.  It counts
in the round that it names, however late it comes, until that round is closed.
What the collector keeps: tallies, counts of refusals, and marks of the random names of messages.  It keeps no
report, no order, no time and no sender; whatever carries the messages (addresses, times) must be dropped before it.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.cards import counted
from sfumato.errors import ParameterError, ReportError
from sfumato.local.client.binding import SEALED, UNBOUND, Address
from sfumato.local.client.sealing import context
from sfumato.local.client.wire import (
    HEADER,
    MAGIC,
    NAME,
    Batch,
    Header,
    batch_of,
    elsewhere,
    header_of,
    packed,
    rows_of,
)
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import Estimate
from sfumato.local.collection.journal import CLOSED, REPEATED, THIN, TWICE, Folded, Incoming, Journal
from sfumato.local.collection.rounds import Round
from sfumato.local.protocols.protocol import LocalProtocol, Reports, Tally

if TYPE_CHECKING:
    from sfumato.local.collection.keys import Key
    from sfumato.local.collection.series import Series

__all__ = ["REASONS", "UNOPENED", "Collector", "Receipt"]

UNOPENED = "unopened report"  # sealed to somebody else, or junk
FEW, ONE = 16, (1).to_bytes(8, "little")  # messages that are worth reading together; the count of one report
WORTHWHILE = 1 << 16  # reports from which loading and compiling, seconds once a process, pays

REASONS = {  # what is refused, and whether it is counted in reports or in messages
    "not reports": "message",
    "wrong version": "message",
    "another protocol": "message",
    "another collection": "message",
    "too many reports": "message",
    "too few reports": "message",
    "wrong length": "message",
    "out of range": "message",
    REPEATED: "message",
    CLOSED: "message",
    "repeated report": "report",
    "no report": "report",
    UNOPENED: "report",
    THIN: "message",
    TWICE: "report",
}


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a message: reports counted, refusals by reason, the sentence for whoever sent it."""

    accepted: int
    refused: dict[str, int]
    before: bool = False
    words: str = ""


class Collector:
    """A collection and its journal; `path` is the journal's file, made if missing.

    `most` limits the reports of one message.  Where devices send by themselves it is 1, so that nobody votes twice in
    one message; a relay joins many.  A collection that declares a batch has none that are smaller.  `key` opens sealed
    reports: the private one that belongs to the declared one, or its file; merging and estimating need none.
    """

    __slots__ = ("_addresses", "_heads", "_key", "_opener", "collection", "journal", "most")

    def __init__(
        self,
        collection: Collection,
        path: str | os.PathLike[str],
        most: int | None = None,
        key: Key | str | os.PathLike[str] | None = None,
    ) -> None:
        self.collection, self.most = collection, most
        self._opener = None if key is None else _opener(collection, key)
        self._key = bytes.fromhex(collection.digest)
        self._addresses = collection.addresses()
        self._heads = {
            packed(address, bytes(NAME), 0, b"", tokens=False)[:24]: name
            for address, name in self._addresses.items()
            if address.version != SEALED
        }
        names = collection.rounds if collection.bound else ()
        self.journal = Journal.open(path, collection.digest, collection.protocol.cells, names)

    @classmethod
    def open(
        cls,
        declaration: str | Path,
        path: str | Path | None = None,
        most: int | None = None,
        key: Key | str | os.PathLike[str] | None = None,
    ) -> Collector:
        """The collector of a declared collection; the journal lies beside it unless `path` says where."""
        source = Path(declaration)
        return cls(Collection.read(source), source.with_suffix(".journal") if path is None else path, most, key)

    def __repr__(self) -> str:
        return f"Collector({self.collection.name!r}, {str(self.journal.path)!r})"

    @property
    def state(self) -> Round:
        """The only round, or the latest that has anything in it: reports, tally, refusals."""
        return self.journal.round()

    def add(self, message: bytes) -> Receipt:
        """Take in one message; returns when its effect is durable.  What is refused is counted, never raised."""
        return self.add_all([message])[0]

    def add_all(self, messages: Iterable[bytes]) -> list[Receipt]:
        """Take in messages with one wait for the disk: a receipt for each, all durable when this returns."""
        held = list(messages)
        single = self._singles(held)
        found: list[Receipt | Incoming] = [
            single[place] if place in single else self._examined(message) for place, message in enumerate(held)
        ]
        good = [part for part in found if isinstance(part, Incoming)]
        folded = iter(self.journal.fold(good) if good else [])
        refused = Counter(reason for part in found if isinstance(part, Receipt) for reason in part.refused)
        for reason, count in refused.items():
            self.journal.refuse(reason, count)
        return [part if isinstance(part, Receipt) else _receipt(next(folded)) for part in found]

    def add_counts(
        self, name: str, pieces: Iterable[tuple[Reports, npt.NDArray[np.int64], int]], round: str | None = None
    ) -> Receipt:
        """Take in reports, how often each occurs and how many rows were none, from a source called `name`, in one step.

        This is the door for tables that were collected elsewhere: no tokens, so only the name is recognized again.
        """
        protocol = self.collection.protocol
        if self.collection.key is not None:
            raise CollectionError(f"reports of {self.collection.name!r} are sealed, and those of a table are not")
        named = self._addresses[self.collection.address(round)]
        total, reports, wrong = np.zeros(protocol.cells, dtype=np.int64), 0, 0
        for values, counts, unreadable in pieces:
            good = protocol.valid(values)
            total += weighted_tally(protocol, values[good], counts[good])
            reports += int(counts[good].sum())
            wrong += unreadable + int(counts[~good].sum())
        refused = {"no report": wrong} if wrong else {}
        mark = self._mark(name.encode())
        (folded,) = self.journal.fold([Incoming(mark, (), lambda _: (reports, total), refused, named, self._least)])
        return _receipt(folded)

    def merge(self, other: Collector) -> Receipt:
        """Take in all rounds of another collector, once; the other one is frozen."""
        if other.collection.digest != self.collection.digest:
            raise CollectionError(
                f"{other.collection.name!r} is not the same collection: {self.collection.against(other.collection)}; "
                "pieces must share the declaration"
            )
        return _receipt(self.journal.merge(other.journal))

    def close(self, round: str | None = None, *, forget: bool = False) -> Round:
        """End a round, for good: its tally stays, and none of its messages can count any more.  Closing again is idle.

        With `forget`, what tells its messages apart is erased: do so once pieces are merged.  In a collection without
        declared rounds (formats 1 and 2) the next round opens, and what is erased is that of all rounds: then a replay
        of an earlier one would be counted.
        """
        named = self._addresses[self.collection.address(round)] if self.collection.bound else None
        return self.journal.close(named, forget)

    def estimate(self, round: str | None = None) -> Estimate:
        """What a round says so far; without a name the only one, or the latest that has anything in it."""
        found = self.journal.round(None if round is None else str(round))
        if not found.reports:
            raise ParameterError(f"round {found.name} of {self.collection.name!r} has no reports yet; add some first")
        return Estimate(self.collection, found.name, found.reports, found.tally, dict(found.refused))

    def series(self) -> Series:
        """All rounds that have reports, in their order: values over time, and differences between rounds."""
        from sfumato.local.collection.series import Series

        names = [one.name for one in self.journal.rounds() if one.reports]
        return Series(self.collection, tuple(map(self.estimate, names)))

    def _singles(self, messages: list[bytes]) -> dict[int, Incoming]:
        """Messages of one open report each, read together: what devices send.  All others are examined one by one."""
        protocol, size = self.collection.protocol, HEADER.size + self.collection.protocol.report_bytes
        if len(messages) < FEW or self._least > 1:
            return {}
        places = [
            place
            for place, message in enumerate(messages)
            if type(message) is bytes and len(message) == size and message[40:48] == ONE and message[:24] in self._heads
        ]
        reports = protocol.decode(b"".join([messages[place][HEADER.size :] for place in places]))
        good = protocol.valid(reports) if places else ()
        found = {}
        for row, place in enumerate(places):
            if good[row]:
                message = messages[place]
                mark, report = self._mark(message[24:40]), reports[row : row + 1]
                settle = partial(_alone, protocol, report)
                found[place] = Incoming(mark, (mark,), settle, {}, self._heads[message[:24]], self._least)
        return found

    def _examined(self, message: bytes) -> Receipt | Incoming:
        """What is wrong with a message, or what there is to fold."""
        if not isinstance(message, bytes | bytearray | memoryview):
            raise ParameterError(f"a message is bytes, got {type(message).__name__}; add_file reads files of messages")
        held, protocol = bytes(message), self.collection.protocol
        try:
            head = header_of(held)
            named = self._addresses.get(head.address)
            if self.most is not None and head.count > self.most:
                raise ReportError(f"too many reports: {head.count} in one message, at most {self.most} are taken here")
            if named is None and head.address not in self._addresses:
                raise ReportError(elsewhere(head.address, next(iter(self._addresses)), protocol))
            if head.count < self._least:
                raise ReportError(
                    f"too few reports: {head.count} in one message, and {self._least} are declared to leave together"
                )
            batch, refused = self._batch(head, held, named)
        except ReportError as error:
            return Receipt(0, {self.reason_for(held): 1}, words=str(error))
        names, first, copies = _names(batch)
        reports = batch.reports if not len(copies) else np.delete(batch.reports, copies, axis=0)
        whole = _tally(protocol, reports)

        def settle(replays: npt.NDArray[np.intp]) -> tuple[int, Tally]:
            fresh = whole - _tally(protocol, batch.reports[first[replays]]) if len(replays) else whole
            return len(reports) - len(replays), fresh

        refused |= {"repeated report": len(copies)} if len(copies) else {}
        mark = self._mark(batch.name)
        marks = [mark] if names == [batch.name] else [self._mark(name) for name in names]
        return Incoming(mark, marks, settle, refused, named, self._least)

    @property
    def _least(self) -> int:
        return self.collection.batch or 0

    def _batch(self, head: Header, message: bytes, round: str | None) -> tuple[Batch, dict[str, int]]:
        """The reports of a message, and how many of a sealed one are none: nobody could see that before."""
        protocol = self.collection.protocol
        if head.address.version != SEALED or round is None:
            return batch_of(protocol, head, message), {}
        if self._opener is None:
            raise CollectionError(
                f"reports of {self.collection.name!r} are sealed; give the file of its private key (--key) to open them"
            )
        info, rows = context(self.collection.digest, round), rows_of(protocol, head, message)
        width = protocol.report_bytes + NAME
        opened = [self._opener.open(row.tobytes(), info) for row in rows]
        good = [record for record in opened if record is not None]
        table = np.frombuffer(b"".join(good), dtype=np.uint8).reshape(len(good), width)
        reports = protocol.decode(table[:, NAME:].tobytes())
        valid = protocol.valid(reports) if len(reports) else np.zeros(0, dtype=np.bool_)
        counts = {UNOPENED: len(rows) - len(good), "no report": len(good) - int(valid.sum())}
        batch = Batch(head.name, reports[valid], table[valid, :NAME].copy())
        return batch, {reason: count for reason, count in counts.items() if count}

    def knows(self, address: Address) -> bool:
        """Whether messages that carry this belong to a round of the collection."""
        return address in self._addresses

    def width(self, head: Header) -> int:
        """The bytes of one record behind a header."""
        return head.width(self.collection.protocol)

    def reason_for(self, message: bytes) -> str:
        """Why a message is refused, as one of `REASONS`."""
        if len(message) < HEADER.size:
            return "wrong length" if message[: len(MAGIC)] == MAGIC else "not reports"
        if message[: len(MAGIC)] != MAGIC:
            return "not reports"
        try:
            head = header_of(message)
        except ReportError:
            return "wrong version"
        if head.address not in self._addresses:
            return "another protocol" if head.address.version == UNBOUND else "another collection"
        if self.most is not None and head.count > self.most:
            return "too many reports"
        if head.count < self._least:
            return "too few reports"
        whole = HEADER.size + head.count * head.width(self.collection.protocol)
        return "wrong length" if len(message) != whole else "out of range"

    def _mark(self, name: bytes) -> bytes:
        return hashlib.blake2b(name, digest_size=16, key=self._key).digest()


def _alone(protocol: LocalProtocol, report: Reports, replays: npt.NDArray[np.intp]) -> tuple[int, Tally]:
    """What is left of a single report."""
    fresh = report[len(replays) :]
    return len(fresh), protocol.tally(fresh)


def _tally(protocol: LocalProtocol, reports: Reports) -> Tally:
    """Compiled where that pays; what compiles is loaded only then."""
    if len(reports) < WORTHWHILE:
        return protocol.tally(reports)
    from sfumato.local.tallying import tally

    return tally(protocol, reports)


def weighted_tally(protocol: LocalProtocol, reports: Reports, counts: npt.NDArray[np.int64]) -> Tally:
    """The tally of reports that occur many times: tallies add up, so one for each binary digit of the counts."""
    total = np.zeros(protocol.cells, dtype=np.int64)
    digit = 0
    while len(counts) and (counts >> digit).any():
        rows = (counts >> digit) & 1 == 1
        if rows.any():
            total += _tally(protocol, reports[rows]) << digit
        digit += 1
    return total


Places = npt.NDArray[np.intp]


def _names(batch: Batch) -> tuple[list[bytes], Places, Places]:
    """The one-time names of the reports, where they first stand, and the places of their copies.

    A message of one report names it by its own name; longer ones without tokens have no names for reports.
    """
    none = np.zeros(0, dtype=np.intp)
    if batch.tokens is None:
        return ([batch.name], np.zeros(1, dtype=np.intp), none) if len(batch) == 1 else ([], none, none)
    if not len(batch):
        return [], none, none
    halves = np.ascontiguousarray(batch.tokens).view("<u8")
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = np.any(halves[order[1:]] != halves[order[:-1]], axis=1)
    first = order[fresh]  # lexsort is stable: the first of equals comes first
    held = batch.tokens[first].tobytes()
    return [held[i : i + 16] for i in range(0, len(held), 16)], first, order[~fresh]


def _opener(collection: Collection, key: Key | str | os.PathLike[str]) -> Key:
    """The private key of the collection; that of another one is refused."""
    from sfumato.local.collection.keys import Key  # cryptography: only where reports are sealed

    found = key if isinstance(key, Key) else Key.read(key)
    if collection.key != found.public:
        declares = "declares no key" if collection.key is None else f"declares the key {collection.key[:12]}"
        raise CollectionError(f"{collection.name!r} {declares}, and this is that of {found.public[:12]}; give its own")
    return found


def _receipt(folded: Folded) -> Receipt:
    if folded.before:
        words = f"this message is known already: {counted(folded.accepted, 'report')}, not counted again"
    else:
        refused = ", ".join(f"{count:,} {reason}" for reason, count in folded.refused.items() if reason != THIN)
        words = f"{counted(folded.accepted, 'report')} counted" + (f"; refused: {refused}" if refused else "")
        words += "; fewer than are declared to be shuffled together" if THIN in folded.refused else ""
    return Receipt(folded.accepted, folded.refused, folded.before, words)
