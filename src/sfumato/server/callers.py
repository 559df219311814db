"""Who calls: by a token in the `Authorization` header, or by the cookie that a page got for one.

A cookie is sent by browsers on their own, so what changes something must come with a header that no other site can
send, and from our own origin.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from sfumato.server.service import Caller, Service
from sfumato.server.statuses import Refused

__all__ = ["COOKIE", "Called", "Served", "address_of", "must_be_own"]

COOKIE = "sfumato"
SAFE = ("GET", "HEAD", "OPTIONS")

_bearer = HTTPBearer(auto_error=False, description="a token from `sfumato analyst add`")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="what POST /api/v1/login sets")


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client is not None else "nowhere"


def must_be_own(request: Request) -> None:
    """Refuse what another site may have made a browser send."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    foreign = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if request.headers.get("x-sfumato") != "1" or foreign or site not in (None, "same-origin", "none"):
        raise Refused(403, "with a cookie this needs the header X-Sfumato: 1, and to come from this site")


def _caller(
    request: Request,
    service: Served,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    cookie: Annotated[str | None, Security(_cookie)],
) -> Caller:
    if bearer is not None:
        return service.caller(bearer.credentials, address_of(request))
    if cookie is None:
        raise Refused(401, "give a token: Authorization: Bearer TOKEN, or log in")
    if request.method not in SAFE:
        must_be_own(request)
    return service.caller(cookie, address_of(request))


Called = Annotated[Caller, Depends(_caller)]
