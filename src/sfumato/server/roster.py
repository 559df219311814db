"""Who holds which token: made for an analyst of the plan, found by its hash, expiring and revocable."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sfumato.server.store import Store
from sfumato.server.tokens import expiry, hashed, new_token

__all__ = ["Held", "Roster"]

FRESH = 1.0  # seconds that a token which was found is taken for known: as long a revoked one may still be let in


@dataclass(frozen=True, slots=True)
class Held:
    """A token as the roster knows it."""

    hash: str
    analyst: str
    created: str
    expires: str | None
    revoked: str | None

    def valid(self, now: datetime) -> bool:
        """Whether it is still let in."""
        return self.revoked is None and (self.expires is None or now < datetime.fromisoformat(self.expires))

    def to_record(self) -> dict[str, object]:
        """What may be shown of it: the first digits of its hash tell it from others."""
        return {"token": self.hash[:12], "created": self.created, "expires": self.expires, "revoked": self.revoked}


class Roster:
    """The tokens of one dataset."""

    def __init__(self, store: Store, dataset: str) -> None:
        self._store, self._dataset = store, dataset
        self._found: dict[str, tuple[float, Held | None]] = {}
        self._lock = threading.Lock()

    def add(self, analyst: str, expires: str | None, token: str | None = None, plans: Sequence[str] = ()) -> str:
        """A new token for an analyst, which is kept nowhere; or one that another roster has made.

        `plans` are those for which it was made together, so that it can be ended for all of them.
        """
        made, now = token or new_token(), datetime.now(UTC)
        self._store.write(
            "INSERT INTO {0}tokens (dataset, hash, analyst, created, expires, revoked) VALUES (?, ?, ?, ?, ?, NULL)",
            (self._dataset, hashed(made), analyst, now.isoformat(timespec="seconds"),
             None if expires is None else expiry(expires, now)),
        )  # fmt: skip
        if plans:
            self._store.write(
                "INSERT INTO {0}given (dataset, hash, plans) VALUES (?, ?, ?)",
                (self._dataset, hashed(made), json.dumps(list(plans))),
            )
        return made

    def list_plans(self, token: str) -> list[str]:
        """Return the plans that a token was made for together with this one, by its hash."""
        query = "SELECT plans FROM {0}given WHERE dataset = ? AND hash = ?"
        return [plan for (plans,) in self._store.rows(query, (self._dataset, token)) for plan in json.loads(plans)]

    def revoke(self, analyst: str, beginning: str = "") -> int:
        """End the tokens of an analyst, or that whose hash begins so; how many there were."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        found = [one for one in self.tokens() if one.analyst == analyst and one.hash.startswith(beginning)]
        return sum(
            self._store.write(
                "UPDATE {0}tokens SET revoked = ? WHERE dataset = ? AND hash = ? AND revoked IS NULL",
                (now, self._dataset, one.hash),
            )
            for one in found
        )

    def tokens(self) -> list[Held]:
        """All of them, oldest first."""
        query = (
            "SELECT hash, analyst, created, expires, revoked FROM {0}tokens WHERE dataset = ? ORDER BY created, hash"
        )
        return [Held(*row) for row in self._store.rows(query, (self._dataset,))]

    def find(self, token: str) -> Held | None:
        """What a token is known as, if it is let in; compared by hashes, in constant time."""
        held = self.look_up(hashed(token))
        return held if held is not None and held.valid(datetime.now(UTC)) else None

    def look_up(self, wanted: str) -> Held | None:
        """What is known of a token by its hash, also of one that is not let in any more."""
        now = time.monotonic()
        with self._lock:
            kept = self._found.get(wanted)
        if kept is None or now - kept[0] > FRESH:
            kept = now, self._read(wanted)
            with self._lock:
                if len(self._found) > 10_000:
                    self._found.clear()
                self._found[wanted] = kept
        return kept[1]

    def is_over(self, token: str) -> bool:
        """No token that is not let in is told from a guess."""
        return False

    def met(self, wanted: str) -> bool:
        """Whether a token was let in before, by its hash, so that whoever holds it does not guess."""
        with self._lock:
            kept = self._found.get(wanted)
        return kept is not None and kept[1] is not None

    def _read(self, wanted: str) -> Held | None:
        query = "SELECT hash, analyst, created, expires, revoked FROM {0}tokens WHERE dataset = ? AND hash = ?"
        for row in self._store.rows(query, (self._dataset, wanted)):
            if hmac.compare_digest(row[0], wanted):
                return Held(*row)
        return None
