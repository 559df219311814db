"""Coming and going: a cookie for a page, who one is, and whether the service is well."""

from __future__ import annotations

import contextlib

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from sfumato.errors import LedgerError
from sfumato.server import models
from sfumato.server.callers import COOKIE, Called, Served, address_of, must_be_own
from sfumato.server.responses import problems
from sfumato.server.statuses import SOON, Plain, Refused

__all__ = ["routes"]

LOOPBACK = ("127.0.0.1", "::1")


def routes() -> APIRouter:
    """Login, logout, me, health, metrics."""
    router = APIRouter()

    @router.post("/api/v1/login", responses={200: {"model": models.Me}, **problems(400, 401, 403, 413, 422, 429)})
    def login(request: Request, service: Served, sent: models.Login) -> Plain:
        """Exchange a token for a cookie that scripts cannot read and other sites cannot use."""
        must_be_own(request)
        found = service.caller(sent.token, address_of(request))
        answer = Plain({"analyst": found.name, "role": found.role, "datasets": list(found.analysts)})
        secure = request.app.state.secure or request.url.scheme == "https"
        answer.set_cookie(COOKIE, sent.token, httponly=True, samesite="strict", secure=secure, path="/")
        return answer

    @router.post("/api/v1/logout", responses={200: {"model": models.Done}, **problems(403)})
    def logout(request: Request) -> Plain:
        """Forget the cookie."""
        must_be_own(request)
        answer = Plain({"done": True})
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
        return answer

    @router.get("/api/v1/me", responses={200: {"model": models.Me}, **problems(401, 422, 429)})
    def me(caller: Called) -> Plain:
        """Who asks, and which datasets they may ask about."""
        return Plain({"analyst": caller.name, "role": caller.role, "datasets": list(caller.analysts)})

    @router.get("/health", responses={200: {"model": models.Health}, **problems(503)})
    def health(service: Served) -> Plain:
        """Whether the datasets are ready: their ledgers could be read at the last tick.  503 where none is."""
        away = [name for name, desk in service.desks.items() if not desk.is_ready()]
        if away and len(away) == len(service.desks):
            raise Refused(503, f"no dataset is ready: {', '.join(away)}", SOON)
        return Plain({"status": "degraded" if away else "ok", "datasets": len(service.desks), "away": away})

    @router.get("/metrics", response_class=PlainTextResponse, responses=problems(401, 403))
    def metrics(request: Request, service: Served) -> PlainTextResponse:
        """Counts for Prometheus: for this machine, or with a steward's token."""
        if address_of(request) not in LOOPBACK or "x-forwarded-for" in request.headers:
            said = request.headers.get("authorization", "")
            if not said.startswith("Bearer "):
                raise Refused(401, "metrics are for this machine, or need a steward's token")
            if service.caller(said.removeprefix("Bearer "), address_of(request)).role != "steward":
                raise Refused(403, "metrics are for stewards")
        gauges = {}
        for place, jobs in enumerate(service.jobs.values()):
            with contextlib.suppress(LedgerError):  # of a dataset that is away nothing is known
                gauges[f'sfumato_jobs_waiting{{dataset="{place}"}}'] = float(jobs.waiting())
        return PlainTextResponse(service.metrics.text(gauges))

    return router
