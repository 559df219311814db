"""From a plan to its orders, its ledger and its session; everything public about all of it before the first charge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import BudgetExceeded, LedgerError, SchemaError, SfumatoError
from sfumato.ledger import Ledger, Stored
from sfumato.ledger.rules import added, first_of
from sfumato.ledger.terms import Terms
from sfumato.orders import Order, must_be_storable, order
from sfumato.plans import Plan, PlannedRelease
from sfumato.privacy.filters import filter_for
from sfumato.privacy.guarantees import Guarantee, Pure

if TYPE_CHECKING:
    from sfumato.session import Session

__all__ = ["Outlook", "fit", "must_know", "opened", "outlook", "standing"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """A plan against its ledger: its orders, what is spent before and after, the first release that does not fit.

    `stored` says when each release that the ledger already holds was computed.
    """

    orders: tuple[Order, ...]
    before: Guarantee
    after: Guarantee
    refused: str | None
    stored: Mapping[str, str]
    is_new: bool


def outlook(plan: Plan) -> Outlook:
    """How the plan's new charges fit into its budget; releases that the ledger already holds are free.

    Whatever is wrong with any release in public, or with its name in this ledger, is refused here.
    """
    schema = plan.schema
    Terms(schema.dataset, schema.adjacency, schema.unit, plan.budget)  # refuses what no ledger could be opened with
    must_be_storable(schema)
    orders = tuple(_placed(number, one, lambda one=one: _order(plan, one)) for number, one in _numbered(plan))
    rules = filter_for(plan.budget)
    total: tuple[int, ...] = tuple(0 for _ in rules.amounts(Pure(0.0)))
    first: tuple[int, ...] | None = None
    stored: dict[str, str] = {}
    is_new = not plan.ledger.exists()
    if is_new and not plan.ledger.parent.is_dir():
        raise LedgerError(f"ledger {plan.ledger} cannot be created: its directory does not exist; create it first")
    if not is_new:
        ledger = _ledger(plan)
        entries = ledger.entries()
        first = first_of(entries)
        total, times = entries[-1].total, {e.name: e.time for e in reversed(entries) if e.kind == "release"}
        for (number, one), settled in zip(_numbered(plan), orders, strict=True):
            if _placed(number, one, lambda settled=settled: _found(ledger, settled)) is not None:
                stored[settled.title] = times[settled.title]
    before, refused = rules.spent(total, first), None
    for settled in orders:
        if settled.title in stored:
            continue
        cost = rules.amounts(settled.claim)
        total, first = added(total, cost), first or (cost if any(cost) else None)
        refused = refused or (None if rules.admits(total, first) else settled.title)
    return Outlook(orders, before, rules.spent(total, first), refused, stored, is_new)


def fit(plan: Plan, seen: Outlook) -> None:
    """Refuse a plan that does not fit, before anything of it is charged."""
    if seen.refused is not None:
        raise BudgetExceeded(
            f"{plan.path}: the plan does not fit its budget: in all it would reach {seen.after!r}, and release "
            f"{seen.refused!r} is the first that does not fit; the budget is {plan.budget!r}, of which {seen.before!r} "
            "is spent; nothing was charged.  "
            "Lower the spends, or remove releases"
        )


def standing(plan: Plan, claim: Guarantee) -> str:
    """Whether one more charge fits into what the plan's ledger has left; a kind that it cannot take is refused."""
    from sfumato.report.answers import left as shown_left

    rules = filter_for(plan.budget)
    cost = rules.amounts(claim)
    total, first, left = tuple(0 for _ in cost), None, plan.budget
    if plan.ledger.exists():
        ledger = _ledger(plan)
        entries = ledger.entries()
        total, first, left = entries[-1].total, first_of(entries), ledger.remaining()
    fits = rules.admits(added(total, cost), first or (cost if any(cost) else None))
    return f"{'fits' if fits else 'does NOT fit'}: {shown_left(left)} is left" + (
        "" if fits else "; only what is stored already comes for free"
    )


def opened(plan: Plan) -> Session:
    """The session of a plan; the table is opened first, so that a bad one leaves no ledger behind."""
    from sfumato.engines import read
    from sfumato.session import Session, must_have_room

    try:
        table = read(plan.table, schema=plan.schema, table=plan.table_name)
    except SfumatoError as error:
        raise SchemaError(f"{plan.path}: table: {error}") from None
    if plan.ledger.parent.is_dir():
        must_have_room(plan.ledger)
    return Session(table, budget=plan.budget, ledger=plan.ledger)


def must_know(plan: Plan, files: Iterable[Path], way_on: str = "give another --out") -> None:
    """Refuse to spend from a ledger that lacks what lies published where the new files would go."""
    heads = {entry.hash for entry in _ledger(plan).entries()} if plan.ledger.exists() else set()
    for file in sorted(files):
        place = _provenance(file)
        if place.get("dataset") == plan.schema.dataset and place.get("head") not in heads:
            state = "does not know it" if heads else "does not exist, and a new one would not know it"
            raise LedgerError(
                f"{file} holds a release of {plan.schema.dataset!r}; the ledger {plan.ledger} {state}, so that its "
                "cost would be forgotten.  Put back the ledger that paid for it, or correct the ledger's path in the "
                f"plan; where a new budget was really granted, {way_on}"
            )


def _provenance(file: Path) -> Mapping[str, Any]:
    """Where a published file says that it comes from; nothing for other files."""
    try:
        if file.suffix == ".parquet":
            import pyarrow.parquet as pq

            record = json.loads((pq.read_schema(file).metadata or {})[b"sfumato.release"])
        else:
            record = json.loads(file.read_bytes())
        place = record["provenance"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return place if isinstance(place, Mapping) else {}


def _ledger(plan: Plan) -> Ledger:
    ledger, schema = Ledger.existing(plan.ledger), plan.schema
    ledger.terms.must_match(schema.dataset, schema.adjacency, schema.unit, plan.budget)
    return ledger


def _numbered(plan: Plan) -> Iterable[tuple[int, PlannedRelease]]:
    return enumerate(plan.releases, start=1)


def _found(ledger: Ledger, settled: Order) -> Stored | None:
    """What the ledger holds of an order; its name for anything else is refused."""
    return ledger.find(settled.title, settled.identity.within(settled.title, ledger.named(settled.title)))


def _order(plan: Plan, release: PlannedRelease) -> Order:
    return order(release.query, plan.schema, spend=release.spend, name=release.name)


def _placed(number: int, release: PlannedRelease, make: Any) -> Any:
    """What `make` finds; its refusal names the release."""
    try:
        return make()
    except SfumatoError as error:
        raise type(error)(f'release {number} ("{release.name}"): {error}') from None
