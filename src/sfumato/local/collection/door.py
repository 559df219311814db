"""The door that devices knock at: one report a message, and all who wait are counted with one wait for the disk.

A durable commit takes milliseconds, a report microseconds.  Whoever adds a message through the door waits until it is
on disk, as with a collector; those who come meanwhile are counted together, next.  An acknowledgment means the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from sfumato.errors import ParameterError
from sfumato.local.collection.collector import Collector, Receipt
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection

__all__ = ["Door"]

TOGETHER = 8192  # messages of one commit
WAITING = 1 << 17  # messages that may wait; further ones are turned away


class Door:
    """A collector for many threads: `add` returns when the message is durable, `send` a promise of its receipt.

    >>> import tempfile
    >>> from sfumato.local import Client, collect
    >>> pets = collect("pets", ["cat", "dog"], spend=1.0, people=1000)
    >>> with tempfile.TemporaryDirectory() as place, Door(pets, f"{place}/journal") as door:
    ...     print(door.add(Client(pets).report("cat")).accepted)
    1
    """

    __slots__ = ("_closed", "_condition", "_thread", "_waiting", "collector")

    def __init__(self, collection: Collection, path: str | os.PathLike[str], most: int = 1) -> None:
        if most < 1:
            raise ParameterError(f"most must be at least 1 report a message, got {most}")
        self.collector = Collector(collection, path, most)
        self._waiting: list[tuple[bytes, Future[Receipt]]] = []
        self._condition, self._closed = threading.Condition(), False
        self._thread = threading.Thread(target=self._work, name="sfumato-door", daemon=True)
        self._thread.start()

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def send(self, message: bytes) -> Future[Receipt]:
        """Take a message in; the promise is kept when its effect is durable, and broken if that failed."""
        promised: Future[Receipt] = Future()
        promised.set_running_or_notify_cancel()  # what was taken in cannot be called back
        with self._condition:
            if self._closed:
                raise CollectionError("the door is closed; send the message again when it has opened")
            if len(self._waiting) >= WAITING:
                raise CollectionError(f"{WAITING:,} messages wait at the door; send this one again later")
            self._waiting.append((bytes(message), promised))
            self._condition.notify()
        return promised

    def add(self, message: bytes) -> Receipt:
        """Take a message in; returns when its effect is durable."""
        return self.send(message).result()

    def close(self) -> None:
        """Count whoever waits, and let nobody in any more."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._waiting or self._closed)
                held, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
            if not held:
                return
            self._count(held)

    def _count(self, held: Sequence[tuple[bytes, Future[Receipt]]]) -> None:
        """All of them in one commit; a failure is everybody's, and nobody was counted then."""
        try:
            receipts = self.collector.add_all([message for message, _ in held])
        except Exception as error:
            for _, promised in held:
                promised.set_exception(error)
            return
        for (_, promised), receipt in zip(held, receipts, strict=True):
            promised.set_result(receipt)
