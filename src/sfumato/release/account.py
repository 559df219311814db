"""What a session shows of itself: what is protected, what is spent and left, and what is stored."""

from __future__ import annotations

from dataclasses import replace

from sfumato.cards import Card, Shown
from sfumato.ledger import LedgerLike
from sfumato.ledger.protocol import in_words, spent_words
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.statements import doubt_budget
from sfumato.release import UNPROTECTED, Published
from sfumato.release.archive import read
from sfumato.release.shelf import Releases
from sfumato.spaces.schema import Schema
from sfumato.visible import visible

__all__ = ["Account"]


class Account(Shown):
    """A schema and the ledger that pays for answers about its tables; `is_new` if that was started just now."""

    def __init__(self, schema: Schema, ledger: LedgerLike, is_new: bool) -> None:
        self.schema = schema
        self.ledger = ledger
        self.is_new = is_new
        self._shown: dict[tuple[str, str], Published] = {}  # a laboratory's: one's own question reads back nowhere else

    @property
    def releases(self) -> Releases:
        """What is stored, by name: `session.releases["people"]` is that release again, at no cost."""
        return Releases(self.ledger, self._again)

    def _again(self, title: str, key: str) -> Published:
        stored = self.ledger.find(title, key)
        assert stored is not None
        return self._shown.get((title, key)) or read(stored.content)

    def __repr__(self) -> str:
        new = f", {self.notice}" if self.notice else ""
        return f"{type(self).__name__}({self.schema.dataset!r}, spent {self.spent!r}, left {self.remaining!r}{new})"

    def card(self) -> Card:
        """What is asked of, what is spent and left, and the releases that are stored."""
        stored, budget = self.releases.card(), self.ledger.terms.budget
        facts = {
            "protects": self.schema.words(),
            "columns": ", ".join(map(visible, self.schema.columns)),
            "spent": spent_words(self.spent, budget),
            "left": in_words(self.remaining),
            **({"notice": self.notice} if self.notice else {}),
            **({} if self._doubt is None else {"doubt": self._doubt}),
        }
        return replace(stored, title=f"{visible(self.schema.dataset)}: {stored.title}", facts=facts)

    @property
    def _doubt(self) -> str | None:
        """The reason to doubt the budget, where it hardly protects anybody."""
        budget = self.ledger.terms.budget
        stated = budget.statement()
        return doubt_budget(stated.epsilon, budget.parts().get("delta", 0.0), self.schema.size, stated.delta)

    @property
    def notice(self) -> str | None:
        """What to know before spending: that the ledger was started by this session, and so knows of nothing before."""
        if self.ledger.laboratory is not None:
            return f"{UNPROTECTED}: {self.ledger.laboratory}"
        if not self.is_new:
            return None
        return (
            f"ledger {self.ledger.place} is new, started by this session: it knows of no earlier release; if releases "
            "from this data were paid for elsewhere, use that ledger"
        )

    @property
    def spent(self) -> Guarantee:
        """What everything charged so far costs together; true at any moment, also one chosen after seeing answers.

        Under an approximate budget it is stated at the budget's own delta, unless every charge was pure.
        """
        return self.ledger.spent()

    @property
    def remaining(self) -> Guarantee:
        """What may still be spent."""
        return self.ledger.remaining()
