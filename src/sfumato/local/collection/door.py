"""The door that devices knock at: one report a message, and all who wait are counted with one wait for the disk.

A durable commit takes milliseconds, a report microseconds.  Whoever adds a message through the door waits until it is
on disk, as with a collector; those who come meanwhile are counted together, next.  An acknowledgment means the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from sfumato.errors import ParameterError
from sfumato.local.collection.collector import Collector, Receipt
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection

__all__ = ["Door", "Gathering"]

TOGETHER = 8192  # messages of one commit
WAITING = 1 << 17  # messages that may wait; further ones are turned away


class Gathering:
    """Messages of many threads, handed to `work` together: it returns a receipt for each when all are durable."""

    __slots__ = ("_closed", "_condition", "_thread", "_waiting", "_work")

    def __init__(self, work: Callable[[list[bytes]], Sequence[Receipt]]) -> None:
        self._work = work
        self._waiting: list[tuple[bytes, Future[Receipt]]] = []
        self._condition, self._closed = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name="sfumato-door", daemon=True)
        self._thread.start()

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

    def close(self) -> None:
        """Finish those who wait, and let nobody else in."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._waiting or self._closed)
                held, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
            if not held:
                return
            self._settle(held)

    def _settle(self, held: Sequence[tuple[bytes, Future[Receipt]]]) -> None:
        """All of them in one commit; a failure is everybody's, and nobody was counted then."""
        try:
            receipts = self._work([message for message, _ in held])
        except Exception as error:
            for _, promised in held:
                promised.set_exception(error)
            return
        for (_, promised), receipt in zip(held, receipts, strict=True):
            promised.set_result(receipt)


class Door:
    """A collector for many threads: `add` returns when the message is durable, `send` a promise of its receipt.

    >>> import tempfile
    >>> from sfumato.local import Client, collect
    >>> pets = collect("pets", ["cat", "dog"], spend=1.0, people=1000)
    >>> with tempfile.TemporaryDirectory() as place, Door(pets, f"{place}/journal") as door:
    ...     print(door.add(Client(pets).report("cat")).accepted)
    1
    """

    __slots__ = ("_gathering", "collector")

    def __init__(
        self,
        collection: Collection,
        path: str | os.PathLike[str],
        most: int = 1,
        key: str | os.PathLike[str] | None = None,
    ) -> None:
        if most < 1:
            raise ParameterError(f"most must be at least 1 report a message, got {most}")
        if collection.batch is not None and most < collection.batch:
            raise ParameterError(
                f"{collection.name!r} declares batches of {collection.batch:,} reports: devices send to a relay, and "
                "most must let its batches in"
            )
        self.collector = Collector(collection, path, most, key)
        self._gathering = Gathering(lambda held: self.collector.add_all(held))

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def send(self, message: bytes) -> Future[Receipt]:
        """Take a message in; the promise is kept when its effect is durable, and broken if that failed."""
        return self._gathering.send(message)

    def add(self, message: bytes) -> Receipt:
        """Take a message in; returns when its effect is durable."""
        return self.send(message).result()

    def close(self) -> None:
        """Count those who wait, and let nobody else in."""
        self._gathering.close()
