"""What an owner answers with: a value of the domain, by its declared name, and nothing that merely resembles one.

`coerce` must give every entry of a column some place, since there a refusal would tell.  On the owner's own device the
value is the owner's, and guessing would only spoil the answer in silence: what is not of the domain is refused, before
anything is spent or sent, in words that do not hold the value.  A refusal is seen by whoever notices that no report
came.  So a collection whose values may be unknown or missing declares a label for them, `other`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from sfumato.errors import ParameterError

__all__ = ["UNSENT", "Names", "listed", "number", "position", "vector"]

UNSENT = "nothing was spent and nothing sent"


@dataclass(frozen=True, slots=True)
class Names:
    """The labels of categories, and the one (if any) that stands for every unknown or missing value.

    >>> Names(("cat", "dog", "other"), "other").position("dgo", 3), Names().position(1, 3)
    (2, 1)
    """

    labels: tuple[str, ...] = ()
    other: str | None = None

    def position(self, value: object, k: int) -> int:
        """The category of a value: a label if there are labels, else a position."""
        if not self.labels:
            return position(value, k)
        if isinstance(value, str) and value in self.labels:
            return self.labels.index(value)
        if self.other is not None and (isinstance(value, str) or _missing(value)):
            return self.labels.index(self.other)
        how = (
            "the collection declares no label `other` for unknown or missing values"
            if isinstance(value, str) or _missing(value)
            else "labels are texts, not positions or booleans"
        )
        raise ParameterError(f"a value must be one of the {k} labels, exactly as declared: {how}; {UNSENT}")


def position(value: object, k: int) -> int:
    """A whole number from 0 to k - 1, as it is."""
    if _numeric(value) and 0 <= value < k and value == int(value):
        return int(value)
    how = "the position of its category" + (", and no boolean" if isinstance(value, bool) else "")
    raise ParameterError(f"a value must be a whole number from 0 to {k - 1}, {how}; {UNSENT}")


def number(value: object) -> float:
    """A number; infinite ones are the protocol's to clip."""
    if _numeric(value) and not _missing(value):
        return _float(value)
    how = "a text is no number, even one of digits" if isinstance(value, str) else "not missing, and no boolean"
    raise ParameterError(f"a value must be a number: {how}; {UNSENT}")


def vector(value: object, dimension: int) -> list[float]:
    """As many numbers as the dimension says."""
    entries = list(value) if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 else []
    if len(entries) != dimension or not all(_numeric(entry) and not _missing(entry) for entry in entries):
        raise ParameterError(f"a value must be a list of {dimension} numbers, none missing; {UNSENT}")
    return [_float(entry) for entry in entries]


def listed(value: object, what: str) -> list[Any]:
    """The entries of a list, a set or the like; a text is none."""
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise ParameterError(f"a value must be {what}; {UNSENT}")
    return list(value)


def _numeric(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _missing(value: object) -> bool:
    return value is None or (_numeric(value) and value != value)  # NaN


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
