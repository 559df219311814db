"""What is seen of a ledger from outside: how it stood at the last tick.

An answer leaves on the tick, so that how long it took is not told; whoever asks every moment whether it is stored, or
what is spent by now, is told no more than that.
"""

from __future__ import annotations

import threading

from sfumato.ledger import LedgerLike
from sfumato.ledger.accounts import Allowance
from sfumato.ledger.pool import Unreachable
from sfumato.ledger.rules import History
from sfumato.ledger.terms import Terms
from sfumato.privacy.filters import filter_for
from sfumato.server import ticks
from sfumato.server.index import Index

__all__ = ["Sight", "histories"]

PATIENCE = 20.0  # seconds that one look waits for another
NOT_READY = "the ledger could not be read at the last tick; it is read again at the next one"


def histories(terms: Terms, index: Index, allowance: Allowance | None = None) -> tuple[History, ...]:
    """What the dataset's budget admitted, and an account's before it, as far as the ledger was read."""
    whole = (terms.filter, *index.totals())
    return (whole,) if allowance is None else ((filter_for(allowance.budget), *index.accounts.spent(allowance)), whole)


class Sight:
    """The ledger as it stood at the last tick of the clock."""

    def __init__(self, ledger: LedgerLike, tick: float) -> None:
        self._index, self._tick = Index(ledger), tick
        self._lock = threading.Lock()
        self._place = -1  # of the tick in all ticks
        self._failed = False

    def look(self) -> Index:
        """Return what is seen now; the first look after a tick reads on, and a look follows each tick (`app`).

        Where that one fails nothing is seen until the next tick: a later one would see what happened since.
        """
        if not self._lock.acquire(timeout=PATIENCE):
            raise Unreachable(NOT_READY)
        try:
            place = ticks.count_ticks(self._tick)
            if place != self._place:
                self._place, self._failed = place, True
                self._index.refresh()
                self._failed = False
            if self._failed:
                raise Unreachable(NOT_READY)
            return self._index
        finally:
            self._lock.release()
