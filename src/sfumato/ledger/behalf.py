"""A ledger for one account: every charge bears its name, and stays within its own budget beside the dataset's.

Both are decided in the transaction that charges.  What was charged for others is found here as well: a stored release
costs nobody anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from sfumato.ledger import rules
from sfumato.ledger.accounts import Allowance
from sfumato.ledger.entries import Entry
from sfumato.ledger.protocol import Charge, Known, LedgerLike, Member, Stored, Verification
from sfumato.ledger.terms import Terms
from sfumato.privacy.filters import Amounts
from sfumato.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from sfumato.ledger.book import Book

__all__ = ["Behalf"]


class Behalf:
    """What `Book.on_behalf` gives: a ledger like any other."""

    def __init__(self, book: Book, allowance: Allowance) -> None:
        allowance.must_match(book.terms.budget)
        self._book, self.allowance = book, allowance

    def __repr__(self) -> str:
        return f"{self._book!r} on behalf of {self.allowance.account!r}, {self.allowance.budget!r}"

    @property
    def terms(self) -> Terms:
        """Those of the ledger: its budget is the dataset's."""
        return self._book.terms

    @property
    def laboratory(self) -> str | None:
        """As of the ledger."""
        return self._book.laboratory

    @property
    def place(self) -> str:
        """As of the ledger."""
        return self._book.place

    @property
    def name(self) -> str:
        """As of the ledger."""
        return self._book.name

    @property
    def head(self) -> str:
        """The hash of the latest entry."""
        return self._book.head

    def charge(self, name: str, digest: str, claim: Guarantee, description: Mapping[str, object]) -> Charge:
        """Spend `claim` durably within both budgets, or raise and spend nothing."""
        return self._book.charge_to(self.allowance, name, digest, claim, description)

    def store(self, charge: Charge, content: bytes) -> str:
        """Keep the release that `charge` paid for, durably; returns the new head."""
        return self._book.store(charge, content)

    def charge_batch(self, members: Sequence[Member], claim: Guarantee) -> Charge:
        """Spend `claim` durably for several releases together, within both budgets."""
        return self._book.charge_batch_to(self.allowance, members, claim)

    def charge_series(self, members: Sequence[Member]) -> Charge:
        """Spend once the claim of a mechanism whose outputs are published in turn, within both budgets."""
        return self._book.charge_series_to(self.allowance, members)

    def draw(self, name: str, digest: str, description: Mapping[str, object]) -> Charge | None:
        """Begin a release that a batch has paid for; its own charge costs nothing, so it needs no account."""
        return self._book.draw(name, digest, description)

    def is_paid(self, name: str, digest: str, description: Mapping[str, object]) -> bool:
        """Whether a batch has paid for a release that was not begun yet."""
        return self._book.is_paid(name, digest, description)

    def turn(self, name: str) -> AbstractContextManager[None]:
        """Wait while another publishes the same name."""
        return self._book.turn(name)

    def known(self, name: str) -> Known | None:
        """What a name was first charged for; none if it is free."""
        return self._book.known(name)

    def find(self, name: str, digest: str) -> Stored | None:
        """The stored release of this name and digest, whoever paid for it."""
        return self._book.find(name, digest)

    def spent(self) -> Guarantee:
        """What everything charged on behalf of this account costs together."""
        return rules.spent(*self.histories())

    def remaining(self) -> Guarantee:
        """The largest single charge that both budgets would still admit."""
        return rules.remaining(self.allowance.budget, *self.histories())

    def admits(self, *claims: Guarantee) -> bool:
        """Whether both budgets would admit these charges now, one after the other."""
        return all(rules.fits(*history, *claims) for history in self.histories())

    def histories(self) -> tuple[rules.History, ...]:
        """What admits charges, of one moment: the account's own budget, then the ledger's."""
        return self._book.histories_of(self.allowance)

    def on_behalf(self, account: str, budget: Guarantee) -> LedgerLike:
        """The ledger for another account."""
        return self._book.on_behalf(account, budget)

    def totals(self) -> tuple[Amounts, Amounts | None]:
        """Those of the whole ledger."""
        return self._book.totals()

    def room(self) -> int | None:
        """How many bytes may still be stored; none if no limit is known."""
        return self._book.room()

    def entries(self) -> tuple[Entry, ...]:
        """Everything recorded, whoever was charged, oldest first."""
        return self._book.entries()

    def after(self, sequence: int) -> tuple[Entry, ...]:
        """What was recorded after an entry that was seen before."""
        return self._book.after(sequence)

    def group_of(self, name: str) -> str | None:
        """The release that a name was measured in, as one of several, whoever paid for it."""
        return self._book.group_of(name)

    def content(self, release: Entry) -> bytes | None:
        """The stored bytes of a release entry, unchecked; none if they are gone."""
        return self._book.content(release)

    def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Check the whole ledger, and what each account was charged against what it was allowed."""
        return self._book.verify(heads)

    def export(self) -> list[dict[str, object]]:
        """Everything recorded, as plain values for JSON."""
        return self._book.export()
