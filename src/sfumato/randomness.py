"""The one source of random bits: AES-256 in counter mode, keyed from the operating system.

Every sampler takes a generator as its last, required argument and never stores it.  `SecureRng` is the
generator of every release.  `SeededRng` is a different type: it repeats itself, and exists for tests.

After each block the first bytes of the key stream replace the key and the rest is handed out, each word
once, and erased from the pool (fast key erasure, Bernstein2017): a later look into memory does not reveal
words already handed out, as far as Python lets memory be erased.  A forked child starts from a fresh key.

A draw may be interrupted between any two steps, by a signal handler that draws or forks, or by an exception.
A handler's words come straight from the operating system, so that two draws never share the pool; an interrupted
draw that finds itself in a forked child begins again there; and no place of the pool is handed out after its word
was erased, since the place is passed before the word is taken.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.deferred import Module
from sfumato.errors import ParameterError

__all__ = ["Rng", "SecureRng", "SeededRng", "secure", "seeded"]

ciphers = Module("cryptography.hazmat.primitives.ciphers")

Words = npt.NDArray[np.uint64]

POOL = 8192  # words kept ready for small requests: 64 KiB, a few microseconds of AES
BLOCK = 1 << 20  # bytes encrypted under one key at most
KEY = 32  # bytes of an AES-256 key
FRESH = 64  # blocks between two visits to the operating system's generator
_ZEROS = bytes(BLOCK)


class Rng(Protocol):
    """Independent uniform 64-bit words."""

    def bits64(self, count: int) -> Words:
        """The next `count` words."""
        ...

    def word(self) -> int:
        """The next word, as an integer in [0, 2**64)."""
        ...


class SecureRng:
    """Unpredictable words; safe to share between threads, across `fork` and with signal handlers."""

    __slots__ = ("__weakref__", "_blocks", "_busy", "_key", "_lock", "_next", "_pid", "_pool")

    _lock: threading.RLock  # a handler runs in the thread that it interrupts
    _next: int
    _busy: bool

    def __init__(self) -> None:
        self._renew()
        _alive.add(self)

    def __repr__(self) -> str:
        return "SecureRng()"

    def __reduce__(self) -> str:
        raise ParameterError("rng cannot be copied or sent elsewhere; call secure() there instead")

    def bits64(self, count: int) -> Words:
        """The next `count` words."""
        _check_count(count)
        pid = os.getpid()
        with self._lock:
            if self._busy:
                return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()
            self._busy = True
            try:
                taken = self._take(count)
            finally:
                self._busy = False
        return taken if pid == os.getpid() else self._again(count)

    def word(self) -> int:
        """The next word, as an integer in [0, 2**64)."""
        pid = os.getpid()
        with self._lock:
            if self._busy:
                return int.from_bytes(os.urandom(8), "big")
            self._busy = True
            try:
                self._follow_fork()
                if self._next >= POOL:
                    self._refill()
                pool, start = self._pool, self._next
                self._next = start + 1
                value = int(pool[start])
                pool[start] = 0
            finally:
                self._busy = False
        return value if pid == os.getpid() else int(self._again(1)[0])

    def _again(self, count: int) -> Words:
        """A draw that a handler carried into a forked child: nothing of it is kept."""
        self._renew()
        return self.bits64(count)

    def _take(self, count: int) -> Words:
        self._follow_fork()
        if count > POOL:
            return self._stream(count)
        if self._next + count > POOL:
            self._refill()
        pool, start = self._pool, self._next
        self._next = start + count
        taken = pool[start : start + count].copy()
        pool[start : start + count] = 0
        return taken

    def _renew(self) -> None:
        """Forget everything; start from the operating system (also in a forked child)."""
        self._lock = threading.RLock()
        self._busy = False
        self._pid = os.getpid()
        self._key = os.urandom(KEY)
        self._blocks = 0
        self._pool: Words = np.zeros(POOL, dtype=np.uint64)
        self._next = POOL

    def _follow_fork(self) -> None:
        if self._pid != os.getpid():  # a fork that bypassed Python's hooks
            self._pid, self._key, self._blocks = os.getpid(), os.urandom(KEY), 0
            self._next = POOL

    def _refill(self) -> None:
        self._pool = self._stream(POOL)
        self._next = 0

    def _stream(self, count: int) -> Words:
        """`count` words of key stream; each block's first bytes become the next key."""
        wanted = 8 * count
        room = np.empty(wanted + 16, dtype=np.uint8)  # update_into asks for a spare cipher block
        view = room.data
        done = 0
        while done < wanted:
            size = min(BLOCK - KEY, wanted - done)
            cipher = ciphers.Cipher(ciphers.algorithms.AES(self._key), ciphers.modes.CTR(bytes(16))).encryptor()
            key = cipher.update(_ZEROS[:KEY])
            cipher.update_into(memoryview(_ZEROS)[:size], view[done : done + size + 16])
            self._blocks += 1
            if self._blocks % FRESH == 0:
                key = bytes(a ^ b for a, b in zip(key, os.urandom(KEY), strict=True))
            self._key = key
            done += size
        return room[:wanted].view(np.uint64)


class SeededRng:
    """Repeatable words, for tests.  Predictable: nothing that is published may use it."""

    __slots__ = ("_bits", "_next", "_pool", "seed")

    def __init__(self, seed: int) -> None:
        _check_seed(seed)
        self.seed = seed
        self._bits = np.random.PCG64(seed)
        self._pool: list[int] = []
        self._next = 0

    def __repr__(self) -> str:
        return f"SeededRng(seed={self.seed})"

    def bits64(self, count: int) -> Words:
        """The next `count` words."""
        _check_count(count)
        kept = self._pool[self._next : self._next + count]
        self._next += len(kept)
        fresh = np.asarray(self._bits.random_raw(count - len(kept)), dtype=np.uint64)
        return np.concatenate([np.array(kept, dtype=np.uint64), fresh]) if kept else fresh

    def word(self) -> int:
        """The next word, as an integer in [0, 2**64)."""
        if self._next >= len(self._pool):
            self._pool = np.asarray(self._bits.random_raw(256), dtype=np.uint64).tolist()
            self._next = 0
        self._next += 1
        return self._pool[self._next - 1]


def secure() -> SecureRng:
    """A new generator, keyed from the operating system."""
    return SecureRng()


def seeded(seed: int) -> SeededRng:
    """A repeatable generator, for tests.

    >>> seeded(1).word() == seeded(1).word() != seeded(2).word()
    True
    """
    _check_seed(seed)
    return SeededRng(seed)


def _check_seed(seed: int) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError("seed must be an integer that is not negative; try seeded(1)")


def _check_count(count: int) -> None:
    if count < 0:
        raise ParameterError(f"count must not be negative, got {count}")


_alive: weakref.WeakSet[SecureRng] = weakref.WeakSet()


def _after_fork() -> None:
    for rng in list(_alive):
        rng._renew()


os.register_at_fork(after_in_child=_after_fork)
