"""Releases of a plan that are measured together: stored as one workload, shown under each one's own name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.answers.preview import Preview
from sfumato.errors import LedgerError
from sfumato.ledger import LedgerLike
from sfumato.ledger.names import TOGETHER, charged
from sfumato.plans.plan import Plan, PlannedRelease
from sfumato.privacy.claims import guarantee_from
from sfumato.queries import Query
from sfumato.records import canonical
from sfumato.release import Release
from sfumato.release.parts import Shared, part_of, reading

if TYPE_CHECKING:
    from sfumato.orders import Order

__all__ = ["known_groups", "members_of", "part_previews", "parts", "taken"]


def members_of(one: PlannedRelease) -> list[dict[str, Any]]:
    """What a charge says of the releases that are measured together."""
    return [{"name": name, "query": query.to_record()} for name, query in one.members]


def known_groups(ledger: LedgerLike | None) -> list[PlannedRelease]:
    """The groups that a ledger has charged, oldest first."""
    if ledger is None:
        return []
    return [_group(name, described) for name, described in charged(ledger.entries()) if TOGETHER in described]


def _group(name: str, described: Mapping[str, Any]) -> PlannedRelease:
    members = tuple((one["name"], Query.from_record(one["query"])) for one in described[TOGETHER])
    spend = guarantee_from(dict(described["specification"]["spend"]))
    return PlannedRelease(name, Query.from_record(described["query"]), spend, members=members)


def taken(plan: Plan, ledger: LedgerLike | None) -> dict[str, PlannedRelease]:
    """The group that each release of a plan was measured with, of those that were; one that has changed is refused.

    A part has no spend of its own and no chosen mechanism: what names one is another release, and needs another name.
    """
    found: dict[str, PlannedRelease] = {}
    for group in known_groups(ledger):
        held = dict(group.members)
        for one in plan.releases:
            if one.name in held and one.name not in found:
                if canonical(held[one.name].to_record()) != canonical(one.query.to_record()):
                    raise _used(one.name, group.name, "for another question, ")
                if not plan.split or (one.spend, one.within, one.mechanism) != (None, None, None):
                    raise _used(one.name, group.name, "")
                found[one.name] = group
    return found


def _used(name: str, group: str, otherwise: str) -> LedgerError:
    return LedgerError(
        f"name {name!r} is already used in this ledger {otherwise}measured as one of {group!r}; give the changed "
        'release a new name, or leave out its spend, within and mechanism: split = "auto" shows what is stored'
    )


def parts(release: Release, one: PlannedRelease, wanted: frozenset[str]) -> Iterator[Release]:
    """The releases of a group that a plan asks for, each under its own name."""
    for place, (name, query) in enumerate(one.members):
        if name in wanted:
            yield part_of(release, name, query, place)


def part_previews(settled: Order, one: PlannedRelease, plan: Plan, wanted: frozenset[str]) -> Iterator[Preview]:
    """What each release of a group would be good at; the group itself says what all of them cost."""
    from sfumato.answers.certificate import NoBoundKnown

    for place, (name, query) in enumerate(one.members):
        if name in wanted:
            question = Shared(query, plan.schema)
            error = question.accuracy(reading(question, settled.mechanism, place), 0.05)
            yield Preview(
                name, settled.claim, settled.ranking[0].name, (error,), NoBoundKnown("it is measured with others"), (),
                plan.schema.words(),
            )  # fmt: skip
