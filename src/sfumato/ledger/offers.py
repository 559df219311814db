"""Whether releases that are fixed in advance are charged together, and what that saves.

A batch is one mechanism, chosen before any of its answers is seen: so the laws of its losses compose, which is tighter
than adding up its claims one by one.  It takes the deltas of its releases and half of the delta that is left besides,
and is charged as one only where that saves a twentieth of the epsilon or more: a batch is paid for as a whole, whatever
becomes of its releases.  Proof: docs/proofs/ledger.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.accounting.laws import Law
from sfumato.errors import ParameterError
from sfumato.ledger.entries import SERIES, Entry
from sfumato.ledger.rules import added, first_of
from sfumato.ledger.terms import Terms
from sfumato.numeric import ceil_float, exact
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.filters import Amounts
from sfumato.privacy.guarantees import Guarantee

__all__ = ["LEAST", "Offer", "charged_together", "offer"]

LEAST = 0.05  # share of the epsilon that a batch must save

Paid = tuple[Guarantee, Law | None]  # the claim of a release, and the law of its loss where its mechanism knows it


@dataclass(frozen=True, slots=True)
class Offer:
    """What releases fixed in advance cost together, beside what they cost one by one.

    `claim` is the charge of the batch; none where each release is charged by itself, and `reason` says why.  `spent`
    is what everything in the ledger costs with them, `fits` whether the budget takes that, `first_refused` the place
    of the first release that does not fit; `epsilon` and `apart` are what they add, as one and one by one.
    """

    claim: Guarantee | None
    spent: Guarantee
    fits: bool
    releases: int
    epsilon: float
    apart: float
    reason: str
    first_refused: int | None = None

    @property
    def saved(self) -> float:
        """The share of the epsilon that the batch saves."""
        return 0.0 if self.claim is None or not self.apart else 1 - self.epsilon / self.apart

    def words(self) -> str:
        """What was saved, or that nothing was, and why."""
        if self.claim is None:
            return f"nothing was saved by charging releases together: {self.reason}"
        return (
            f"{self.releases} releases charged together cost epsilon {self.epsilon:.4g} instead of {self.apart:.4g}: "
            f"{self.saved:.0%} saved"
        )


def offer(
    terms: Terms, total: Amounts, first: Amounts | None, members: Sequence[Paid], announcing: bool = False
) -> Offer:
    """How releases are best charged after a history with this total, whose first charge cost `first`.

    `announcing` if one of them announces a series, which no batch takes in.
    """
    apart = _apart(terms, total, first, [claim for claim, _ in members])
    if announcing:
        return _because(apart, "one announces a series, which is charged by itself")
    if terms.format == 1:
        return _because(apart, "the ledger has format 1, which knows no batches")
    if apart.releases < 2:
        return _because(apart, "there are not two releases to pay for")
    if terms.filter.no_batches:
        return _because(apart, terms.filter.no_batches)
    own = sum((exact(claim.parts().get("delta", 0.0)) for claim, _ in members), Fraction(0))
    spare = exact(terms.filter.spare(total, first))
    if own > spare or not spare:
        return _because(apart, "their deltas leave none of the budget's delta to a batch")
    from sfumato.accounting.batch_claim import batch_claim  # what is stored needs no accountant

    claims = [claim for claim, _ in members]
    try:
        claim = batch_claim(members, ceil_float(own + (spare - own) / 2))
        cost = terms.filter.batch(claim, claims)
    except ParameterError:
        return _because(apart, "no better bound is known for them together")
    return _better(apart, _as_one(terms, total, first, claim, cost))


def charged_together(terms: Terms, entries: Sequence[Entry]) -> list[Offer]:
    """What each batch in a ledger cost, beside what its releases would have cost one by one at that moment."""
    found = []
    for place, entry in enumerate(entries):
        if entry.batch is None or entry.guarantee is None or SERIES in entry.description:
            continue
        claims = [guarantee_from(record) for record in entry.description["claims"]]  # type: ignore[attr-defined]
        total, first = entries[place - 1].total, first_of(entries[:place])
        apart = _apart(terms, total, first, claims)
        batch = _as_one(terms, total, first, guarantee_from(entry.guarantee), entry.amounts)
        found.append(replace(batch, releases=len(entry.batch), apart=apart.apart))
    return found


def _better(apart: Offer, batch: Offer) -> Offer:
    both = Offer(
        batch.claim, batch.spent, batch.fits, apart.releases, batch.epsilon, apart.apart, "", batch.first_refused
    )
    if both.fits and (both.saved >= LEAST or not apart.fits):
        return both
    if not both.fits:
        return _because(apart, "as one charge they would not fit the budget")
    return _because(
        apart, f"together they would cost epsilon {both.epsilon:.4g} instead of {apart.apart:.4g}, not {LEAST:.0%} less"
    )


def _because(apart: Offer, reason: str) -> Offer:
    return Offer(None, apart.spent, apart.fits, apart.releases, apart.apart, apart.apart, reason, apart.first_refused)


def _apart(terms: Terms, total: Amounts, first: Amounts | None, claims: Sequence[Guarantee]) -> Offer:
    """Each release charged by itself."""
    rules, refused, paying = terms.filter, None, 0
    before = rules.spent(total, first).amount
    for place, claim in enumerate(claims):
        cost = rules.amounts(claim)
        total, first = added(total, cost), first or (cost if any(cost) else None)
        paying += any(cost)
        if refused is None and not rules.admits(total, first):
            refused = place
    spent = rules.spent(total, first)
    return Offer(None, spent, refused is None, paying, 0.0, spent.amount - before, "", refused)


def _as_one(terms: Terms, total: Amounts, first: Amounts | None, claim: Guarantee, cost: Amounts) -> Offer:
    rules = terms.filter
    before = rules.spent(total, first).amount
    total, first = added(total, cost), first or cost
    spent, fits = rules.spent(total, first), rules.admits(total, first)
    return Offer(claim, spent, fits, 0, spent.amount - before, 0.0, "", None if fits else 0)
