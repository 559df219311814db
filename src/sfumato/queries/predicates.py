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
from sfumato.privacy.adjacency import Person
from sfumato.queries.conditions import (
    Between,
    Both,
    Condition,
    Contains,
    Either,
    Missing,
    Negated,
    OneOf,
    Starts,
)  # fmt: skip
from sfumato.queries.constants import plain_constant, unicode
from sfumato.spaces import Label, Numeric, numeric
from sfumato.spaces.derived import named
from sfumato.spaces.schema import Schema

__all__ = [
    "Between",
    "Both",
    "Column",
    "Compare",
    "Contains",
    "Either",
    "Missing",
    "Negated",
    "OneOf",
    "Predicate",
    "Starts",
    "col",
    "columns_of",
    "condition_from",
    "condition_record",
]

OPERATORS = ("<", "<=", ">", ">=", "==", "!=", "in", "contains", "startswith", "null")
DEEPEST = 200  # conditions within conditions: far beyond what people write, within what engines compile
SHOWN = 10  # declared labels in a refusal


@dataclass(frozen=True, slots=True)
class Compare(Condition):
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
        if self.operator == "null" and self.constant is not True:
            raise ParameterError(f"{about} is null or is not (which `not` says); the constant of a null test is true")
        if self.operator == "startswith" and not (isinstance(self.constant, str) and self.constant):
            raise ParameterError(f"{about} starts with a text such as 'Lj', not with {self.constant!r:.60}")
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
        if self.operator == "null":
            if space.curve is not None and isinstance(schema.unit, Person):
                raise UnsupportedQuery(
                    f"column {self.column!r} holds curves, which are read one row a unit: where persons are protected "
                    "no condition asks about them; protect rows, or store beside each curve whether it is there"
                )
            return Missing(self.column)
        if numeric(space):
            return _numeric(self, space)
        if space.labels is not None:
            return _categorical(self, space.labels)
        if space.longest is not None:
            return _textual(self, space.longest)
        if space.items is not None and self.operator == "contains":
            if self.constant not in space.items:
                near = _near(self.constant, space.items)
                raise SchemaError(f"{self.constant!r} is not a declared item of column {self.column!r}{near}")
            return Contains(self.column, self.constant)
        raise UnsupportedQuery(
            f"column {self.column!r} ({type(space).__name__}) cannot be filtered by {self.operator!r}"
        )

    def words(self) -> str:
        """The condition for a reader."""
        if self.operator == "contains":
            return f"{self.constant!r} in {named(self.column)}"
        if self.operator == "null":
            return f"{named(self.column)} is null"
        constant = list(self.constant) if self.operator == "in" else self.constant
        return f"{named(self.column)} {self.operator} {constant!r}"


Predicate = Compare | Between | OneOf | Contains | Starts | Missing | Both | Either | Negated


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
        """Whether the value is one of `labels`."""
        return Compare(self.name, "in", labels)

    def contains(self, item: Label) -> Compare:
        """Whether the set holds `item`."""
        return Compare(self.name, "contains", item)

    def between(self, low: object, high: object) -> Both:
        """Whether the value lies between the two, both included."""
        return Both(Compare(self.name, ">=", low), Compare(self.name, "<=", high))

    def startswith(self, prefix: str) -> Compare:
        """Whether the text begins with `prefix`."""
        return Compare(self.name, "startswith", prefix)

    def isnull(self) -> Compare:
        """Whether nothing stands there, whatever `missing=` puts in its place."""
        return Compare(self.name, "null", True)


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
        joined = one.parts()
        waiting += [(part, depth + 1) for part in reversed(joined)]
        if not joined:
            found[one.column] = None  # type: ignore[union-attr]
    return tuple(found)


def _near(label: object, declared: tuple[Label, ...]) -> str:
    """The declared label that is most likely meant."""
    texts = {str(one).casefold(): one for one in declared}
    close = get_close_matches(str(label).casefold()[:200], texts, n=1)
    if close:
        return f"; did you mean {texts[close[0]]!r}?"
    return f"; declared are {', '.join(map(repr, declared[:SHOWN]))}{', ...' if len(declared) > SHOWN else ''}"


def _numeric(condition: Compare, space: Numeric) -> Predicate:
    column, operator = condition.column, condition.operator
    if operator in ("contains", "startswith"):
        raise UnsupportedQuery(f"column {column!r} is a number; compare it with <, <=, >, >=, ==, != or in")
    if operator == "in":
        points = {_point(condition, space, one) for one in condition.constant}
        whole = sorted(int(point) for point in points if point.denominator == 1)
        return _any_of(column, [point for point in whole if space.lattice.low <= point <= space.lattice.high])
    lattice, point = space.lattice, _point(condition, space, condition.constant)
    below = Between(column, lattice.low, math.ceil(point) - 1)
    above = Between(column, math.floor(point) + 1, lattice.high)
    at = Between(column, math.ceil(point), math.floor(point))
    upto, onward = Between(column, lattice.low, at.high), Between(column, at.low, lattice.high)
    choices: dict[str, Predicate] = {"<": below, ">": above, "==": at, "<=": upto, ">=": onward}
    return choices.get(operator, Either(below, above))


def _point(condition: Compare, space: Numeric, constant: object) -> Fraction:
    """A constant in steps, at most one beyond the bounds: engines count in 64 bits."""
    wanted = exact(space.number(constant), f"the constant compared with {condition.column!r}") / space.lattice.step
    return min(max(wanted, Fraction(space.lattice.low - 1)), Fraction(space.lattice.high + 1))


def _any_of(column: str, points: list[int]) -> Predicate:
    """One of these points, which increase: their runs, joined in a balanced way; of none, never."""
    if not points:
        return Between(column, 1, 0)
    starts = [place for place, point in enumerate(points) if place == 0 or points[place - 1] < point - 1]
    ends = [place - 1 for place in [*starts[1:], len(points)]]
    runs: list[Predicate] = [Between(column, points[a], points[b]) for a, b in zip(starts, ends, strict=True)]
    while len(runs) > 1:
        pairs = [Either(one, other) for one, other in zip(runs[::2], runs[1::2], strict=False)]
        runs = [*pairs, *runs[len(pairs) * 2 :]]
    return runs[0]


def _categorical(condition: Compare, declared: tuple[Label, ...]) -> Predicate:
    column, operator = condition.column, condition.operator
    if operator == "startswith":
        return OneOf(column, tuple(label for label in declared if str(label).startswith(condition.constant)))
    chosen = tuple(condition.constant) if operator == "in" else (condition.constant,)
    unknown = [label for label in chosen if label not in declared]
    if unknown:
        raise SchemaError(
            f"{unknown[0]!r} is not a declared category of column {column!r}{_near(unknown[0], declared)}"
        )
    if operator not in ("==", "!=", "in"):
        raise UnsupportedQuery(f"column {column!r} holds categories; compare it with ==, != or isin")
    rest = tuple(label for label in declared if label not in chosen)
    return OneOf(column, rest if operator == "!=" else chosen)


def _textual(condition: Compare, longest: int) -> Predicate:
    """A text that nobody declared, compared with public ones; where it is missing, `!=` is false as all else."""
    column, operator = condition.column, condition.operator
    if operator not in ("==", "!=", "in", "startswith"):
        raise UnsupportedQuery(f"column {column!r} holds texts; compare it with ==, !=, in or startswith")
    chosen = tuple(condition.constant) if operator == "in" else (condition.constant,)
    for constant in chosen:
        if not isinstance(constant, str):
            raise SchemaError(f"column {column!r} holds texts; {constant!r:.60} is none: write it between quotes")
        if not unicode(constant):
            raise SchemaError(f"column {column!r} holds texts; the constant is not Unicode, so that none can equal it")
        if len(constant) > longest:
            raise SchemaError(
                f"texts of column {column!r} are cut after {longest} characters, so none can be {constant!r:.200}; "
                "declare a larger longest, or compare with startswith"
            )
    if operator == "startswith":
        return Starts(column, condition.constant)
    if operator == "!=":
        return Both(Starts(column, ""), Negated(OneOf(column, chosen)))
    return OneOf(column, chosen)
