"""Finitely many public categories with the discrete metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.numerals import WHOLE_LIMIT, truth_in, whole_in

__all__ = ["BLANKS", "Categories", "Label", "labels", "read_label"]

Label = str | int  # false and true are whole numbers to Python
BLANKS = " \t"  # trimmed around labels that are read from texts


@dataclass(frozen=True, slots=True)
class Categories:
    """One of `values`.  Unknown values are left out, or counted as `other`; null ones likewise as `missing`.

    Texts are compared as they are, blanks and capitals included; where the categories are whole numbers, 3, 3.0, "3"
    and "3.0" are the same; `Categories([False, True])` reads true and false in any capitals, 1 and 0.  Codes in `na`
    count as null.

    >>> state = Categories(["CA", "NY"], other="elsewhere")
    >>> state.values, state.coerce("NY"), state.coerce("Mars"), state.coerce(None)
    (('CA', 'NY', 'elsewhere'), 'NY', 'elsewhere', None)
    >>> rooms = Categories([1, 2, 3], na=[9])
    >>> rooms.coerce("3.0"), rooms.coerce(9), Categories([False, True]).coerce("TRUE")
    (3, None, True)
    """

    values: tuple[Label, ...]
    other: Label | None = field(default=None, kw_only=True)
    missing: Label | None = field(default=None, kw_only=True)
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        values = labels(self.values, "values", booleans=True)
        for name in ("other", "missing"):
            label = getattr(self, name)
            if label is None:
                continue
            if type(label) is not type(values[0]):
                raise ParameterError(f"{name}={label!r} must be of the same type as the categories")
            values = values if label in values else (*values, *labels([label], name, booleans=True))
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "na", codes.checked(self.na))
        both = next((label for label in values if self._coded(label)), None)
        if both is not None:
            raise ParameterError(f"{both!r} is declared as a category and as a code for missing values; keep one")

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return 1.0 if len(self.values) > 1 else 0.0

    def distance(self, one: Label, other: Label) -> float:
        """0 for equal categories, else 1."""
        return float(one != other)

    def coerce(self, value: Any) -> Label | None:
        """The category that stands for `value`, or None if it is left out."""
        if codes.blank(value) or self._coded(value):
            return self.missing
        label = read_label(value, type(self.values[0]))
        return label if label is not None and label in self.values else self.other

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "categories",
            "values": list(self.values),
            "other": self.other,
            "missing": self.missing,
            **codes.in_record(self.na),
        }

    def _coded(self, value: Any) -> bool:
        """Whether a value is a code for a missing one."""
        if not self.na:
            return False
        if isinstance(self.values[0], str):
            return isinstance(value, str) and value in codes.texts_of(self.na)
        named = isinstance(value, str) and value.strip(BLANKS) in codes.texts_of(self.na)
        return named or (not isinstance(value, bool) and read_label(value, int) in codes.wholes_of(self.na))


def read_label(value: Any, kind: type[Label]) -> Label | None:
    """`value` as a label of its kind, None where it is none; a text can stand for a number, a number for a truth."""
    if kind is str:
        return str(value) if isinstance(value, str) else None
    if kind is bool and isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return truth_in(value) if kind is bool else whole_in(value)
    whole = _whole(value)
    return whole if kind is int or whole is None else {0: False, 1: True}.get(whole)


def _whole(value: Any) -> int | None:
    """The whole number that a number is, None for all else."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, Integral):
        number = int(value)
    elif isinstance(value, Real | Decimal):
        try:
            nearest = float(value)
        except (OverflowError, ValueError):
            return None
        if not nearest.is_integer():
            return None
        number = int(nearest)
    else:
        return None
    return number if abs(number) < WHOLE_LIMIT else None


def labels(values: Iterable[Label], name: str, booleans: bool = False) -> tuple[Label, ...]:
    """Distinct strings, or distinct whole numbers; false and true where they may stand."""
    if isinstance(values, str):
        raise ParameterError(f"{name} must be a list of categories, got the single text {values!r}")
    chosen = arguments.several(name, values)
    if not chosen:
        raise ParameterError(f"{name} is empty; declare at least one category")
    kinds = {type(value) for value in chosen}
    if booleans and kinds == {bool}:
        kinds = {int}
    if kinds not in ({str}, {int}):
        raise ParameterError(f"{name} must be all texts or all whole numbers, not a mixture or other types")
    if len(set(chosen)) != len(chosen):
        raise ParameterError(f"{name} repeats a category; each may stand once")
    if any(not _readable(label) for label in chosen):
        raise ParameterError(f"{name} holds a text that is not Unicode, or a whole number of more than 18 digits")
    return chosen


def _readable(label: Label) -> bool:
    """Whether a label can be met in a table at all."""
    if isinstance(label, str):
        return not any("\ud800" <= character <= "\udfff" for character in label)
    return abs(label) < WHOLE_LIMIT
