"""The durable half of a collector: tallies, counts of refusals, and the marks that recognize a replay.

One SQLite file, journal mode TRUNCATE with synchronous=FULL as for ledgers: when `fold` returns, the marks of a
batch and its effect on the tally are on disk together, or neither is.  So a collector killed at any moment loses no
acknowledged report and counts none twice: whoever sent a batch sends it again until it is acknowledged.

A mark is a hash of a one-time random token, or of the name of a batch.  Marks stand in a set ordered by themselves,
next to no report, no time and no sender.  Those of a round can be erased when it closes: its messages count no more.
Each operation opens its own connection, so threads and forked processes never share one.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sfumato.local.collection.database import JOURNAL, CollectionError, create, renewed
from sfumato.local.collection.rounds import NOBODYS, Round, Rounds, Tally
from sfumato.records import canonical_ascii

__all__ = ["CLOSED", "REPEATED", "THIN", "TWICE", "Folded", "Incoming", "Journal"]

FEW = 32  # tokens that are looked up one by one
SINGLE = canonical_ascii([1, {}])  # the receipt of nearly all messages of devices
REPEATED = "repeated batch"  # a message that was counted before
CLOSED = "closed round"  # why a message of a round that has ended is refused
TWICE = "counted in two pieces"  # reports that came to two pieces before these were merged
MIRRORED = 0.1  # share of the larger piece's reports of a round: where both have more than that, they do not merge
THIN = "thin batch"  # one that was counted with fewer reports than were declared to be shuffled together


@dataclass(frozen=True, slots=True)
class Folded:
    """What became of a batch: reports counted and refused; `before` if it had been acknowledged already."""

    accepted: int
    refused: dict[str, int]
    before: bool = False


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message: the mark of its name, marks of its reports' names, and what is left without replays.

    `settle` is told the positions of reports seen before and returns how many are left, and their tally.  `round` is
    the round it belongs to; without one, the latest.  With fewer than `least` reports left it is counted, and noted.
    """

    mark: bytes
    tokens: Sequence[bytes]
    settle: Callable[[npt.NDArray[np.intp]], tuple[int, Tally]]
    refused: dict[str, int] = field(default_factory=dict)
    round: str | None = None
    least: int = 0


class Journal:
    """A file bound to one collection (by digest), to its rounds, and to tallies of one length."""

    def __init__(self, path: Path, digest: str, rounds: Rounds) -> None:
        """Open an existing journal.  Callers use `open`."""
        self.path, self._rounds = path, rounds
        renewed(path)
        with JOURNAL.reading(self.path) as connection:
            held, self.piece = connection.execute("SELECT digest, piece FROM terms").fetchone()
        if held != digest:
            raise CollectionError(
                f"journal {path} belongs to another collection (digest {held[:12]}, this one has {digest[:12]}); "
                "give the collection file it was made with, or another journal"
            )

    @classmethod
    def open(cls, path: str | os.PathLike[str], digest: str, length: int, names: tuple[str, ...] = ()) -> Journal:
        """The journal at `path`, made if missing; `names` are the declared rounds, none if rounds are counted."""
        place = Path(path)
        if not place.exists():
            create(place, digest)
        return cls(place, digest, Rounds(names, length))

    def round(self, name: str | None = None) -> Round:
        """One round; without a name the only one, or the latest that has anything in it."""
        with JOURNAL.reading(self.path) as connection:
            return self._rounds.read(connection, name)

    def rounds(self) -> tuple[Round, ...]:
        """Every round that has anything in it, oldest first."""
        with JOURNAL.reading(self.path) as connection:
            return self._rounds.all(connection)

    def elsewhere(self) -> dict[str, int]:
        """Refusals of messages that belong to no round, by reason."""
        with JOURNAL.reading(self.path) as connection:
            return self._rounds.elsewhere(connection).refused

    def fold(self, messages: Sequence[Incoming]) -> list[Folded]:
        """Take in messages, each once and into its own round; all of them are durable when this returns."""
        with JOURNAL.writing(self.path) as connection:
            _thawed(connection, self.path)
            held: dict[str | None, _Open] = {}
            receipts = []
            for message in messages:
                if message.round not in held:
                    held[message.round] = _Open(self._rounds.read(connection, message.round))
                state = held[message.round].state
                if state.closed:
                    receipts.append(Folded(0, {CLOSED: 1}))
                    held[message.round].counts[CLOSED] += 1
                else:
                    folded, tally = _folded(connection, self._rounds.marked(state.number), message)
                    held[message.round].add(folded, tally)
                    receipts.append(folded)
            for found in held.values():
                self._rounds.write(connection, found.settled())
        return receipts

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count messages that could not be read at all, or belong elsewhere."""
        with JOURNAL.writing(self.path) as connection:
            _thawed(connection, self.path)
            state = self._rounds.elsewhere(connection)
            self._rounds.write(connection, state.plus(0, np.zeros_like(state.tally), {reason: count}))

    def close(self, name: str | None = None, forget: bool = False) -> Round:
        """End a round: its tally stays, and none of its messages can count any more; `forget` erases its marks.

        They are needed to merge pieces.  Counted rounds: the next one opens, and marks are those of all rounds.  A
        round that was closed already is left as it is, as is a counted one that has just opened.
        """
        with JOURNAL.writing(self.path) as connection:
            _thawed(connection, self.path)
            state = self._rounds.read(connection, name)
            if not self._rounds.names:
                return self._close_counted(connection, state, forget)
            closed = replace(state, closed=True, forgotten=state.forgotten or forget)
            self._rounds.write(connection, closed)
            if forget:
                _erase(connection, state.number)
        return closed

    def _close_counted(self, connection: sqlite3.Connection, state: Round, forget: bool) -> Round:
        if forget:
            _erase(connection, NOBODYS)
        if state.number > 1 and not state.reports and not state.refused:
            return self._rounds.read(connection, str(state.number - 1))
        closed = replace(state, closed=True)
        self._rounds.write(connection, closed)
        self._rounds.write(connection, self._rounds.following(closed))
        return closed

    def merge(self, other: Journal) -> Folded:
        """Take in all rounds of another journal of the same collection, by name, once; the other one is frozen before.

        Both are locked meanwhile, so no report arrives between the copying of marks and the freezing.  A report that
        came to both counts twice, since a tally cannot be split, and is stated as `TWICE`; where more than a share of
        `MIRRORED` did, both pieces were sent the same, the merge is refused, and neither journal changes.  It is
        refused as well where both have reports of a round and one has forgotten its marks, since a replay could not
        be told.  A round that one of them has closed is closed afterwards.  If this process dies when the other one
        is frozen already, merge again.
        """
        if other.piece == self.piece:
            raise CollectionError(f"journal {self.path} cannot be merged with itself; name another piece")
        with JOURNAL.writing(self.path) as connection:
            _thawed(connection, self.path)
            mark = b"piece:" + other.piece
            query = "SELECT receipt FROM batches WHERE round = ? AND mark = ?"
            seen = connection.execute(query, (NOBODYS, mark)).fetchone()
            if seen is not None:
                accepted, refused = json.loads(seen[0])
                if sum(piece.reports for piece in other.rounds()) != accepted:
                    raise CollectionError(
                        f"journal {other.path} was merged before with {accepted:,} reports and has others now: it is "
                        "a copy that went on; send its messages again to the whole, which knows those it has"
                    )
                return Folded(accepted, refused, before=True)
            with JOURNAL.writing(other.path) as source:
                pieces = self._rounds.all(source)
                self._tellable(connection, pieces)
                nobodys = self._rounds.read(source, "")
                twice = _take_batches(connection, source) + _take_tokens(connection, source)
                pieces = tuple(self._note_shared(connection, piece, twice) for piece in pieces)
                source.execute("UPDATE terms SET frozen = 1")  # on disk before it counts here: it cannot grow any more
            folded = self._joined(connection, (*pieces, *([nobodys] if nobodys.refused else [])))
            receipt = canonical_ascii([folded.accepted, folded.refused])
            connection.execute("INSERT INTO batches VALUES (?, ?, ?)", (NOBODYS, mark, receipt))
        return folded

    def _note_shared(self, connection: sqlite3.Connection, piece: Round, twice: Counter[int]) -> Round:
        """A piece's round with how many of its reports may be in the whole already; refused where that is many."""
        count = min(twice[self._rounds.marked(piece.number)], piece.reports)
        if not count:
            return piece
        mine = next((one.reports for one in self._rounds.all(connection) if one.name == piece.name), 0)
        if count > max(1, MIRRORED * max(piece.reports, mine)):
            raise CollectionError(
                f"the pieces share {count:,} of {piece.reports:,} reports of round {piece.name}, too many for replays: "
                "messages were sent to both, so they cannot be merged; send each report to one piece only, for example "
                "by the first byte of its token"
            )
        return piece.plus(0, np.zeros_like(piece.tally), {TWICE: count})

    def _tellable(self, connection: sqlite3.Connection, pieces: Sequence[Round]) -> None:
        """Refuse to add rounds up whose replays could not be told any more."""
        mine = {state.name: state for state in self._rounds.all(connection)}
        for piece in pieces:
            state = mine.get(piece.name)
            if state is not None and state.reports and piece.reports and (state.forgotten or piece.forgotten):
                raise CollectionError(
                    f"round {piece.name} was forgotten where it was closed, so that a report that both have could not "
                    "be told; merge pieces before --forget"
                )

    def _joined(self, connection: sqlite3.Connection, pieces: Sequence[Round]) -> Folded:
        accepted, refused = 0, Counter[str]()
        for piece in pieces:
            mine = connection.execute("SELECT 1 FROM rounds WHERE name = ?", (piece.name,)).fetchone()
            state = self._rounds.read(connection, piece.name) if mine else None
            closed = piece.closed or (state is not None and state.closed)
            whole = piece if state is None else state.plus(piece.reports, piece.tally, piece.refused)
            forgotten = piece.forgotten or (state is not None and state.forgotten)
            self._rounds.write(connection, replace(whole, closed=closed, forgotten=forgotten))
            accepted += piece.reports
            refused.update(piece.refused)
        return Folded(accepted, dict(refused))


@dataclass(slots=True)
class _Open:
    """What a batch of messages adds to a round."""

    state: Round
    tally: Tally | None = None
    reports: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, folded: Folded, tally: Tally | None) -> None:
        if tally is None:
            self.counts[REPEATED] += 1
            return
        self.tally = tally.copy() if self.tally is None else self.tally + tally
        self.reports += folded.accepted
        self.counts.update(folded.refused)

    def settled(self) -> Round:
        tally = np.zeros_like(self.state.tally) if self.tally is None else self.tally
        return self.state.plus(self.reports, tally, self.counts)


def _folded(connection: sqlite3.Connection, round: int, message: Incoming) -> tuple[Folded, Tally | None]:
    """One message's receipt and tally; no tally if its name is known: then the receipt it had."""
    query = "SELECT receipt FROM batches WHERE round = ? AND mark = ?"
    seen = connection.execute(query, (round, message.mark)).fetchone()
    if seen is not None:
        accepted, refused = json.loads(seen[0])
        return Folded(accepted, refused, before=True), None
    replays = _fresh(connection, round, message.tokens)
    accepted, tally = message.settle(replays)
    counts = dict(message.refused)
    if len(replays):
        counts["repeated report"] = counts.get("repeated report", 0) + len(replays)
    if accepted < message.least:
        counts[THIN] = 1
    receipt = canonical_ascii([accepted, counts]) if counts or accepted != 1 else SINGLE
    row = (round, message.mark, receipt)
    connection.execute("INSERT INTO batches VALUES (?, ?, ?)", row)
    return Folded(accepted, counts), tally


def _thawed(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse to write to a journal that was merged into another."""
    if connection.execute("SELECT frozen FROM terms").fetchone() != (0,):
        raise CollectionError(f"journal {path} is frozen, since it was merged into another; send reports there")


def _erase(connection: sqlite3.Connection, round: int) -> None:
    """Forget the marks of a round's messages, for good; pieces that were merged stay known."""
    connection.execute("DELETE FROM batches WHERE round = ? AND substr(mark, 1, 6) <> CAST('piece:' AS BLOB)", (round,))
    connection.execute("DELETE FROM tokens WHERE round = ?", (round,))


def _fresh(connection: sqlite3.Connection, round: int, tokens: Sequence[bytes]) -> npt.NDArray[np.intp]:
    """Add the new tokens to the set; the positions of those that were in it, or came twice in this message."""
    insert = "INSERT OR IGNORE INTO tokens VALUES (?, ?)"
    if len(tokens) <= FEW:
        known = [place for place, token in enumerate(tokens) if not connection.execute(insert, (round, token)).rowcount]
        return np.array(known, dtype=np.intp)
    connection.execute("SAVEPOINT trial")
    added = connection.executemany(insert, ((round, token) for token in sorted(tokens))).rowcount
    if added == len(tokens):
        connection.execute("RELEASE trial")
        return np.zeros(0, dtype=np.intp)
    connection.execute("ROLLBACK TO trial")
    connection.execute("RELEASE trial")
    return _sorted_out(connection, round, tokens)


def _sorted_out(connection: sqlite3.Connection, round: int, tokens: Sequence[bytes]) -> npt.NDArray[np.intp]:
    """As `_fresh`, where some tokens are known: which ones takes a second look."""
    connection.execute("CREATE TEMP TABLE incoming (mark BLOB PRIMARY KEY, place INTEGER) WITHOUT ROWID")
    rows = sorted(zip(tokens, range(len(tokens)), strict=True))
    connection.executemany("INSERT OR IGNORE INTO incoming VALUES (?, ?)", rows)
    connection.execute("DELETE FROM incoming WHERE mark IN (SELECT mark FROM tokens WHERE round = ?)", (round,))
    connection.execute("INSERT INTO tokens SELECT ?, mark FROM incoming ORDER BY mark", (round,))
    known = np.ones(len(tokens), dtype=np.bool_)
    for (place,) in connection.execute("SELECT place FROM incoming"):
        known[place] = False
    connection.execute("DROP TABLE incoming")
    return np.flatnonzero(known)


def _take_tokens(connection: sqlite3.Connection, source: sqlite3.Connection) -> Counter[int]:
    """Copy another piece's tokens; how many were here already, by round."""
    twice = Counter[int]()
    for (round,) in source.execute("SELECT DISTINCT round FROM tokens").fetchall():
        rows = source.execute("SELECT * FROM tokens WHERE round = ? ORDER BY mark", (round,)).fetchall()
        twice[round] += len(rows) - connection.executemany("INSERT OR IGNORE INTO tokens VALUES (?, ?)", rows).rowcount
    return twice


def _take_batches(connection: sqlite3.Connection, source: sqlite3.Connection) -> Counter[int]:
    """Copy another piece's names of messages; of names that were here already, how many reports had no token, at most.

    A message of one report has its name for a token, and is counted there.
    """
    twice = Counter[int]()
    known = "SELECT 1 FROM batches WHERE round = ? AND mark = ?"
    alone = "SELECT 1 FROM tokens WHERE round = ? AND mark = ?"
    for round, mark, receipt in source.execute("SELECT * FROM batches ORDER BY round, mark"):
        if connection.execute(known, (round, mark)).fetchone() is None:
            connection.execute("INSERT INTO batches VALUES (?, ?, ?)", (round, mark, receipt))
        elif source.execute(alone, (round, mark)).fetchone() is None:
            twice[round] += json.loads(receipt)[0]
    return twice
