"""Checking a whole ledger: the chain, the totals against the budget, the contents, the heads.

A chain shows every edit to one who holds a later head.  It cannot show by itself that its end was
cut off or that an older copy was put back; the heads printed on releases do, since each must occur.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.accounts import Accounts, allowance_of
from sfumato.ledger.entries import GENESIS, Entry
from sfumato.ledger.protocol import Verification
from sfumato.ledger.rules import added, cost_of
from sfumato.ledger.terms import Terms
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.filters import Amounts
from sfumato.records import sha256

__all__ = ["checked_heads", "verify_chain"]

Row = tuple[int, str, str]  # sequence, body, hash, as they are stored
PLACES = ("inside", "beside")


def checked_heads(heads: Iterable[str]) -> frozenset[str]:
    """Printed heads in one spelling."""
    chosen = frozenset(head.strip().lower() for head in heads)
    for head in chosen:
        if len(head) != len(GENESIS) or not set(head) <= set(string.hexdigits):
            raise ParameterError(
                f"heads must be whole heads of {len(GENESIS)} hexadecimal digits as printed on a "
                f"release, got {head!r:.80}"
            )
    return chosen


def verify_chain(rows: Iterable[Row], content: Callable[[Entry], bytes | None], heads: frozenset[str]) -> Verification:
    """Read every entry once, oldest first, and collect what is wrong."""
    walk, absent = _Walk(content), set(heads)
    for row in rows:
        try:
            walk.step(*row)
        except (LedgerError, ParameterError) as failure:
            walk.problems.append(f"entry {row[0]}: {failure}")
        except Exception:  # whatever damage left behind is a finding, never an error of the check
            walk.problems.append(f"entry {row[0]}: it cannot be read as an entry")
        absent.discard(row[2])
    walk.problems.extend(
        f"head {head} is not in the chain: entries were cut off, rolled back or rewritten" for head in sorted(absent)
    )
    if walk.terms is None:
        walk.problems.append("the ledger has no readable opening")
        return Verification(walk.count, walk.previous, None, tuple(walk.problems))
    try:
        spent = walk.terms.filter.spent(walk.total, walk.first)
    except Exception:
        walk.problems.append("what is spent cannot be added up")
        return Verification(walk.count, walk.previous, None, tuple(walk.problems))
    return Verification(walk.count, walk.previous, spent, tuple(walk.problems))


class _Walk:
    """The state of one pass: what the entries so far add up to."""

    def __init__(self, content: Callable[[Entry], bytes | None]) -> None:
        self.content = content
        self.terms: Terms | None = None
        self.format: object = None
        self.total: Amounts = ()
        self.first: Amounts | None = None
        self.previous = GENESIS
        self.count = 0
        self.unpaid: dict[int, set[tuple[str, str]]] = {}
        self.charges: set[object] = set()
        self.names: dict[str, str] = {}
        self.accounts = Accounts()
        self.problems: list[str] = []

    def step(self, sequence: int, body: str, stored_hash: str) -> None:
        """Check one entry against everything before it."""
        expected, previous = self.count, self.previous
        self.count, self.previous = self.count + 1, stored_hash
        self._require(sequence == expected, sequence, "an entry before it is missing")
        self._require(sha256(body.encode()) == stored_hash, sequence, "its text does not match its hash")
        entry = Entry.read(body)
        self._require(entry.body() == body, sequence, "its text is not in canonical form")
        self._require(entry.sequence == sequence, sequence, "it carries another number")
        self._require(entry.previous == previous, sequence, "it does not follow its predecessor")
        extended = entry.kind == "correction" or entry.account is not None or entry.batch is not None
        self._require(not (extended and self.format == 1), sequence, "format 1 knows no such entry")
        self._require(entry.account is None or entry.kind == "charge", sequence, "only charges have an account")
        if self.terms is None or entry.kind == "open":
            self._open(entry)
        elif entry.kind == "charge":
            self._charge(entry, self.terms)
        elif entry.kind == "correction":
            self._correction(entry, self.terms)
        else:
            self._release(entry)

    def _open(self, entry: Entry) -> None:
        self._require(self.terms is None, entry.sequence, "a ledger is opened only once")
        if self.terms is None:
            self.terms = Terms.read(entry)
            self.format = entry.description.get("format")
            self.total = self.terms.nothing
            empty = entry.total == entry.amounts == self.total
            self._require(empty, entry.sequence, "a ledger opens with nothing spent")

    def _charge(self, entry: Entry, terms: Terms) -> None:
        if entry.guarantee is None:
            raise LedgerError("a charge must name its guarantee")
        least = cost_of(terms.filter, entry)
        covered = len(least) == len(entry.amounts) and all(
            recorded >= amount for recorded, amount in zip(entry.amounts, least, strict=False)
        )
        self._require(covered, entry.sequence, "its amounts are below what its guarantee costs")
        self.charges.add(entry.sequence)
        cost = entry.amounts if covered else least
        self.total = added(self.total, cost)
        self.first = self.first or (cost if any(cost) else None)
        self._require(entry.total == self.total, entry.sequence, "its total does not add up")
        self._require(terms.filter.admits(self.total, self.first), entry.sequence, "its total exceeds the budget")
        self._account(entry)
        paid = ((entry.name, entry.digest),) if entry.batch is None else entry.batch
        if "batch" in entry.description and not any(entry.amounts):
            self._draw(entry)
        for name, digest in paid:
            first = self.names.setdefault(name, digest)
            self._require(first == digest, entry.sequence, "its name stands for another digest")
        self.unpaid[entry.sequence] = set(paid)

    def _account(self, entry: Entry) -> None:
        """What an account has spent is within what it was allowed when it was charged; the ledger rests on neither."""
        self.accounts.take(entry)
        if entry.account is not None:
            allowance = allowance_of(entry)
            within = allowance is not None and self.accounts.within(allowance)
            self._require(within, entry.sequence, "its account is charged beyond what it was allowed")

    def _draw(self, entry: Entry) -> None:
        """A release that a batch has paid for is begun: it must be one of that batch, and not begun before."""
        batch = entry.description["batch"]
        paid = self.unpaid.get(batch, set()) if isinstance(batch, int) else set()
        here = (entry.name, entry.digest) in paid and entry.batch is None
        self._require(here, entry.sequence, "no batch has paid for it, or it was begun before")
        paid.discard((entry.name, entry.digest))

    def _correction(self, entry: Entry, terms: Terms) -> None:
        """An earlier charge claimed too little: the rest is added, and nothing is refused for it."""
        if entry.guarantee is None:
            raise LedgerError("a correction must name the guarantee that holds")
        terms.filter.amounts(guarantee_from(entry.guarantee))
        known = entry.description.get("charge") in self.charges
        self._require(known, entry.sequence, "it corrects no earlier charge")
        self.accounts.take(entry)
        self.total = added(self.total, entry.amounts)
        self._require(entry.total == self.total, entry.sequence, "its total does not add up")
        self._require(terms.filter.admits(self.total, self.first), entry.sequence, "its total exceeds the budget")

    def _release(self, entry: Entry) -> None:
        nothing = not any(entry.amounts) and entry.total == self.total
        self._require(nothing, entry.sequence, "a release must leave the total as it is")
        charge = entry.description.get("charge")
        paid = self.unpaid.get(charge, set()) if isinstance(charge, int) else set()
        self._require((entry.name, entry.digest) in paid, entry.sequence, "no charge of its own paid for this release")
        paid.discard((entry.name, entry.digest))
        place = entry.description.get("place")
        self._require(place in PLACES, entry.sequence, "its content is in an unknown place")
        content = self.content(entry)
        self._require(content is not None, entry.sequence, "its stored content is missing")
        if content is not None:
            kept = (entry.description.get("content"), entry.description.get("size"))
            same = kept == (sha256(content), len(content))
            self._require(same, entry.sequence, "its stored content does not match its hash")

    def _require(self, condition: bool, sequence: int, otherwise: str) -> None:
        if not condition:
            self.problems.append(f"entry {sequence}: {otherwise}")
