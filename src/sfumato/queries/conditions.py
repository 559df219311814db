"""Conditions that are bound to a schema, and how conditions join: what engines, bounds and readings look at.

A bound condition is made of tests of one column each.  Whoever evaluates it says what a test comes to (a truth value,
an engine's column, a vector), and `holds` joins these by `&`, `|` and `~`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.spaces import Label
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    from sfumato.queries.predicates import Predicate

__all__ = [
    "Between",
    "Both",
    "Condition",
    "Contains",
    "Either",
    "Missing",
    "Negated",
    "OneOf",
    "Starts",
    "Test",
    "narrowed",
]

Coerced = Any  # a lattice index, a label, a text, or a set of items
Box = dict[str, tuple[int, int]]  # the least and the greatest lattice index, by column


class Condition:
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

    def bind(self, schema: Schema) -> Predicate:
        """The same in the lattice indices and labels of a schema; one that is bound stays as it is."""
        return self  # type: ignore[return-value]

    def words(self) -> str:
        """As people write it."""
        return repr(self)

    def parts(self) -> tuple[Predicate, ...]:
        """The conditions that it joins."""
        return ()

    def tests(self) -> Iterator[Test]:
        """The tests that a bound condition is made of."""
        for part in self.parts():
            yield from part.tests()

    def holds(self, told: Callable[[Test], Any]) -> Any:
        """What a bound condition comes to, where `told` says it of each test."""
        return told(self)  # type: ignore[arg-type]

    def box(self) -> Box | None:
        """Ends that lattice indices have wherever a bound condition holds, of columns with some; None: nowhere."""
        return {}


class _Test(Condition):
    """A bound condition on one column."""

    __slots__ = ()

    def tests(self) -> Iterator[Test]:
        yield self  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Between(_Test):
    """The lattice index lies in `low..high` (inclusive)."""

    column: str
    low: int
    high: int
    kind: ClassVar[str] = "between"

    def passes(self, value: Coerced, blank: bool = False) -> bool:
        """Whether a coerced value passes, None for a missing one; `blank`: nothing stood there."""
        return value is not None and self.low <= value <= self.high

    def box(self) -> Box | None:
        """Its own ends."""
        return {self.column: (self.low, self.high)} if self.low <= self.high else None


@dataclass(frozen=True, slots=True)
class OneOf(_Test):
    """The category, or the text, is one of `labels`."""

    column: str
    labels: tuple[Label, ...]
    kind: ClassVar[str] = "one of"

    def passes(self, value: Coerced, blank: bool = False) -> bool:
        """Whether a coerced value passes."""
        return value in self.labels

    def box(self) -> Box | None:
        """Nowhere without labels."""
        return {} if self.labels else None


@dataclass(frozen=True, slots=True)
class Contains(_Test):
    """The set holds `item`."""

    column: str
    item: Label
    kind: ClassVar[str] = "contains"

    def passes(self, value: Coerced, blank: bool = False) -> bool:
        """Whether a coerced value passes."""
        return value is not None and self.item in value


@dataclass(frozen=True, slots=True)
class Starts(_Test):
    """The text begins with `prefix`."""

    column: str
    prefix: str
    kind: ClassVar[str] = "starts"

    def passes(self, value: Coerced, blank: bool = False) -> bool:
        """Whether a coerced value passes."""
        return value is not None and value.startswith(self.prefix)


@dataclass(frozen=True, slots=True)
class Missing(_Test):
    """Nothing stands there: null, NaN, a code for missing values, or what is no value of the column's kind at all.

    This looks at the value as it is stored, before `missing=` takes its place.  An unknown category is something.
    """

    column: str
    kind: ClassVar[str] = "missing"

    def passes(self, value: Coerced, blank: bool = False) -> bool:
        """Whether nothing stood there."""
        return blank


Test = Between | OneOf | Contains | Starts | Missing


@dataclass(frozen=True, slots=True)
class Both(Condition):
    """Both conditions hold."""

    one: Predicate
    other: Predicate

    def bind(self, schema: Schema) -> Predicate:
        """The same condition in lattice indices or labels."""
        return Both(self.one.bind(schema), self.other.bind(schema))

    def words(self) -> str:
        """The condition for a reader."""
        return f"({self.one.words()} and {self.other.words()})"

    def parts(self) -> tuple[Predicate, ...]:
        """The two."""
        return self.one, self.other

    def holds(self, told: Callable[[Test], Any]) -> Any:
        """What it comes to."""
        return self.one.holds(told) & self.other.holds(told)

    def box(self) -> Box | None:
        """Where both can hold."""
        one, other = self.one.box(), self.other.box()
        return None if one is None or other is None else narrowed(one, other)


@dataclass(frozen=True, slots=True)
class Either(Condition):
    """At least one of the conditions holds."""

    one: Predicate
    other: Predicate

    def bind(self, schema: Schema) -> Predicate:
        """The same condition in lattice indices or labels."""
        return Either(self.one.bind(schema), self.other.bind(schema))

    def words(self) -> str:
        """The condition for a reader."""
        return f"({self.one.words()} or {self.other.words()})"

    def parts(self) -> tuple[Predicate, ...]:
        """The two."""
        return self.one, self.other

    def holds(self, told: Callable[[Test], Any]) -> Any:
        """What it comes to."""
        return self.one.holds(told) | self.other.holds(told)

    def box(self) -> Box | None:
        """Where one can hold."""
        one, other = self.one.box(), self.other.box()
        if one is None or other is None:
            return other if one is None else one
        both = one.keys() & other.keys()
        return {name: (min(one[name][0], other[name][0]), max(one[name][1], other[name][1])) for name in both}


@dataclass(frozen=True, slots=True)
class Negated(Condition):
    """The condition does not hold."""

    one: Predicate

    def bind(self, schema: Schema) -> Predicate:
        """The same condition in lattice indices or labels."""
        return Negated(self.one.bind(schema))

    def words(self) -> str:
        """The condition for a reader."""
        return f"not {self.one.words()}"

    def parts(self) -> tuple[Predicate, ...]:
        """The one."""
        return (self.one,)

    def holds(self, told: Callable[[Test], Any]) -> Any:
        """What it comes to."""
        return ~self.one.holds(told)


def narrowed(one: Box, other: Box) -> Box | None:
    """The ends of both, None where some column has no place between them."""
    joined = {**one, **other}
    for name in one.keys() & other.keys():
        joined[name] = max(one[name][0], other[name][0]), min(one[name][1], other[name][1])
    return None if any(low > high for low, high in joined.values()) else joined
