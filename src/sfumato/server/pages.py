"""The page: files of this package, the look that reports have, and Vega for charts; all from memory, nothing by path.

Nothing is fetched from elsewhere, and no text is run as a program: the content policy forbids both, so charts are drawn
by Vega's interpreter of expressions, which needs no `eval`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from importlib.metadata import version

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from sfumato.report.style import ACCENT, CONFIGURATION, DARK, GRID, INK, MUTED, PALE, SHADES

__all__ = ["POLICY", "routes", "warmed"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
OTHER, OTHER_DARK = "#b4531a", "#f2a56f"  # beside the accent, where two things are told apart
_BUNDLING = threading.Lock()
FRESH, FOREVER = "no-cache", "public, max-age=31536000, immutable"


def routes(playground: bool = False, datasets: bool = True) -> APIRouter:
    """The page at `/`, the playground at `/playground` where there is one, and what both load."""
    router = APIRouter(include_in_schema=False)
    held = _files()
    start = "index.html" if datasets else "playground.html"
    doors = {"/": start, **({"/playground": "playground.html"} if playground else {})}
    for address, name in doors.items():
        router.add_api_route(address, _sent(name, held[name]), methods=["GET"])
    for name in held.keys() - set(doors.values()):
        if not name.endswith(".html"):
            router.add_api_route(f"/page/{name}", _sent(name, held[name]), methods=["GET"])
    look = json.dumps(_look(playground)).encode()
    router.add_api_route("/page/look.json", _sent("look.json", look), methods=["GET"])
    router.add_api_route(f"/page/{_vega_name()}", _vega, methods=["GET"])
    router.add_api_route("/favicon.ico", lambda: RedirectResponse("/page/mark.svg"), methods=["GET"])
    return router


def warmed() -> None:
    """Have the charts ready before the first page asks for them, without waiting."""
    threading.Thread(target=_bundle, daemon=True).start()


def _files() -> dict[str, bytes]:
    """The files of the page by name."""
    folder = resources.files("sfumato.server").joinpath("page")
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.name[one.name.rfind(".") :] in TYPES}


def _sent(name: str, content: bytes) -> Callable[[Request], Response]:
    """What sends a file: again only if it is another than the browser holds."""
    kind = TYPES.get(name[name.rfind(".") :], "application/json")
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    def send(request: Request) -> Response:
        headers = {"ETag": tag, "Cache-Control": FRESH, "Content-Security-Policy": POLICY}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return send


def _look(playground: bool) -> dict[str, object]:
    """The house's colors and settings of charts, and where Vega is."""
    return {
        "config": CONFIGURATION,
        "colors": {"ink": INK, "muted": MUTED, "grid": GRID, "accent": ACCENT, "pale": PALE, "other": OTHER},
        "shades": SHADES,
        "dark": {**DARK, OTHER: OTHER_DARK},
        "vega": f"/page/{_vega_name()}",
        "playground": playground,
    }


def _vega_name() -> str:
    return f"vega-{version('vl-convert-python')}.js"


def _vega(request: Request) -> Response:
    """Vega and Vega-Lite, which never change under one name; packed for those who can unpack."""
    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if packed else {})
    return Response(_bundle()[packed], media_type=TYPES[".js"], headers=headers)


def _bundle() -> tuple[bytes, bytes]:
    """The bundle that the package of charts ships, plain and packed; it takes about two seconds, once."""
    with _BUNDLING:
        return _bundled()


@lru_cache(maxsize=1)
def _bundled() -> tuple[bytes, bytes]:
    import vl_convert

    plain = vl_convert.javascript_bundle("export { vegaEmbed };").encode()
    return plain, gzip.compress(plain, 6, mtime=0)
