"""A whole ledger checked, and every stored release against the mechanism it names: what was really spent.

The chain says what was charged.  Each stored release is read back, and what its mechanism gives is added up in its
charge's place; a charge without a stored release counts as it was recorded, since nothing of it was shown.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from dataclasses import replace

from sfumato.archive import read
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import Entry, Ledger, Verification
from sfumato.ledger.rules import added, first_of
from sfumato.privacy.filters import Amounts
from sfumato.privacy.guarantees import Guarantee

__all__ = ["verify"]


def verify(ledger: Ledger, heads: Iterable[str] = ()) -> Verification:
    """What `ledger.verify` finds, the releases that cost more than was charged, and then the true total."""
    found = ledger.verify(heads)
    try:
        entries = ledger.entries()
    except LedgerError:
        return found
    paid = _paid(entries)
    disputes: list[str] = []
    more: dict[int | None, list[Guarantee]] = {}
    for entry in entries:
        if entry.kind != "release":
            continue
        charge = _charge_of(entry)
        told, claims = _claims(ledger, entry, paid.get(charge))
        if told is not None:
            disputes.append(f"entry {entry.sequence}: {told}")
        if claims is not None:
            more.setdefault(charge, []).append(claims)
    if not disputes:
        return found
    return replace(found, disputes=tuple(disputes), true=_total(ledger, entries, more))


def _paid(entries: tuple[Entry, ...]) -> dict[int | None, Amounts]:
    """What each charge of one release came to, its corrections included."""
    paid: dict[int | None, Amounts] = {}
    for entry in entries:
        if entry.kind == "charge" and entry.batch is None:
            paid[entry.sequence] = entry.amounts
        elif entry.kind == "correction" and _charge_of(entry) in paid:
            paid[_charge_of(entry)] = tuple(map(operator.add, paid[_charge_of(entry)], entry.amounts))
    return paid


def _charge_of(entry: Entry) -> int | None:
    """The number of the charge that an entry names; none where damage left something else."""
    number = entry.description.get("charge")
    return number if isinstance(number, int) else None


def _claims(ledger: Ledger, entry: Entry, paid: Amounts | None) -> tuple[str | None, Guarantee | None]:
    """What to say of a stored release, and what its mechanism gives if that is more than was charged."""
    content = ledger.content(entry)
    if content is None:
        return None, None  # a finding already
    try:
        release = read(content)
        stated, covered = release.stated, paid is None or _covers(ledger, paid, release.guarantee)
    except Exception:  # contents are checked by their hash: what is kept under it may still be no release
        return f"release {entry.name!r} cannot be read back", None
    if stated is None and covered:
        return None, None
    charged = repr(stated) if stated is not None else "less than it costs"
    return f"release {entry.name!r} was charged {charged}, its mechanism gives {release.guarantee!r}", release.guarantee


def _covers(ledger: Ledger, paid: Amounts, claim: Guarantee) -> bool:
    """Whether these amounts pay for a claim; what the budget cannot take was not paid."""
    try:
        costs = ledger.terms.filter.amounts(claim)
    except ParameterError:
        return False
    return all(map(operator.ge, paid, costs))


def _total(ledger: Ledger, entries: tuple[Entry, ...], more: dict[int | None, list[Guarantee]]) -> Guarantee | None:
    """What everything costs, corrections in the chain included once."""
    rules, total = ledger.terms.filter, ledger.terms.nothing
    corrected = {_charge_of(entry) for entry in entries if entry.kind == "correction"}
    try:
        for entry in entries:
            given = [] if entry.sequence in corrected else more.get(entry.sequence, [])
            cost = functools.reduce(added, map(rules.amounts, given), ledger.terms.nothing)
            total = added(total, tuple(map(max, cost, entry.amounts)))
        return rules.spent(total, first_of(entries))
    except Exception:
        return None
