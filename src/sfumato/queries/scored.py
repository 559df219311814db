r"""One of several candidates by scores of one's own: questions that are counts or sums, the largest of which is sought.

Each score is a question that is bound to the schema by itself, so that how far one unit moves it, s_i, is known and not
declared.  Scores in different steps are counted in the largest step that divides them all.  Where a unit is added or
removed and no score can fall by a row that another rises by, all change in one direction, by amounts within max s_i of
one another; else by amounts within the sum of the two largest s_i (docs/proofs/scored.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.adjacency import AddRemove
from sfumato.queries.counts import CountDetails, Counts
from sfumato.queries.declared import DeclaredDetails, Score, best_subject, ends_of
from sfumato.queries.details import known_parts
from sfumato.queries.grouping import Cells
from sfumato.queries.popular import Popular
from sfumato.queries.query import Query
from sfumato.queries.question import Erring, Source
from sfumato.queries.total import SumDetails, Total
from sfumato.spaces import Label
from sfumato.spaces.categories import checked_labels
from sfumato.spaces.schema import Schema

__all__ = ["ChooseDetails", "Scored", "choose"]

MOST = 256  # candidates, each of which is a question to the engine
FARTHEST = 2**60  # from zero, in steps, that scores count
FORM = 'scores give each candidate its question, as in { young = { query = "count", where = "age < 30" } }'


@dataclass(frozen=True, slots=True)
class ChooseDetails:
    """The candidate whose score is the largest."""

    kind: ClassVar[str] = "choose"
    k: ClassVar[int] = 1
    column: ClassVar[str] = "candidate"

    candidates: tuple[Label, ...]
    scores: tuple[Query, ...]

    def __post_init__(self) -> None:
        checked_labels(self.candidates, "candidates")
        if not 2 <= len(self.candidates) <= MOST or len(self.scores) != len(self.candidates):
            raise ParameterError(f"scores must give a question to each of 2 to {MOST} candidates")
        for score in self.scores:
            arguments.instance("each score", score, Query, 'a question such as sf.count().where("age < 30")')
            if not isinstance(score.details, CountDetails | SumDetails) or score.keys or score.limits is not None:
                raise ParameterError(
                    f"a score is a count() or a sum(column), where one likes; {score.name!r:.80} is none: by makes "
                    "several of it, and per_person is said of the choice itself"
                )

    def subject(self) -> str:
        """What is asked."""
        return best_subject(self.candidates)

    def to_record(self) -> dict[str, Any]:
        """Plain values; a list, since the order of candidates is that of positions in stored outputs."""
        pairs = zip(self.candidates, self.scores, strict=True)
        return {"scores": [{"candidate": one, **score.to_record()} for one, score in pairs]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> ChooseDetails | DeclaredDetails:
        """What `to_record`, or a plan, describes: a list, or a table from candidates to questions."""
        if "score" in record:
            return DeclaredDetails.from_record(record)
        known_parts(cls.kind, record, "scores")
        given = record.get("scores", {})
        if isinstance(given, Mapping):
            given = [
                {"candidate": one, **score} if isinstance(score, Mapping) and "candidate" not in score else None
                for one, score in given.items()
            ]
        if not isinstance(given, list) or not all(isinstance(one, Mapping) and "candidate" in one for one in given):
            raise SchemaError(f"{FORM}, got {record.get('scores')!r:.60}")
        asked = [Query.from_record({part: held for part, held in one.items() if part != "candidate"}) for one in given]
        return cls(tuple(one["candidate"] for one in given), tuple(asked))

    def bind(self, query: Query, schema: Schema) -> Scored:
        """The question about a table with this schema."""
        if query.keys:
            raise UnsupportedQuery("a choice by one's own scores is one for all rows; narrow it with where, not by")
        found = Scored(query, schema, Cells(()))
        if found.spread == 0:
            raise UnsupportedQuery(
                "no row changes the scores, so that the choice is public; give scores that rows move"
            )
        return found


@dataclass(frozen=True)
class Scored(Popular):
    """A choice by whole scores, one a candidate."""

    @property
    def details(self) -> ChooseDetails:  # type: ignore[override]
        """The query's own parameters."""
        assert isinstance(self.query.details, ChooseDetails)
        return self.query.details

    @cached_property
    def items(self) -> tuple[Label, ...]:
        """The public candidates."""
        return self.details.candidates

    @cached_property
    def scores(self) -> tuple[Counts | Total, ...]:
        """The questions, each narrowed by the condition of the choice."""
        return tuple(self._bound(score) for score in self.details.scores)

    def _bound(self, score: Query) -> Counts | Total:
        asked = score if self.query.condition is None else score.where(self.query.condition)
        asked.bound_condition(self.schema)
        assert isinstance(asked.details, CountDetails | SumDetails)
        found = asked.details.over(asked, self.schema, Cells(()))
        if not (isinstance(found, Counts) or (isinstance(found, Total) and found.is_plain)):
            raise UnsupportedQuery(
                f"{asked.name!r:.80} is no score: take one number, without weight= (a derived column can multiply)"
            )
        return found

    @cached_property
    def unit(self) -> Fraction:
        """The step that scores are counted in."""
        steps = [_step(score) for score in self.scores]
        shared = math.lcm(*(step.denominator for step in steps))
        return Fraction(math.gcd(*(int(step * shared) for step in steps)), shared)

    @cached_property
    def moves(self) -> tuple[int, ...]:
        """How far one unit moves each score, in steps."""
        return tuple(score.coordinate_sensitivity() * int(_step(score) / self.unit) for score in self.scores)

    @property
    def spread(self) -> int:
        """How far apart the scores' changes can lie when one unit changes."""
        rising = all(_ends(score)[0] >= 0 for score in self.scores)
        falling = all(_ends(score)[1] <= 0 for score in self.scores)
        if isinstance(self.schema.adjacency, AddRemove) and (rising or falling):
            return max(self.moves)
        return sum(sorted(self.moves)[-2:])

    def answer(self, table: Source) -> npt.NDArray[np.int64]:
        """The exact, secret scores, of shape (1, candidates); those farther from zero than 2^60 steps count as that."""
        found = [int(score.answer(table)[0]) * int(_step(score) / self.unit) for score in self.scores]
        return np.array([[min(max(score, -FARTHEST), FARTHEST) for score in found]], dtype=np.int64)

    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the vector of all scores."""
        own = {"l1": sum(self.moves), "linf": max(self.moves)}
        return ceil_float(Fraction(own[norm])) if norm in own else round_up(math.hypot(*self.moves), 4)

    def accuracy(self, mechanism: Erring, beta: float) -> Accuracy:
        """How far below the best score the chosen one's can be."""
        return ErrorStatement("score", mechanism.error(beta) * float(self.unit), level_of(beta))


def choose(
    candidates: Mapping[Label, Query] | Sequence[Label],
    *,
    score: Score | None = None,
    named: str | None = None,
    columns: Sequence[str] = (),
    sensitivity: float | None = None,
    bounds: tuple[float, float] | None = None,
    monotone: bool = False,
) -> Query:
    """The candidate whose score is the largest: each a `count()` or `sum(column)`, `where` one likes.

    How far one row, or person, moves a score is found when the question is bound, from declared bounds.

    Or a list of candidates and `score`, a function that gets the rows (a mapping from each of `columns` to an array)
    and gives one number a candidate.  That one unit moves each by at most `sensitivity` (with `monotone`, all up or all
    down) is then your declaration, which is not checked: the session needs allow=["declared-sensitivity"].  Scores are
    clipped to `bounds`; where the function fails, or gives no number, the score is the lowest.  `named` stands for the
    function in the ledger: asked again under one name, the stored answer is given, whatever the function is by then.

    >>> from sfumato.queries import count
    >>> choose({"day": count().where("hour < 18"), "night": count().where("hour >= 18")}).name
    'best of day, night'
    """
    if score is not None:
        if named is None or sensitivity is None or bounds is None or isinstance(candidates, Mapping):
            raise ParameterError(
                "beside score= candidates are a list, and named=, columns=, sensitivity= and bounds= are needed: the "
                "function's name in the ledger, what it reads, how far one unit moves a score, and its ends"
            )
        listed, read = arguments.several("candidates", candidates), arguments.names("columns", columns)
        return Query(DeclaredDetails(listed, read, named, sensitivity, ends_of(bounds), monotone, score))
    plain = named is None and sensitivity is None and bounds is None and monotone is False
    if not plain or arguments.several("columns", columns):
        raise ParameterError("named=, columns=, sensitivity=, bounds= and monotone= are said beside score= only")
    given = arguments.mapping("candidates", candidates)
    return Query(ChooseDetails(tuple(given), tuple(given.values())))


def _step(score: Counts | Total) -> Fraction:
    """What one whole number of a score is worth."""
    return score.lattice.step if isinstance(score, Total) else Fraction(1)


def _ends(score: Counts | Total) -> tuple[int, int]:
    """What a row can add to a score, in its own steps."""
    return score.ends if isinstance(score, Total) else (0, 1)
