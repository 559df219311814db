"""Several releases asked for at once: checked, and where they share in a budget, each with its spend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato import arguments
from sfumato.accuracy.again import recorded_spend
from sfumato.accuracy.division import Claimant, Division, Purse, divided
from sfumato.accuracy.meeting import order_within
from sfumato.errors import ParameterError
from sfumato.ledger import LedgerLike
from sfumato.ledger.names import is_lost, kept_title
from sfumato.orders import asked, title_of
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.spending import guarantee_like
from sfumato.queries import Question
from sfumato.spaces.schema import Schema

__all__ = ["requested", "shared"]

PARTS = {"query", "spend", "within", "level", "of", "name", "mechanism"}  # the arguments of `release`


def requested(requests: Iterable[object], shares: bool = False) -> list[dict[str, Any]]:
    """The arguments of each `release`, or a refusal that says which request is meant and what it must hold."""
    return [_requested(place, request, shares) for place, request in enumerate(requests, 1)]


def _requested(place: int, request: object, shares: bool) -> dict[str, Any]:
    wanted = 'each request is a mapping such as {"query": sf.count(), "spend": sf.Pure(0.1), "name": "people"}'
    if not isinstance(request, Mapping):
        raise ParameterError(f"{wanted}; request {place} is a {type(request).__name__}")
    found = {str(key): value for key, value in request.items()}
    if "query" not in found:
        raise ParameterError(f"{wanted}; request {place} has no 'query'")
    sharing = not found.keys() & {"spend", "within"}
    if sharing and not shares:
        raise ParameterError(f"{wanted}; request {place} has no 'spend', and no 'within' instead")
    if unknown := sorted(found.keys() - PARTS - ({"weight"} if shares and sharing else set())):
        raise ParameterError(f'{wanted}, perhaps with "mechanism"; request {place} also holds {", ".join(unknown)}')
    return found | ({"spend": guarantee_like("spend", found["spend"])} if "spend" in found else {})


def shared(
    requests: list[dict[str, Any]], schema: Schema, ledger: LedgerLike, total: Guarantee | None, allow: frozenset[str]
) -> tuple[list[dict[str, Any]], Division | None]:
    """Each request with its spend, where it named none; and how the budget, or `total` of it, was divided.

    What the ledger knows keeps its spend, as in plans.
    """
    if total is not None and total.names() != ledger.terms.budget.names():
        raise ParameterError(f"total must be of the budget's kind, such as {ledger.terms.budget!r}, got {total!r}")
    settled: list[dict[str, Any]] = []
    fixed: list[Guarantee] = []
    paid: list[Guarantee] = []
    lost: list[str] = []
    claimants: list[Claimant] = []
    for request in requests:
        question = asked(request["query"], schema)
        title = kept_title(ledger, title_of(question, request.get("name")), schema.version)
        mechanism = request.get("mechanism")
        known = ledger.known(title)
        spend: Guarantee | None
        if "within" in request:
            of = {name: request[name] for name in ("level", "of", "spend", "mechanism", "name") if name in request}
            within = request["within"]
            spend = order_within(
                request["query"], schema, within, budget=ledger.terms.budget, ledger=ledger, allow=allow, **of
            ).spend
        else:
            spend = request.get("spend") or recorded_spend(question, mechanism, known)
        if spend is None:
            claimants.append(_claimant(title, question, request, mechanism))
        else:
            again = is_lost(title, known, ledger)
            (fixed if known is None or again else paid).append(spend)
            lost += [title] if again else []
        kept = {name: value for name, value in request.items() if name != "weight"}
        settled.append({**kept, "name": title} | ({} if spend is None or "within" in request else {"spend": spend}))
    if not claimants:
        return settled, None
    purse = Purse(ledger.terms, *ledger.totals(), total, tuple(fixed), tuple(paid), tuple(lost))
    division = divided(claimants, purse, allow)
    spends = division.spends
    names = {one.name for one in claimants}
    return [{**one, "spend": spends[one["name"]]} if one["name"] in names else one for one in settled], division


def _claimant(title: str, question: Question, request: Mapping[str, Any], mechanism: object) -> Claimant:
    weight = arguments.weight(request.get("weight", 1.0))
    if mechanism is not None and not isinstance(mechanism, str):
        raise ParameterError("one's own mechanism needs a spend of its own; it cannot share in a budget")
    return Claimant(title, question, weight, mechanism)
