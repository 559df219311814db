"""The document of the service for readers: one page, made from what programs read at /openapi.json."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

__all__ = ["routes"]

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sfumato: the service over HTTP</title><link rel="stylesheet" href="/page/house.css"></head>
<body><main><h1>The service over HTTP</h1>
<p>A token comes with each request, <code>Authorization: Bearer TOKEN</code>; programs read
<a href="/openapi.json">/openapi.json</a>.  How to ask, step by step, from Python and by curl, is told in
docs/guide/asking.md of the documentation.</p>
{calls}<h2>What is sent and what comes back</h2>{parts}</main></body></html>
"""


def routes() -> APIRouter:
    """The page at `/docs`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    def documented(request: Request) -> HTMLResponse:
        """Every call, with what it takes and answers."""
        document = request.app.openapi()
        calls = "".join(_calls(path, ways) for path, ways in document["paths"].items())
        parts = "".join(_part(name, one) for name, one in document["components"]["schemas"].items())
        return HTMLResponse(PAGE.format(calls=calls, parts=parts))

    return router


def _calls(path: str, ways: Mapping[str, Any]) -> str:
    return "".join(
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(one.get('description', ''))}</p>"
        f"{_table(one['responses'])}</section>"
        for method, one in ways.items()
    )


def _table(responses: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{status}</td><td>{escape(one['description'])}</td><td>{_linked(one)}</td></tr>"
        for status, one in responses.items()
    )
    return f"<table><thead><tr><th>status</th><th>meaning</th><th>answer</th></tr></thead><tbody>{rows}</tbody></table>"


def _linked(one: Mapping[str, Any]) -> str:
    schema = one.get("content", {}).get("application/json", {}).get("schema", {})
    name = str(schema.get("$ref", schema.get("items", {}).get("$ref", ""))).rpartition("/")[2]
    return f'<a href="#{escape(name)}">{escape(name)}</a>' if name else ""


def _part(name: str, schema: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code></td><td>{escape(_kind(one))}</td>"
        f"<td>{escape(one.get('description', ''))}</td></tr>"
        for field, one in schema.get("properties", {}).items()
    )
    table = f"<table><thead><tr><th>part</th><th>kind</th><th></th></tr></thead><tbody>{rows}</tbody></table>"
    words = escape(schema.get("description", ""))
    return f'<section id="{escape(name)}"><h3>{escape(name)}</h3><p>{words}</p>{table}</section>'


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("const", schema.get("type", "any")))
