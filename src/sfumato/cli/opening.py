"""From a plan to its previews, its ledger and its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.errors import BudgetExceeded, SchemaError, SfumatoError
from sfumato.ledger import Ledger
from sfumato.ledger.rules import added
from sfumato.plans import Plan, PlannedRelease
from sfumato.privacy.filters import filter_for
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.session import Preview, Session

__all__ = ["Outlook", "fit", "opened", "outlook", "previews"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """The total of a plan against its budget: what is spent before, after, and the first release that does not fit."""

    before: Guarantee
    after: Guarantee
    refused: str | None
    stored: frozenset[str]


def previews(plan: Plan) -> list[Preview]:
    """What each release would cost, from public quantities only."""
    return [_preview(plan.schema, number, release) for number, release in enumerate(plan.releases, start=1)]


def outlook(plan: Plan, shown: list[Preview]) -> Outlook:
    """How the plan's new charges fit into its budget; releases that the ledger already holds are free."""
    rules = filter_for(plan.budget)
    total: tuple[int, ...] = tuple(0 for _ in rules.amounts(Pure(0.0)))
    stored: frozenset[str] = frozenset()
    if plan.ledger.exists():
        ledger = Ledger.existing(plan.ledger)
        schema = plan.schema
        ledger.terms.must_match(schema.dataset, schema.adjacency, schema.unit, plan.budget)
        entries = ledger.entries()
        total, stored = entries[-1].total, frozenset(e.name for e in entries if e.kind == "release")
    before, refused = rules.spent(total), None
    for preview in shown:
        if preview.name in stored:
            continue
        total = added(total, rules.amounts(preview.guarantee))
        refused = refused or (None if rules.admits(total) else preview.name)
    return Outlook(before, rules.spent(total), refused, stored)


def fit(plan: Plan, seen: Outlook) -> None:
    """Refuse a plan that does not fit, before anything of it is charged."""
    if seen.refused is not None:
        raise BudgetExceeded(
            f"{plan.path}: the plan does not fit its budget: with release {seen.refused!r} the total would reach "
            f"{seen.after!r}, the budget is {plan.budget!r}, of which {seen.before!r} is spent; nothing was charged.  "
            "Lower the spends, or remove releases"
        )


def opened(plan: Plan) -> Session:
    """The session of a plan; the table is opened first, so that a bad one leaves no ledger behind."""
    from sfumato.engines import read
    from sfumato.session import Session

    try:
        table = read(plan.table, schema=plan.schema, table=plan.table_name)
    except SfumatoError as error:
        raise SchemaError(f"{plan.path}: table: {error}") from None
    return Session(table, budget=plan.budget, ledger=plan.ledger)


def _preview(schema: Schema, number: int, release: PlannedRelease) -> Preview:
    from sfumato.session import preview

    try:
        return preview(release.query, schema, spend=release.spend, name=release.name)
    except SfumatoError as error:
        raise type(error)(f'release {number} ("{release.name}"): {error}') from None
