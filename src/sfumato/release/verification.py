"""A whole ledger checked, and every stored release against the mechanism it names: what was really spent.

The chain says what was charged.  Each stored release is read back, and what its mechanism gives is added up in its
charge's place; a charge without a stored release counts as it was recorded, since nothing of it was shown.  Of a batch
the losses of all its stored releases are composed anew, and compared with the one charge that paid for them.  Those of
a series are outputs of one mechanism, which costs once what each of them claims, where each continues those before it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sfumato.accounting.batch_claim import batch_claim
from sfumato.errors import LedgerError, ParameterError, SfumatoError
from sfumato.ledger import Entry, LedgerLike, Verification
from sfumato.ledger.entries import SERIES
from sfumato.ledger.protocol import in_words
from sfumato.ledger.rules import added, first_of
from sfumato.ledger.terms import Terms
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.filters import Amounts
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.binding import limited
from sfumato.release import Release, TableRelease
from sfumato.release.archive import read
from sfumato.release.series import is_series

__all__ = ["verify"]

ROOM = 2e-3  # twice the width of a composed bound: another version may put it elsewhere within it


def verify(ledger: LedgerLike, heads: Iterable[str] = ()) -> Verification:
    """What `ledger.verify` finds, the releases that cost more than was charged, and then the true total."""
    found = ledger.verify(heads)
    try:
        entries = ledger.entries()
    except LedgerError:
        return found
    check = _Check(ledger, _paid(entries), _drawn(entries))
    for entry in entries:
        if entry.kind == "release":
            check.release(entry)
    for entry in entries:
        if entry.sequence in check.shown:
            check.batch(entry)
    if not check.disputes:
        return found
    return replace(found, disputes=tuple(check.disputes), true=_total(ledger, entries, check.more))


def _paid(entries: tuple[Entry, ...]) -> dict[int | None, Amounts]:
    """What each charge of one release came to, its corrections included."""
    paid: dict[int | None, Amounts] = {}
    for entry in entries:
        if entry.kind == "charge" and entry.batch is None:
            paid[entry.sequence] = entry.amounts
        elif entry.kind == "correction" and _charge_of(entry) in paid:
            paid[_charge_of(entry)] = tuple(map(operator.add, paid[_charge_of(entry)], entry.amounts))
    return paid


def _drawn(entries: tuple[Entry, ...]) -> dict[int | None, int]:
    """The batch that each charge was drawn on, of those that were; a batch stands for itself."""
    batches = {entry.sequence: entry.batch for entry in entries if entry.kind == "charge" and entry.batch is not None}
    drawn: dict[int | None, int] = {number: number for number in batches}
    for entry in entries:
        number = entry.description.get("batch") if entry.kind == "charge" and not any(entry.amounts) else None
        if isinstance(number, int) and (entry.name, entry.digest) in batches.get(number, ()):
            drawn[entry.sequence] = number
    return drawn


def _charge_of(entry: Entry) -> int | None:
    """The number of the charge that an entry names; none where damage left something else."""
    number = entry.description.get("charge")
    return number if isinstance(number, int) else None


@dataclass(slots=True)
class _Check:
    """One pass over the stored releases: what is disputed, what costs more, and what was shown of each batch."""

    ledger: LedgerLike
    paid: dict[int | None, Amounts]
    drawn: dict[int | None, int]
    disputes: list[str] = field(default_factory=list)
    more: dict[int | None, list[Guarantee]] = field(default_factory=dict)
    shown: dict[int, list[Release]] = field(default_factory=dict)

    def release(self, entry: Entry) -> None:
        """Compare a stored release with what its mechanism gives, and with its charge."""
        content, charge = self.ledger.content(entry), _charge_of(entry)
        if content is None:
            return  # a finding already
        try:
            release = read(content)
            stated, claim = release.stated, release.guarantee
            mine = _is_about(release, self.ledger.terms)
        except Exception:  # contents are checked by their hash: what is kept under it may still be no release
            return self._dispute(entry, "cannot be read back")
        if isinstance(release, TableRelease) and release.edited:
            return self._dispute(entry, "holds other rows than its record says")
        if release.provenance.laboratory is not None and self.ledger.laboratory is None:
            return self._dispute(entry, "comes from a laboratory and protects nobody")
        if not mine:
            return self._dispute(entry, "was made for another dataset, adjacency or unit than the ledger protects")
        if charge in self.drawn:
            self.shown.setdefault(self.drawn[charge], []).append(release)
            paid = None
        else:
            paid = self.paid.get(charge)
        if stated is None and (paid is None or _covers(self.ledger, paid, claim)):
            return None
        charged = in_words(stated) if stated is not None else "less than it costs"
        self._dispute(entry, f"was charged {charged}, its mechanism gives {in_words(claim)}")
        if charge not in self.drawn:
            self.more.setdefault(charge, []).append(claim)
        return None

    def batch(self, entry: Entry) -> None:
        """Compare the charge of a batch with what its stored releases cost together."""
        charged, releases = guarantee_from(entry.guarantee or {}), self.shown[entry.sequence]
        claims = [release.guarantee for release in releases]
        if SERIES in entry.description and is_series(releases) and _covers(self.ledger, entry.amounts, claims[0]):
            return
        try:
            given = batch_claim([(release.guarantee, release.loss) for release in releases], charged.parts()["delta"])
            costs = self.ledger.terms.filter.batch(given, claims)
            apart = sum(self.ledger.terms.filter.amounts(claim)[2] for claim in claims)  # as 1.0.0rc1 charged them
            rho = min(costs[2], apart)
            kept = given.epsilon <= charged.parts()["epsilon"] * (1 + ROOM) and rho <= entry.amounts[2]
        except (ParameterError, KeyError):
            self.disputes.append(f"entry {entry.sequence}: a batch cannot be charged as {in_words(charged)}")
            self.more[entry.sequence] = claims
            return
        if not kept:
            self.disputes.append(
                f"entry {entry.sequence}: batch charged {in_words(charged)}, the mechanisms give {in_words(given)}"
            )
            self.more[entry.sequence] = [given]

    def _dispute(self, entry: Entry, told: str) -> None:
        self.disputes.append(f"entry {entry.sequence}: release {entry.name!r} {told}")


def _is_about(release: Release, terms: Terms) -> bool:
    """Whether a release is about whom the ledger protects; a question's own limits stand in place of the unit's."""
    question = release.question
    about = question.schema
    if (about.dataset, about.adjacency) != (terms.dataset, terms.adjacency):
        return False
    try:
        return about.unit == limited(question.query, replace(about, unit=terms.unit)).unit
    except SfumatoError:  # the question cannot be asked about that unit
        return False


def _covers(ledger: LedgerLike, paid: Amounts, claim: Guarantee) -> bool:
    """Whether these amounts pay for a claim; what the budget cannot take was not paid."""
    try:
        costs = ledger.terms.filter.amounts(claim)
    except ParameterError:
        return False
    return all(map(operator.ge, paid, costs))


def _total(ledger: LedgerLike, entries: tuple[Entry, ...], more: dict[int | None, list[Guarantee]]) -> Guarantee | None:
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
