"""The collector: reads messages, refuses what cannot be true, folds the rest into a tally, and forgets them.

A message is acknowledged (`add` returns) only when its effect is on disk; sent again, it is recognized and answered
with its first receipt.  So nothing acknowledged is lost and nothing counts twice, whenever the process dies.
What the collector keeps: tallies, counts of refusals, and marks of the random names of messages.  It keeps no
report, no order, no time and no sender; whatever carries the messages (addresses, times) must be dropped before it.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, ReportError
from sfumato.local.client.wire import HEADER, MAGIC, VERSION, Batch, decode_batch
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import Estimate
from sfumato.local.collection.journal import Folded, Incoming, Journal, Round
from sfumato.local.protocols.protocol import LocalProtocol, Reports, Tally

__all__ = ["REASONS", "Collector", "Receipt", "reason_for"]

WORTHWHILE = 1 << 16  # reports from which loading and compiling, seconds once a process, pays

REASONS = {  # what is refused, and whether it is counted in reports or in messages
    "not reports": "messages",
    "wrong version": "messages",
    "another protocol": "messages",
    "wrong length": "messages",
    "out of range": "messages",
    "repeated batch": "messages",
    "reused batch id": "messages",
    "repeated report": "reports",
    "no report": "reports",
}


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a message: reports counted, refusals by reason, the sentence for whoever sent it."""

    accepted: int
    refused: dict[str, int]
    before: bool = False
    words: str = ""


class Collector:
    """A collection and its journal; `path` is the journal's file, made if missing."""

    __slots__ = ("_key", "collection", "journal")

    def __init__(self, collection: Collection, path: str | os.PathLike[str]) -> None:
        self.collection = collection
        self._key = bytes.fromhex(collection.digest)
        self.journal = Journal.open(path, collection.digest, collection.protocol.cells)

    @classmethod
    def open(cls, declaration: str | Path, path: str | Path | None = None) -> Collector:
        """The collector of a declared collection; the journal lies beside it unless `path` says where."""
        source = Path(declaration)
        return cls(Collection.read(source), source.with_suffix(".journal") if path is None else path)

    def __repr__(self) -> str:
        return f"Collector({self.collection.name!r}, {str(self.journal.path)!r})"

    @property
    def state(self) -> Round:
        """The latest round: reports, tally, refusals."""
        return self.journal.round()

    def add(self, message: bytes) -> Receipt:
        """Take in one message; returns when its effect is durable.  What is refused is counted, never raised."""
        return self.add_all([message])[0]

    def add_all(self, messages: Iterable[bytes]) -> list[Receipt]:
        """Take in messages with one wait for the disk: a receipt for each, all durable when this returns."""
        found: list[Receipt | Incoming] = [self._examined(message) for message in messages]
        good = [part for part in found if isinstance(part, Incoming)]
        folded = iter(self.journal.fold(good) if good else [])
        refused = Counter(reason for part in found if isinstance(part, Receipt) for reason in part.refused)
        for reason, count in refused.items():
            self.journal.refuse(reason, count)
        return [part if isinstance(part, Receipt) else _receipt(next(folded)) for part in found]

    def add_counts(self, name: str, pieces: Iterable[tuple[Reports, npt.NDArray[np.int64], int]]) -> Receipt:
        """Take in reports, how often each occurs and how many rows were none, from a source called `name`, in one step.

        This is the door for tables that were collected elsewhere: no tokens, so only the name is recognized again.
        """
        protocol = self.collection.protocol
        total, reports, wrong = np.zeros(protocol.cells, dtype=np.int64), 0, 0
        for values, counts, unreadable in pieces:
            good = protocol.valid(values)
            total += weighted_tally(protocol, values[good], counts[good])
            reports += int(counts[good].sum())
            wrong += unreadable + int(counts[~good].sum())
        refused = {"no report": wrong} if wrong else {}
        mark, content = self._mark(name.encode()), hashlib.blake2b(total.tobytes(), digest_size=16).digest()
        (folded,) = self.journal.fold([Incoming(mark, content, (), lambda _: (reports, total), refused)])
        return _receipt(folded)

    def merge(self, other: Collector) -> Receipt:
        """Take in another collector's open round, once; the other one is frozen."""
        if other.collection.digest != self.collection.digest:
            raise CollectionError(
                f"{other.collection.name!r} is not the same collection; pieces must share the declaration"
            )
        return _receipt(self.journal.merge(other.journal))

    def close(self, forget: bool = False) -> Estimate:
        """End the round and open the next; with `forget` the marks of all messages are erased, too.

        Forget when no message can still be under way: afterwards a replay of an earlier round would be counted.
        """
        return self._estimate(self.journal.close(forget))

    def estimate(self, number: int | None = None) -> Estimate:
        """What a round says so far; the latest unless a number is given."""
        return self._estimate(self.journal.round(number))

    def _estimate(self, found: Round) -> Estimate:
        if not found.reports:
            raise ParameterError(f"round {found.number} of {self.collection.name!r} has no reports yet; add some first")
        return Estimate(self.collection, found.number, found.reports, found.tally, dict(found.refused))

    def _examined(self, message: bytes) -> Receipt | Incoming:
        """What is wrong with a message, or what there is to fold."""
        protocol = self.collection.protocol
        try:
            batch = decode_batch(protocol, bytes(message))
        except ReportError as error:
            return Receipt(0, {reason_for(protocol, message): 1}, words=str(error))
        names, first, copies = _names(batch)
        reports = batch.reports if not len(copies) else np.delete(batch.reports, copies, axis=0)
        whole = _tally(protocol, reports)

        def settle(replays: npt.NDArray[np.intp]) -> tuple[int, Tally]:
            fresh = whole - _tally(protocol, batch.reports[first[replays]]) if len(replays) else whole
            return len(reports) - len(replays), fresh

        content = hashlib.blake2b(message, digest_size=16).digest()
        refused = {"repeated report": len(copies)} if len(copies) else {}
        return Incoming(self._mark(batch.name), content, [self._mark(name) for name in names], settle, refused)

    def _mark(self, name: bytes) -> bytes:
        return hashlib.blake2b(name, digest_size=16, key=self._key).digest()


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


def reason_for(protocol: LocalProtocol, message: bytes) -> str:
    """Why a message is refused, as one of `REASONS`: a pure function, for any door that receives messages."""
    if len(message) < HEADER.size:
        return "wrong length" if message[: len(MAGIC)] == MAGIC else "not reports"
    magic, version, flags, digest, _, count = HEADER.unpack_from(message)
    if magic != MAGIC:
        return "not reports"
    if version != VERSION or flags & ~1:
        return "wrong version"
    if digest != protocol.digest:
        return "another protocol"
    width = protocol.report_bytes + (16 if flags else 0)
    return "wrong length" if len(message) != HEADER.size + count * width else "out of range"


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


def _receipt(folded: Folded) -> Receipt:
    if folded.before:
        words = f"this message was acknowledged before: {folded.accepted:,} reports, not counted again"
    else:
        refused = ", ".join(f"{count:,} {reason}" for reason, count in folded.refused.items())
        words = f"{folded.accepted:,} reports counted" + (f"; refused: {refused}" if refused else "")
    return Receipt(folded.accepted, folded.refused, folded.before, words)
