"""Filters on declared columns, as values: `col("age") >= 18`, or the text "age >= 18 and state == 'CA'".

A condition looks at the coerced value.  Where that is missing, every comparison is false (and so
its negation with `not` is true).  Numbers are compared on the lattice, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import exact
from sfumato.queries.constants import named, plain_constant
from sfumato.schema import Schema
from sfumato.spaces import Categories, Dates, Integers, Interval, Label, Subsets

__all__ = [
    "Between",
    "Both",
    "Column",
    "Compare",
    "Contains",
    "Either",
    "Negated",
    "OneOf",
    "Predicate",
    "col",
    "columns_of",
    "condition_from",
    "condition_record",
]

OPERATORS = ("<", "<=", ">", ">=", "==", "!=", "in", "contains")
DEEPEST = 200  # conditions within conditions: far beyond what people write, within what engines compile
SHOWN = 10  # declared labels in a refusal


class _Condition:
    """The operators that build larger conditions from smaller ones."""

    __slots__ = ()

    def __and__(self, other: Predicate) -> Both:
        return Both(self, other)  # type: ignore[arg-type]

    def __or__(self, other: Predicate) -> Either:
        return Either(self, other)  # type: ignore[arg-type]

    def __invert__(self) -> Negated:
        return Negated(self)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        raise ParameterError("combine conditions with & and | and ~, not with 'and', 'or', 'not'")


@dataclass(frozen=True, slots=True)
class Compare(_Condition):
    """A column compared with a public constant, a plain value (of `in`, a tuple of them)."""

    column: str
    operator: str
    constant: Any

    def __post_init__(self) -> None:
        if not (isinstance(self.column, str) and self.column):
            raise ParameterError(f"a condition compares a column, named by a text, not by {type(self.column).__name__}")
        if self.operator not in OPERATORS:
            raise ParameterError(f"a condition compares by one of {', '.join(OPERATORS)}, got {self.operator!r:.40}")
        about = f"column {self.column!r}"
        if self.operator != "in":
            object.__setattr__(self, "constant", plain_constant(self.constant, about))
            return
        if isinstance(self.constant, str | bytes | Mapping) or not isinstance(self.constant, Iterable):
            raise ParameterError(f"{about} is looked up in a list such as ['CA', 'NY'], not in {self.constant!r:.60}")
        listed = sorted(self.constant, key=repr) if isinstance(self.constant, set | frozenset) else self.constant
        object.__setattr__(self, "constant", tuple(plain_constant(one, about) for one in listed))

    def bind(self, schema: Schema) -> Predicate:
        """The same condition in lattice indices or labels."""
        space = schema.space(self.column)
        if isinstance(space, Interval | Integers):
            return _numeric(self, space)
        if isinstance(space, Categories):
            return _categorical(self, space)
        if isinstance(space, Subsets) and self.operator == "contains":
            if self.constant not in space.of:
                near = _near(self.constant, space.of)
                raise SchemaError(f"{self.constant!r} is not a declared item of column {self.column!r}{near}")
            return Contains(self.column, self.constant)
        raise UnsupportedQuery(
            f"column {self.column!r} ({type(space).__name__}) cannot be filtered by {self.operator!r}"
        )

    def words(self) -> str:
        """The condition for a reader."""
        if self.operator == "contains":
            return f"{self.constant!r} in {named(self.column)}"
        constant = list(self.constant) if self.operator == "in" else self.constant
        return f"{named(self.column)} {self.operator} {constant!r}"


@dataclass(frozen=True, slots=True)
class Between(_Condition):
    """A bound condition: the lattice index lies in `low..high` (inclusive)."""

    column: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class OneOf(_Condition):
    """A bound condition: the category is one of `labels`."""

    column: str
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Contains(_Condition):
    """A bound condition: the set holds `item`."""

    column: str
    item: Label


@dataclass(frozen=True, slots=True)
class Both(_Condition):
    """Both conditions hold."""

    one: Predicate
    other: Predicate

    def bind(self, schema: Schema) -> Predicate:
        """The same condition in lattice indices or labels."""
        return Both(_bound(self.one, schema), _bound(self.other, schema))

    def words(self) -> str:
        """The condition for a reader."""
        return f"({_words(self.one)} and {_words(self.other)})"


@dataclass(frozen=True, slots=True)
class Either(_Condition):
    """At least one of the conditions holds."""

    one: Predicate
    other: Predicate

    def bind(self, schema: Schema) -> Predicate:
        """The same condition in lattice indices or labels."""
        return Either(_bound(self.one, schema), _bound(self.other, schema))

    def words(self) -> str:
        """The condition for a reader."""
        return f"({_words(self.one)} or {_words(self.other)})"


@dataclass(frozen=True, slots=True)
class Negated(_Condition):
    """The condition does not hold."""

    one: Predicate

    def bind(self, schema: Schema) -> Predicate:
        """The same condition in lattice indices or labels."""
        return Negated(_bound(self.one, schema))

    def words(self) -> str:
        """The condition for a reader."""
        return f"not {_words(self.one)}"


Predicate = Compare | Between | OneOf | Contains | Both | Either | Negated


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A declared column inside a condition."""

    name: str

    def __post_init__(self) -> None:
        arguments.text("name of a column", self.name)

    def __eq__(self, constant: object) -> Compare:  # type: ignore[override]
        return Compare(self.name, "==", constant)

    def __ne__(self, constant: object) -> Compare:  # type: ignore[override]
        return Compare(self.name, "!=", constant)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, constant: float) -> Compare:
        return Compare(self.name, "<", constant)

    def __le__(self, constant: float) -> Compare:
        return Compare(self.name, "<=", constant)

    def __gt__(self, constant: float) -> Compare:
        return Compare(self.name, ">", constant)

    def __ge__(self, constant: float) -> Compare:
        return Compare(self.name, ">=", constant)

    def isin(self, labels: Iterable[Label]) -> Compare:
        """Whether the category is one of `labels`."""
        return Compare(self.name, "in", labels)

    def contains(self, item: Label) -> Compare:
        """Whether the set holds `item`."""
        return Compare(self.name, "contains", item)


def col(name: str) -> Column:
    """A column, to build a condition from.

    >>> (col("age") >= 18).words()
    'age >= 18'
    """
    return Column(name)


def condition_record(condition: Predicate) -> dict[str, Any]:
    """A condition as plain values: `column`, `is` and `constant`, or `all`, `any`, `not`.

    >>> condition_record((col("age") >= 18) & ~(col("first name") == "Jo"))["all"][1]
    {'not': {'column': 'first name', 'is': '==', 'constant': 'Jo'}}
    """
    if isinstance(condition, Compare):
        constant = list(condition.constant) if condition.operator == "in" else condition.constant
        return {"column": condition.column, "is": condition.operator, "constant": constant}
    if isinstance(condition, Negated):
        return {"not": condition_record(condition.one)}
    if not isinstance(condition, Both | Either):
        raise ParameterError("a condition is built from col(...) or written as a text; a bound one has no record")
    kind, parts = type(condition), []
    while isinstance(condition, kind):  # joined from the left: one flat list
        parts.append(condition.other)
        condition = condition.one
    records = [condition_record(part) for part in (condition, *reversed(parts))]
    return {"all" if kind is Both else "any": records}


def condition_from(record: Any) -> Predicate:
    """The condition that `condition_record` wrote."""
    match record:
        case {"column": str(column), "is": str(operator), "constant": constant, **rest} if not rest:
            return Compare(column, operator, constant)
        case {"not": one, **rest} if not rest:
            return Negated(condition_from(one))
        case {"all": [first, *others], **rest} if others and not rest:
            return _joined(Both, first, others)
        case {"any": [first, *others], **rest} if others and not rest:
            return _joined(Either, first, others)
    raise SchemaError(
        'a condition is a text, or { column = "age", is = ">=", constant = 18 }, or { all = [...] }, { any = [...] } '
        "with at least two conditions in it, or { not = ... }"
    )


def _joined(kind: type[Both] | type[Either], first: Any, others: list[Any]) -> Predicate:
    result = condition_from(first)
    for other in others:
        result = kind(result, condition_from(other))
    return result


def columns_of(condition: Predicate | None) -> tuple[str, ...]:
    """The columns that a condition looks at, each once, in the order of their mention; too deep a one is refused."""
    found: dict[str, None] = {}
    waiting = [] if condition is None else [(condition, 1)]
    while waiting:
        one, depth = waiting.pop()
        if depth > DEEPEST:
            raise ParameterError(
                f"a condition joins or nests more than {DEEPEST} others; write a list with `in`, or split the question"
            )
        if isinstance(one, Both | Either):
            waiting += [(one.other, depth + 1), (one.one, depth + 1)]
        elif isinstance(one, Negated):
            waiting.append((one.one, depth + 1))
        elif one is not None:
            found[one.column] = None
    return tuple(found)


def _bound(condition: Predicate, schema: Schema) -> Predicate:
    return condition.bind(schema) if hasattr(condition, "bind") else condition


def _words(condition: Predicate) -> str:
    return condition.words() if hasattr(condition, "words") else repr(condition)


def _near(label: object, declared: tuple[Label, ...]) -> str:
    """The declared label that is most likely meant."""
    texts = {str(one).casefold(): one for one in declared}
    close = get_close_matches(str(label).casefold()[:200], texts, n=1)
    if close:
        return f"; did you mean {texts[close[0]]!r}?"
    return f"; declared are {', '.join(map(repr, declared[:SHOWN]))}{', ...' if len(declared) > SHOWN else ''}"


def _numeric(condition: Compare, space: Interval | Integers) -> Predicate:
    lattice, column = space.lattice, condition.column
    if condition.operator not in ("<", "<=", ">", ">=", "==", "!="):
        raise UnsupportedQuery(f"column {column!r} is a number; compare it with <, <=, >, >=, == or !=")
    constant = space.day(condition.constant) if isinstance(space, Dates) else condition.constant
    wanted = exact(constant, f"the constant compared with {column!r}") / lattice.step
    point = min(max(wanted, Fraction(lattice.low - 1)), Fraction(lattice.high + 1))  # engines count in 64 bits
    below = Between(column, lattice.low, math.ceil(point) - 1)
    above = Between(column, math.floor(point) + 1, lattice.high)
    at = Between(column, math.ceil(point), math.floor(point))
    upto, onward = Between(column, lattice.low, at.high), Between(column, at.low, lattice.high)
    choices: dict[str, Predicate] = {"<": below, ">": above, "==": at, "<=": upto, ">=": onward}
    return choices.get(condition.operator, Either(below, above))


def _categorical(condition: Compare, space: Categories) -> Predicate:
    column, operator = condition.column, condition.operator
    chosen = tuple(condition.constant) if operator == "in" else (condition.constant,)
    unknown = [label for label in chosen if label not in space.values]
    if unknown:
        raise SchemaError(
            f"{unknown[0]!r} is not a declared category of column {column!r}{_near(unknown[0], space.values)}"
        )
    if operator not in ("==", "!=", "in"):
        raise UnsupportedQuery(f"column {column!r} holds categories; compare it with ==, != or isin")
    rest = tuple(label for label in space.values if label not in chosen)
    return OneOf(column, rest if operator == "!=" else chosen)
