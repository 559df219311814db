"""The secure generator's keys, from a name instead of the operating system."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from weakref import WeakKeyDictionary

from sfumato import randomness
from sfumato.randomness import SecureRng

FRESH = "SFUMATO_FRESH_SEEDS"


class Keys:
    """What `os.urandom` gives: the stream of a name in this process, true bytes in a forked one."""

    def __init__(self, name: str) -> None:
        self.name = f"{os.environ.get(FRESH, '')} {name}"
        self.asked = 0
        self.process = os.getpid()

    def __call__(self, size: int) -> bytes:
        if os.getpid() != self.process:
            return os.urandom(size)
        self.asked += 1
        return hashlib.shake_256(f"{self.asked} {self.name}".encode()).digest(size)


births: WeakKeyDictionary[SecureRng, str] = WeakKeyDictionary()  # how many live is chance: each has its own stream


def born(self: SecureRng, made: Callable[[SecureRng], None] = SecureRng.__init__) -> None:
    """Note by which keys a generator began."""
    made(self)
    source = randomness.os.urandom
    births[self] = f"{source.asked} {source.name}" if isinstance(source, Keys) else ""


SecureRng.__init__ = born  # type: ignore[method-assign, assignment]


def keyed(name: str) -> Iterator[None]:
    """The secure generator takes its keys from a name; those that live already begin anew."""
    before = randomness.os
    for rng in list(randomness._alive):
        randomness.os = SimpleNamespace(getpid=os.getpid, urandom=Keys(f"{name} {births.get(rng)}"))  # type: ignore
        rng._renew()
    randomness.os = SimpleNamespace(getpid=os.getpid, urandom=Keys(name))  # type: ignore[assignment]
    try:
        yield
    finally:
        randomness.os = before
