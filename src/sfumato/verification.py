"""A whole ledger checked, and every stored release against the mechanism it names: what was really spent.

The chain says what was charged.  Each stored release is read back, and what its mechanism gives is added up in its
charge's place; a charge without a stored release counts as it was recorded, since nothing of it was shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sfumato.archive import read
from sfumato.errors import LedgerError
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
    disputes, more = [], {}
    for entry in entries:
        if entry.kind != "release":
            continue
        told, claims = _claims(ledger, entry)
        if told is not None:
            disputes.append(f"entry {entry.sequence}: {told}")
        if claims is not None:
            more[entry.description.get("charge")] = claims
    if not disputes:
        return found
    return replace(found, disputes=tuple(disputes), true=_total(ledger, entries, more))


def _claims(ledger: Ledger, entry: Entry) -> tuple[str | None, Guarantee | None]:
    """What to say of a stored release, and what its mechanism gives if that is more than was charged."""
    content = ledger.content(entry)
    if content is None:
        return None, None  # a finding already
    try:
        release = read(content)
        stated = release.stated
    except Exception:  # contents are checked by their hash: what is kept under it may still be no release
        return f"release {entry.name!r} cannot be read back", None
    if stated is None:
        return None, None
    return (
        f"release {entry.name!r} was charged {stated!r}, its mechanism gives {release.guarantee!r}",
        release.guarantee,
    )


def _total(ledger: Ledger, entries: tuple[Entry, ...], more: dict[object, Guarantee]) -> Guarantee | None:
    """What everything costs, corrections in the chain included once."""
    rules, total = ledger.terms.filter, ledger.terms.nothing
    corrected = {entry.description.get("charge") for entry in entries if entry.kind == "correction"}
    try:
        for entry in entries:
            given = None if entry.sequence in corrected else more.get(entry.sequence)
            cost: Amounts = entry.amounts if given is None else rules.amounts(given)
            total = added(total, tuple(map(max, cost, entry.amounts)))
        return rules.spent(total, first_of(entries))
    except Exception:
        return None
