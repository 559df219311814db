"""The durable half of a collector: tallies, counts of refusals, and the marks that recognize a replay.

One SQLite file, journal mode TRUNCATE with synchronous=FULL as for ledgers: when `fold` returns, the marks of a
batch and its effect on the tally are on disk together, or neither is.  So a collector killed at any moment loses no
acknowledged report and counts none twice: whoever sent a batch sends it again until it is acknowledged.

A mark is a hash of a one-time random token, or of the name of a batch.  Marks stand in a set ordered by themselves,
next to no report, no time and no sender; they can be erased when a round closes, after which its replays would count.
Each operation opens its own connection, so threads and forked processes never share one.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sfumato.local.collection.database import JOURNAL, NEW_ROUND, CollectionError, create
from sfumato.records import canonical_ascii

__all__ = ["Folded", "Incoming", "Journal", "Round", "Tally"]

Tally = npt.NDArray[np.int64]

FEW = 32  # tokens that are looked up one by one


@dataclass(frozen=True, slots=True)
class Round:
    """The public state of one round: how many reports were folded in, their tally, refusals by reason."""

    number: int
    closed: bool
    reports: int
    tally: Tally
    refused: dict[str, int]


@dataclass(frozen=True, slots=True)
class Folded:
    """What became of a batch: reports counted and refused; `before` if it had been acknowledged already."""

    accepted: int
    refused: dict[str, int]
    before: bool = False


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message: marks of its name and bytes, marks of its reports' names, and what is left without replays.

    `settle` is told the positions of reports seen before and returns how many are left, and their tally.
    """

    mark: bytes
    content: bytes
    tokens: Sequence[bytes]
    settle: Callable[[npt.NDArray[np.intp]], tuple[int, Tally]]
    refused: dict[str, int] = field(default_factory=dict)


class Journal:
    """A file bound to one collection (by digest) and to tallies of one length."""

    def __init__(self, path: Path, digest: str) -> None:
        """Open an existing journal.  Callers use `open`."""
        self.path = path
        with JOURNAL.reading(self.path) as connection:
            held, self.piece = connection.execute("SELECT digest, piece FROM terms").fetchone()
        if held != digest:
            raise CollectionError(
                f"journal {path} belongs to another collection (digest {held[:12]}, this one has {digest[:12]}); "
                "give the collection file it was made with, or another journal"
            )

    @classmethod
    def open(cls, path: str | os.PathLike[str], digest: str, length: int) -> Journal:
        """The journal at `path`, made if missing."""
        place = Path(path)
        if not place.exists():
            create(place, digest, _bytes(np.zeros(length, dtype=np.int64)))
        return cls(place, digest)

    def round(self, number: int | None = None) -> Round:
        """One round; the latest unless a number is given."""
        query = "SELECT * FROM rounds WHERE round = coalesce(?, (SELECT max(round) FROM rounds))"
        with JOURNAL.reading(self.path) as connection:
            row = connection.execute(query, (number,)).fetchone()
        if row is None:
            raise CollectionError(f"journal {self.path} has no round {number}; rounds are counted from 1")
        return _round(row)

    def rounds(self) -> tuple[Round, ...]:
        """Every round, oldest first."""
        with JOURNAL.reading(self.path) as connection:
            return tuple(_round(row) for row in connection.execute("SELECT * FROM rounds ORDER BY round"))

    def fold(self, messages: Sequence[Incoming]) -> list[Folded]:
        """Take in messages, each once, into the latest round; all of them are durable when this returns."""
        with JOURNAL.writing(self.path) as connection:
            state = _latest(connection, self.path)
            total, reports, counts = state.tally.copy(), 0, Counter[str]()
            receipts = []
            for message in messages:
                folded, tally = _folded(connection, message)
                if tally is not None:
                    total += tally
                    reports += folded.accepted
                    counts.update(folded.refused)
                else:
                    counts["repeated batch" if folded.before else "reused batch id"] += 1
                receipts.append(folded)
            _record(connection, state, reports, total - state.tally, counts)
        return receipts

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count a batch that could not be read at all, in the latest round."""
        with JOURNAL.writing(self.path) as connection:
            state = _latest(connection, self.path)
            _record(connection, state, 0, np.zeros_like(state.tally), {reason: count})

    def close(self, forget: bool) -> Round:
        """End a round: its tally stays, and the next round opens; with `forget` all marks are erased."""
        with JOURNAL.writing(self.path) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            state = _latest(connection, self.path)
            connection.execute("UPDATE rounds SET closed = 1 WHERE round = ?", (state.number,))
            if forget:
                connection.execute("DELETE FROM batches")
                connection.execute("DELETE FROM tokens")
            connection.execute(NEW_ROUND, (state.number + 1, _bytes(np.zeros_like(state.tally))))
        return Round(state.number, True, state.reports, state.tally, state.refused)

    def merge(self, other: Journal) -> Folded:
        """Take in the open round of another journal of the same collection, once; the other one is frozen before.

        Both are locked meanwhile, so no report arrives between the copying of marks and the freezing.  A token or
        batch that both have seen is a replay across pieces; the tally cannot be split any more, so the merge is
        refused, and neither journal changes.  If this process dies when the other one is frozen already, merge again.
        """
        if other.piece == self.piece:
            raise CollectionError(f"journal {self.path} cannot be merged with itself; name another piece")
        with JOURNAL.writing(self.path) as connection:
            state = _latest(connection, self.path)
            mark = b"piece:" + other.piece
            seen = connection.execute("SELECT receipt FROM batches WHERE mark = ?", (mark,)).fetchone()
            if seen is not None:
                accepted, refused = json.loads(seen[0])
                return Folded(accepted, refused, before=True)
            with JOURNAL.writing(other.path) as source:
                piece = _newest(source)
                if state.number != piece.number:
                    raise CollectionError(f"the piece is in round {piece.number}, this journal in round {state.number}")
                _take_marks(connection, source, "batches", 3)
                _take_marks(connection, source, "tokens", 1)
                source.execute("UPDATE terms SET frozen = 1")  # on disk before it counts here: it cannot grow any more
            _record(connection, state, piece.reports, piece.tally, piece.refused)
            receipt = canonical_ascii([piece.reports, piece.refused])
            connection.execute("INSERT INTO batches VALUES (?, ?, ?)", (mark, b"", receipt))
        return Folded(piece.reports, piece.refused)


def _folded(connection: sqlite3.Connection, message: Incoming) -> tuple[Folded, Tally | None]:
    """One message's receipt and tally; no tally if its name is known (then the receipt it had, or a refusal)."""
    query = "SELECT content, receipt FROM batches WHERE mark = ?"
    seen = connection.execute(query, (message.mark,)).fetchone()
    if seen is not None:
        if seen[0] != message.content:
            return Folded(0, {"reused batch id": 1}), None
        accepted, refused = json.loads(seen[1])
        return Folded(accepted, refused, before=True), None
    replays = _fresh(connection, message.tokens)
    accepted, tally = message.settle(replays)
    counts = dict(message.refused)
    if len(replays):
        counts["repeated report"] = counts.get("repeated report", 0) + len(replays)
    row = (message.mark, message.content, canonical_ascii([accepted, counts]))
    connection.execute("INSERT INTO batches VALUES (?, ?, ?)", row)
    return Folded(accepted, counts), tally


def _fresh(connection: sqlite3.Connection, tokens: Sequence[bytes]) -> npt.NDArray[np.intp]:
    """Add the new tokens to the set; the positions of those that were in it, or came twice in this message."""
    insert = "INSERT OR IGNORE INTO tokens VALUES (?)"
    if len(tokens) <= FEW:
        known = [place for place, token in enumerate(tokens) if not connection.execute(insert, (token,)).rowcount]
        return np.array(known, dtype=np.intp)
    connection.execute("SAVEPOINT trial")
    added = connection.executemany(insert, ((token,) for token in sorted(tokens))).rowcount
    if added == len(tokens):
        connection.execute("RELEASE trial")
        return np.zeros(0, dtype=np.intp)
    connection.execute("ROLLBACK TO trial")
    connection.execute("RELEASE trial")
    return _sorted_out(connection, tokens)


def _sorted_out(connection: sqlite3.Connection, tokens: Sequence[bytes]) -> npt.NDArray[np.intp]:
    """As `_fresh`, where some tokens are known: which ones takes a second look."""
    connection.execute("CREATE TEMP TABLE incoming (mark BLOB PRIMARY KEY, place INTEGER) WITHOUT ROWID")
    rows = sorted(zip(tokens, range(len(tokens)), strict=True))
    connection.executemany("INSERT OR IGNORE INTO incoming VALUES (?, ?)", rows)
    connection.execute("DELETE FROM incoming WHERE mark IN (SELECT mark FROM tokens)")
    connection.execute("INSERT INTO tokens SELECT mark FROM incoming ORDER BY mark")
    known = np.ones(len(tokens), dtype=np.bool_)
    for (place,) in connection.execute("SELECT place FROM incoming"):
        known[place] = False
    connection.execute("DROP TABLE incoming")
    return np.flatnonzero(known)


def _take_marks(connection: sqlite3.Connection, source: sqlite3.Connection, table: str, width: int) -> None:
    """Copy another piece's marks; any that is here already is a replay."""
    insert = f"INSERT INTO {table} VALUES ({', '.join('?' * width)})"
    rows = source.execute(f"SELECT * FROM {table} ORDER BY mark")
    try:
        connection.executemany(insert, rows)
    except sqlite3.IntegrityError:
        raise CollectionError(
            f"the pieces share {table}: a report was replayed to both, so they cannot be merged; "
            "send each report to one piece only, for example by the first byte of its token"
        ) from None


def _record(
    connection: sqlite3.Connection, state: Round, reports: int, tally: Tally, refused: Mapping[str, int]
) -> None:
    counts = {reason: state.refused.get(reason, 0) + refused.get(reason, 0) for reason in {**state.refused, **refused}}
    row = (state.reports + int(reports), _bytes(state.tally + tally), canonical_ascii(counts), state.number)
    connection.execute("UPDATE rounds SET reports = ?, tally = ?, refused = ? WHERE round = ?", row)


def _latest(connection: sqlite3.Connection, path: Path) -> Round:
    """The open round, of a journal that is not frozen."""
    if connection.execute("SELECT frozen FROM terms").fetchone() != (0,):
        raise CollectionError(f"journal {path} is frozen, since it was merged into another; send reports there")
    return _newest(connection)


def _newest(connection: sqlite3.Connection) -> Round:
    return _round(connection.execute("SELECT * FROM rounds ORDER BY round DESC LIMIT 1").fetchone())


def _round(row: tuple[int, int, int, bytes, str]) -> Round:
    tally = np.frombuffer(row[3], dtype="<i8").astype(np.int64)
    return Round(row[0], bool(row[1]), row[2], tally, json.loads(row[4]))


def _bytes(tally: Tally) -> bytes:
    return np.asarray(tally).astype("<i8").tobytes()
