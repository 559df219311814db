"""Which entry may follow: the decisions of a ledger, apart from where it keeps its entries.

Every ledger calls these inside a transaction that excludes other writers, on what it has read in
that same transaction, and appends the returned entry before the transaction ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from sfumato.errors import AssumptionRefused, BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger.entries import Entry, now, plain
from sfumato.ledger.terms import Terms
from sfumato.privacy.filters import UNIT, Amounts
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure, to_record

__all__ = ["added", "charging", "first_of", "must_be_allowed", "must_be_same_release", "releasing", "remaining"]


def added(total: Amounts, amounts: Amounts) -> Amounts:
    """Totals add up part by part."""
    if len(total) != len(amounts):
        raise LedgerError(
            "the ledger's totals were written for another filter than this version's; "
            "use the version of sfumato that wrote it"
        )
    return tuple(a + b for a, b in zip(total, amounts, strict=True))


def must_be_allowed(claim: Guarantee, allow: frozenset[str]) -> None:
    """Refuse a claim that rests on an assumption nobody allowed."""
    if not isinstance(claim, Guarantee):
        raise ParameterError(f"claim must be a guarantee such as Pure(0.1), got {type(claim)}")
    refused = sorted(claim.assumptions - allow)
    if refused:
        raise AssumptionRefused(
            f"the claim {claim!r} assumes {refused[0]!r}, which is not allowed here; "
            f"choose a mechanism without it, or open the ledger with allow={{{refused[0]!r}}}"
        )


def must_be_same_release(name: str, digest: str, named: Iterable[Entry]) -> None:
    """A name stands for one specification, for ever."""
    if any(entry.digest != digest for entry in named):
        raise LedgerError(
            f"name {name!r} is already used in this ledger for another specification; "
            "give the changed release a new name"
        )


def first_of(entries: Iterable[Entry]) -> Amounts | None:
    """What the first charge cost, of those that cost anything: it was chosen before any answer was seen."""
    return next((entry.amounts for entry in entries if entry.kind == "charge" and any(entry.amounts)), None)


def charging(
    terms: Terms,
    last: Entry,
    first: Amounts | None,
    name: str,
    digest: str,
    claim: Guarantee,
    description: Mapping[str, object],
) -> Entry:
    """The entry that spends `claim`, or a refusal."""
    amounts = terms.filter.amounts(claim)
    total = added(last.total, amounts)
    if not terms.filter.admits(total, first):
        raise BudgetExceeded(
            f"the charge {claim!r} for {name!r} does not fit: of the budget {terms.budget!r} "
            f"there remains {remaining(terms, last.total, first)!r}; nothing was charged.  Ask for less, "
            "or let whoever answers for the data grant a new budget"
        )
    return Entry(
        last.sequence + 1,
        "charge",
        now(),
        name,
        digest,
        to_record(claim),
        amounts,
        total,
        plain(description),
        last.hash,
    )


def releasing(last: Entry, paid: Entry, content: str, size: int, place: str) -> Entry:
    """The entry that stores the release which the charge `paid` paid for."""
    description: dict[str, object] = {
        "charge": paid.sequence,
        "content": content,
        "size": size,
        "place": place,
    }
    nothing = tuple(0 for _ in last.total)
    return Entry(
        last.sequence + 1,
        "release",
        now(),
        paid.name,
        paid.digest,
        None,
        nothing,
        last.total,
        description,
        last.hash,
    )


def remaining(terms: Terms, total: Amounts, first: Amounts | None) -> Guarantee:
    """The largest single charge of the budget's type that the filter still admits.

    Found by bisection on the filter itself, so it agrees with `charging` whatever the filter does.
    An approximate budget gives first the largest delta, then the largest epsilon beside it.
    """

    def admits(claim: Callable[[float], Guarantee]) -> Callable[[float], bool]:
        def decision(amount: float) -> bool:
            try:
                return terms.filter.admits(added(total, terms.filter.amounts(claim(amount))), first)
            except ParameterError:  # no such claim: a delta of 1, an infinite epsilon
                return False

        return decision

    if isinstance(terms.budget, Pure):
        return Pure(_largest(admits(Pure)))
    if isinstance(terms.budget, Concentrated):
        return Concentrated(_largest(admits(Concentrated)))
    delta = _largest(admits(lambda amount: Approximate(0.0, amount)))
    return Approximate(_largest(admits(lambda amount: Approximate(amount, delta))), delta)


def _largest(admits: Callable[[float], bool]) -> float:
    """The largest whole number of units that is admitted, as the float nearest to it."""
    low, high = 0, 1
    while admits(_amount(high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if admits(_amount(middle)) else (low, middle)
    return _amount(low)


def _amount(whole: int) -> float:
    try:
        return float(Fraction(whole, UNIT))
    except OverflowError:
        return math.inf
