"""The rounds of a journal: by their declared names, or counted where none are declared.  All inside a transaction.

Round 0 is nobody's: what belongs to no round is counted there, and what is recognized in all of them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.local.collection.database import CollectionError
from sfumato.records import canonical_ascii

__all__ = ["NOBODYS", "Round", "Rounds", "Tally"]

Tally = npt.NDArray[np.int64]

NOBODYS = 0


@dataclass(frozen=True, slots=True)
class Round:
    """The public state of one round: how many reports were folded in, their tally, refusals by reason."""

    number: int
    name: str
    closed: bool
    reports: int
    tally: Tally
    refused: dict[str, int]
    forgotten: bool = False  # what recognizes its messages was erased

    def plus(self, reports: int, tally: Tally, refused: Mapping[str, int]) -> Round:
        """The same with more in it."""
        counts = {
            reason: self.refused.get(reason, 0) + refused.get(reason, 0) for reason in {**self.refused, **refused}
        }
        return replace(self, reports=self.reports + int(reports), tally=self.tally + tally, refused=counts)


@dataclass(frozen=True, slots=True)
class Rounds:
    """What rounds there are: `names` as declared, none of them if rounds are counted; tallies have one length."""

    names: tuple[str, ...]
    length: int

    def marked(self, number: int) -> int:
        """Where the marks of a round's messages stand: those of counted rounds are known in all of them."""
        return number if self.names else NOBODYS

    def read(self, connection: sqlite3.Connection, name: str | None) -> Round:
        """One round; without a name the only one, or the latest that has anything in it."""
        if name is None:
            row = connection.execute("SELECT * FROM rounds WHERE round > 0 ORDER BY round DESC LIMIT 1").fetchone()
            return self._empty(self.names[0] if self.names else "1") if row is None else _round(row)
        row = connection.execute("SELECT * FROM rounds WHERE name = ?", (name,)).fetchone()
        if row is not None:
            return _round(row)
        if name in self.names or name in ("", "1"):
            return self._empty(name)
        raise CollectionError(f"the journal has no round {name}; " + self._words())

    def all(self, connection: sqlite3.Connection) -> tuple[Round, ...]:
        """Every round that has anything in it, oldest first."""
        return tuple(map(_round, connection.execute("SELECT * FROM rounds WHERE round > 0 ORDER BY round")))

    def write(self, connection: sqlite3.Connection, state: Round) -> None:
        """The new state of a round."""
        row = (
            state.number,
            state.name,
            state.closed + state.forgotten,
            state.reports,
            _bytes(state.tally),
            canonical_ascii(state.refused),
        )
        connection.execute("INSERT OR REPLACE INTO rounds VALUES (?, ?, ?, ?, ?, ?)", row)

    def elsewhere(self, connection: sqlite3.Connection) -> Round:
        """Where refusals are counted that belong to no round: nobody's, unless there is one round only."""
        return self.read(connection, "" if len(self.names) > 1 else None)

    def following(self, state: Round) -> Round:
        """The round after a counted one."""
        return self._empty(str(state.number + 1), state.number + 1)

    def _empty(self, name: str, number: int | None = None) -> Round:
        if number is None:
            number = NOBODYS if name == "" else self.names.index(name) + 1 if self.names else 1
        return Round(number, name, False, 0, np.zeros(self.length, dtype=np.int64), {})

    def _words(self) -> str:
        if not self.names:
            return "rounds are counted from 1"
        few = ", ".join(map(repr, self.names[:3]))
        return f"its rounds are {few}" + (f" and {len(self.names) - 3} more" if len(self.names) > 3 else "")


def _round(row: tuple[int, str, int, int, bytes, str]) -> Round:
    tally = np.frombuffer(row[4], dtype="<i8").astype(np.int64)
    return Round(row[0], row[1], row[2] > 0, row[3], tally, json.loads(row[5]), row[2] > 1)


def _bytes(tally: Tally) -> bytes:
    return np.asarray(tally).astype("<i8").tobytes()
