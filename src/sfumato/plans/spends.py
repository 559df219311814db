"""What each release of a plan spends: as it says, as its target needs, or its share of the plan's budget.

A name that the ledger knows for the same question keeps the spend that it was charged with, so that publishing again,
or with releases added, finds what is stored; what is new shares in what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.accuracy.again import kept_spend
from sfumato.errors import SfumatoError
from sfumato.ledger import LedgerLike
from sfumato.ledger.names import is_lost
from sfumato.ledger.terms import Terms
from sfumato.plans.joint import taken
from sfumato.plans.plan import Plan, PlannedRelease
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import bind

if TYPE_CHECKING:
    from sfumato.accuracy.division import Division
    from sfumato.accuracy.together import Group

__all__ = ["resolved"]

GAIN = 0.97  # releases are measured together where that lowers the worst error, or what they take, at least so far


def resolved(plan: Plan, ledger: LedgerLike | None, terms: Terms) -> tuple[Plan, Division | None]:
    """The plan with a spend for each release, and how its budget was divided where it was.

    Releases that were, or will be, measured together stand as one in the place of the first of them.
    """
    groups = taken(plan, ledger)
    releases = [_targeted(place, one, plan, ledger) for place, one in enumerate(plan.releases, 1)]
    kept = _each_once(groups.get(one.name, one) for one in releases)
    kept = [one if one.spend is not None else _kept(one, plan, ledger) for one in kept]
    sharing = [one for one in kept if one.spend is None]
    if not sharing:
        return replace(plan, releases=tuple(kept)), None
    division, joint = _divided(plan, kept, sharing, ledger, terms)
    kept = _each_once(joint.get(one.name, one) for one in kept)
    spends = division.spends
    kept = [one if one.spend is not None else replace(one, spend=spends[one.name]) for one in kept]
    return replace(plan, releases=tuple(kept)), division


def _each_once(releases: Iterable[PlannedRelease]) -> list[PlannedRelease]:
    return list({one.name: one for one in releases}.values())


def _targeted(number: int, one: PlannedRelease, plan: Plan, ledger: LedgerLike | None) -> PlannedRelease:
    """A release with the least spend for its target, where it has one."""
    if one.within is None:
        return one
    from sfumato.accuracy.meeting import order_within  # the planner, which what is stored needs not

    try:
        settled = order_within(
            one.query, plan.schema, one.within, budget=plan.budget, ledger=ledger, level=one.level, spend=one.spend,
            allow=plan.allow, name=one.name, mechanism=one.mechanism,
        )  # fmt: skip
    except SfumatoError as error:
        raise type(error)(f'release {number} ("{one.name}"): {error}') from None
    return replace(one, spend=settled.spend)


def _kept(one: PlannedRelease, plan: Plan, ledger: LedgerLike | None) -> PlannedRelease:
    """A release with the spend that its ledger knows it by, if it does."""
    known = None if ledger is None else ledger.known(one.name)
    return replace(one, spend=kept_spend(one.name, bind(one.query, plan.schema), one.mechanism, known))


def _divided(
    plan: Plan, releases: list[PlannedRelease], sharing: list[PlannedRelease], ledger: LedgerLike | None, terms: Terms
) -> tuple[Division, dict[str, PlannedRelease]]:
    """The division of what is left, and the groups that are measured together, by the names of their members."""
    from sfumato.accuracy.division import Claimant, Purse, divided
    from sfumato.accuracy.together import groups_of

    spent, first = (terms.nothing, None) if ledger is None else ledger.totals()
    fixed: list[Guarantee] = []
    paid: list[Guarantee] = []
    lost: list[str] = []
    for one in releases:
        if one.spend is not None:
            known = None if ledger is None else ledger.known(one.name)
            again = is_lost(one.name, known, ledger)
            (fixed if known is None or again else paid).append(one.spend)
            lost += [one.name] if again else []
    purse = Purse(terms, spent, first, plan.total, tuple(fixed), tuple(paid), tuple(lost))
    claimants = [Claimant(one.name, bind(one.query, plan.schema), one.weight, one.mechanism) for one in sharing]
    apart = divided(claimants, purse, plan.allow)
    groups = groups_of(claimants, plan.total or plan.budget, plan.allow)
    if not groups:
        return apart, {}
    inside = {member.name: group for group in groups for member in group.members}
    together = divided([*groups, *(one for one in claimants if one.name not in inside)], purse, plan.allow)
    if not _gains(apart, together, groups):
        return apart, {}
    joint = {
        name: PlannedRelease(
            group.name, group.question.query, None,
            members=tuple((member.name, member.question.query) for member in group.members),
        )
        for name, group in inside.items()
    }  # fmt: skip
    return replace(together, even=apart.even, apart=apart.worst), joint


def _gains(apart: Division, together: Division, groups: Sequence[Group]) -> bool:
    """Whether the worst error falls; or stays, where another release has it, and every group takes less."""
    if together.worst <= GAIN * apart.worst:
        return True
    spends = [
        (together.spends[one.name].amount, sum(apart.spends[member.name].amount for member in one.members))
        for one in groups
    ]
    return together.worst <= apart.worst and all(joint <= GAIN * single for joint, single in spends)
