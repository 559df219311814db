"""How often one sender may send: counted in memory, under a key that lasts as long as the window, and then forgotten.

A sender is an IPv4 address, or the 64 bits of an IPv6 one that its owner has for itself.  What is counted stands under
a keyed hash of that, beside no message, and nothing of it is ever written.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import threading
import time
from collections.abc import Callable

from sfumato.errors import ParameterError

__all__ = ["Limit"]

SENDERS = 1 << 20  # counted in one window; beyond them only senders that are known are let in


class Limit:
    """At most `most` messages of a sender in each window of so many seconds.

    >>> limit = Limit(2, window=60)
    >>> [limit.admits("192.0.2.1") for _ in range(3)], limit.admits("192.0.2.2")
    ([True, True, False], True)
    """

    __slots__ = ("_clock", "_counts", "_key", "_lock", "_since", "most", "window")

    def __init__(self, most: int, window: float = 3600.0, clock: Callable[[], float] = time.monotonic) -> None:
        if not (type(most) is int and most >= 1):
            raise ParameterError(f"limit must be at least 1 message a sender, got {most!r}")
        if not 0 < window < float("inf"):
            raise ParameterError(f"window must be a number of seconds, got {window!r}")
        self.most, self.window, self._clock = most, window, clock
        self._lock = threading.Lock()
        self._renew()

    def admits(self, sender: str) -> bool:
        """Whether this sender may send one more message now; if so it is counted."""
        with self._lock:
            if self._clock() - self._since >= self.window:
                self._renew()
            mark = hashlib.blake2b(_network(sender), digest_size=16, key=self._key).digest()
            count = self._counts.get(mark, 0)
            if count >= self.most or (not count and len(self._counts) >= SENDERS):
                return False
            self._counts[mark] = count + 1
            return True

    def _renew(self) -> None:
        self._key, self._counts, self._since = secrets.token_bytes(32), dict[bytes, int](), self._clock()


def _network(sender: str) -> bytes:
    """What one sender cannot change: the address, or the first half of a long one."""
    try:
        found = ipaddress.ip_address(sender.partition("%")[0])
    except ValueError:
        return sender.encode(errors="replace")
    if isinstance(found, ipaddress.IPv6Address):
        return found.ipv4_mapped.packed if found.ipv4_mapped is not None else found.packed[:8]
    return found.packed
