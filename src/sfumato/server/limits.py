"""How often one may ask: a bucket of requests for each caller, filled at a steady rate; of each process its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sfumato.server.statuses import Refused

__all__ = ["Buckets"]

MOST = 10_000  # callers that are remembered


class Buckets:
    """So many requests at once, and so many a second after that.

    >>> moments = iter([0.0, 0.0, 0.0, 0.5])
    >>> buckets = Buckets(2.0, 2, clock=lambda: next(moments))
    >>> [buckets.takes("ana") for _ in range(4)]
    [True, True, False, True]
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._held: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def takes(self, caller: str) -> bool:
        """Whether the caller has a request left; it is taken."""
        with self._lock:
            left, now = self._left(caller)
            if len(self._held) >= MOST and caller not in self._held:
                self._held.clear()
            self._held[caller] = (left - 1 if left >= 1 else left, now)
            return left >= 1

    def holds(self, caller: str) -> bool:
        """Whether the caller has a request left; it stays."""
        with self._lock:
            return self._left(caller)[0] >= 1

    def _left(self, caller: str) -> tuple[float, float]:
        now = self._clock()
        left, then = self._held.get(caller, (float(self._burst), now))
        return min(self._burst, left + (now - then) * self._rate), now

    def must_take(self, caller: str) -> None:
        """Refuse a caller who asks too often."""
        if not self.takes(caller):
            raise Refused(429, "too many requests; wait a little and ask again", {"Retry-After": "1"})
