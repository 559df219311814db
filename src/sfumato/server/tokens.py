"""Tokens: 256 random bits that are shown once; what is kept is their hash."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, datetime, timedelta

from sfumato.errors import ParameterError

__all__ = ["expiry", "hashed", "new_token"]

PREFIX = "sfumato_"
UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def new_token() -> str:
    """A token for one analyst."""
    return PREFIX + secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    """What is kept of a token: it has so many bits that a plain hash cannot be searched through.

    >>> hashed("sfumato_x")[:8]
    '35f317ed'
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def expiry(duration: str, now: datetime) -> str:
    """When a token made now expires, in UTC.

    >>> expiry("90d", datetime(2026, 1, 1, tzinfo=UTC))
    '2026-04-01T00:00:00+00:00'
    """
    found = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", duration)
    if found is None:
        raise ParameterError(
            f"expires must be a number of hours, days or weeks such as 12h, 90d or 8w, got {duration!r:.40}"
        )
    return (now.astimezone(UTC) + timedelta(**{UNITS[found[2]]: int(found[1])})).isoformat(timespec="seconds")
