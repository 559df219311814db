"""The ledger in memory: it keeps every rule of a ledger and outlives nothing, so nobody's privacy may rest on it.

For laboratories, whose releases protect nobody, and for tests.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sfumato.ledger import rules
from sfumato.ledger.book import Book, Page
from sfumato.ledger.entries import Entry
from sfumato.ledger.terms import Terms
from sfumato.privacy.assumptions import assumed
from sfumato.privacy.filters import Amounts

__all__ = ["MemoryLedger"]


class MemoryLedger(Book):
    """A ledger that is gone with its process.  `laboratory` says, in a sentence, why what it pays for is not private.

    >>> from sfumato.privacy.adjacency import AddRemove, Row
    >>> from sfumato.privacy.guarantees import Pure
    >>> ledger = MemoryLedger(Terms("people", AddRemove(), Row(), Pure(1.0)))
    >>> ledger.store(ledger.charge("a", "0" * 64, Pure(0.25), {}), b"x") == ledger.head
    True
    >>> ledger.remaining()
    Pure(epsilon=0.75)
    """

    def __init__(self, terms: Terms, *, allow: Iterable[str] = (), laboratory: str | None = None) -> None:
        self._laboratory = laboratory
        self._shelf = _Shelf([terms.opening()], {})
        self._lock = threading.RLock()
        super().__init__(terms, assumed(allow), self._shelf.last())

    def __repr__(self) -> str:
        return f"MemoryLedger(dataset={self.terms.dataset!r}, spent {self.spent()!r} of {self.terms.budget!r})"

    @property
    def laboratory(self) -> str | None:
        """None for a ledger that protects somebody; else why what it pays for is not private: for good."""
        return self._laboratory

    @property
    def place(self) -> str:
        """Nowhere else."""
        return "in memory"

    @property
    def name(self) -> str:
        """The same."""
        return "in memory"

    def room(self) -> int | None:
        """No limit is known."""
        return None

    def content(self, release: Entry) -> bytes | None:
        """The stored bytes of a release entry."""
        return self._shelf.contents.get(release.sequence)

    def _keep(self, content: bytes) -> str:
        return "inside"

    def _findings(self) -> list[str]:
        return []

    @contextmanager
    def _reading(self) -> Iterator[Page]:
        with self._lock:
            yield self._shelf

    @contextmanager
    def _writing(self) -> Iterator[Page]:
        with self._lock:
            kept = len(self._shelf.chain)
            try:
                yield self._shelf
            except BaseException:
                self._shelf.cut(kept)
                raise

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        with self._lock:
            chain = list(self._shelf.chain)
        yield from ((entry.sequence, entry.body(), entry.hash) for entry in chain)


class _Shelf:
    """The chain and its contents."""

    def __init__(self, chain: list[Entry], contents: dict[int, bytes]) -> None:
        self.chain, self.contents = chain, contents

    def last(self) -> Entry:
        return self.chain[-1]

    def entry(self, sequence: int) -> Entry | None:
        return self.chain[sequence] if 0 <= sequence < len(self.chain) else None

    def named(self, name: str) -> list[Entry]:
        return [entry for entry in self.chain[1:] if entry.name == name or entry.batch is not None]

    def after(self, sequence: int) -> list[Entry]:
        return self.chain[sequence + 1 :]

    def first(self) -> Amounts | None:
        return rules.first_of(self.chain[1:])

    def cut(self, length: int) -> None:
        """Undo what was appended after so many entries."""
        for entry in self.chain[length:]:
            self.contents.pop(entry.sequence, None)
        del self.chain[length:]

    def append(self, entry: Entry, content: bytes | None = None) -> None:
        self.chain.append(entry)
        if content is not None:
            self.contents[entry.sequence] = content
