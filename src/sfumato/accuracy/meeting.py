"""A release settled from the error it may have, instead of from what it may cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from sfumato.accuracy.again import must_meet, recorded_spend
from sfumato.accuracy.least import error_at, least_spend
from sfumato.accuracy.targets import target_of
from sfumato.errors import BudgetExceeded, ParameterError, UnsupportedQuery
from sfumato.ledger import LedgerLike
from sfumato.ledger.names import kept_title
from sfumato.ledger.protocol import in_words
from sfumato.numeric import shown_up
from sfumato.orders import Order, asked, order, title_of
from sfumato.planner import Calibrates, check_target, options
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.spending import spending_of
from sfumato.queries import Query
from sfumato.release.archive import read
from sfumato.spaces.schema import Schema

__all__ = ["beyond", "bought", "order_within"]


def order_within(
    query: Query,
    schema: Schema,
    within: object,
    *,
    budget: Guarantee,
    ledger: LedgerLike | None = None,
    level: object = 0.95,
    of: object = None,
    spend: object = None,
    allow: Iterable[str] = (),
    name: str | None = None,
    mechanism: str | Calibrates | None = None,
    laboratory: bool = False,
) -> Order:
    """Settle the release of least spend whose stated error is within the target.

    A name that the ledger knows for this question keeps its spend, and is refused where that does not meet the target.
    """
    question, allowed = asked(query, schema), frozenset(allow)
    target = target_of(within, question, level, of)
    title = kept_title(ledger, title_of(question, name), schema.version)
    settle = partial(order, query, schema, allow=allowed, name=name, mechanism=mechanism, laboratory=laboratory)
    known = None if ledger is None else ledger.known(title)
    named = mechanism if isinstance(mechanism, str) else None
    paid = recorded_spend(question, named, known) if mechanism is named else None
    if ledger is not None and known is not None and paid is not None:
        stored, settled = ledger.find(title, known.digest), replace(settle(spend=paid), title=title)
        made = settled.mechanism if stored is None else read(stored.content).mechanism
        must_meet(title, question, made, target, paid)
        return replace(settled, target=target)
    spending = spending_of(spend, budget)
    check_target(spending.kind)

    def error(tried: Guarantee) -> float:
        return error_at(question, tried, target.level, mechanism, allowed)

    first = spending.at(min(1.0, spending.ceiling or 1.0))
    if mechanism is None and math.isinf(error(first)):
        options(question, first, allowed)  # refuses in its own words what no spend of this kind can answer
    return replace(settle(spend=least_spend(error, target, spending)), target=target)


def beyond(settled: Order, remaining: Guarantee, allow: frozenset[str]) -> BudgetExceeded:
    """What to say where a target needs more than is left."""
    assert settled.target is not None
    return BudgetExceeded(
        f"an error {settled.target.words()} for {settled.title!r} needs {in_words(settled.claim)}, of the budget there "
        f"remains {in_words(remaining)}; nothing was charged{bought(settled, remaining, allow)}"
    )


def bought(settled: Order, remaining: Guarantee, allow: frozenset[str]) -> str:
    """What error is within reach of what is left, in words; nothing where none is stated."""
    kind, level = settled.spend, 0.95 if settled.target is None else settled.target.level
    if kind.names()[0] != remaining.names()[0] or remaining.amount <= 0:
        return ""
    try:
        at = kind.with_parts({kind.names()[0]: remaining.amount})
        error = error_at(settled.question, at, level, None, allow)
    except (ParameterError, UnsupportedQuery):  # for which no error is stated
        return ""
    return "" if math.isinf(error) else f"; what is left buys an error of {shown_up(error, 4)}"
