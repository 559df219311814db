"""Connections of one process to the servers of its ledgers: few, shared by all ledgers, and given back when idle.

A server has a fixed number of connections for everybody.  So a process takes at most `bound` of them, and whoever needs
one more waits in a queue, for a limited time.  A turn (`Book.turn`) holds a connection while an answer is computed;
turns may not take them all, since whoever has a turn needs a second one to charge and to store.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, Protocol, TypeVar

from sfumato.errors import LedgerError

__all__ = ["CONNECTIONS", "LEAST", "ConnectionPool", "Unreachable"]

CONNECTIONS = 9  # of a process by default: six releases and a job with a turn each, and two for all else
LEAST = 4  # connections with which nothing waits for itself
WAIT = 20.0  # seconds in the queue
IDLE = 10.0  # seconds that a connection is kept which nobody uses
PAUSE = 1.0  # seconds for which a server that did not let us in is not asked again


class Unreachable(LedgerError):
    """The ledger's server cannot be reached for a moment; nothing was charged by what needed it."""


class Closable(Protocol):
    """What a pool holds."""

    def close(self) -> object:
        """End it."""


C = TypeVar("C", bound=Closable)


class ConnectionPool(Generic[C]):
    """At most `bound` connections, whatever the number of addresses; the process that forks away starts with none."""

    def __init__(
        self, connect: Callable[[str], C], bound: int = CONNECTIONS, wait: float = WAIT, idle: float = IDLE
    ) -> None:
        self._connect, self._wait, self._idle_time = connect, wait, idle
        self._begin(bound)
        os.register_at_fork(after_in_child=lambda: self._begin(self.bound))
        atexit.register(self.close_idle)

    def _begin(self, bound: int) -> None:
        """Start with no connection; those of a parent stay its own, and are not even closed."""
        parents = getattr(self, "_idle", [])
        self._parents = [*getattr(self, "_parents", []), *parents]
        self._changed = threading.Condition()
        self._open = 0  # connections, idle ones included
        self._idle: list[tuple[str, C, float]] = []  # oldest first, with since when
        self._queue: deque[object] = deque()
        self._down: dict[str, float] = {}  # until when a server is not asked again
        self._reaper: threading.Timer | None = None
        self._turns = 0
        self.bound = bound

    def set_bound(self, bound: int) -> None:
        """Change how many connections there may be; what is above that ends when it is given back."""
        with self._changed:
            self.bound = max(LEAST, bound)
            self._changed.notify_all()

    @property
    def count(self) -> int:
        """How many connections there are."""
        return self._open

    def take(self, address: str) -> tuple[C, float | None]:
        """Return a connection that nobody else uses, and since when it was idle; a new one has no such time."""
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
            try:
                free = self._changed.wait_for(
                    lambda: self._is_down(address) or (self._queue[0] is ticket and self._has_room()), self._wait
                )
                if self._is_down(address):
                    raise Unreachable("the ledger's server cannot be reached; it is asked again in a moment")
                if not free:
                    raise Unreachable(
                        f"all {self.bound} connections of this process to the ledger's server were in use for "
                        f"{self._wait:g} s; nothing was charged by this; try again"
                    )
                found = self._pop_idle(address)
                surplus = None if found is not None or self._open < self.bound else self._idle.pop(0)
                self._open += found is None and surplus is None
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
        if found is not None:
            return found
        if surplus is not None:  # of another server
            surplus[1].close()
        return self._make(address), None

    def give_back(self, address: str, connection: C, usable: bool) -> None:
        """Put a connection back that was taken; one that is not usable is ended."""
        with self._changed:
            usable = usable and self._open <= self.bound
            if usable:
                self._idle.append((address, connection, time.monotonic()))
                self._schedule(self._idle_time)
            else:
                self._open -= 1
                self._idle = [(place, one, 0.0) for place, one, _ in self._idle]  # the server may have ended all
            self._changed.notify_all()
        if not usable:
            connection.close()

    @contextmanager
    def hold_turn(self, wait: float) -> Iterator[bool]:
        """Count a turn while it is held; false where too many are held for that long."""
        process, changed = os.getpid(), self._changed
        with changed:
            granted = changed.wait_for(lambda: self._turns < self.bound - 2, wait)
            self._turns += granted
        try:
            yield granted
        finally:
            if granted and process == os.getpid():
                with changed:
                    self._turns -= 1
                    changed.notify_all()

    def close_idle(self, since: float = float("inf")) -> None:
        """End the connections that nobody has used since a moment of the monotonic clock; by default all idle ones."""
        with self._changed:
            ended = [one for one in self._idle if one[2] <= since]
            self._idle = [one for one in self._idle if one[2] > since]
            self._open -= len(ended)
            self._changed.notify_all()
        for _, connection, _ in ended:
            with suppress(Exception):
                connection.close()

    def _make(self, address: str) -> C:
        try:
            return self._connect(address)
        except BaseException as error:
            with self._changed:
                self._open -= 1
                if isinstance(error, Unreachable):
                    self._down[address] = time.monotonic() + PAUSE
                self._changed.notify_all()
            raise

    def _pop_idle(self, address: str) -> tuple[C, float] | None:
        """The connection to an address that was used last, so that others become old and end."""
        place = max((place for place, one in enumerate(self._idle) if one[0] == address), default=None)
        if place is None:
            return None
        _, connection, since = self._idle.pop(place)
        return connection, since

    def _has_room(self) -> bool:
        return bool(self._idle) or self._open < self.bound

    def _is_down(self, address: str) -> bool:
        return time.monotonic() < self._down.get(address, 0.0)

    def _schedule(self, seconds: float) -> None:
        """Look for old connections later, once."""
        if self._reaper is None:
            self._reaper = threading.Timer(seconds, self._reap)
            self._reaper.daemon = True
            self._reaper.start()

    def _reap(self) -> None:
        self.close_idle(time.monotonic() - self._idle_time)
        with self._changed:
            self._reaper = None
            if self._idle:
                oldest = min(since for _, _, since in self._idle)
                self._schedule(max(0.01, oldest + self._idle_time - time.monotonic()))
