"""Public constants in questions, as plain values: whatever a caller wrote becomes a number, a text or a truth value.

A date or an elapsed time becomes its text, an exact fraction the decimal that equals it or else a text such as "1/3",
a scalar of numpy the Python value that prints alike: the records of questions hold JSON values only, and mean the same
when read back.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.numeric import exact
from sfumato.spaces.dates import keep_text

__all__ = ["Constant", "plain_constant", "unicode"]

DIGITS = 300  # of a number: beyond every float
LARGEST = 10**DIGITS
Constant = bool | int | float | str


def plain_constant(value: Any, about: str) -> Constant:
    """The plain value of a public constant; what has none is refused.

    >>> plain_constant(Fraction(37, 2), "age"), plain_constant(datetime.date(2020, 1, 5), "day")
    (18.5, '2020-01-05')
    """
    if isinstance(value, np.generic):
        value = _python(value)
    if isinstance(value, str):
        return keep_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < LARGEST:
        return int(value)
    if isinstance(value, datetime.timedelta):
        return str(value)
    if isinstance(value, datetime.date):  # times are dates too
        return str(value.isoformat())
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < DIGITS:
        value = Fraction(value)
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) < LARGEST:
        return _decimal(value)
    raise ParameterError(
        f"{about} is compared with a finite number, a text, a truth value or a date, "
        f"not with this {type(value).__name__}"
    )


def unicode(text: str) -> bool:
    """Whether a text can be met in a table: it holds no half of a pair of surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _python(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.floating):
        return float(str(value))  # float32(0.1) is the decimal it prints
    return value.item()


def _decimal(value: Fraction) -> Constant:
    if value.denominator == 1:
        return value.numerator
    nearest = float(value)
    return nearest if exact(nearest) == value else str(value)
