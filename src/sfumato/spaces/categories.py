"""Finitely many public categories, with the discrete metric or distances of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.distances import Distances, checked_distances
from sfumato.spaces.forms import Label, Labels
from sfumato.spaces.numerals import WHOLE_LIMIT, truth_in, whole_in
from sfumato.spaces.space import Space

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BLANKS", "Categories", "Label", "checked_labels", "read_label", "written_label"]

BLANKS = " \t"  # trimmed around labels that are read from texts


@dataclass(frozen=True, slots=True)
class Categories(Space):
    """One of `values`.  Unknown values are left out, or counted as `other`; null ones likewise as `missing`.

    Texts are compared as they are, blanks and capitals included; where the categories are whole numbers, 3, 3.0, "3"
    and "3.0" are the same; `Categories([False, True])` reads true and false in any capitals, 1 and 0.  Codes in `na`
    count as null.  `distances` declares a metric in place of the discrete one: a row for each of `values` (`other` and
    `missing` after them, where they are none of these) with its distances from all of them.

    >>> state = Categories(["CA", "NY"], other="elsewhere")
    >>> state.values, state.coerce("NY"), state.coerce("Mars"), state.coerce(None)
    (('CA', 'NY', 'elsewhere'), 'NY', 'elsewhere', None)
    >>> rooms = Categories([1, 2, 3], na=[9])
    >>> rooms.coerce("3.0"), rooms.coerce(9), Categories([False, True]).coerce("TRUE")
    (3, None, True)
    >>> Categories(["low", "middle", "high"], distances=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]).distance("low", "high")
    2.0
    """

    values: tuple[Label, ...]
    other: Label | None = field(default=None, kw_only=True)
    missing: Label | None = field(default=None, kw_only=True)
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    distances: Distances | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "categories"
    needed: ClassVar[tuple[str, ...]] = ("values",)
    hint: ClassVar[tuple[str, str] | None] = ("labels", 'values = ["a", "b"]')

    def __post_init__(self) -> None:
        values = checked_labels(self.values, "values", booleans=True)
        for name in ("other", "missing"):
            label = getattr(self, name)
            if label is None:
                continue
            if type(label) is not type(values[0]):
                raise ParameterError(f"{name}={label!r} must be of the same type as the categories")
            values = values if label in values else (*values, *checked_labels([label], name, booleans=True))
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "na", codes.checked(self.na))
        both = next((label for label in values if self._coded(label)), None)
        if both is not None:
            raise ParameterError(f"{both!r} is declared as a category and as a code for missing values; keep one")
        if self.distances is not None:
            object.__setattr__(self, "distances", checked_distances(self.distances, values))

    @property
    def diameter(self) -> float:
        """The largest distance."""
        if self.distances is not None:
            return max(map(max, self.distances))
        return 1.0 if len(self.values) > 1 else 0.0

    def distance(self, one: Label, other: Label) -> float:
        """As declared; else 0 for equal categories and 1 for others."""
        if self.distances is not None:
            return self.distances[self.values.index(one)][self.values.index(other)]
        return float(one != other)

    def coerce(self, value: object) -> Label | None:
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
            **({} if self.distances is None else {"distances": [list(row) for row in self.distances]}),
        }

    @property
    def form(self) -> Labels:
        """One of the labels."""
        return Labels(self.values, self.other, self.missing, self.na)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The categories."""
        return self.values

    @property
    def settled(self) -> bool:
        """Whether unknown and null values count as some category."""
        return self.missing is not None and self.other is not None

    def written(self, value: object) -> str | None:
        """A label that is no text."""
        return written_label(value, type(self.values[0]))

    def places(self, values: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """Where labels stand in the list."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.fill_null(pc.index_in(values, value_set=pa.array(list(self.values))), -1)
        return np.asarray(found, dtype=np.int64)

    def decoded(self, places: npt.NDArray[np.int64], null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Labels."""
        import pyarrow as pa

        labels = pa.array([*self.values, None])  # all of one type: texts, whole numbers, or false and true
        return labels.take(pa.array(places, mask=null))

    def examples(self) -> tuple[Label, Label, Label, Label]:
        """The first category, the last, the first again, the second."""
        return self.values[0], self.values[-1], self.values[0], self.values[1 % len(self.values)]

    def arrow(self) -> pa.DataType:
        """Texts, whole numbers, or false and true."""
        import pyarrow as pa

        return pa.scalar(self.values[0]).type

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Texts and truths."""
        if stored.startswith("boolean"):
            return ['type = "categories"', "values = [false, true]"]
        if not stored.startswith("string"):
            return None
        other = '# or type = "texts" with longest = 64, if the values are not public'
        return ['type = "categories"        ' + other, f'values = ["{blank}"]']

    def _coded(self, value: object) -> bool:
        """Whether a value is a code for a missing one."""
        if not self.na:
            return False
        if isinstance(self.values[0], str):
            return isinstance(value, str) and value in codes.texts_of(self.na)
        named = isinstance(value, str) and value.strip(BLANKS) in codes.texts_of(self.na)
        return named or (not isinstance(value, bool) and read_label(value, int) in codes.wholes_of(self.na))


def written_label(value: object, kind: type) -> str | None:
    """A label that is no text as a text; None where it is none."""
    label = None if kind is str else read_label(value, kind)
    if label is None and kind is bool:
        label = read_label(value, int)  # perhaps a code
    return None if label is None else str(label)


def read_label(value: object, kind: type[Label]) -> Label | None:
    """`value` as a label of its kind, None where it is none; a text can stand for a number, a number for a truth."""
    if kind is str:
        return str(value) if isinstance(value, str) else None
    if kind is bool and isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return truth_in(value) if kind is bool else whole_in(value)
    whole = _whole(value)
    return whole if kind is int or whole is None else {0: False, 1: True}.get(whole)


def _whole(value: object) -> int | None:
    """The whole number that a number is, None for all else."""
    if isinstance(value, bool | np.bool_ | np.timedelta64):
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


def checked_labels(values: Iterable[Label], name: str, booleans: bool = False) -> tuple[Label, ...]:
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
