"""Who calls: by a token in the `Authorization` header, or by the session that a page got for one, in a cookie.

A session is no token, and a token no session: each is let in its own way alone.  A cookie is sent by browsers on their
own, so what changes something must come with a header that no other site can send, and from our own origin.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from sfumato.server.service import Caller, Service
from sfumato.server.statuses import Refused

__all__ = ["COOKIE", "OVER_TLS", "Called", "Served", "address_of", "is_secure", "must_be_own", "session_of"]

COOKIE, OVER_TLS = "sfumato", "__Host-sfumato"  # the latter browsers take from this host alone, over TLS
SAFE = ("GET", "HEAD", "OPTIONS")

_bearer = HTTPBearer(auto_error=False, description="a token from `sfumato analyst add`")
_SAID = "a session, as POST /api/v1/login begins it"
_cookie = APIKeyCookie(name=COOKIE, scheme_name="Session", auto_error=False, description=_SAID)
_tls_cookie = APIKeyCookie(
    name=OVER_TLS, scheme_name="SessionOverTLS", auto_error=False, description=f"{_SAID} over TLS"
)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client is not None else "nowhere"


def is_secure(request: Request) -> bool:
    """Whether browsers come by TLS alone."""
    return bool(request.app.state.secure) or request.url.scheme == "https"


def session_of(request: Request) -> str | None:
    """The session that a browser sends."""
    return request.cookies.get(OVER_TLS if is_secure(request) else COOKIE)


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
    tls_cookie: Annotated[str | None, Security(_tls_cookie)],
) -> Caller:
    if bearer is not None:
        return service.caller(bearer.credentials, address_of(request))
    session = tls_cookie if is_secure(request) else cookie
    if session is None:
        raise Refused(401, "give a token: Authorization: Bearer TOKEN, or log in")
    if request.method not in SAFE:
        must_be_own(request)
    return service.visitor(session, address_of(request))


Called = Annotated[Caller, Depends(_caller)]
