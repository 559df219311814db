"""The files of a page that collects one answer: they are the same for all, and hold nothing about anybody."""

from __future__ import annotations

import html
from importlib.resources import files
from urllib.parse import urlsplit

from fastapi import APIRouter
from fastapi.responses import Response

from sfumato.server.local.inbox import HEADERS

__all__ = ["add_files", "page"]

KINDS = {".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
SERVED = ("sfumato.mjs", "seal.mjs", "page.mjs", "page.css")
PAGE = files("sfumato.server.local").joinpath("page")


def add_files(router: APIRouter) -> None:
    """The client in JavaScript, and what the page is made of."""
    for name in SERVED:
        content, kind = PAGE.joinpath(name).read_bytes(), KINDS["." + name.rpartition(".")[2]]
        router.add_api_route(f"/{name}", _giving(Response(content, 200, HEADERS, kind)), response_class=Response)


def page(relay: str | None, name: str) -> Response:
    """The page of a collection, whose answers go where it says: to a relay, or back to where it came from."""
    place = f"../{name}" if relay is None else f"{relay.rstrip('/')}/local/{name}"
    content = PAGE.joinpath("index.html").read_text(encoding="utf-8").replace("{post}", html.escape(place))
    allowed = "'self'" if relay is None else f"'self' {_origin(relay)}"
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors 'none'; connect-src {allowed}"
    )
    return Response(content, 200, {**HEADERS, "Content-Security-Policy": policy}, "text/html; charset=utf-8")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _giving(held: Response):  # type: ignore[no-untyped-def]
    async def given() -> Response:
        """A public file."""
        return held

    return given
