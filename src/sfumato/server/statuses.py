"""Errors as answers: one status for each type of error, one shape for all, and no data in any.

What fails after a charge says one generic thing, whatever the cause: the cause may hold data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from sfumato.errors import (
    AssumptionRefused,
    BoundBroken,
    BudgetExceeded,
    EngineError,
    LedgerError,
    ParameterError,
    ReportError,
    SchemaError,
    SfumatoError,
    UnsupportedQuery,
)
from sfumato.ledger.pool import Unreachable

__all__ = ["SOON", "STATUSES", "Plain", "Refused", "described", "problem", "register", "shown"]

# Each type of error that the package raises on purpose; a test finds those that are missing.
STATUSES: dict[type[SfumatoError], int] = {
    ParameterError: 422,
    SchemaError: 422,
    UnsupportedQuery: 422,
    ReportError: 422,
    AssumptionRefused: 403,
    BudgetExceeded: 409,
    LedgerError: 503,
    EngineError: 503,
    BoundBroken: 500,
    SfumatoError: 500,
}
SOON = {"Retry-After": "2"}  # where a ledger cannot be reached for a moment
HEADERS: dict[type[Exception], dict[str, str]] = {Unreachable: SOON}
GENERIC = {
    500: "the service failed, and the cause is withheld, since it may hold data; tell its steward when this was",
    503: (
        "the answer could not be made or stored, and the cause is withheld, since it may hold data.  If it was "
        "charged, the charge stands, as your budget shows; try again, and tell the steward if that does not help"
    ),
}


class Refused(SfumatoError):
    """A request that is refused as a request: without a token, too large, too often, of another role."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})


class Plain(JSONResponse):
    """JSON in ASCII: whatever texts hold, it can be sent."""

    def render(self, content: object) -> bytes:
        """The bytes of a value."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def shown(error: Exception) -> tuple[int, str, str]:
    """The status, the type's name and the message of an error."""
    if isinstance(error, Refused):
        return error.status, HTTPStatus(error.status).phrase.replace(" ", ""), str(error)
    kind = next((kind for kind in type(error).__mro__ if kind in STATUSES), None)
    status = 500 if kind is None else STATUSES[kind]
    if status in GENERIC:
        return status, "ServiceError" if status == 500 else "Unavailable", GENERIC[status]
    return status, type(error).__name__, str(error)


def described(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]]:
    """The status, the body and the headers of the answer to an error."""
    status, name, message = shown(error)
    headers = error.headers if isinstance(error, Refused) else HEADERS.get(type(error), {})
    if status == 401:
        headers = {**headers, "WWW-Authenticate": "Bearer"}
    return status, {"error": name, "message": message}, headers


def problem(error: Exception) -> Plain:
    """The answer to an error."""
    status, body, headers = described(error)
    return Plain(body, status, headers)


def register(app: FastAPI) -> None:
    """Let the application answer errors so."""

    async def on_error(request: Request, error: Exception) -> Response:
        return problem(error)

    async def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        if any(detail["type"] == "json_invalid" for detail in error.errors()):
            return problem(Refused(400, _HTTP[400]))
        said = request.headers.get("content-type", "")
        if "json" not in said and any(detail["loc"] == ("body",) for detail in error.errors()):
            return problem(
                ParameterError(
                    f"send Content-Type: application/json, not {said!r:.60}; the body is {_FORMS['the body']}"
                )
            )
        return problem(ParameterError("; ".join(map(_found, error.errors()[:6]))))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        refused = Refused(error.status_code, _HTTP.get(error.status_code, str(error.detail)), error.headers)
        return problem(refused)

    app.add_exception_handler(SfumatoError, on_error)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)


_HTTP = {
    400: "the body cannot be read as JSON",
    404: "there is no such thing here; GET /openapi.json describes what there is",
    405: "this cannot be done here; GET /openapi.json describes what can",
}


_FORMS = {
    "query": 'an object such as {"query": "mean", "column": "age"}',
    "spend": 'an object such as {"epsilon": 0.1}',
    "the body": 'an object such as {"query": {"query": "count"}, "spend": {"epsilon": 0.1}}',
}
_KNOWN = {"spend": "known are epsilon, delta, rho"}


def _found(detail: Mapping[str, Any]) -> str:
    """One finding about a request, in words; what was given is the caller's own, and shortened."""
    path = [str(part) for part in detail.get("loc", ())[1:]]
    place = ".".join(path) or "the body"
    if detail["type"] == "extra_forbidden":
        return f"{place} is not known here; {_KNOWN.get(path[0] if path[1:] else '', 'GET /docs says what is')}"
    if place in _FORMS and detail["type"] in ("dict_type", "model_attributes_type"):
        return f"{place} is {_FORMS[place]}"
    return f"{place}: {detail.get('msg', 'has the wrong form')}"
