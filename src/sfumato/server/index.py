"""The ledger by digest: what is stored, for whom it was charged, and when; entries are read once, as they come."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.ledger import Entry, LedgerLike
from sfumato.ledger.accounts import Accounts
from sfumato.ledger.names import charged
from sfumato.ledger.rules import first_of
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.filters import Amounts
from sfumato.privacy.guarantees import Guarantee
from sfumato.records import digest as digest_of

__all__ = ["Index", "Line", "question_key"]


def question_key(described: Mapping[str, Any]) -> str | None:
    """What charges of one question have in common, whatever they spend; none where a charge does not tell it."""
    specification = described.get("specification")
    if not isinstance(specification, Mapping) or "spend" not in specification:
        return None
    return digest_of({name: part for name, part in specification.items() if name != "spend"})


@dataclass(frozen=True, slots=True)
class Line:
    """An entry, without what it describes: the question's words aside."""

    sequence: int
    kind: str
    time: str
    name: str
    digest: str
    account: str | None
    guarantee: Guarantee | None
    amounts: Amounts
    charge: int | None  # of a release: the number of its charge


class Index:
    """What a ledger holds, up to the last look at it."""

    def __init__(self, ledger: LedgerLike) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self.lines: list[Line] = []
        self.accounts = Accounts()
        self._stored: dict[str, Line] = {}
        self._named: dict[str, tuple[str, Guarantee]] = {}  # by name: the question, and what it spends
        self._asked: defaultdict[str, list[tuple[Line, Guarantee]]] = defaultdict(list)
        self._totals: tuple[Amounts, Amounts | None] = ledger.terms.nothing, None

    def refresh(self) -> Index:
        """Read what was written since."""
        with self._lock:
            entries = self._ledger.after(len(self.lines) - 1)
            for entry in entries:
                line = _line(entry)
                self.lines.append(line)
                self._note_questions(entry)
                if line.kind == "release" and line.digest not in self._stored:
                    self._stored[line.digest] = line
                    if line.name in self._named:
                        key, spend = self._named[line.name]
                        self._asked[key].append((line, spend))
            self.accounts.read(entries)
            if entries:
                self._totals = entries[-1].total, self._totals[1] or first_of(entries)
        return self

    def _note_questions(self, entry: Entry) -> None:
        for name, described in charged([entry]):
            key = question_key(described)
            if key is not None:
                self._named[name] = key, guarantee_from(dict(described["specification"]["spend"]))

    def of_question(self, key: str) -> list[tuple[Line, Guarantee]]:
        """The releases of one question with their spends, oldest first."""
        return list(self._asked.get(key, ()))

    def totals(self) -> tuple[Amounts, Amounts | None]:
        """What everything cost so far in the filter's units, and what the first charge of any cost did."""
        return self._totals

    def stored(self, digests: Iterable[str]) -> Line | None:
        """The first release that was stored under one of these digests, whatever its name."""
        return next((self._stored[one] for one in digests if one in self._stored), None)

    @property
    def releases(self) -> list[Line]:
        """What is stored, oldest first."""
        return list(self._stored.values())

    def charges_after(self, sequence: int, account: str, digest: str) -> list[Line]:
        """The charges for a release on behalf of an account since an entry."""
        return [
            line for line in self.lines[sequence + 1 :]
            if line.kind == "charge" and (line.account, line.digest) == (account, digest)
        ]  # fmt: skip

    def payer(self, release: Line) -> Line | None:
        """The charge that paid for a release."""
        return None if release.charge is None else self.lines[release.charge]


def _line(entry: Entry) -> Line:
    claim = None if entry.guarantee is None else guarantee_from(entry.guarantee)
    paid = entry.description.get("charge") if entry.kind == "release" else None
    return Line(
        entry.sequence, entry.kind, entry.time, entry.name, entry.digest, entry.account, claim, entry.amounts,
        paid if isinstance(paid, int) else None,
    )  # fmt: skip
