"""Coming and going: a session for a page, who one is, and whether the service is well."""

from __future__ import annotations

import contextlib

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from sfumato.errors import LedgerError
from sfumato.server import models
from sfumato.server.callers import COOKIE, OVER_TLS, Called, Served, address_of, is_secure, must_be_own, session_of
from sfumato.server.responses import problems
from sfumato.server.statuses import SOON, Plain, Refused

__all__ = ["routes"]

LOOPBACK = ("127.0.0.1", "::1")
FORWARDED = {  # what says that a request of this machine comes from elsewhere
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-server", "x-real-ip",
    "true-client-ip", "cf-connecting-ip",
}  # fmt: skip


def routes() -> APIRouter:
    """Login, logout, me, health, metrics."""
    router = APIRouter()

    @router.post("/api/v1/login", responses={200: {"model": models.Me}, **problems(400, 401, 403, 413, 422, 429, 503)})
    def login(request: Request, service: Served, sent: models.Login) -> Plain:
        """Begin a session for a token, in a cookie that scripts cannot read and other sites cannot use."""
        must_be_own(request)
        found = service.caller(sent.token, address_of(request))
        before = session_of(request)
        if before is not None:
            with contextlib.suppress(Refused):  # a dataset that is away keeps nobody from signing in
                service.end_session(before)
        session, secure = service.begin_session(found), is_secure(request)
        answer = Plain({"analyst": found.name, "role": found.role, "datasets": list(found.analysts)})
        name = OVER_TLS if secure else COOKIE
        answer.set_cookie(name, session, httponly=True, samesite="strict", secure=secure, path="/")
        return answer

    @router.post("/api/v1/logout", responses={200: {"model": models.Done}, **problems(403, 503)})
    def logout(request: Request, service: Served) -> Plain:
        """End the session, and forget the cookie."""
        must_be_own(request)
        session, secure = session_of(request), is_secure(request)
        if session is not None:
            service.end_session(session)
        answer = Plain({"done": True})
        name = OVER_TLS if secure else COOKIE
        answer.delete_cookie(name, httponly=True, samesite="strict", secure=secure, path="/")
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

    text = {
        "description": "counts, as Prometheus reads them",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }

    @router.get("/metrics", response_class=Response, responses={200: text, **problems(401, 403, 429, 503)})
    def metrics(request: Request, service: Served) -> PlainTextResponse:
        """Counts for Prometheus: with a steward's token; for this machine without one, if the service is told so."""
        local = address_of(request) in LOOPBACK and not FORWARDED & {name.lower() for name in request.headers}
        if not (local and request.app.state.open_metrics):
            said = request.headers.get("authorization", "")
            if not said.startswith("Bearer "):
                raise Refused(401, "metrics need a steward's token, or --open-metrics and this machine")
            if service.caller(said.removeprefix("Bearer "), address_of(request)).role != "steward":
                raise Refused(403, "metrics are for stewards")
        gauges = {}
        for place, jobs in enumerate(service.jobs.values()):
            with contextlib.suppress(LedgerError):  # of a dataset that is away nothing is known
                gauges[f'sfumato_jobs_waiting{{dataset="{place}"}}'] = float(jobs.waiting())
        return PlainTextResponse(service.metrics.text(gauges))

    return router
