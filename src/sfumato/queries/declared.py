r"""One of several candidates by a score that is a program: how far one unit moves it is declared, and never checked.

The program gets the coerced rows of the columns it names and gives a number for each candidate.  Numbers are clipped to
declared bounds and counted in whole steps, a thousandth of the declared sensitivity, from the lower one, rounded down;
what is no number counts as the lower bound, and so does every score where the program fails or gives another number of
them.  The declaration is about the scores so completed (docs/proofs/declared.md): guarantees name it as an assumption.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import ceil_float, round_up
from sfumato.queries.details import known_parts
from sfumato.queries.grouping import Cells
from sfumato.queries.popular import Popular
from sfumato.queries.query import Query
from sfumato.queries.question import Erring, Source
from sfumato.spaces import Label, numeric
from sfumato.spaces.categories import checked_labels
from sfumato.spaces.schema import Schema

__all__ = ["DeclaredDetails", "DeclaredScores", "Score", "best_subject", "ends_of", "must_have_program"]

FINE = 1000  # steps in the sensitivity; stored rates are in these steps
MOST = 10_000  # candidates
FARTHEST = 2**40  # steps between the bounds
NAMED = 3  # candidates that a name lists
PARTS = ("candidates", "columns", "score", "sensitivity", "bounds", "monotone")

Score = Callable[[Mapping[str, npt.NDArray[Any]]], Iterable[float]]


@dataclass(frozen=True, slots=True)
class DeclaredDetails:
    """The candidate whose score by a program is the largest; `score` is the program's name, which stands for it."""

    kind: ClassVar[str] = "choose"
    k: ClassVar[int] = 1
    column: ClassVar[str] = "candidate"

    candidates: tuple[Label, ...]
    columns: tuple[str, ...]
    score: str
    sensitivity: float
    bounds: tuple[float, float]
    monotone: bool = False
    program: Score | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checked_labels(self.candidates, "candidates")
        if not 2 <= len(self.candidates) <= MOST:
            raise ParameterError(f"candidates must be 2 to {MOST}, got {len(self.candidates)}")
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ParameterError("columns must name those that the score reads, each once")
        arguments.text("named", self.score)
        if arguments.number("sensitivity", self.sensitivity) <= 0:
            raise ParameterError(f"sensitivity must be positive, got {self.sensitivity}")
        low, high = (arguments.number("an end of bounds", end) for end in self.bounds)
        if not low < high or (Fraction(high) - Fraction(low)) / self.unit > FARTHEST:
            raise ParameterError(
                f"bounds must be the lowest and the highest score, at most {FARTHEST // FINE} sensitivities apart, got "
                f"{low} and {high}"
            )
        if not isinstance(self.monotone, bool):
            raise ParameterError(f"monotone must be True or False, got {self.monotone!r:.40}")
        if self.program is not None and not callable(self.program):
            raise ParameterError("score must be a function of the rows that gives one number a candidate")

    @property
    def unit(self) -> Fraction:
        """The step that scores are counted in."""
        return Fraction(self.sensitivity) / FINE

    def subject(self) -> str:
        """What is asked."""
        return f"{best_subject(self.candidates)} by {self.score}"

    def to_record(self) -> dict[str, Any]:
        """Plain values: the program by its name."""
        record: dict[str, Any] = {
            "candidates": list(self.candidates),
            "columns": list(self.columns),
            "score": self.score,
            "sensitivity": self.sensitivity,
            "bounds": list(self.bounds),
        }
        return {**record, "monotone": True} if self.monotone else record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> DeclaredDetails:
        """What `to_record` describes, without its program."""
        known_parts(cls.kind, record, *PARTS)
        missing = [part for part in PARTS[:-1] if part not in record]
        if missing:
            raise ParameterError(f"a choice by a program's score needs {', '.join(missing)}")
        return cls(
            arguments.several("candidates", record["candidates"]),
            arguments.names("columns", record["columns"]),
            record["score"],
            record["sensitivity"],
            ends_of(record["bounds"]),
            record.get("monotone", False),
        )

    def bind(self, query: Query, schema: Schema) -> DeclaredScores:
        """The question about a table with this schema."""
        if query.keys:
            raise UnsupportedQuery("a choice by one's own scores is one for all rows; narrow it with where, not by")
        for name in self.columns:
            space = schema.space(name)
            if not numeric(space) and space.labels is None:
                raise UnsupportedQuery(f"a score reads numbers, dates and categories; {name!r} is {space.kind}")
        return DeclaredScores(query, schema, Cells(()))


@dataclass(frozen=True)
class DeclaredScores(Popular):
    """A choice by whole scores that a program gives, one a candidate."""

    @property
    def details(self) -> DeclaredDetails:  # type: ignore[override]
        """The query's own parameters."""
        assert isinstance(self.query.details, DeclaredDetails)
        return self.query.details

    @property
    def assumptions(self) -> frozenset[str]:
        """That what was declared is true."""
        return frozenset({"declared-sensitivity"})

    @cached_property
    def items(self) -> tuple[Label, ...]:
        """The public candidates."""
        return self.details.candidates

    @property
    def spread(self) -> int:
        """How far apart the scores' changes can lie when one unit changes, if what was declared is true."""
        return FINE if self.details.monotone else 2 * FINE

    def answer(self, table: Source) -> npt.NDArray[np.int64]:
        """The exact, secret scores in steps above the lowest, of shape (1, candidates)."""
        return np.array([[self.steps(score) for score in self._judged(self._rows(table))]], dtype=np.int64)

    def steps(self, score: float) -> int:
        """A score in steps above the lowest: clipped, rounded down; 0 for what is no number."""
        low, high = self.details.bounds
        if not score > low:
            return 0
        return math.floor((Fraction(min(score, high)) - Fraction(low)) / self.details.unit)

    def _rows(self, table: Source) -> dict[str, npt.NDArray[Any]]:
        """The rows that meet the condition, column by column: floats, with NaN where missing, dates, or labels."""
        names = self.details.columns
        batches = list(table.rows(names, self.query.bound_condition(self.schema)))
        nothing = np.zeros(0, dtype=np.int64)
        held = {name: np.concatenate([nothing, *(batch[name] for batch in batches)]) for name in names}
        return {name: self._values(name, places) for name, places in held.items()}

    def _values(self, name: str, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Of one type whatever the rows hold."""
        missing, space = places < 0, self.schema.space(name)
        decoded = space.decoded(np.where(missing, 0, places), missing)
        if space.labels is not None:
            return np.array(decoded.to_pylist(), dtype=object)
        values: npt.NDArray[Any] = decoded.to_numpy(zero_copy_only=False)
        return values.astype(np.float64) if values.dtype.kind in "iu" else values

    def _judged(self, rows: Mapping[str, npt.NDArray[Any]]) -> list[float]:
        """One number a candidate, whatever the program does; what it prints is dropped, since it may hold data."""
        program, many = self.details.program, len(self.items)
        lowest = [-math.inf] * many
        if program is None:
            return lowest
        try:
            with np.errstate(all="ignore"), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                found = [float(score) for score in itertools.islice(program(rows), many + 1)]
        except (Exception, SystemExit, GeneratorExit):
            return lowest
        return found if len(found) == many else lowest

    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the vector of all scores, if what was declared is true."""
        many = len(self.items)
        return round_up(FINE * math.sqrt(many), 4) if norm == "l2" else ceil_float(
            Fraction(FINE * (many if norm == "l1" else 1))
        )  # fmt: skip

    def accuracy(self, mechanism: Erring, beta: float) -> Accuracy:
        """How far below the best score the chosen one's can be: besides the noise, a step of rounding."""
        most = round_up((mechanism.error(beta) + 1) * float(self.details.unit), 4)
        return ErrorStatement("score", most, level_of(beta), besides=(self._declared(),))

    def _declared(self) -> str:
        """What the guarantee takes for granted, in words."""
        details = self.details
        way = ", all up or all down" if details.monotone else ""
        return (
            f"that {self.schema.words()} moves a score by at most {details.sensitivity:g}{way} was declared by the "
            "steward and is not checked"
        )


def best_subject(candidates: tuple[Label, ...]) -> str:
    """What a choice asks, in words."""
    few = len(candidates) <= NAMED
    return f"best of {', '.join(map(str, candidates)) if few else f'{len(candidates)} candidates'}"


def ends_of(bounds: object) -> tuple[float, float]:
    """The lowest and the highest score."""
    ends = arguments.several("bounds", bounds)
    if len(ends) != 2:
        raise ParameterError(f"bounds must be the lowest and the highest score, got {len(ends)} numbers")
    return ends[0], ends[1]


def must_have_program(query: Query) -> None:
    """Refuse, before any charge, a choice by a program's score whose program is not at hand."""
    if isinstance(query.details, DeclaredDetails) and query.details.program is None:
        raise UnsupportedQuery(
            f"the score {query.details.score!r:.60} is a Python function, which no plan or file holds: ask for it in a "
            "session with sf.choose(candidates, score=..., ...), or give each candidate a count or a sum as its score"
        )
