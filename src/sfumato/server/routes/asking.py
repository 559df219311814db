"""Asking: previews are free; releases are charged, leave on the tick, and long ones are jobs."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio.to_thread
from fastapi import APIRouter

from sfumato.errors import LedgerError
from sfumato.server import models
from sfumato.server.callers import Called, Served
from sfumato.server.jobs import Jobs
from sfumato.server.responses import ASKING, problems
from sfumato.server.service import Caller, Service
from sfumato.server.statuses import SOON, Plain, Refused
from sfumato.server.ticks import ticked

__all__ = ["routes"]


def routes() -> APIRouter:
    """Preview, release, jobs."""
    router = APIRouter(prefix="/api/v1")

    @router.post("/datasets/{dataset}/preview", responses={200: {"model": models.Outlook}, **problems(*ASKING)})
    async def preview(dataset: str, service: Served, caller: Called, ask: models.ReleaseAsk) -> Plain:
        """What a release would cost and be good at: nothing is spent, no data is read."""
        analyst, desk = caller.of(dataset), service.desk(dataset)
        async with service.shares["preview", caller.name]:
            seen = await anyio.to_thread.run_sync(partial(desk.preview, analyst, ask), limiter=service.previews)
        service.note(dataset, analyst=analyst.name, does="preview", asked=_asked(ask))
        return Plain(seen)

    @router.post(
        "/datasets/{dataset}/release",
        responses={200: {"model": models.Answers}, 202: {"model": models.Started}, **problems(*ASKING)},
    )
    async def release(dataset: str, service: Served, caller: Called, ask: models.ReleaseAsk) -> Plain:
        """A private answer, or the job that makes it; what is stored costs nothing.  It leaves on the tick."""
        analyst, desk = caller.of(dataset), service.desk(dataset)
        async with service.shares["release", caller.name]:
            reply = await service.hands.released(dataset, analyst.name, ask)
        service.note(dataset, analyst=analyst.name, does="release", asked=_asked(ask), outcome=reply.outcome)
        await ticked(desk.plan.service.tick)
        body = reply.body
        if reply.status == 200:  # what is left is told as of this tick, not as the answer found it
            body = {**body, "left": await anyio.to_thread.run_sync(desk.budgets, analyst)}
        return Plain(body, reply.status, reply.headers)

    @router.get("/jobs/{job}", responses={200: {"model": models.Job}, **problems(401, 404, 422, 429, 503)})
    def job_status(job: str, service: Served, caller: Called) -> Plain:
        """How far long work is."""
        found = _own(service, caller, job).status(job)
        if found is None:
            raise Refused(404, "there is no such job")
        return Plain(found)

    @router.delete("/jobs/{job}", responses={200: {"model": models.Canceled}, **problems(401, 403, 404, 422, 429, 503)})
    def cancel(job: str, service: Served, caller: Called) -> Plain:
        """Cancel a job before its charge; after it the charge stands, and the job goes on."""
        return Plain(_own(service, caller, job).cancel(job))

    return router


def _asked(ask: models.Ask) -> dict[str, Any]:
    return ask.model_dump(exclude_none=True)


def _own(service: Service, caller: Caller, job: str) -> Jobs:
    """The jobs among which is one of the caller's, or of any analyst's of a dataset whose steward they are."""
    away = bool(caller.away)
    for dataset, analyst in caller.analysts.items():
        try:
            found = service.jobs[dataset].find(job)
        except LedgerError:
            away = True
            continue
        if found is not None and (found["analyst"] == analyst.name or analyst.role == "steward"):
            return service.jobs[dataset]
    if away:
        raise Refused(503, "the dataset of this job may not be ready; try again in a moment", SOON)
    raise Refused(404, "there is no such job")
