"""Who a row is about: elements of a frame's column of identifiers as bytes, each by itself."""

from __future__ import annotations

import contextlib
import datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from uuid import UUID

import numpy as np

from sfumato.spaces.codes import blank

__all__ = ["identity", "unicode"]

WIDEST = 400  # digits of a number that is written out


def identity(value: object) -> bytes | None:
    """The bytes that tell persons apart, no two of one kind alike; None for what identifies nobody."""
    if blank(value) or isinstance(value, bool | np.timedelta64):
        return None
    if isinstance(value, np.datetime64 | datetime.datetime):
        return _instant(value).encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, Real | Decimal):
        spelled = _digits(value)
    elif isinstance(value, str | UUID | datetime.date | datetime.time):
        spelled = str(value)
    else:
        return None
    return spelled.encode() if unicode(spelled) else None


def _instant(value: np.datetime64 | datetime.datetime) -> str:
    """A time in UTC, as a column of times would have it."""
    try:
        if isinstance(value, np.datetime64):
            if np.datetime_data(value)[0] in ("ps", "fs", "as"):  # finer than any column of times
                return str(value)
            import pandas as pd

            return str(pd.Timestamp(value))
        return str(value if value.utcoffset() is None else value.astimezone(datetime.UTC).replace(tzinfo=None))
    except (ImportError, ValueError, OverflowError):  # too far for either
        return str(value)


def _digits(value: Real | Decimal) -> str:
    """A number with all of its digits, however many: whole ones without a point, others as a text file holds them."""
    if isinstance(value, Decimal):
        if not value or not value.is_finite() or abs(value.adjusted()) > WIDEST:
            return str(value) if value else "0"
        plain = f"{value:f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    try:
        numerator, denominator = map(int, value.as_integer_ratio())  # type: ignore[attr-defined]
    except (AttributeError, OverflowError, ValueError):  # infinite
        return str(value)
    if denominator == 1:
        return str(numerator) if abs(numerator) < 10**WIDEST else hex(numerator)
    exact = Fraction(numerator, denominator)
    with contextlib.suppress(OverflowError):
        if Fraction(float(exact)) == exact:
            return repr(float(exact))
    return f"{numerator:x}/{denominator:x}"


def unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
