"""Which entry may follow: the decisions of a ledger, apart from where it keeps its entries.

Every ledger calls these inside a transaction that excludes other writers, on what it has read in
that same transaction, and appends the returned entry before the transaction ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial

from sfumato.errors import AssumptionRefused, BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger.entries import BATCH, SERIES, Entry, now, plain
from sfumato.ledger.protocol import Known, Member, in_words
from sfumato.ledger.terms import Terms
from sfumato.numeric import exact
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.filters import UNIT, Amounts, Filter, units
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.records import digest as digest_of

__all__ = [
    "History",
    "added",
    "announced",
    "charging",
    "charging_batch",
    "charging_series",
    "cost_of",
    "drawing",
    "first_of",
    "fits",
    "known",
    "must_be_allowed",
    "must_be_first",
    "must_be_same_release",
    "releasing",
    "remaining",
    "spent",
    "times",
    "undrawn",
]


History = tuple[
    Filter, Amounts, Amounts | None
]  # what admits charges, the total so far, and what the first charge cost


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


def known(name: str, named: Iterable[Entry]) -> Iterator[Known]:
    """What a name was charged for, oldest first: by itself, or in a batch.  `named` holds its entries and batches."""
    for entry in named:
        if entry.batch is None:
            yield Known(entry.sequence, entry.digest, entry.description)
            continue
        for place, (member, digest) in enumerate(entry.batch):
            if member == name:
                yield Known(entry.sequence, digest, _described(entry, place))


def _described(batch: Entry, place: int) -> Mapping[str, object]:
    """What a batch's charge says of one of its releases."""
    described = batch.description.get("releases")
    found = described[place] if isinstance(described, list) and place < len(described) else None
    return found if isinstance(found, dict) else {}


def must_be_same_release(name: str, digest: str, named: Iterable[Entry]) -> None:
    """A name stands for one specification, for ever."""
    if any(found.digest != digest for found in known(name, named)):
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
    total = _admitted(terms, last, first, amounts, claim, f"the charge for {name!r} does not fit")
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


def charging_batch(
    terms: Terms, last: Entry, first: Amounts | None, members: Sequence[Member], claim: Guarantee
) -> Entry:
    """The entry that spends `claim` for several releases together, or a refusal."""
    pairs = _pairs(terms, members)
    amounts = terms.filter.batch(claim, [member.claim for member in members])
    together = f"the charge for {len(pairs)} releases together does not fit"
    total = _admitted(terms, last, first, amounts, claim, together)
    description = {
        "claims": [to_record(member.claim) for member in members],
        "releases": [dict(member.description) for member in members],
    }
    return _together(last, pairs, claim, amounts, total, description)


def _pairs(terms: Terms, members: Sequence[Member]) -> tuple[tuple[str, str], ...]:
    """The names and digests of releases that are charged together."""
    pairs = tuple((member.name, member.digest) for member in members)
    if terms.format == 1:
        raise LedgerError("a ledger of format 1 knows no batches; charge each release by itself")
    if not pairs or len({name for name, _ in pairs}) < len(pairs):
        raise ParameterError("members must be releases of different names, at least one")
    return pairs


def _together(
    last: Entry, pairs: tuple[tuple[str, str], ...], claim: Guarantee, amounts: Amounts, total: Amounts,
    description: Mapping[str, object],
) -> Entry:  # fmt: skip
    """One charge for several releases."""
    return Entry(
        last.sequence + 1, "charge", now(), BATCH, digest_of([list(pair) for pair in pairs]), to_record(claim), amounts,
        total, plain(description), last.hash, batch=pairs,
    )  # fmt: skip


def charging_series(terms: Terms, last: Entry, first: Amounts | None, members: Sequence[Member]) -> Entry:
    """The entry that spends the claim of one mechanism whose outputs are published one after the other."""
    pairs, (claim, *others) = _pairs(terms, members), [member.claim for member in members]
    if any(other != claim for other in others):
        raise ParameterError("members of a series are outputs of one mechanism, with its claim each")
    amounts = terms.filter.amounts(claim)
    series = f"the charge for a series of {len(pairs)} does not fit"
    total = _admitted(terms, last, first, amounts, claim, series)
    description = {SERIES: True, "releases": [dict(member.description) for member in members]}
    return _together(last, pairs, claim, amounts, total, description)


def announced(members: Sequence[Member], named: Iterable[Entry]) -> Entry | None:
    """The charge of this very series, where it was announced before."""
    pairs = tuple((member.name, member.digest) for member in members)
    return next((entry for entry in named if entry.batch == pairs and SERIES in entry.description), None)


def must_be_first(name: str, named: Sequence[Entry]) -> None:
    """Refuse to store another release of a name in a series: what comes after continues the first."""
    of_series = any(SERIES in e.description and name in dict(e.batch or ()) for e in named)
    if of_series and any(e.kind == "release" for e in named):
        raise LedgerError(f"release {name!r} of a series is stored already, and has no second; ask for it again")


def undrawn(name: str, digest: str, description: Mapping[str, object], named: Sequence[Entry]) -> Entry | None:
    """The oldest batch that paid for this release, described the same, and was not drawn on for it yet."""
    parts = {"release": "charge", "charge": "batch"}
    drawn = [e.description.get(parts.get(e.kind, "")) for e in named if e.batch is None]
    wanted = None
    for entry in named:
        for place, pair in enumerate(entry.batch or ()):
            if pair == (name, digest) and entry.sequence not in drawn:
                wanted = plain(description) if wanted is None else wanted
                if _described(entry, place) == wanted:
                    return entry
    return None


def drawing(last: Entry, batch: Entry, name: str, digest: str) -> Entry:
    """The entry that begins a release which the charge `batch` has paid for; it costs nothing more."""
    nothing = tuple(0 for _ in last.total)
    free = to_record(Pure(0.0))
    paid: dict[str, object] = {"batch": batch.sequence}
    return Entry(last.sequence + 1, "charge", now(), name, digest, free, nothing, last.total, paid, last.hash)


def _admitted(
    terms: Terms, last: Entry, first: Amounts | None, amounts: Amounts, claim: Guarantee, otherwise: str
) -> Amounts:
    """The total with these amounts, if the budget takes it."""
    total = added(last.total, amounts)
    if not terms.filter.admits(total, first):
        left = remaining(terms.budget, (terms.filter, last.total, first))
        raise BudgetExceeded(
            f"{otherwise}: {lacking(claim, left)}, of the budget {in_words(terms.budget)}; nothing was charged.  Ask "
            "for less, or let whoever answers for the data grant a new budget"
        )
    return total


def lacking(claim: Guarantee, left: Guarantee) -> str:
    """What a claim asks for beyond what is left, part by part, and what would fit.

    >>> from sfumato.privacy.guarantees import Approximate
    >>> lacking(Approximate(1.0, 1e-5), Approximate(2.0, 1e-6))
    'epsilon 1, delta 1e-05 was asked for, and epsilon 2, delta 1e-06 is left (too little delta)'
    """
    asked, held = claim.parts(), left.parts()
    short = [name for name, amount in asked.items() if amount > held.get(name, amount)]
    way = f" (too little {' and '.join(short)})" if short else ""
    if short == ["delta"] and not held["delta"]:
        way = " (no delta: spend epsilon alone)"
    return f"{in_words(claim)} was asked for, and {in_words(left)} is left{way}"


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


def fits(filter_: Filter, total: Amounts, first: Amounts | None, *claims: Guarantee) -> bool:
    """Whether these charges are admitted one after the other; a kind that the budget does not take is not."""
    try:
        costs = [filter_.amounts(claim) for claim in claims]
    except ParameterError:
        return False
    for cost in costs:
        total, first = added(total, cost), first or (cost if any(cost) else None)
    return filter_.admits(total, first)


def spent(history: History, *others: History) -> Guarantee:
    """What was charged in the first of some histories."""
    filter_, total, first = history
    return filter_.spent(total, first)


def times(claim: Guarantee, *histories: History) -> int | None:
    """How many more charges of this claim all histories admit, one after the other; none for as many as one likes."""
    found = [_times(claim, *history) for history in histories]
    return min((count for count in found if count is not None), default=None)


def _times(claim: Guarantee, filter_: Filter, total: Amounts, first: Amounts | None) -> int | None:
    try:
        cost = filter_.amounts(claim)
    except ParameterError:
        return 0
    if not any(cost):
        return None

    def admitted(count: int) -> bool:
        return filter_.admits(tuple(a + count * b for a, b in zip(total, cost, strict=True)), first or cost)

    unspent = units(filter_.budget.amount) - total[0]
    return _most(admitted, guess=max(0, unspent // cost[0]) if cost[0] else None)


def cost_of(filter_: Filter, charge: Entry) -> Amounts:
    """What the guarantee of a charge costs by a filter of today; of a batch with the claims of its releases."""
    claim = guarantee_from(charge.guarantee or {})
    claims = charge.description.get("claims")
    if charge.batch is None or not isinstance(claims, list) or len(claims) != len(charge.batch):
        return filter_.amounts(claim)
    return filter_.batch(claim, [guarantee_from(one) for one in claims])


@lru_cache(maxsize=1024)
def remaining(budget: Guarantee, *histories: History) -> Guarantee:
    """The largest single charge of the budget's type that every one of these histories still admits.

    Found on the filters themselves, by bisection where it is not just what is unspent, so it agrees with `charging`
    whatever they do.
    An approximate budget gives first the largest delta, then the largest epsilon beside it.
    """
    left: Guarantee = budget.with_parts(dict.fromkeys(budget.names(), 0.0))
    for place, name in reversed([*enumerate(left.names())]):
        most = math.ceil(exact(budget.parts()[name]) * UNIT)
        unspent = (math.floor(exact(held.budget.parts()[name]) * UNIT) - total[place] for held, total, _ in histories)
        guess = max(0, min(unspent, default=most))  # which it is where amounts simply add up
        left = left.with_parts({name: _amount(_most(partial(_admits_with, histories, left, name), most, guess))})
    return left


def _admits_with(histories: tuple[History, ...], claim: Guarantee, name: str, whole: int) -> bool:
    try:
        changed = claim.with_parts({name: _amount(whole)})
    except ParameterError:  # no such claim: a delta of 1, an infinite epsilon
        return False
    return all(fits(*history, changed) for history in histories)


def _most(admits: Callable[[int], bool], near: int = 1, guess: int | None = None) -> int:
    """The largest whole number that is admitted, where smaller ones are; looked for from a number on."""
    if guess is not None and (not guess or admits(guess)) and not admits(guess + 1):
        return guess
    low, high = 0, max(1, near)
    while admits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if admits(middle) else (low, middle)
    return low


def _amount(whole: int) -> float:
    try:
        return float(Fraction(whole, UNIT))
    except OverflowError:
        return math.inf
