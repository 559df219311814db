"""Formulas and conditions on many made rows at once: what engines compute of a row, in numpy.

Rows are indices above each column's lower bound, -1 where missing.  A number that is missing is NaN.  A condition comes
to what it comes to in a `where`: false where a value is missing.  In a rule it is left open there, as in a CHECK of
SQL: a truth value then is neither true nor false.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.queries.conditions import Test
from sfumato.queries.formulas import COMPARED, NUMBER, TRUTH, Term
from sfumato.spaces import Numeric, Space, numeric
from sfumato.spaces.dates import FIRST, LAST, PART_OF_DAY
from sfumato.spaces.schema import Schema

__all__ = ["Made", "Truth", "indexed"]

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """In which rows something is true, and in which it is false; in others it is open."""

    yes: Flags
    no: Flags

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.yes & other.yes, self.no | other.no)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.yes | other.yes, self.no & other.no)

    def __invert__(self) -> Truth:
        return Truth(self.no, self.yes)


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """Made rows; `leaves_open`: whether what is missing leaves a comparison open, or makes it false."""

    schema: Schema
    rows: Mapping[str, Whole]
    leaves_open: bool = False

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.rows.values())))

    def truth(self, term: Term) -> Truth:
        """What a condition comes to."""
        if term.operation == "constant":
            held = np.full(self.count, bool(term.value))
            return Truth(held, ~held)
        if term.operation == "condition":
            return term.value.holds(self._tested)  # type: ignore[no-any-return]
        if term.operation in COMPARED:
            one, other = (self.number(part) for part in term.parts)
            return self._told(COMPARISONS[term.operation](one, other), np.isnan(one) | np.isnan(other))
        parts = [self.truth(part) for part in term.parts]
        if term.operation == "if":
            wanted, chosen, otherwise = parts
            return (wanted & chosen) | (~wanted & otherwise) | (chosen & otherwise)
        return ~parts[0] if term.operation == "not" else reduce(JOINS[term.operation], parts)

    def number(self, term: Term) -> Reals:
        """A number for each row, NaN where there is none."""
        with np.errstate(all="ignore"):
            if term.operation == "constant":
                return np.full(self.count, float(term.value))
            if term.operation in ("number", "label"):
                return self._column(term.value)
            if term.operation == "if":
                return np.where(self._chosen(term), *(self.number(part) for part in term.parts[1:]))
            parts = [self.number(part) for part in term.parts]
            if term.operation in PART_OF_DAY:
                days = np.clip(np.nan_to_num(parts[0]), FIRST, LAST)
                return np.where(np.isnan(parts[0]), np.nan, PART_OF_DAY[term.operation](days))
            if term.operation == "hour":
                return np.asarray(np.floor(parts[0] * term.value))
            return np.asarray(ARITHMETIC[term.operation](*parts), dtype=np.float64)

    def text(self, term: Term) -> npt.NDArray[np.object_]:
        """A label for each row, None where there is none."""
        if term.operation == "constant":
            return np.full(self.count, term.value, dtype=object)
        if term.operation == "if":
            return np.where(self._chosen(term), *(self.text(part) for part in term.parts[1:]))
        labels = np.array([*(self.schema.space(term.value).labels or ()), None], dtype=object)
        return labels[self.rows[term.value]]  # -1, which is missing, takes the last

    def _chosen(self, term: Term) -> Flags:
        return Made(self.schema, self.rows).truth(term.parts[0]).yes

    def _column(self, name: str) -> Reals:
        held, space = self.rows[name], self.schema.space(name)
        if numeric(space):
            found = space.lattice.values(held + space.lattice.low)
        else:
            found = np.array([float(label) for label in space.labels or ()] + [np.nan])[held]
        return np.where(held < 0, np.nan, found)

    def _tested(self, test: Test) -> Truth:
        held = self.rows[test.column]
        if test.kind == "missing":
            return Truth(held < 0, held >= 0)
        space = self.schema.space(test.column)
        if test.kind == "between":
            low, high = (test.box() or {}).get(test.column, (1, 0))
            points = held + self.schema.lattice(test.column).low
            return self._told((points >= low) & (points <= high), held < 0)
        wanted = [place for place, label in enumerate(space.labels or ()) if test.passes(label)]
        return self._told(np.isin(held, wanted), held < 0)

    def _told(self, held: Flags, missing: Flags) -> Truth:
        yes = held & ~missing
        return Truth(yes, ~yes & ~missing if self.leaves_open else ~yes)


def indexed(made: Made, term: Term, space: Space) -> tuple[Whole, Flags]:
    """The indices that a formula's values take in a space, and where they are values of it, not clipped or unknown."""
    if numeric(space):
        return _nearest(made.number(term), space)
    if term.sort == TRUTH:
        values: npt.NDArray[Any] = made.truth(term).yes.astype(object)
    else:
        values = made.number(term) if term.sort == NUMBER else made.text(term)
    missing = np.isnan(values) if term.sort == NUMBER else np.array([value is None for value in values], dtype=bool)
    places, labels = np.full(made.count, -1, dtype=np.int64), space.labels or ()
    for value in {None, *values[~missing].tolist()}:
        label = space.coerce(value)
        here = missing if value is None else ~missing & (values == value)
        places[here] = -1 if label is None else labels.index(label)
    return places, missing | (places >= 0)


def _nearest(values: Reals, space: Numeric) -> tuple[Whole, Flags]:
    """The nearest points of a lattice, as `Lattice.index` finds them."""
    lattice, form = space.lattice, space.form
    missing = np.isnan(values) | np.isin(values, getattr(form, "codes", ()))
    scaled = lattice.scaled(np.where(missing, 0.0, values))  # type: ignore[arg-type]
    nearest = np.floor(np.clip(scaled, -(2.0**60), 2.0**60) + 0.5)
    stands = getattr(form, "missing", None)
    places = np.clip(nearest, lattice.low, lattice.high).astype(np.int64) - lattice.low
    places[missing] = -1 if stands is None else stands - lattice.low
    return places, missing | ((nearest >= lattice.low) & (nearest <= lattice.high))


JOINS: dict[str, Callable[[Truth, Truth], Truth]] = {"and": operator.and_, "or": operator.or_}
COMPARISONS: dict[str, Callable[[Reals, Reals], Flags]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda one, other: np.where(other == 0, np.nan, one / other),
    "min": lambda *numbers: reduce(np.minimum, numbers),
    "max": lambda *numbers: reduce(np.maximum, numbers),
    "abs": np.abs,
    "floor": np.floor,
    "log": lambda one: np.where(one > 0, np.log(one), np.nan),
    "exp": np.exp,
}
