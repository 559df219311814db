"""A sanitized table as a question: which columns, and which of them are one thing; its answer is a view of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from sfumato import arguments
from sfumato.answers.rows import RowsAnswer
from sfumato.answers.statements import Accuracy, NotStated
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.view import SecretView
from sfumato.queries.whole import WholeTable, must_be_whole
from sfumato.spaces import Space, numeric
from sfumato.spaces.schema import Schema

__all__ = ["Sanitized", "SanitizedRows", "Subject", "Together", "alone", "asked_of", "sanitized", "together"]

LEAST = ("spread", "distance")  # what the noise makes least
MOST_ITEMS = 62  # of a set, which travels as the bits of a whole number


@dataclass(frozen=True, slots=True)
class Together:
    """Columns that form one vector; with `basis`, a curve kept through that many leading cosines.

    One column alone is a column of curves, and has a basis.
    """

    columns: tuple[str, ...]
    basis: int | None = None

    def __post_init__(self) -> None:
        alone = len(self.columns) == 1 and self.basis is not None
        if len(self.columns) < 2 and not alone:
            raise ParameterError("columns must name at least two numbers to perturb together")
        _must_fit(self.basis, None if alone else len(self.columns))


def _must_fit(basis: int | None, points: int | None) -> None:
    """Refuse more cosines than a curve has points."""
    if basis is None:
        return
    if isinstance(basis, bool) or not isinstance(basis, int) or basis < 1 or (points is not None and basis > points):
        most = "on" if points is None else f"to the number of points ({points})"
        raise ParameterError(f"basis must be from 1 {most}, got {basis!r:.40}")


def together(*columns: str, basis: int | None = None) -> Together:
    """Numbers of one width that are one thing: a vector, an image, or (with `basis`) a curve, also one of `Curves`.

    >>> together("h0", "h1", "h2", basis=2)
    Together(columns=('h0', 'h1', 'h2'), basis=2)
    """
    return Together(columns, basis)


Subject = str | Together


@dataclass(frozen=True, slots=True)
class Sanitized:
    """A perturbed copy of some columns (all of them by default), record by record.

    `least` is what the noise makes least: "spread", of means and frequencies that are read from the table without
    bias, or "distance", of each record from the truth.
    """

    kind: ClassVar[str] = "sanitized"

    subjects: tuple[Subject, ...] | None = None
    least: str = "spread"

    def __post_init__(self) -> None:
        if not isinstance(self.least, str) or self.least not in LEAST:
            raise ParameterError(f"least must be one of {', '.join(map(repr, LEAST))}, got {self.least!r:.40}")
        for one in self.subjects or ():
            arguments.instance("each of columns", one, str | Together, "a column's name or together(...)")

    def subject(self) -> str:
        """What is asked, readable."""
        return "sanitized " + ("table" if self.subjects is None else ", ".join(_names(self.subjects)))

    def to_record(self) -> dict[str, object]:
        """Plain values; what is left out is the default."""
        record: dict[str, object] = {} if self.least == "spread" else {"least": self.least}
        return record | ({} if self.subjects is None else {"columns": [_subject_record(one) for one in self.subjects]})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Sanitized:
        """What `to_record`, or a plan, describes."""
        unknown = sorted(record.keys() - {"columns", "least"})
        if unknown:
            raise SchemaError(f"a sanitized query has no part {unknown[0]!r}; known are columns and least")
        columns, least = record.get("columns"), record.get("least", "spread")
        if columns is None:
            return cls(None, least)
        if not isinstance(columns, list | tuple):
            raise SchemaError(f"{FORM}, got {columns!r:.60}")
        return cls(tuple(_subject_from(one) for one in columns), least)

    def bind(self, query: Query, schema: Schema) -> SanitizedRows:
        """The question about a table with this schema."""
        must_be_whole(query, "a sanitized table")
        if schema.fixed_size is None:
            raise UnsupportedQuery(
                "sanitizing publishes one row for each record, so the number of rows must be public: declare the "
                "schema with adjacency=Replace(), one row a unit, and size="
            )
        named = tuple(schema.held) if self.subjects is None else self.subjects
        subjects = tuple(_entries(field, schema) for one in named for field in _fields(one, schema))
        _must_be_sanitizable(schema, subjects)
        return SanitizedRows(query, schema, subjects, self.least)


def sanitized(columns: Sequence[Subject] | None = None, *, least: str = "spread") -> Query:
    """A perturbed copy of the table, record by record (all columns by default): every later query on it is free.

    Needs replacement adjacency, since the number of rows is published.  Columns that are one thing (a vector, an
    image, a curve) are named by `together(...)`; an array is all its entries together, a record its fields one by one,
    a column of `Curves` the values at its points, or with `together("h", basis=5)` its leading cosines.
    With `least="distance"` numbers, and categories with distances of their own, are published as near to the truth as
    any randomizer can; by default the noise is the one from which means and frequencies are read best.
    """
    return Query(Sanitized(None if columns is None else arguments.several("columns", columns), least))


class Randomizer(Protocol):
    """A mechanism that perturbs records."""

    def accuracy(self) -> str:
        """The mean error of each column, in words."""


@dataclass(frozen=True, slots=True)
class SanitizedRows(WholeTable):
    """A sanitized table bound to a schema: what is perturbed by itself, and what together."""

    query: Query
    schema: Schema
    subjects: tuple[Subject, ...]
    least: str = "spread"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read and published."""
        return _names(self.subjects)

    @property
    def is_smoothed(self) -> bool:
        """Whether some curve is kept through its leading cosines."""
        return any(isinstance(one, Together) and one.basis is not None for one in self.subjects)

    @property
    def name(self) -> str:
        """The name unless another is given."""
        return "sanitized " + ", ".join(self.columns)

    def specification(self) -> dict[str, object]:
        """What makes it the same table again: the columns, groups with their basis, and what is least."""
        groups = (([*one.columns], one.basis) if isinstance(one, Together) else (one, None) for one in self.subjects)
        specification: dict[str, object] = {"columns": [[*group] for group in groups]}
        return specification if self.least == "spread" else {**specification, "least": self.least}

    def answer(self, table: Source) -> SecretView:
        """A secret view of the columns."""
        return SecretView(table, self.columns)

    def accuracy(self, mechanism: Randomizer, beta: float) -> Accuracy:
        """The mean error of a record in each column, which no probability goes with."""
        return NotStated(mechanism.accuracy())

    def stored(self, output: object) -> dict[str, object]:
        """Nothing: the rows are stored as they are."""
        return {}

    def read(self, output: Mapping[str, object], mechanism: Randomizer) -> RowsAnswer:
        """The published records."""
        return RowsAnswer({name: output[name] for name in self.columns}, self.accuracy(mechanism, 0.05))


FORM = 'columns of a sanitized query are a list of names and of { together = ["x0", "x1"] }, with an optional basis'


def alone(subject: Subject) -> tuple[str, int | None]:
    """The one column of a subject, and how many cosines of it are kept, where it is a curve."""
    return (subject.columns[0], subject.basis) if isinstance(subject, Together) else (subject, None)


def _names(subjects: Sequence[Subject]) -> tuple[str, ...]:
    return tuple(name for one in subjects for name in (one.columns if isinstance(one, Together) else (one,)))


def _subject_record(one: Subject) -> object:
    if isinstance(one, str):
        return one
    return {"together": list(one.columns)} | ({} if one.basis is None else {"basis": one.basis})


def _subject_from(record: object) -> Subject:
    if isinstance(record, str):
        return record
    if not (isinstance(record, Mapping) and "together" in record and record.keys() <= {"together", "basis"}):
        raise SchemaError(f"{FORM}, got {record!r:.60}")
    return Together(arguments.names("together", record["together"]), record.get("basis"))


def _fields(one: Subject, schema: Schema) -> tuple[Subject, ...]:
    """A record as the columns of its fields; any other subject as it is."""
    if not isinstance(one, str) or one in schema.held or one not in schema.columns:
        return (one,)
    return tuple(name for name in schema.held if name.startswith(f"{one}."))


def _entries(one: Subject, schema: Schema) -> Subject:
    """An array as all its entries together; any other subject as it is."""
    entries = _named(one, schema.space(one)) if isinstance(one, str) else ()
    return one if not entries else together(*entries) if len(entries) > 1 else entries[0]


def _named(column: str, space: Space) -> tuple[str, ...]:
    return tuple(f"{column}{space.named_entry(place)}" for place in range(space.size or 0))


def asked_of(columns: Sequence[str], basis: int | None, schema: Schema) -> Subject:
    """The subject that a part with these columns was made for: an array where they are all its entries."""
    whole = schema.entry(columns[0])
    if whole is not None and basis is None and tuple(columns) == _named(whole[0], schema.space(whole[0])):
        return whole[0]
    return Together(tuple(columns), basis) if len(columns) > 1 or basis is not None else columns[0]


def _must_be_sanitizable(schema: Schema, subjects: tuple[Subject, ...]) -> None:
    if not subjects:
        raise ParameterError("columns is empty; name at least one column to sanitize")
    names = _names(subjects)
    for name in names:
        space = schema.space(name)
        if names.count(name) > 1:
            raise ParameterError(f"column {name!r} is named twice; each is published once")
        if not numeric(space) and space.items is None and space.curve is None:
            raise UnsupportedQuery(f"column {name!r} ({type(space).__name__}) cannot be sanitized; leave it out")
        if space.labels is None and len(space.items or ()) > MOST_ITEMS:
            raise UnsupportedQuery(f"column {name!r} has more than {MOST_ITEMS} items; declare fewer to sanitize it")
    for one in subjects:
        if isinstance(one, Together) and len(one.columns) == 1:
            curve = schema.space(one.columns[0]).curve
            if curve is None:
                raise UnsupportedQuery(f"basis= of one column is for Curves, which {one.columns[0]!r} is not")
            _must_fit(one.basis, len(curve.points))
