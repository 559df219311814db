"""Messages from files that hold one after the other."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path

from sfumato.errors import SchemaError
from sfumato.local.client.wire import HEADER
from sfumato.local.collection.collector import Collector, Receipt, reason_for
from sfumato.local.protocols.protocol import LocalProtocol

__all__ = ["add_file", "messages"]

TOGETHER = 4096  # small messages that wait for the disk together


def add_file(collector: Collector, path: str | Path, seen: Callable[[int], None] = lambda size: None) -> list[Receipt]:
    """Take in every message of a file; `seen` is told how many bytes are done."""
    found: list[Receipt] = []
    waiting: list[bytes] = []
    size = 0

    def flush() -> None:
        if waiting:
            found.extend(collector.add_all(waiting))
            seen(sum(map(len, waiting)))
            waiting.clear()

    for message in messages(path, collector.collection.protocol):
        waiting.append(message)
        size += len(message)
        if len(waiting) >= TOGETHER or size >= 1 << 24:
            flush()
            size = 0
    flush()
    return found


def messages(path: str | Path, protocol: LocalProtocol) -> Iterator[bytes]:
    """The messages of a file, by the lengths their headers announce; after a foreign or broken one nothing is read."""
    source = Path(path)
    try:
        if not source.stat().st_size:
            raise SchemaError(f"{source} is empty; expected messages of reports")
        with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
            place = 0
            while place < len(held):
                head = held[place : place + HEADER.size]
                if len(head) < HEADER.size or reason_for(protocol, head) not in ("wrong length", "out of range"):
                    yield head
                    return
                _, _, flags, _, _, count = HEADER.unpack(head)
                width = protocol.report_bytes + (16 if flags else 0)
                end = place + HEADER.size + count * width
                yield held[place:end]
                place = end
    except OSError as error:
        raise SchemaError(
            f"{source} cannot be read ({error.strerror or 'the system refused'}); check the path"
        ) from None
