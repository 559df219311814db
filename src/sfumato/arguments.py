"""What the public doors ask of their arguments: the value in plain form, or a refusal that says what is wrong."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError

__all__ = ["choice", "instance", "level", "mapping", "names", "number", "path", "several", "text", "weight", "whole"]

LIGHTEST = 1e-6
LONGEST_NAME = 255  # bytes, on every common file system


def text(name: str, value: object) -> str:
    """The value, if it is a text that says something."""
    if not (isinstance(value, str) and value):
        raise ParameterError(f"{name} must be a text that is not empty, got {_shown(value)}")
    return value


def choice(name: str, value: object, among: Iterable[str]) -> str:
    """The value, if it is one of these texts; whatever else it is, an array for one, is refused alike."""
    known = tuple(among)
    if isinstance(value, str) and value in known:
        return value
    raise ParameterError(f"{name} must be one of {', '.join(known)}, got {_shown(value)}")


def names(name: str, value: object) -> tuple[str, ...]:
    """Column names: one text, or several of them.

    >>> names("columns", "age"), names("columns", ["age", "height"])
    (('age',), ('age', 'height'))
    """
    found = (value,) if isinstance(value, str) else several(name, value)
    return tuple(text(f"each of {name}", one) for one in found)


def several(name: str, value: object) -> tuple[Any, ...]:
    """The members of a list or another finite collection; a text is none."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ParameterError(f"{name} must be a list, got {_shown(value)}")
    return tuple(value)


def mapping(name: str, value: object) -> dict[Any, Any]:
    """The members of a mapping."""
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} must be a mapping such as {{...}}, got {_shown(value)}")
    return dict(value)


def number(name: str, value: object) -> float:
    """The value as a finite float."""
    try:
        if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(found := float(value)):
            return found
    except (OverflowError, ValueError):
        pass
    raise ParameterError(f"{name} must be a finite number, got {_shown(value)}")


def whole(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """The value as a whole number within its limits."""
    found = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if found is None or found < least or (most is not None and found > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} must be a whole number {limits}, got {_shown(value)}")
    return found


def level(value: object) -> float:
    """The value as a level of error bars."""
    found = number("level", value)
    if not 0 < 1 - found < 1:  # also where what is left of 1 is none in floating point
        raise ParameterError(f"level must lie strictly between 0 and 1, got {value!r}; 0.95 is usual")
    return found


def weight(value: object) -> float:
    """The value as a weight: how much the error of a release counts beside those of others."""
    found = number("weight", value)
    if not LIGHTEST <= found <= 1 / LIGHTEST:
        raise ParameterError(
            f"weight must be from {LIGHTEST:g} to {1 / LIGHTEST:g}, got {found:g}; it says how much the error counts "
            "beside those of other releases, 1 if nothing is said"
        )
    return found


def path(name: str, value: object) -> Path:
    """The value as a path."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(os.fspath(value)):
        raise ParameterError(f"{name} must be the path of a file, got {_shown(value)}")
    place = Path(value)
    try:
        longest = max((len(os.fsencode(part)) for part in place.parts), default=0)
    except UnicodeEncodeError:
        raise ParameterError(f"{name} holds a character that no file's name can have") from None
    if longest > LONGEST_NAME:
        raise ParameterError(f"{name} has a part that is longer than the {LONGEST_NAME} bytes of a file's name")
    return place


def instance(name: str, value: object, kinds: Any, wanted: str) -> None:
    """Refuse what is not of these kinds; `wanted` says how to make one."""
    if not isinstance(value, kinds):
        raise ParameterError(f"{name} must be {wanted}, got {_shown(value)}")


def _shown(value: object) -> str:
    """A short public value as written, else its type: huge or foreign objects are not printed."""
    if isinstance(value, str | bool | float | type(None)) or (isinstance(value, int) and abs(value) < 2**64):
        return f"{value!r:.60}"
    return f"a {type(value).__name__}"
