"""What every request passes: a limit on its body, headers for browsers, counts, and no failure that tells data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.server.metrics import Metrics
from sfumato.server.places import is_loopback
from sfumato.server.statuses import GENERIC, Plain

__all__ = ["BODY", "Guard"]

BODY = 256 * 1024  # bytes of a request, unless its route takes more
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Around the whole application.  `bodies` maps the beginnings of paths to how many bytes they take.

    A service of `this_machine` answers to the machine's own names alone: a page of another site whose name was made to
    lead here is of another origin then, as it should be.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, bodies: Mapping[str, int], secure: bool, this_machine: bool = False
    ) -> None:
        self._app, self._metrics, self._bodies, self._this_machine = app, metrics, bodies, this_machine
        strict = {"strict-transport-security": "max-age=31536000"} if secure else {}
        self._headers = [(name.encode(), value.encode()) for name, value in (HEADERS | strict).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = next((size for path, size in self._bodies.items() if scope["path"].startswith(path)), BODY)
        began, status = time.perf_counter(), 500
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(413, f"the body takes more than {most} bytes")
            return message

        async def dressed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in self._headers if one[0] not in given)]
            await send(message)

        try:
            if self._this_machine and not _meant_here(scope):
                refusal = {"error": "MisdirectedRequest", "message": "this service answers to 127.0.0.1 and localhost"}
                await Plain(refusal, 421)(scope, receive, dressed)
            elif {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
                refusal = {"error": "BadRequest", "message": "the length of the body is said in two ways"}
                await Plain(refusal, 400, {"Connection": "close"})(scope, receive, dressed)
            elif _declared(scope) > most:
                refusal = {"error": "RequestEntityTooLarge", "message": f"the body takes more than {most} bytes"}
                await Plain(refusal, 413, {"Connection": "close"})(scope, receive, dressed)
            else:
                await self._app(scope, limited, dressed)
        except Exception:  # a bug: its text may hold data, so it goes nowhere
            if status == 500:
                await Plain({"error": "ServiceError", "message": GENERIC[500]}, 500)(scope, receive, dressed)
        finally:
            self._metrics.count(scope["method"], scope.get("route"), status, time.perf_counter() - began)


def _declared(scope: Scope) -> int:
    """The size that a request says it has."""
    said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(said) if said.isdigit() and len(said) < 20 else 0


def _meant_here(scope: Scope) -> bool:
    """Whether a request names this machine."""
    said = next((value for name, value in scope["headers"] if name == b"host"), b"localhost")
    try:
        return is_loopback(urlsplit("//" + said.decode("latin-1")).hostname or "")
    except ValueError:
        return False
