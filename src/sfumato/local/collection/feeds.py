"""Messages from files that hold one after the other."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from sfumato.errors import ReportError, SchemaError
from sfumato.local.client.binding import Address
from sfumato.local.client.wire import HEADER, MAGIC, Header, header_of
from sfumato.local.collection.collector import Receipt

__all__ = ["Taker", "add_file", "messages"]

TOGETHER = 4096  # small messages that wait for the disk together


class Taker(Protocol):
    """Who takes messages in: a collector, or the conductor of an interaction."""

    def add_all(self, messages: Iterable[bytes]) -> list[Receipt]:
        """A receipt for each message, all durable when this returns."""
        ...

    def knows(self, address: Address) -> bool:
        """Whether messages that carry this belong here."""
        ...

    def width(self, head: Header) -> int:
        """The bytes of one record behind a header that is known."""
        ...


def add_file(collector: Taker, path: str | Path, seen: Callable[[int], None] = lambda size: None) -> list[Receipt]:
    """Take in every message of a file; `seen` is told how many bytes are done.  An empty file has no receipts."""
    found: list[Receipt] = []
    waiting: list[bytes] = []
    size = 0

    def flush() -> None:
        if waiting:
            found.extend(collector.add_all(waiting))
            seen(sum(map(len, waiting)))
            waiting.clear()

    for message in messages(path, collector):
        waiting.append(message)
        size += len(message)
        if len(waiting) >= TOGETHER or size >= 1 << 24:
            flush()
            size = 0
    flush()
    return found


def messages(path: str | Path, collector: Taker) -> Iterator[bytes]:
    """The messages of a file, by the lengths their headers announce.

    Behind a foreign or damaged message the next header of this collection is looked for: what lies between is one
    message, which no collector takes.
    """
    source = Path(path)
    try:
        if not source.stat().st_size:
            return
        with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
            place = 0
            while place < len(held):
                end = _end(held, place, collector)
                if end is None:
                    end = _next(held, place + 1, collector)
                yield held[place:end]
                place = end
    except OSError as error:
        raise SchemaError(
            f"{source} cannot be read ({error.strerror or 'the system refused'}); check the path"
        ) from None


def _end(held: mmap.mmap, place: int, collector: Taker) -> int | None:
    """Where the message that begins here ends, if it is whole: one that runs into another announces too much."""
    head = _header(held, place, collector)
    if head is None:
        return None
    end = place + HEADER.size + head.count * collector.width(head)
    if end == len(held) or held[end : end + len(MAGIC)] == MAGIC:
        return end
    return end if end < len(held) and _next(held, place + 1, collector) >= end else None


def _next(held: mmap.mmap, place: int, collector: Taker) -> int:
    """Where the next message of this collection begins, or the file ends."""
    found = held.find(MAGIC, place)
    while found >= 0 and _header(held, found, collector) is None:
        found = held.find(MAGIC, found + 1)
    return len(held) if found < 0 else found


def _header(held: mmap.mmap, place: int, collector: Taker) -> Header | None:
    """The header that stands here, if it is one of this collection."""
    try:
        head = header_of(held[place : place + HEADER.size])
    except ReportError:
        return None
    return head if collector.knows(head.address) else None
