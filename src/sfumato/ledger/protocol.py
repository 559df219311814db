"""What every ledger offers, wherever it keeps its entries, and the values it hands out.

The order of use is the law: `find` (a retry costs nothing), `charge` (durable before the exact
answer is computed), `store` (durable before the release is shown).  There is no refund.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sfumato.ledger.entries import Entry
from sfumato.ledger.terms import Terms
from sfumato.privacy.guarantees import Guarantee

__all__ = ["Charge", "LedgerLike", "Stored", "Verification"]

SHOWN = 20  # one wrong total makes every later one wrong: a screenful is enough


@dataclass(frozen=True, slots=True)
class Charge:
    """A durable charge: its place in the chain, the chain's head after it, and what it cost."""

    sequence: int
    head: str
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored release: the very bytes, the charge that paid for them, the head after storing."""

    name: str
    digest: str
    content: bytes
    charge: Charge
    sequence: int
    head: str


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
        if self.holds:
            return f"the ledger holds: {self.entries} entries, head {self.head}, spent {self.spent!r}"
        found = (*self.problems, *self.disputes)
        lines = [f"  - {line}" for line in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"  - and {len(found) - SHOWN} more")
        if self.true is not None:
            lines.append(f"the true total is {self.true!r}; recorded is {self.spent!r}")
        return "\n".join(["the ledger does NOT hold:", *lines])


class LedgerLike(Protocol):
    """The interface of a ledger; `Ledger` keeps a file, other implementations keep a server."""

    @property
    def terms(self) -> Terms:
        """The dataset, adjacency, unit and budget this ledger is bound to."""

    @property
    def head(self) -> str:
        """The hash of the latest entry."""

    def charge(self, name: str, digest: str, claim: Guarantee, description: Mapping[str, object]) -> Charge:
        """Spend `claim` durably, or raise and spend nothing."""

    def store(self, charge: Charge, content: bytes) -> str:
        """Keep the release that `charge` paid for, durably; returns the new head."""

    def named(self, name: str) -> tuple[Entry, ...]:
        """The charges and releases of a name, oldest first."""

    def find(self, name: str, digest: str) -> Stored | None:
        """The stored release of this name and digest, if there is one."""

    def spent(self) -> Guarantee:
        """What everything charged so far costs together, at any moment."""

    def remaining(self) -> Guarantee:
        """The largest single charge of the budget's type that would still be admitted."""

    def entries(self) -> tuple[Entry, ...]:
        """Everything recorded, oldest first."""

    def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Check the whole chain, the totals, the contents, and that printed heads are in it."""

    def export(self) -> list[dict[str, object]]:
        """Everything recorded, as plain values for JSON."""
