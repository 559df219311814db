"""From what is sent to what can be charged: the plan's own reading of questions, settled from public quantities.

Settling is a function of the question, the schema and the spend alone, so what was settled before is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError

from sfumato import sql
from sfumato.accuracy.meeting import order_within
from sfumato.errors import ParameterError, SfumatoError, UnsupportedQuery
from sfumato.ledger.names import told_apart, versioned
from sfumato.orders import Order, Preview, order, previewed
from sfumato.plans import Plan
from sfumato.plans.document import ReleaseSection
from sfumato.plans.mistakes import mistake
from sfumato.privacy.filters import filter_for
from sfumato.privacy.guarantees import GUARANTEES, Guarantee
from sfumato.privacy.spending import Spend, amount_in
from sfumato.queries import Query
from sfumato.records import canonical_ascii
from sfumato.release.archive import PUBLICATIONS
from sfumato.server.answers import words
from sfumato.server.keeping import Kept
from sfumato.server.models import Ask
from sfumato.server.paid import Seek, Sought, nothing_stored, sought
from sfumato.spaces.schema import Schema

__all__ = ["Reading", "Settled", "is_long"]

T = TypeVar("T")
CURVES = ("density", "distribution", "mean_curve", "covariance", "regression", "classification")
LONG = frozenset({*PUBLICATIONS, *CURVES, "workload", "pca", "thresholds", "gaussian-mixture", "smooth"})
BESIDE = ("spend", "within", "level", "mechanism")  # what is said beside the question
WRONG = "a part of the question has the wrong type; compare with docs/formats/plan.md, where releases are described"


def is_long(query: Query) -> bool:
    """Whether answering may take long, so that it is a job: whole tables, curves, workloads."""
    return query.kind in LONG


@dataclass(frozen=True)
class Settled:
    """A question that can be charged, and what its answer will be good at."""

    order: Order
    schema: Schema
    name: str | None = None  # what a statement calls it
    notes: tuple[str, ...] = ()  # how a statement was read

    @property
    def preview(self) -> Preview:
        """What its answer will be good at, once that is asked for; two threads may both compute it, none waits."""
        if "seen" not in self.__dict__:
            self.__dict__["seen"] = _told(lambda: previewed(self.order, self.schema))
        seen: Preview = self.__dict__["seen"]
        return seen

    @property
    def digests(self) -> tuple[str, ...]:
        """What the ledger may know it by."""
        return self.order.identity.digests

    @property
    def long(self) -> bool:
        """Whether it is a job."""
        return is_long(self.order.question.query)


@dataclass(frozen=True, slots=True)
class _Part:
    """One question of a request as it was read."""

    query: Query
    section: ReleaseSection
    spend: Spend
    sought: Sought | None  # the target, where one is given
    name: str | None = None
    notes: tuple[str, ...] = ()


class Reading:
    """How one plan's questions are read and settled."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._read: Kept[tuple[_Part, ...]] = Kept(2000)
        self._settled: Kept[Settled] = Kept(2000)

    def settled(self, ask: Ask, own: Guarantee | None = None, seek: Seek = nothing_stored) -> tuple[Settled, ...]:
        """The questions of a request, each settled; whatever is wrong with one in public is refused.

        `own` is the budget of whoever asks; a target that a stored release meets takes that one, as `seek` says.
        """
        asked = ask.model_dump(exclude_none=True, exclude={"name", "request"})
        budget = self._plan.budget if own is None else _smaller(self._plan.budget, own)
        return _told(lambda: self._settle(asked, budget, seek))

    def _settle(self, asked: dict[str, Any], budget: Guarantee, seek: Seek) -> tuple[Settled, ...]:
        key = canonical_ascii(asked)
        made = []
        for place, part in enumerate(self._read.get(key, lambda: self._parts(asked))):
            paid = None if part.sought is None else seek(part.sought)
            which = canonical_ascii([key, place, (paid or budget).parts(), paid is None])
            made.append(self._settled.get(which, partial(self._ordered, part, budget, paid)))
        return tuple(made)

    def _parts(self, asked: dict[str, Any]) -> tuple[_Part, ...]:
        if ("query" in asked) == ("sql" in asked):
            raise ParameterError("give one of query and sql: what is asked")
        beside: dict[str, Any] = {name: asked[name] for name in BESIDE if name in asked}
        if "query" in asked:
            if twice := sorted({*beside, "name"} & asked["query"].keys()):
                raise ParameterError(f"{twice[0]} stands beside query, not in it")
            section = _section({**asked["query"], **beside})
            return (self._part(section.question(), section, _allowed(section, asked)),)
        section = _section({"query": "count", **beside})  # what is said beside the statement
        questions = sql.asked(asked["sql"], self._plan.schema, *sql.tables_of(self._plan))
        whole = _allowed(section, asked)
        parts: list[Spend] = [whole] * len(questions)
        amount = amount_in(whole)
        if amount is not None and section.within is None:
            parts = [*sql.spends([one.query for one in questions], self._plan.schema, amount, self._plan.allow)]
        return tuple(
            self._part(one.query, section, part, one.name, one.notes)
            for one, part in zip(questions, parts, strict=True)
        )

    def _part(
        self,
        query: Query,
        section: ReleaseSection,
        spend: Spend,
        name: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> _Part:
        """One question, with what is looked for before a spend where its error is given."""
        wanted = None
        if section.within is not None:
            wanted = sought(query, self._plan.schema, section.within, _level(section), section.mechanism)
        return _Part(query, section, spend, wanted, name, notes)

    def _ordered(self, part: _Part, budget: Guarantee, paid: Guarantee | None) -> Settled:
        """One question with what it may cost, or err by; where its target is met by what is stored, with that spend."""
        plan, section = self._plan, part.section
        settle = partial(order, part.query, plan.schema, allow=plan.allow, mechanism=section.mechanism)
        if part.sought is None:
            amount = amount_in(part.spend)
            if amount is None:
                raise ParameterError("give spend, such as {'epsilon': 0.1}, or within, what error the answer may have")
            made = settle(spend=amount)
        elif paid is not None:
            made = replace(settle(spend=paid), target=part.sought.target)
        else:
            made = order_within(
                part.query, plan.schema, section.within, budget=budget, level=_level(section), spend=part.spend,
                allow=plan.allow, mechanism=section.mechanism,
            )  # fmt: skip
        filter_for(plan.budget).amounts(made.claim)  # refuses a kind that the budget does not take
        if made.periods:
            raise UnsupportedQuery(
                "a series is announced and published by its steward: sfumato publish; here ask for a count"
            )
        title = versioned(words(part.query), plan.schema.version)
        made = replace(made, title=told_apart(title, made.identity.digest))
        return Settled(made, plan.schema, part.name, part.notes)


def _smaller(whole: Guarantee, own: Guarantee) -> Guarantee:
    """The dataset's budget with the delta of whoever asks, where that is less: a target takes a share of it."""
    both = [one.parts()["delta"] for one in (whole, own) if "delta" in one.names()]
    return whole.with_parts({"delta": min(both)}) if len(both) == 2 else whole


def _level(section: ReleaseSection) -> float:
    return 0.95 if section.level is None else section.level


def _section(record: dict[str, Any]) -> ReleaseSection:
    """What was sent as a plan reads it."""
    try:
        section = ReleaseSection.model_validate(record)
    except ValidationError as error:
        found = (mistake(dict(detail), {}, ReleaseSection) for detail in error.errors(include_url=False)[:6])
        raise ParameterError("; ".join(found)) from None
    if section.level is not None and section.within is None:
        raise ParameterError("level stands beside within, and says how likely the error is within it")
    if section.importance is not None:
        raise ParameterError("weight is the name of a column here: no budget is shared")
    return section


def _allowed(section: ReleaseSection, asked: Mapping[str, Any]) -> Spend:
    """What may be spent: so much, or beside a target any amount of one kind."""
    spend, kind = section.spend, asked.get("kind")
    if kind is None:
        return None if spend is None else spend.guarantee()
    if spend is not None or section.within is None:
        raise ParameterError("kind stands beside within and without a spend: a spend says its kind by its parts")
    return GUARANTEES[kind]


def _told(build: Callable[[], T]) -> T:
    """What `build` makes; whatever else than a refusal comes of a question is one, too: it was read from outside."""
    try:
        return build()
    except SfumatoError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError):
        raise ParameterError(WRONG) from None
