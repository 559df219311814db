"""Codes that a table uses for missing values: 99, -1, "unknown"."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.spaces.numerals import number_in, whole_in

__all__ = ["Code", "blank", "checked", "in_record", "numbers_of", "texts_of", "wholes_of"]

Code = str | int | float


def blank(value: object) -> bool:
    """Whether a value is null: None, NaN of any kind, or what pandas writes for them."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Real):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def checked(na: object) -> tuple[Code, ...]:
    """The codes as declared: texts and finite numbers, each once."""
    if isinstance(na, str) or not isinstance(na, Iterable):
        raise ParameterError(f"na must be a list of codes for missing values, such as [99, 'unknown'], got {na!r}")
    chosen = tuple(na)
    for code in chosen:
        number = isinstance(code, int | float) and not isinstance(code, bool) and math.isfinite(code)
        if not (number or isinstance(code, str)):
            raise ParameterError(f"na must hold texts and finite numbers, got {code!r}")
    if len(set(chosen)) != len(chosen):
        raise ParameterError("na repeats a code; each may stand once")
    return chosen


def numbers_of(na: tuple[Code, ...]) -> tuple[float, ...]:
    """The codes that are numbers, or texts of numbers.

    >>> numbers_of((99, "-1", "unknown"))
    (99.0, -1.0)
    """
    read = [number_in(code) if isinstance(code, str) else float(code) for code in na]
    return tuple(number for number in read if number is not None)


def wholes_of(na: tuple[Code, ...]) -> tuple[int, ...]:
    """The codes that are whole numbers, or texts of them."""
    read = [whole_in(code) if isinstance(code, str) else int(code) if code == int(code) else None for code in na]
    return tuple(number for number in read if number is not None)


def texts_of(na: tuple[Code, ...]) -> tuple[str, ...]:
    """The codes as they stand in a text: a whole number by its digits.

    >>> texts_of((99.0, "unknown"))
    ('99', 'unknown')
    """
    return tuple(code if isinstance(code, str) else str(int(code) if code == int(code) else code) for code in na)


def in_record(na: tuple[Code, ...]) -> dict[str, Any]:
    """What a space's record holds of its codes: nothing where there are none, as in records of old."""
    return {"na": list(na)} if na else {}
