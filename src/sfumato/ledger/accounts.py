"""Accounts: on whose behalf a ledger was charged, and what each may spend.

The dataset's budget is the promise to those in the data, whoever asks: analysts may collude.  What an account may spend
is a rule of fairness between those who ask, kept in the same transaction as the promise.  Proof: docs/proofs/ledger.md.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger.entries import Entry, label
from sfumato.ledger.protocol import in_words
from sfumato.ledger.rules import added, cost_of, fits, lacking, remaining
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.filters import Amounts, filter_for
from sfumato.privacy.guarantees import Guarantee

__all__ = ["ALLOWANCE", "Accounts", "Allowance", "allowance_of"]

ALLOWANCE = "allowance"  # the part of a charge's description that says what its account was allowed

Total = tuple[Amounts, Amounts | None]  # what was spent by an allowance's filter, and what the first charge cost


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one account may spend."""

    account: str
    budget: Guarantee

    def __post_init__(self) -> None:
        label("account", self.account)
        if self.budget.assumptions:
            raise ParameterError(f"the budget of an account must rest on no assumptions, got {self.budget!r}")

    def must_match(self, budget: Guarantee) -> None:
        """Refuse an allowance of another kind than the ledger's budget: charges are of one kind."""
        if type(self.budget) is not type(budget):
            raise ParameterError(
                f"the budget of account {self.account!r} must be of the dataset's kind, such as {in_words(budget)}, "
                f"got {in_words(self.budget)}"
            )


def allowance_of(charge: Entry) -> Allowance | None:
    """What the account of a charge was allowed when it was charged; none where that is not said."""
    said = charge.description.get(ALLOWANCE)
    if charge.account is None or not isinstance(said, dict):
        return None
    return Allowance(charge.account, guarantee_from(said))


class Accounts:
    """The charges of each account, as far as the chain was read; one object may serve several threads."""

    def __init__(self) -> None:
        self.through = 0  # the number of the last entry that was read
        self._charges: dict[str, dict[int, Entry]] = {}
        self._totals: dict[Allowance, tuple[int, Total]] = {}  # by how many charges
        self._lock = threading.Lock()

    def read(self, entries: Iterable[Entry]) -> None:
        """Take in entries that follow; those that were read before are left out."""
        with self._lock:
            for entry in entries:
                if entry.sequence > self.through:
                    self._take(entry)

    def take(self, entry: Entry) -> None:
        """Take in one entry."""
        self.read((entry,))

    def _take(self, entry: Entry) -> None:
        self.through = entry.sequence
        if entry.kind == "charge" and entry.account is not None:
            self._charges.setdefault(entry.account, {})[entry.sequence] = entry
        corrected = entry.description.get("charge") if entry.kind == "correction" else None
        for account, charges in self._charges.items():
            if isinstance(corrected, int) and corrected in charges:
                charges[corrected] = entry
                self._totals = {held: total for held, total in self._totals.items() if held.account != account}

    def names(self) -> list[str]:
        """The accounts that were charged."""
        with self._lock:
            return sorted(self._charges)

    def spent(self, allowance: Allowance) -> Total:
        """What an account has spent, in the units of its own filter."""
        rules = filter_for(allowance.budget)
        with self._lock:
            charges = list(self._charges.get(allowance.account, {}).values())
            nothing = tuple(0 for _ in rules.amounts(allowance.budget))
            count, (total, first) = self._totals.get(allowance, (0, (nothing, None)))
            for charge in charges[count:]:
                cost = cost_of(rules, charge)
                total, first = added(total, cost), first or (cost if any(cost) else None)
            self._totals[allowance] = len(charges), (total, first)
        return total, first

    def within(self, allowance: Allowance) -> bool:
        """Whether what an account has spent is within its allowance."""
        return filter_for(allowance.budget).admits(*self.spent(allowance))

    def fits(self, allowance: Allowance, *claims: Guarantee) -> bool:
        """Whether an account may spend these claims, too."""
        return fits(filter_for(allowance.budget), *self.spent(allowance), *claims)

    def charged(self, allowance: Allowance, charge: Entry, claim: Guarantee) -> dict[str, object]:
        """What a charge says of its allowance; refused where the account has too little left."""
        rules, (total, first) = filter_for(allowance.budget), self.spent(allowance)
        if not rules.admits(added(total, cost_of(rules, charge)), first):
            left = remaining(allowance.budget, (rules, total, first))
            raise BudgetExceeded(
                f"the charge does not fit into what account {allowance.account!r} may spend: {lacking(claim, left)}, "
                f"of its {in_words(allowance.budget)}; nothing was charged.  Ask for less, or let whoever answers for "
                "the data allow it more"
            )
        if ALLOWANCE in charge.description:
            raise LedgerError(f"a description must leave the part {ALLOWANCE!r} to the ledger")
        return {**charge.description, ALLOWANCE: to_record(allowance.budget)}
