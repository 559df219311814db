"""How routes describe their refusals."""

from __future__ import annotations

from typing import Any

from sfumato.server.models import Problem

__all__ = ["ASKING", "problems"]

WORDS = {
    400: "the body is not JSON",
    401: "no token, or one that is not known, revoked or expired",
    403: "not allowed",
    404: "not there",
    409: "the budget is exceeded, nothing was charged; or the request was charged and its answer lost",
    413: "the body is too large",
    422: "what was asked cannot be answered; the message says what can",
    429: "too often",
    503: "the answer could not be made or stored; if it was charged, the charge stands",
}
ASKING = (400, 401, 403, 404, 409, 413, 422, 429, 503)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Refusals of one shape."""
    return {status: {"model": Problem, "description": WORDS[status]} for status in statuses}
