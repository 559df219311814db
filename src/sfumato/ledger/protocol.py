"""What every ledger offers, wherever it keeps its entries, and the values it hands out.

The order of use is the law: `find` (a retry costs nothing), `charge` (durable before the exact
answer is computed), `store` (durable before the release is shown).  There is no refund.
A batch is charged first; `draw` then takes the place of `charge` for each of its releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sfumato.ledger.entries import Entry
from sfumato.ledger.terms import Terms
from sfumato.privacy.filters import Amounts, Filter
from sfumato.privacy.guarantees import Guarantee, Pure

__all__ = ["Charge", "Known", "LedgerLike", "Member", "Stored", "Verification", "in_words", "spent_words"]

SHOWN = 20  # one wrong total makes every later one wrong: a screenful is enough


@dataclass(frozen=True, slots=True)
class Charge:
    """A durable charge: its place in the chain, the chain's head after it, and what it cost.

    `batch` is how many releases were paid for together, where it was drawn on such a payment.
    """

    sequence: int
    head: str
    amounts: tuple[int, ...]
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """One release of a batch: its name, the digest of its specification, its own claim, and what a charge describes."""

    name: str
    digest: str
    claim: Guarantee
    description: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Known:
    """What a name stands for in a ledger: the digest and description that it was charged with."""

    sequence: int
    digest: str
    description: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored release: the very bytes, the charge that paid for them, the head after storing."""

    name: str
    digest: str
    content: bytes
    charge: Charge
    sequence: int
    head: str
    time: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of the whole ledger found; `problems` and `disputes` are empty when it holds.

    A dispute is a release whose mechanism costs more than was charged for it; `true` is then what everything charged
    costs, as the mechanisms of the stored releases give it.
    """

    entries: int
    head: str
    spent: Guarantee | None
    problems: tuple[str, ...]
    disputes: tuple[str, ...] = ()
    true: Guarantee | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and not self.disputes

    def words(self) -> str:
        """The finding for a reader."""
        spent = "an unknown amount" if self.spent is None else in_words(self.spent)
        if self.holds:
            return f"the ledger holds: {self.entries} entries, head {self.head}, spent {spent}"
        found = (*self.problems, *self.disputes)
        lines = [f"  - {line}" for line in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"  - and {len(found) - SHOWN} more")
        if self.true is not None:
            lines.append(f"the true total is {in_words(self.true)}; recorded is {spent}")
        return "\n".join(["the ledger does NOT hold:", *lines])


def in_words(claim: Guarantee) -> str:
    """The amounts of a guarantee, in a few words.

    >>> from sfumato.privacy.guarantees import Approximate
    >>> in_words(Approximate(0.5, 1e-6))
    'epsilon 0.5, delta 1e-06'
    """
    return ", ".join(f"{name} {amount:.12g}" for name, amount in claim.parts().items())


def spent_words(spent: Guarantee, budget: Guarantee, shown: Callable[[Guarantee], str] = in_words) -> str:
    """What is spent of a budget; a delta that both are stated at is said once, since it is not used up.

    >>> from sfumato.privacy.guarantees import Approximate, Concentrated
    >>> spent_words(Approximate(0.5, 1e-6), Approximate(3, 1e-6)), spent_words(Concentrated(0.1), Concentrated(1))
    ('epsilon 0.5 of epsilon 3, both at delta 1e-6', 'rho 0.1 of rho 1')
    """
    held, granted = spent.parts(), budget.parts()
    if "delta" not in held or held["delta"] != granted.get("delta"):
        return f"{shown(spent)} of {shown(budget)}"
    one, other = (shown(Pure(parts["epsilon"])) for parts in (held, granted))
    return f"{one} of {other}, both at delta {held['delta']:g}".replace("e-0", "e-")


@runtime_checkable
class LedgerLike(Protocol):
    """The interface of a ledger, which sessions, reports, plans and verification know alone.

    `Ledger` keeps a file, `MemoryLedger` nothing; other implementations keep a server.
    """

    @property
    def terms(self) -> Terms:
        """The dataset, adjacency, unit and budget this ledger is bound to."""

    @property
    def laboratory(self) -> str | None:
        """None for every ledger that protects somebody; else why what it pays for is not private."""

    @property
    def place(self) -> str:
        """Where the ledger is, in words for its owner."""

    @property
    def name(self) -> str:
        """What a report may call it: nothing that tells where it is."""

    @property
    def head(self) -> str:
        """The hash of the latest entry."""

    def charge(self, name: str, digest: str, claim: Guarantee, description: Mapping[str, object]) -> Charge:
        """Spend `claim` durably, or raise and spend nothing."""

    def store(self, charge: Charge, content: bytes) -> str:
        """Keep the release that `charge` paid for, durably; returns the new head."""

    def charge_batch(self, members: Sequence[Member], claim: Guarantee) -> Charge:
        """Spend `claim` durably for several releases together, or raise and spend nothing; then `draw` each."""

    def charge_series(self, members: Sequence[Member]) -> Charge:
        """Spend once the claim of one mechanism whose outputs are published in turn, or raise and spend nothing.

        Whoever announces it again finds what was charged.
        """

    def draw(self, name: str, digest: str, description: Mapping[str, object]) -> Charge | None:
        """Begin a release that a batch has paid for, durably and once; none if no batch has, or it was begun before."""

    def is_paid(self, name: str, digest: str, description: Mapping[str, object]) -> bool:
        """Whether a batch has paid for a release that was not begun yet."""

    def turn(self, name: str) -> AbstractContextManager[None]:
        """Wait while another publishes the same name, where that can be known: a courtesy, on which nothing rests."""

    def known(self, name: str) -> Known | None:
        """What a name was first charged for; none if it is free."""

    def find(self, name: str, digest: str) -> Stored | None:
        """The stored release of this name and digest, if there is one."""

    def spent(self) -> Guarantee:
        """What everything charged so far costs together, at any moment."""

    def remaining(self) -> Guarantee:
        """The largest single charge of the budget's type that would still be admitted."""

    def admits(self, *claims: Guarantee) -> bool:
        """Whether these charges would be admitted now, one after the other; a kind that no budget takes is not."""

    def histories(self) -> tuple[tuple[Filter, Amounts, Amounts | None], ...]:
        """What admits charges, all of one moment, each with its total and what its first charge cost.

        The first is what `spent` is about; a charge is admitted where all of them admit it.
        """

    def on_behalf(self, account: str, budget: Guarantee) -> LedgerLike:
        """This ledger for one account: what is charged there bears its name and stays within its own budget, too."""

    def totals(self) -> tuple[Amounts, Amounts | None]:
        """What everything cost so far in the filter's units, and what the first charge of any cost did."""

    def room(self) -> int | None:
        """How many bytes may still be stored; none if no limit is known."""

    def entries(self) -> tuple[Entry, ...]:
        """Everything recorded, oldest first."""

    def group_of(self, name: str) -> str | None:
        """The release that a name was measured in, as one of several; none if it was not."""

    def after(self, sequence: int) -> tuple[Entry, ...]:
        """What was recorded after an entry that was seen before, oldest first."""

    def content(self, release: Entry) -> bytes | None:
        """The stored bytes of a release entry, unchecked; none if they are gone."""

    def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Check the whole chain, the totals, the contents, and that printed heads are in it."""

    def export(self) -> list[dict[str, object]]:
        """Everything recorded, as plain values for JSON."""
