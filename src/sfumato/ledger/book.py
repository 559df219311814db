"""A ledger apart from where it keeps its entries: every operation in terms of what one transaction reads and appends.

An implementation says how a transaction is opened (`_reading`, and `_writing`, which excludes other writers and is
durable when it ends), where contents are kept, and how it is called.  The decisions are those of `rules`.

Guarantee.  If every release follows `charge` (or `draw`), compute, `store`, show, then at any time, after any crash,
everything shown is paid for by admitted charges whose composition meets the budget, however they were chosen.  Proof:
docs/proofs/ledger.md.  Format: docs/formats/ledger.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Protocol

from sfumato.cards import Card, Shown
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import rules
from sfumato.ledger.accounts import Accounts, Allowance
from sfumato.ledger.entries import Entry, label
from sfumato.ledger.names import Parts
from sfumato.ledger.protocol import SHOWN, Charge, Known, LedgerLike, Member, Stored, Verification, in_words
from sfumato.ledger.terms import Terms
from sfumato.ledger.verification import checked_heads, verify_chain
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.filters import Amounts, filter_for
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.records import sha256
from sfumato.visible import visible

__all__ = ["Book", "Page"]

Decided = Callable[[Entry, "Page"], Entry]


class Page(Protocol):
    """What one transaction sees of the chain, and may add to it."""

    def last(self) -> Entry:
        """The latest entry."""

    def entry(self, sequence: int) -> Entry | None:
        """One entry by its number."""

    def named(self, name: str) -> list[Entry]:
        """The charges and releases of a name, and all charges of batches, oldest first."""

    def after(self, sequence: int) -> Iterable[Entry]:
        """The entries that follow one, oldest first."""

    def first(self) -> Amounts | None:
        """What the first charge cost, of those that cost anything."""

    def append(self, entry: Entry, content: bytes | None = None) -> None:
        """Add an entry, with the content that it keeps in the ledger itself."""


class Book(Shown, ABC):
    """The operations of a ledger; one object may serve several threads, and keeps only the last head it saw."""

    def __init__(self, terms: Terms, allow: frozenset[str] | None, last: Entry) -> None:
        self.terms = terms
        self._allow = allow  # None: opened for looking only
        self._seen = (last.sequence, last.hash)
        self._first: Amounts | None = None  # what the first charge cost, once there is one
        self._accounts = Accounts()
        self._parts = Parts()

    def _begin(self, allow: frozenset[str] | None) -> None:
        """Take the terms from the opening, where it is kept."""
        with self._reading() as page:
            opening, last = page.entry(0), page.last()
        if opening is None:
            raise LedgerError("an entry of the ledger is missing; run verify with printed heads")
        Book.__init__(self, Terms.read(opening), allow, last)

    def card(self) -> Card:
        """The terms, what is spent and left, and the latest charges."""
        terms, charges = self.terms, [entry for entry in self.entries() if entry.kind == "charge"]
        rows = [(entry.time[:19].replace("T", " "), visible(entry.name), _charged(entry)) for entry in charges[-SHOWN:]]
        facts = {
            "protects": f"{terms.adjacency.words()} {terms.unit.words()}",
            "spent": f"{in_words(self.spent())} of {in_words(terms.budget)}",
            "left": in_words(self.remaining()),
            "head": self.head,
        }
        title = f"{terms.dataset}: ledger {self.place}, {len(charges):,} charges"
        return Card(title, facts, ("time", "charge", "amount"), rows, (), len(charges) - len(rows))

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Page]:
        """A short read transaction."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Page]:
        """A transaction that excludes other writers, durable when it ends and undone when it raises."""

    @abstractmethod
    def _rows(self) -> Iterator[tuple[int, str, str]]:
        """Sequence, body and hash of every entry as they are stored, oldest first."""

    @abstractmethod
    def _keep(self, content: bytes) -> str:
        """Where a content will be kept: `inside` with its entry, or `beside`, where this has put it durably."""

    @abstractmethod
    def _findings(self) -> list[str]:
        """What is wrong with the place itself."""

    @property
    @abstractmethod
    def laboratory(self) -> str | None:
        """None for a ledger that protects somebody; else why what it pays for is not private."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the ledger is, for its owner."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What a report may call it: nothing that tells where it is."""

    @abstractmethod
    def room(self) -> int | None:
        """How many bytes may still be stored; none if no limit is known."""

    @abstractmethod
    def content(self, release: Entry) -> bytes | None:
        """The stored bytes of a release entry, unchecked; none if they are gone."""

    @property
    def head(self) -> str:
        """The hash of the latest entry: what a release prints."""
        with self._reading() as page:
            return page.last().hash

    def charge(self, name: str, digest: str, claim: Guarantee, description: Mapping[str, object]) -> Charge:
        """Spend `claim` durably for the release `name`, or raise and spend nothing."""
        return self.charge_to(None, name, digest, claim, description)

    def charge_to(
        self, allowance: Allowance | None, name: str, digest: str, claim: Guarantee, description: Mapping[str, object]
    ) -> Charge:
        """The same on behalf of an account, within what it may spend."""
        label("name", name)
        label("digest", digest)
        rules.must_be_allowed(claim, self._spending())
        with self._writing() as page:
            last = self._continued(page)
            rules.must_be_same_release(name, digest, page.named(name))
            entry = rules.charging(self.terms, last, self._first_of(page), name, digest, claim, description)
            entry = self._accounted(page, allowance, entry, claim)
            page.append(entry)
        self._seen = max(self._seen, (entry.sequence, entry.hash))
        return _charge(entry)

    def charge_batch(self, members: Sequence[Member], claim: Guarantee) -> Charge:
        """Spend `claim` durably for several releases together, or raise and spend nothing; then `draw` each."""
        return self.charge_batch_to(None, members, claim)

    def charge_batch_to(self, allowance: Allowance | None, members: Sequence[Member], claim: Guarantee) -> Charge:
        """The same on behalf of an account."""
        return self._charge_together(
            allowance, members, claim,
            lambda last, page: rules.charging_batch(self.terms, last, self._first_of(page), members, claim),
        )  # fmt: skip

    def charge_series(self, members: Sequence[Member]) -> Charge:
        """Spend once the claim of one mechanism whose outputs are published in turn; then `draw` each."""
        return self.charge_series_to(None, members)

    def charge_series_to(self, allowance: Allowance | None, members: Sequence[Member]) -> Charge:
        """The same on behalf of an account."""

        def decided(last: Entry, page: Page) -> Entry:
            announced = rules.announced(members, page.named(members[0].name)) if members else None
            return announced or rules.charging_series(self.terms, last, self._first_of(page), members)

        return self._charge_together(allowance, members, members[0].claim if members else Pure(0.0), decided)

    def _charge_together(
        self, allowance: Allowance | None, members: Sequence[Member], claim: Guarantee, decided: Decided
    ) -> Charge:
        for member in members:
            label("name", member.name)
            label("digest", member.digest)
        rules.must_be_allowed(claim, self._spending())
        with self._writing() as page:
            last = self._continued(page)
            for member in members:
                rules.must_be_same_release(member.name, member.digest, page.named(member.name))
            entry = decided(last, page)
            if entry.sequence > last.sequence:
                page.append(entry := self._accounted(page, allowance, entry, claim))
        self._seen = max(self._seen, (entry.sequence, entry.hash))
        return _charge(entry)

    def _accounted(self, page: Page, allowance: Allowance | None, entry: Entry, claim: Guarantee) -> Entry:
        """A charge that is about to be appended, in the name of its account, if what that has left takes it."""
        if allowance is None:
            return entry
        if self.terms.format == 1:
            raise LedgerError("a ledger of format 1 knows no accounts; they need one that is started anew")
        self._accounts.read(page.after(self._accounts.through))
        described = self._accounts.charged(allowance, entry, claim)
        return replace(entry, account=allowance.account, description=described)

    def draw(self, name: str, digest: str, description: Mapping[str, object]) -> Charge | None:
        """Begin a release that a batch has paid for, durably and once; none if no batch has, or it was begun before."""
        label("name", name)
        label("digest", digest)
        allowed = self._spending()
        if not self.is_paid(name, digest, description):
            return None
        with self._writing() as page:
            last = self._continued(page)
            paid = rules.undrawn(name, digest, description, page.named(name))
            if paid is None:
                return None
            rules.must_be_allowed(guarantee_from(paid.guarantee or {}), allowed)
            entry = rules.drawing(last, paid, name, digest)
            page.append(entry)
        self._seen = max(self._seen, (entry.sequence, entry.hash))
        return Charge(entry.sequence, entry.hash, entry.amounts, len(paid.batch or ()))

    def is_paid(self, name: str, digest: str, description: Mapping[str, object]) -> bool:
        """Whether a batch has paid for a release that was not begun yet."""
        with self._reading() as page:
            return rules.undrawn(name, digest, description, page.named(name)) is not None

    def store(self, charge: Charge, content: bytes) -> str:
        """Keep the release that `charge` paid for, durably, of a series only the first; only then may it be shown."""
        self._spending()
        content = bytes(content)
        place = self._keep(content)
        with self._writing() as page:
            last = self._continued(page)
            paid = _paid(page, charge)
            rules.must_be_first(paid.name, page.named(paid.name))
            entry = rules.releasing(last, paid, sha256(content), len(content), place)
            page.append(entry, content if place == "inside" else None)
        self._seen = max(self._seen, (entry.sequence, entry.hash))
        return entry.hash

    def turn(self, name: str) -> AbstractContextManager[None]:
        """Wait while another publishes the same name; nobody does where that is not known."""
        return nullcontext()

    def known(self, name: str) -> Known | None:
        """What a name was first charged for; none if it is free."""
        label("name", name)
        with self._reading() as page:
            self._must_continue(page)
            return next(rules.known(name, page.named(name)), None)

    def find(self, name: str, digest: str) -> Stored | None:
        """The stored release of this name and digest; none if it was never charged or never stored.

        Where several made the same release at once, and could not take turns, each paid; the first is found.
        """
        label("name", name)
        label("digest", digest)
        with self._reading() as page:
            self._must_continue(page)
            named = page.named(name)
            rules.must_be_same_release(name, digest, named)
            release = next((entry for entry in named if entry.kind == "release"), None)
            if release is None:
                return None
            number = release.description.get("charge")
            charge = page.entry(number) if isinstance(number, int) else None
        content = self.content(release)
        if charge is None or content is None or sha256(content) != release.description.get("content"):
            raise LedgerError(
                f"the stored release {name!r} is missing or damaged in ledger {self.place}; "
                "restore it from a copy, or release under a new name, which is charged again"
            )
        return Stored(name, digest, content, _charge(charge), release.sequence, release.hash, release.time)

    def spent(self) -> Guarantee:
        """What everything charged so far costs together, at any moment."""
        return rules.spent(*self.histories())

    def remaining(self) -> Guarantee:
        """The largest single charge of the budget's type that would still be admitted."""
        return rules.remaining(self.terms.budget, *self.histories())

    def admits(self, *claims: Guarantee) -> bool:
        """Whether these charges would be admitted now, one after the other; a kind that no budget takes is not."""
        return all(rules.fits(*history, *claims) for history in self.histories())

    def histories(self) -> tuple[rules.History, ...]:
        """What admits charges, each with what was charged so far: here the budget alone."""
        return ((self.terms.filter, *self.totals()),)

    def histories_of(self, allowance: Allowance) -> tuple[rules.History, ...]:
        """The same for an account: its own first, then that of the whole ledger, both of one moment."""
        with self._reading() as page:
            last = self._continued(page)
            whole = (self.terms.filter, last.total, self._first_of(page))
            self._accounts.read(page.after(self._accounts.through))
        self._seen = max(self._seen, (last.sequence, last.hash))
        return ((filter_for(allowance.budget), *self._accounts.spent(allowance)), whole)

    def totals(self) -> tuple[Amounts, Amounts | None]:
        """What everything cost so far in the filter's units, and what the first charge of any cost did."""
        with self._reading() as page:
            return self._continued(page).total, self._first_of(page)

    def on_behalf(self, account: str, budget: Guarantee) -> LedgerLike:
        """This ledger for one account: what is charged there bears its name and stays within its own budget, too."""
        from sfumato.ledger.behalf import Behalf

        return Behalf(self, Allowance(account, budget))

    def after(self, sequence: int) -> tuple[Entry, ...]:
        """What was recorded after an entry that was seen before, oldest first."""
        with self._reading() as page:
            self._must_continue(page)
            return tuple(page.after(sequence))

    def group_of(self, name: str) -> str | None:
        """The release that a name was measured in, as one of several; only what was written since is read."""
        return self._parts.read(self.after(self._parts.through)).group_of(name)

    def _first_of(self, page: Page) -> Amounts | None:
        """What the first charge cost; it is looked for until there is one, and never changes then."""
        if self._first is None:
            self._first = page.first()
        return self._first

    def entries(self) -> tuple[Entry, ...]:
        """Everything recorded, oldest first."""
        return tuple(entry_of(row) for row in self._rows())

    def export(self) -> list[dict[str, object]]:
        """Everything recorded, oldest first, as plain values for JSON."""
        return [{**entry.record(), "hash": entry.hash} for entry in self.entries()]

    def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Check the place, the chain, totals and contents, and that each printed head is in the chain."""
        chosen = checked_heads(heads)
        problems = self._findings()
        found = verify_chain(self._rows(), self.content, chosen)
        return Verification(found.entries, found.head, found.spent, (*problems, *found.problems))

    def _spending(self) -> frozenset[str]:
        if self._allow is None:
            raise LedgerError(f"ledger {self.place} was opened for looking only; use Ledger.open to spend")
        return self._allow

    def _continued(self, page: Page) -> Entry:
        """The last entry, of a chain that still holds what this object has seen of it."""
        self._must_continue(page)
        return page.last()

    def _must_continue(self, page: Page) -> None:
        """Refuse a chain that does not hold any more what this object has seen of it."""
        sequence, head = self._seen
        if (kept := page.entry(sequence)) is None or kept.hash != head:
            raise LedgerError(
                f"ledger {self.place} was rolled back or replaced while open; "
                "stop, restore the newest copy, and verify it with printed heads"
            )


def entry_of(row: tuple[int, str, str]) -> Entry:
    """A stored row as an entry, if it is what its hash says."""
    entry = Entry.read(row[1])
    if (entry.sequence, entry.hash) != (row[0], row[2]):
        raise LedgerError(f"entry {row[0]} of the ledger does not match its hash; run verify")
    return entry


def _paid(page: Page, charge: Charge) -> Entry:
    """The charge's entry, if it is in the chain and nothing was stored for it yet."""
    entry = page.entry(charge.sequence)
    if entry is None or entry.hash != charge.head or entry.kind != "charge":
        raise ParameterError("charge is not in this ledger; pass what its own charge() returned")
    if entry.batch is not None:
        raise ParameterError("charge paid for a batch; draw each of its releases, and store that")
    if any(e.kind == "release" and e.description.get("charge") == entry.sequence for e in page.named(entry.name)):
        raise LedgerError("charge has already paid for a stored release; charge again for another")
    return entry


def _charge(entry: Entry) -> Charge:
    return Charge(entry.sequence, entry.hash, entry.amounts)


def _charged(entry: Entry) -> str:
    """What a charge cost; of one that a batch paid for, which batch."""
    if entry.guarantee is None or "batch" in entry.description:
        return f"paid by {entry.description.get('batch', 'nothing')}"
    return in_words(guarantee_from(entry.guarantee))
