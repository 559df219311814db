"""Formulas of derived columns, bound to a schema: what engines compute row by row, and plain Python for one row.

Definition.  A formula maps the coerced declared columns of one row to a number, a truth value or a label; the space of
the derived column coerces that.  Every operation is total: what has no value (division by zero, the logarithm of a
number that is not positive, NaN, anything computed from a missing value) is missing; what is too large is infinite and
clips.  Comparisons with missing values are false, as in conditions.

Guarantee.   A derived column is a function of its row alone, and never decides which rows of a person are kept.  So it
changes no distance between tables, and questions about it have the sensitivities that its space gives
(docs/proofs/derived.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import SchemaError, SfumatoError
from sfumato.queries.conditions import OneOf
from sfumato.queries.constants import unicode
from sfumato.queries.parsing import simple
from sfumato.queries.predicates import Predicate, columns_of
from sfumato.spaces import Space, numeric
from sfumato.spaces.dates import PART_OF_DAY, Dates
from sfumato.spaces.derived import PARTS
from sfumato.spaces.duration import UNITS
from sfumato.spaces.grammar import Call, Literal, Name, Tree, refusal
from sfumato.spaces.schema import Schema

__all__ = [
    "LABEL",
    "NUMBER",
    "TRUTH",
    "Term",
    "blank_value",
    "coerced_value",
    "dates_in",
    "evaluated",
    "formula",
    "sort_of",
    "term_of",
]

NUMBER, TRUTH, LABEL = "a number", "true or false", "a text"
ARITHMETIC = {"+": (2, 2), "-": (2, 2), "*": (2, 2), "/": (2, 2), "min": (2, 20), "max": (2, 20), "abs": (1, 1),
              "floor": (1, 1), "log": (1, 1), "exp": (1, 1)}  # fmt: skip
COMPARED = ("<", "<=", ">", ">=", "==", "!=")
MOST_TERMS = 500
SHOWN = 60  # characters of a text that is refused
LARGEST_EXPONENT = 709.0  # of exp within doubles
Value = Any  # a number, a truth value, a label; of terms also a column or a bound condition
EXAMPLES = "known are + - * /, min, max, abs, floor, log, exp, a if b else c, year, quarter, month, day, weekday, hour"


@dataclass(frozen=True, slots=True)
class Term:
    """An operation, what it is applied to, and what it gives; `value` is a constant, a column or a bound condition."""

    operation: str
    sort: str
    parts: tuple[Term, ...] = ()
    value: Value = None

    def conditions(self) -> list[Predicate]:
        """The bound conditions within."""
        found = [self.value] if self.operation == "condition" else []
        return found + [condition for part in self.parts for condition in part.conditions()]


def formula(schema: Schema, column: str) -> Term:
    """The bound formula of a derived column; whatever is wrong with it is found here."""
    computed = schema.origin(column)
    assert computed is not None
    if not computed.columns:
        raise SchemaError(f"derived column {column!r}: its formula names no column")
    term = term_of(schema, computed.tree, computed.formula)
    wanted = sort_of(computed.space)
    if term.sort != wanted:
        raise SchemaError(
            f"derived column {column!r} is declared as {type(computed.space).__name__}, which takes {wanted}, but its "
            f"formula gives {term.sort}; declare another space or change the formula"
        )
    return term


def term_of(schema: Schema, tree: Tree, text: str, kind: str = "formula") -> Term:
    """A tree of the grammar, bound to a schema; `kind` is what the text is called where it has to be refused."""
    reader = _Reader(schema, text, kind)
    term = reader.read(tree)
    if reader.terms > MOST_TERMS:
        raise SchemaError(f"the {kind} {text[:SHOWN]!r} has more than {MOST_TERMS} terms")
    return term


def sort_of(space: Space) -> str:
    """What a formula has to give for a column with this space."""
    if space.labels is None:
        return NUMBER
    return LABEL if isinstance(space.labels[0], str) else TRUTH if isinstance(space.labels[0], bool) else NUMBER


class _Reader:
    """From the grammar's trees to bound terms."""

    def __init__(self, schema: Schema, text: str, kind: str) -> None:
        self.schema, self.text, self.kind, self.terms = schema, text, kind, 0

    def read(self, tree: Tree) -> Term:
        """The term of a tree."""
        self.terms += 1
        if isinstance(tree, Literal):
            return self._constant(tree)
        if isinstance(tree, Name):
            return self._column(tree)
        if tree.function in PARTS and len(tree.parts) == 1:
            return self._part(tree)
        if tree.function == "if" and len(tree.parts) == 3:
            return self._choice(tree)
        if tree.function in ("and", "or", "not"):
            return Term(tree.function, TRUTH, tuple(self._of(TRUTH, part) for part in tree.parts))
        if tree.function in ARITHMETIC:
            least, most = ARITHMETIC[tree.function]
            if not least <= len(tree.parts) <= most:
                raise self._wrong(tree, f"{tree.function} takes {least if least == most else 'two or more'} numbers")
            return Term(tree.function, NUMBER, tuple(self._of(NUMBER, part) for part in tree.parts))
        return self._tested(tree)

    def _constant(self, tree: Literal) -> Term:
        if isinstance(tree.value, bool):
            return Term("constant", TRUTH, value=tree.value)
        if isinstance(tree.value, str) and not unicode(tree.value):
            raise self._wrong(tree, "this text is not Unicode")
        if isinstance(tree.value, str):
            return Term("constant", LABEL, value=tree.value)
        if not abs(tree.value) < 1e300:
            raise self._wrong(tree, "a constant is smaller than 1e300")
        return Term("constant", NUMBER, value=float(tree.value))

    def _column(self, tree: Name) -> Term:
        space = self.schema.space(tree.text)
        if numeric(space):
            return Term("number", NUMBER, value=tree.text)
        if space.labels is not None and sort_of(space) == TRUTH:
            return Term("condition", TRUTH, value=OneOf(tree.text, (True,)))
        if space.labels is not None:
            return Term("label", sort_of(space), value=tree.text)
        kind = type(space).__name__
        raise self._wrong(tree, f"column {tree.text!r} ({kind}) is no number and no category; test it, as in: a in it")

    def _part(self, tree: Call) -> Term:
        (inner,) = tree.parts
        if not isinstance(inner, Name):
            raise self._wrong(tree, f"{tree.function} takes a declared column of dates, durations or times")
        space = self.schema.held[inner.text]
        if space.part(tree.function) is None:
            raise self._wrong(tree, f"column {inner.text!r} ({type(space).__name__}) has no {tree.function}")
        return Term(tree.function, NUMBER, (Term("number", NUMBER, value=inner.text),), _hours(space))

    def _choice(self, tree: Call) -> Term:
        wanted, chosen, other = (self.read(part) for part in tree.parts)
        if wanted.sort != TRUTH:
            raise self._wrong(tree.parts[0], "if is followed by a condition such as age >= 18")
        if chosen.sort != other.sort:
            raise self._wrong(
                tree, f"before if stands {chosen.sort}, after else {other.sort}; both must be of one kind"
            )
        return Term("if", chosen.sort, (wanted, chosen, other))

    def _tested(self, tree: Call) -> Term:
        """A condition on one column, or a comparison of two numbers."""
        if tree.function == "between" and len(tree.parts) == 3:
            middle, low, high = tree.parts
            both = Call(">=", (middle, low), tree.place), Call("<=", (middle, high), tree.place)
            return Term("and", TRUTH, tuple(self._tested(one) for one in both))
        found = simple(tree)
        if found is not None and set(columns_of(found)) <= set(self.schema.held):
            try:
                return Term("condition", TRUTH, value=found.bind(self.schema))
            except SfumatoError as wrong:
                raise self._wrong(tree, str(wrong)) from None
        if tree.function in COMPARED:
            parts = tuple(self._of(NUMBER, part) for part in tree.parts)
            counts = {dates_in(part, self.schema) for part in parts} - {None}
            if len(counts) > 1:
                raise self._wrong(tree, "a date is compared with a date, days with days; the year of a date is year(d)")
            return Term(tree.function, TRUTH, parts)
        if tree.function == "in" and isinstance(tree.parts[1], Call) and tree.parts[1].function == "list":
            each = (Call("==", (tree.parts[0], one), tree.place) for one in tree.parts[1].parts)
            return Term("or", TRUTH, (Term("constant", TRUTH, value=False), *(self._tested(one) for one in each)))
        raise self._wrong(tree, f"there is no function {tree.function}; {EXAMPLES}")

    def _of(self, sort: str, tree: Tree) -> Term:
        term = self.read(tree)
        if term.sort != sort:
            raise self._wrong(tree, f"expected {sort}, this is {term.sort}")
        return term

    def _wrong(self, tree: Tree, reason: str) -> SchemaError:
        return refusal(self.kind, self.text, tree.place, reason)


def dates_in(term: Term, schema: Schema) -> int | None:
    """How many dates a number adds up, those taken away less: 1 is a date, 0 are days; None where nobody can tell."""
    if term.operation == "number":
        return int(schema.space(term.value).part("month") is not None)
    found = [dates_in(part, schema) for part in term.parts if part.sort == NUMBER and term.operation not in PARTS]
    counts = [count for count in found if count is not None]
    if len(counts) < len(found):
        return None
    if term.operation in ("+", "-"):
        return counts[0] + (counts[1] if term.operation == "+" else -counts[1])
    alike = not any(counts) or (len(set(counts)) == 1 and term.operation in ("min", "max", "if"))
    return max(counts, default=0) if alike else None


def _hours(space: Space) -> float | None:
    """How many hours a unit of elapsed time has; times of day are counted in seconds."""
    return None if space.part("hour") is None else UNITS[space.to_record().get("unit", "seconds")] / 3600


def evaluated(term: Term, row: Mapping[str, Any], schema: Schema, blank: Mapping[str, bool]) -> Any:
    """The value of a formula on one row of coerced values (numbers as lattice indices), None where it is missing.

    `blank` says of columns whether nothing stood there.  What engines compute, operation by operation.
    """
    if term.operation == "constant":
        return term.value
    if term.operation == "label":
        label = row[term.value]
        return float(label) if isinstance(label, int) else label
    if term.operation == "number":
        index = row[term.value]
        return None if index is None else float(schema.lattice(term.value).values(index))
    if term.operation == "condition":
        return bool(term.value.holds(lambda test: np.bool_(test.passes(row[test.column], blank[test.column]))))
    parts = [evaluated(part, row, schema, blank) for part in term.parts]
    if term.operation in LOGIC:
        return LOGIC[term.operation](parts)
    if any(part is None for part in parts):
        return False if term.operation in COMPARED else None
    if term.operation in PART_OF_DAY:
        return float(PART_OF_DAY[term.operation](Dates.within(int(parts[0]))))
    if term.operation == "hour":
        return float(math.floor(parts[0] * term.value))
    value = PLAIN[term.operation](*parts)
    return None if isinstance(value, float) and math.isnan(value) else value


def coerced_value(space: Space, value: Value) -> Value:
    """What the space of a derived column makes of a formula's value: an index of its lattice, or a label; or None."""
    if numeric(space):
        lattice, missing = space.lattice, getattr(space.form, "missing", None)
        return missing if blank_value(space, value) else lattice.index(value)
    return space.coerce(value)


def blank_value(space: Space, value: Value) -> bool:
    """Whether a formula's value is missing, before the space puts anything in its place."""
    return value is None or (numeric(space) and value in getattr(space.form, "codes", ()))


def _quotient(a: float, b: float) -> float:
    return math.nan if b == 0 else a / b


def _exponential(a: float) -> float:
    return math.inf if a > LARGEST_EXPONENT else math.exp(a)


LOGIC: dict[str, Callable[[list[Any]], Any]] = {
    "and": all,
    "or": any,
    "not": lambda parts: not parts[0],
    "if": lambda parts: parts[1] if parts[0] else parts[2],
}
PLAIN: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _quotient,
    "min": min,
    "max": max,
    "abs": abs,
    "floor": lambda a: float(math.floor(a)) if math.isfinite(a) else a,
    "log": lambda a: math.log(a) if a > 0 else math.nan,
    "exp": _exponential,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
