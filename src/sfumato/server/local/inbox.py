"""Where devices post messages: one path of a collection, a bounded body, and an answer once the message is durable.

200: taken, or known already.  400: it will never be taken.  403: from a page of a site that is not allowed.  413: too
long.  429: its sender has to wait.  503: something failed, or too many wait: send it again.  Of a request the body,
its length and its origin are read, and where senders are limited the address, which is counted under a keyed hash in
memory.  None of that is written anywhere: no log, no cookie, no tag of a cache, no header of a browser.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Set
from concurrent.futures import Future

from fastapi import Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from sfumato.local.collection.collector import Receipt
from sfumato.local.relay.limit import Limit

__all__ = ["HEADERS", "Inbox", "answer", "received", "stated"]

LENGTH = re.compile("[0-9]{1,10}", re.ASCII)
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def answer(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    """A sentence for whoever sent something."""
    closing = {} if status in (200, 429, 503) else {"Connection": "close"}
    content = words.encode(errors="replace")
    return Response(content, status, {**HEADERS, **closing, **(headers or {})}, "text/plain; charset=utf-8")


def stated(request: Request) -> int | None:
    """What a body is said to be long, once and in one way: others in front might read two ways otherwise."""
    given = request.headers.getlist("content-length")
    if len(given) != 1 or "transfer-encoding" in request.headers or not LENGTH.fullmatch(given[0]):
        return None
    return int(given[0])


async def received(request: Request, longest: int) -> bytes | Response:
    """The body, if its length is stated and no more than that; otherwise what to answer."""
    length = stated(request)
    if length is None:
        return answer(400, "a message is posted with its length")
    if length > longest:
        return answer(413, f"a message here has at most {longest:,} bytes")
    try:
        return await request.body()
    except ClientDisconnect:
        return answer(400, "the message has not arrived")


class Inbox:
    """What takes messages in; `send` promises a receipt, `origins` are sites whose pages may send beside the own."""

    __slots__ = ("_limit", "_longest", "_origins", "_send")

    def __init__(
        self,
        longest: int,
        send: Callable[[bytes], Future[Receipt]],
        limit: Limit | None = None,
        origins: Set[str] = frozenset(),
    ) -> None:
        self._longest, self._send, self._limit, self._origins = longest, send, limit, origins

    async def post(self, request: Request) -> Response:
        """Take one message, and say what became of it once that is durable."""
        origin = request.headers.get("origin")
        if origin is not None and not self._welcome(origin, request.headers.get("host", "")):
            return answer(403, "pages of this site may not send here")
        shared = {} if origin is None else {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
        body = await received(request, self._longest)
        if isinstance(body, Response):
            return body
        if self._limit is not None and not self._limit.admits(request.client.host if request.client else ""):
            return answer(429, "too many messages; send it again later", shared)
        try:
            receipt = await asyncio.wrap_future(self._send(body))
        except Exception:  # whatever it was, devices keep the message
            return answer(503, "not taken; send it again later", shared)
        return answer(200 if receipt.accepted else 400, receipt.words, shared)

    def _welcome(self, origin: str, host: str) -> bool:
        return origin in self._origins or (bool(host) and origin.partition("://")[2] == host)
