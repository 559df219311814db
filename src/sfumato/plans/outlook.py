"""A plan against its ledger: what is stored, what must be paid for, and whether that fits; nothing is spent.

What the ledger holds already is found by its digest alone, without planning it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sfumato.errors import BudgetExceeded, LedgerError, SchemaError, SfumatoError
from sfumato.ledger import LedgerLike, Stored
from sfumato.ledger.names import TOGETHER, kept_title, lost_words
from sfumato.ledger.offers import Offer, offer
from sfumato.ledger.protocol import in_words
from sfumato.ledger.rules import added
from sfumato.ledger.terms import Terms
from sfumato.numeric import shown_up
from sfumato.plans.joint import members_of
from sfumato.plans.ownership import provenance
from sfumato.plans.plan import Plan, PlannedRelease
from sfumato.plans.spends import resolved
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query
from sfumato.release import Published
from sfumato.release.archive import read
from sfumato.release.recognition import identity_of, identity_within, must_be_storable

if TYPE_CHECKING:
    from sfumato.accuracy.division import Division
    from sfumato.engines import Table
    from sfumato.orders import Order
    from sfumato.session import Session

__all__ = [
    "Outlook", "Standing", "fit", "must_be_chargeable", "must_know", "opened", "opened_table", "outlook", "settled",
    "standing", "stored",
]  # fmt: skip

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outlook:
    """A plan against its ledger: what it holds already, the orders for the rest, and what they will cost.

    `offer` says whether they are charged together, what is spent then, and whether it fits; `refused` names the first
    release that does not.
    """

    plan: Plan  # with a spend for each release
    stored: Mapping[str, Stored]
    orders: Mapping[str, Order]
    before: Guarantee
    offer: Offer
    refused: str | None
    is_new: bool
    division: Division | None = None  # of the budget over the releases that name no spend
    lost: tuple[str, ...] = ()  # charged before and never stored
    asked: frozenset[str] = frozenset()  # the names of the plan's own releases, also of those measured together
    descriptions: Mapping[str, str] = field(
        default_factory=dict
    )  # for readers, by the names of the plan's own releases
    paid: frozenset[str] = frozenset()  # of those that are not stored: paid for before, in a batch or a series

    @property
    def after(self) -> Guarantee:
        """What everything in the ledger costs with this plan."""
        return self.offer.spent

    @property
    def times(self) -> dict[str, str]:
        """When each release that the ledger holds was stored."""
        return {name: found.time for name, found in self.stored.items()}

    @property
    def free(self) -> str | None:
        """Why nothing is charged, where that is so."""
        if self.orders.keys() != self.paid:
            return None
        return f"everything was {'paid for before' if self.paid else 'stored'}: nothing was charged"


def outlook(plan: Plan) -> Outlook:
    """How the plan's new charges fit into its budget; releases that the ledger already holds are free.

    Whatever is wrong with any release in public, or with its name in this ledger, is refused here.
    """
    plan.must_publish()
    schema = plan.schema
    terms = Terms(schema.dataset, schema.adjacency, schema.unit, plan.budget)  # refuses what no ledger could open with
    must_be_storable(schema)
    ledger = _ledger(plan)
    is_new = ledger is None
    if is_new:
        plan.ledger.must_be_possible()
    named = tuple(replace(one, name=kept_title(ledger, one.name, schema.version)) for one in plan.releases)
    whole = frozenset(new.name for one, new in zip(plan.releases, named, strict=True) if one.name in plan.adding_up)
    plan, asked = replace(plan, releases=named, adding_up=whole), frozenset(one.name for one in named)
    descriptions = {one.name: one.description for one in named if one.description is not None}
    plan, division = resolved(plan, ledger, terms if ledger is None else ledger.terms)
    stored: dict[str, Stored] = {}
    orders: dict[str, Order] = {}
    fresh: list[Order] = []
    lost: list[str] = []
    for number, one in enumerate(plan.releases, start=1):
        key, found = _placed(number, one, partial(_found, plan, one, ledger))
        if found is not None:
            stored[one.name] = found
            continue
        orders[one.name] = _placed(number, one, partial(settled, plan, one, ledger))
        unpaid = _unpaid(orders[one.name], key, ledger)
        if unpaid:
            fresh.append(orders[one.name])
            lost += [name for name in unpaid if ledger is not None and ledger.known(name) is not None]
    total, first = (terms.nothing, None) if ledger is None else ledger.totals()
    terms = terms if ledger is None else ledger.terms
    announcing = any(one.periods for one in fresh)
    found_offer = offer(terms, total, first, [(one.claim, one.loss) for one in fresh], announcing)
    place = found_offer.first_refused
    refused = None if place is None else fresh[place].title
    return Outlook(
        plan,
        stored,
        orders,
        terms.filter.spent(total, first),
        found_offer,
        refused,
        is_new,
        division,
        tuple(lost),
        asked,
        descriptions,
        frozenset(orders) - {one.title for one in fresh},
    )


def _unpaid(one: Order, key: str, ledger: LedgerLike | None) -> list[str]:
    """The names of what would be charged: the release's own, and of a series those before it that it makes up."""
    if ledger is None or not one.periods:
        return [one.title] if ledger is None or not ledger.is_paid(one.title, key, one.described) else []
    from sfumato.series import unpublished

    pending = unpublished(one, ledger)[1]
    return [each.title for each in pending if not ledger.is_paid(each.title, each.identity.digest, each.described)]


def settled(plan: Plan, one: PlannedRelease, ledger: LedgerLike | None = None) -> Order:
    """One release of a plan, settled; of a series that the ledger knows, with the mechanism it was announced with."""
    from sfumato.orders import order  # the planner, which what is stored needs not

    made = order(
        one.query, plan.schema, spend=one.paid, allow=plan.allow, name=one.name, mechanism=one.mechanism
    )  # fmt: skip
    made = replace(made, title=one.name)
    if ledger is not None and made.periods:
        from sfumato.series import as_announced

        made = as_announced(made, ledger)
    if one.members:
        return replace(made, described={**made.described, TOGETHER: members_of(one)})
    if one.within is None:
        return made
    from sfumato.accuracy.targets import target_of

    return replace(made, target=target_of(one.within, made.question, one.level))


def fit(plan: Plan, seen: Outlook) -> None:
    """Refuse a plan that does not fit, before anything of it is charged."""
    if seen.refused is not None:
        raise BudgetExceeded(
            f"{plan.path}: the plan does not fit its budget: {_sum(seen)}, and release {seen.refused!r} is the first "
            f"that does not fit; nothing was charged.  {_advice(seen, seen.refused)}{lost_words(seen.lost)}"
        )


def _sum(seen: Outlook) -> str:
    """What is spent and what the new releases would cost, against the budget, rounded up."""
    charged = [one.claim.parts() for name, one in seen.orders.items() if name not in seen.paid]
    names = seen.plan.budget.parts()
    alone = ""
    if all(parts.keys() <= names.keys() for parts in charged):
        sums = {name: math.fsum(parts.get(name, 0.0) for parts in charged) for name in names}
        alone = f"its new releases cost {_amounts(sums)} one by one; "
    spent = f"{_amounts(seen.before.parts())} is spent"
    return f"{alone}{spent}; in all that would be {_amounts(seen.after.parts())} of {_amounts(names)}"


def _amounts(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {shown_up(amount, 4)}" for name, amount in parts.items() if amount) or "nothing"


def _advice(seen: Outlook, refused: str) -> str:
    """What to change in a plan that does not fit."""
    target = seen.orders[refused].target
    if target is None:
        return "Lower the spends, or remove releases"
    claim = in_words(seen.orders[refused].claim)
    return f"Its error {target.words()} needs {claim}: ask for less accuracy, lower other spends, or remove releases"


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether one more charge fits, and what is left before it."""

    fits: bool
    left: Guarantee


def standing(plan: Plan, claim: Guarantee) -> Standing:
    """Whether one more charge fits into what the plan's ledger has left; a kind that it cannot take is refused."""
    schema = plan.schema
    terms = Terms(schema.dataset, schema.adjacency, schema.unit, plan.budget)
    cost = terms.filter.amounts(claim)
    total, first, left = terms.nothing, None, plan.budget
    ledger = _ledger(plan)
    if ledger is not None:
        (total, first), left = ledger.totals(), ledger.remaining()
    return Standing(terms.filter.admits(added(total, cost), first), left)


def must_be_chargeable(plan: Plan, query: Query, spend: Guarantee, name: str | None = None) -> None:
    """Refuse, while there is no ledger yet, what could not be charged to a new one: so that none is left behind."""
    if _ledger(plan) is not None:
        return
    from sfumato.orders import order

    claim = order(query, plan.schema, spend=spend, allow=plan.allow, name=name).claim
    if not standing(plan, claim).fits:
        raise BudgetExceeded(
            f"{in_words(claim)} is more than the whole budget of {in_words(plan.budget)}; nothing was charged.  Ask "
            "for less"
        )


def stored(plan: Plan, query: Query, spend: Guarantee, name: str | None = None) -> Published | None:
    """What the ledger of a plan holds of a question that is no part of it: found without its table, at no cost."""
    ledger, schema = _ledger(plan), plan.schema
    if ledger is None:
        return None
    from sfumato.orders import asked, title_of

    question = asked(query, schema)
    title = kept_title(ledger, title_of(question, name), schema.version)
    key = identity_within(query, question, spend, None).within(title, ledger.known(title))
    found = ledger.find(title, key)
    return None if found is None else read(found.content)


def opened(plan: Plan, table: Table | None = None) -> Session:
    """The session of a plan; the table is opened first, so that a bad one leaves no ledger behind."""
    from sfumato.session import Session

    source = opened_table(plan) if table is None else table
    plan.ledger.must_have_room()
    return Session(source, budget=plan.budget, ledger=plan.ledger.address, allow=plan.allow)


def opened_table(plan: Plan) -> Table:
    """The table of a plan, behind its schema."""
    from sfumato.engines import read
    from sfumato.engines.located import located

    try:
        source, people = located(plan.table), None if plan.people is None else located(plan.people)
        return read(source, schema=plan.schema, table=plan.table.name_within, people=people, keep=plan.keep)
    except SfumatoError as error:
        raise SchemaError(f"{plan.path}: table: {error}") from None


def must_know(plan: Plan, files: Iterable[Path], way_on: str = "give another --out") -> None:
    """Refuse to spend from a ledger that lacks what lies published where the new files would go."""
    ledger = _ledger(plan)
    entries = () if ledger is None else ledger.entries()
    heads, digests = {entry.hash for entry in entries}, {entry.digest for entry in entries}
    for file in sorted(files):
        place = provenance(file)
        known = place["head"] in heads if "head" in place else place.get("digest") in digests
        if place.get("dataset") == plan.schema.dataset and not known:
            state = "does not know it" if heads else "does not exist, and a new one would not know it"
            raise LedgerError(
                f"{file} holds a release of {plan.schema.dataset!r}; the ledger {plan.ledger} {state}, so that its "
                "cost would be forgotten.  Put back the ledger that paid for it, or correct the ledger's path in the "
                f"plan; where a new budget was really granted, {way_on}"
            )


def _ledger(plan: Plan) -> LedgerLike | None:
    """The ledger of a plan, where there is one, bound to what the plan declares."""
    ledger, schema = plan.ledger.existing(), plan.schema
    if ledger is not None:
        ledger.terms.must_match(schema.dataset, schema.adjacency, schema.unit, plan.budget)
    return ledger


def _found(plan: Plan, one: PlannedRelease, ledger: LedgerLike | None) -> tuple[str, Stored | None]:
    """The digest of a release in its ledger, and what that holds of it; its name for something else is refused."""
    identity = identity_of(one.query, plan.schema, one.paid, one.mechanism)
    if ledger is None:
        return identity.digest, None
    key = identity.within(one.name, ledger.known(one.name))
    return key, ledger.find(one.name, key)


def _placed(number: int, release: PlannedRelease, make: Callable[[], T]) -> T:
    """What `make` finds; its refusal names the release."""
    try:
        return make()
    except SfumatoError as error:
        raise type(error)(f'release {number} ("{release.name}"): {error}') from None
