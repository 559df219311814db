"""Finitely many public categories with the discrete metric."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from sfumato.errors import ParameterError
from sfumato.spaces.numerals import whole_in

__all__ = ["Categories", "Label", "labels", "read_label"]

Label = str | int


@dataclass(frozen=True, slots=True)
class Categories:
    """One of `values`.  Unknown values are left out, or counted as `other`; null ones likewise as `missing`.

    Texts are compared as they are, blanks and capitals included; where the categories are whole numbers, a text is
    read as one.

    >>> state = Categories(["CA", "NY"], other="elsewhere")
    >>> state.values, state.coerce("NY"), state.coerce("Mars"), state.coerce(None)
    (('CA', 'NY', 'elsewhere'), 'NY', 'elsewhere', None)
    """

    values: tuple[Label, ...]
    other: Label | None = field(default=None, kw_only=True)
    missing: Label | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        values = labels(self.values, "values")
        for name in ("other", "missing"):
            label = getattr(self, name)
            if label is None:
                continue
            if type(label) is not type(values[0]):
                raise ParameterError(f"{name}={label!r} must be of the same type as the categories")
            values = values if label in values else (*values, label)
        object.__setattr__(self, "values", values)

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return 1.0 if len(self.values) > 1 else 0.0

    def distance(self, one: Label, other: Label) -> float:
        """0 for equal categories, else 1."""
        return float(one != other)

    def coerce(self, value: Any) -> Label | None:
        """The category that stands for `value`, or None if it is left out."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
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
        }


def read_label(value: Any, kind: type[Label]) -> Label | None:
    """`value` as a label of its kind, None where it is none; a text can stand for a whole number."""
    if isinstance(value, str):
        return str(value) if kind is str else whole_in(value)
    whole = kind is int and isinstance(value, Integral) and not isinstance(value, bool)
    return int(value) if whole else None


def labels(values: Iterable[Label], name: str) -> tuple[Label, ...]:
    """Distinct strings, or distinct whole numbers."""
    if isinstance(values, str):
        raise ParameterError(f"{name} must be a list of categories, got the single text {values!r}")
    chosen = tuple(values)
    if not chosen:
        raise ParameterError(f"{name} is empty; declare at least one category")
    kinds = {type(value) for value in chosen}
    if kinds not in ({str}, {int}):
        raise ParameterError(f"{name} must be all texts or all whole numbers, not a mixture or other types")
    if len(set(chosen)) != len(chosen):
        raise ParameterError(f"{name} repeats a category; each may stand once")
    return chosen
