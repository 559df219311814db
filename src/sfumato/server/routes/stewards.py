"""For stewards: the ledger, who may ask, and what was spent over time."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from sfumato.ledger.rules import added
from sfumato.server import models
from sfumato.server.answers import amount
from sfumato.server.callers import Called, Served
from sfumato.server.desk import Desk
from sfumato.server.index import Line
from sfumato.server.responses import problems
from sfumato.server.statuses import Plain

__all__ = ["routes"]

WATCHING = problems(401, 403, 404, 422, 429, 503)


def routes() -> APIRouter:
    """Ledger, analysts, spending."""
    router = APIRouter(prefix="/api/v1")

    @router.get("/datasets/{dataset}/ledger", responses={200: {"model": models.Entry}, **WATCHING})
    def ledger(
        dataset: str, service: Served, caller: Called, latest: Annotated[int, Query(ge=1, le=10_000)] = 200
    ) -> Plain:
        """The latest entries of the ledger, and its head: keep it, it shows later edits."""
        caller.steward_of(dataset)
        desk = service.desk(dataset)
        lines = desk.index.refresh().lines
        shown = [_charged(line) for line in reversed(lines[-latest:])]
        return Plain({"head": desk.ledger.head, "place": desk.ledger.name, "entries": len(lines), "lines": shown})

    @router.get("/datasets/{dataset}/analysts", responses={200: {"model": list[models.Analyst]}, **WATCHING})
    def analysts(dataset: str, service: Served, caller: Called) -> Plain:
        """Who may ask, what they spent, and their tokens, of which only the beginning of a hash is known."""
        caller.steward_of(dataset)
        desk = service.desk(dataset)
        tokens = desk.roster.tokens()
        return Plain([
            {
                "analyst": one.name, "role": one.role,
                "account": None if one.budget is None else desk.budgets(one)["analyst"],
                "tokens": [held.to_record() for held in tokens if held.analyst == one.name],
            }
            for one in desk.plan.service.analysts.values()
        ])  # fmt: skip

    @router.get("/datasets/{dataset}/spending", responses={200: {"model": models.Spending}, **WATCHING})
    def spending(dataset: str, service: Served, caller: Called) -> Plain:
        """What was spent after each charge, in all and by the analyst who was charged."""
        caller.steward_of(dataset)
        desk = service.desk(dataset)
        return Plain({"budget": amount(desk.plan.budget), "points": _spending(desk)})

    return router


def _charged(line: Line) -> dict[str, Any]:
    return {
        "sequence": line.sequence, "time": line.time, "kind": line.kind, "name": line.name, "release": line.digest,
        "analyst": line.account, "cost": None if line.guarantee is None else amount(line.guarantee),
    }  # fmt: skip


def _spending(desk: Desk) -> list[dict[str, Any]]:
    rules = desk.ledger.terms.filter
    whole = desk.ledger.terms.nothing
    first = None
    own: dict[str | None, Any] = {}
    points = []
    for line in desk.index.refresh().lines:
        if line.kind == "charge" and any(line.amounts):
            whole, first = added(whole, line.amounts), first or line.amounts
            own[line.account] = added(own.get(line.account, desk.ledger.terms.nothing), line.amounts)
            points.append({
                "time": line.time, "analyst": line.account, "spent": amount(rules.spent(whole, first)),
                "by_analyst": amount(rules.spent(own[line.account], first)),
            })  # fmt: skip
    return points
