"""The releases that a ledger keeps, by name: to look at again costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches

from sfumato.cards import Card, Shown
from sfumato.errors import LedgerError
from sfumato.ledger import LedgerLike
from sfumato.ledger.entries import Entry
from sfumato.ledger.protocol import in_words
from sfumato.privacy.claims import guarantee_from
from sfumato.release import Published
from sfumato.visible import visible

__all__ = ["Releases"]

FIRST = 20  # rows that are shown


class Releases(Shown, Mapping[str, Published]):
    """What is stored, oldest first; `releases[name]` opens one as it was, and charges nothing."""

    def __init__(self, ledger: LedgerLike, opened: Callable[[str, str], Published]) -> None:
        self._opened = opened
        self._place = ledger.place
        self._entries = entries = ledger.entries()
        self._stored: dict[str, Entry] = {}
        for entry in entries:
            if entry.kind == "release":
                self._stored.setdefault(entry.name, entry)

    def __getitem__(self, name: str) -> Published:
        if name not in self._stored:
            near = get_close_matches(str(name), self._stored, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; iterate over the releases for the names of all"
            raise LedgerError(f"ledger {self._place} stores no release {name!r:.200}{hint}")
        return self._opened(name, self._stored[name].digest)

    def __contains__(self, name: object) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._stored)

    def __repr__(self) -> str:
        return f"Releases({', '.join(map(repr, self._stored))})"

    def card(self) -> Card:
        """The names, what each cost, and when it was stored."""
        rows = [
            (visible(name), self._cost(entry), entry.time[:19].replace("T", " "))
            for name, entry in list(self._stored.items())[:FIRST]
        ]
        title = f"{len(self):,} releases stored in {self._place}"
        return Card(title, {}, ("release", "cost", "stored"), rows, (), len(self) - len(rows))

    def _cost(self, entry: Entry) -> str:
        """What was charged for a release by itself; of a batch, that it was paid for with others."""
        number = entry.description.get("charge")
        charge = next((one for one in self._entries if one.sequence == number), None)
        if charge is None or charge.guarantee is None or "batch" in charge.description:
            return "paid together"
        return in_words(guarantee_from(charge.guarantee))
