"""Sessions of browsers: an id of its own for each sign-in, so that a cookie never holds a token.

A session is random, kept by its hash beside the tokens, and ends at sign-out, when nobody has used it for half an hour,
half a day after it began, and with its token.  Its id is no token: it is let in as a cookie alone.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable

from sfumato.errors import LedgerError
from sfumato.server.roster import Held, Roster
from sfumato.server.store import Store

__all__ = ["IDLE", "LIFETIME", "Logins", "new_session"]

IDLE = 30 * 60.0  # seconds without a request after which a session is over
LIFETIME = 12 * 3600.0  # seconds after which it is over in any case
NOTED = 60.0  # seconds between two notes that it was used
FRESH = 1.0  # seconds that a session which was found is taken for known, as `roster` does with tokens


def new_session() -> str:
    """Return the id of a new session: 256 random bits."""
    return secrets.token_urlsafe(32)


class Logins:
    """The sessions of one dataset."""

    def __init__(self, store: Store, roster: Roster, dataset: str, clock: Callable[[], float] = time.time) -> None:
        self._store, self._roster, self._dataset, self.clock = store, roster, dataset, clock
        self._found: dict[str, tuple[float, str | None]] = {}  # by hash: when it was read, and the token's hash
        self._ends = 0  # sessions that ended in this process
        self._lock = threading.Lock()

    def begin(self, session: str, token: str) -> None:
        """Keep a new session of a token, both by their hashes; what ended long ago is forgotten."""
        now = self.clock()
        self._store.write("DELETE FROM {0}sessions WHERE dataset = ? AND begun < ?", (self._dataset, now - LIFETIME))
        self._store.write(
            "INSERT INTO {0}sessions (dataset, hash, token, begun, touched, ended) VALUES (?, ?, ?, ?, ?, NULL)",
            (self._dataset, session, token, now, now),
        )

    def end(self, session: str) -> None:
        """End a session at once in this process, and within a second in others."""
        self._store.write(
            "UPDATE {0}sessions SET ended = ? WHERE dataset = ? AND hash = ? AND ended IS NULL",
            (self.clock(), self._dataset, session),
        )
        with self._lock:
            self._ends += 1
            self._found.pop(session, None)

    def look_up(self, session: str) -> Held | None:
        """What is known of the token of a session that is not over, by the session's hash."""
        now = self.clock()
        with self._lock:
            kept, ends = self._found.get(session), self._ends
        if kept is None or abs(now - kept[0]) > FRESH:
            kept = now, self._read(session, now)
            with self._lock:
                if len(self._found) > 10_000:
                    self._found.clear()
                if ends == self._ends:  # else it may have ended after it was read
                    self._found[session] = kept
        return None if kept[1] is None else self._roster.look_up(kept[1])

    def is_over(self, session: str) -> bool:
        """Whether a session, by its hash, was begun here and has ended since."""
        try:
            found = self._store.rows(
                "SELECT hash FROM {0}sessions WHERE dataset = ? AND hash = ?", (self._dataset, session)
            )
            return bool(list(found))
        except LedgerError:
            return False

    def met(self, session: str) -> bool:
        """Whether a session was let in before, by its hash."""
        with self._lock:
            kept = self._found.get(session)
        return kept is not None and kept[1] is not None

    def _read(self, session: str, now: float) -> str | None:
        """The hash of a session's token; its use is noted."""
        query = "SELECT token, begun, touched, ended FROM {0}sessions WHERE dataset = ? AND hash = ?"
        for token, begun, touched, ended in self._store.rows(query, (self._dataset, session)):
            if ended is None and now - touched < IDLE and abs(now - begun) < LIFETIME:
                if now - touched > NOTED:
                    noted = "UPDATE {0}sessions SET touched = ? WHERE dataset = ? AND hash = ?"
                    self._store.write(noted, (now, self._dataset, session))
                return str(token)
        return None
