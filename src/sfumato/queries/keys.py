"""Keys held by enough units (rows, or persons), and a question over them: what `by(discovered(column), ...)` asks.

Other keys beside the discovered one are public: the question is asked of every pair of a found and a public one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Answer
from sfumato.answers.statements import Accuracy, ErrorStatement, NotStated, level_of
from sfumato.errors import UnsupportedQuery
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Distinct
from sfumato.queries.counts import Counts
from sfumato.queries.details import Grouped
from sfumato.queries.grouping import Cells, Discovered, Key, bind_cells
from sfumato.queries.query import Query
from sfumato.queries.question import Bound, Erring, Question, Source
from sfumato.queries.vector import Bounds, Noise, Whole
from sfumato.spaces.schema import Schema

__all__ = ["STAND_INS", "Found", "KeyView", "Keys", "ShownCounts"]

STAND_INS = ("", " ")  # two keys stand for the unknown number of them, wherever only public quantities count


class Found(NamedTuple):
    """A public output: the keys that were found, and what a mechanism released for the question over them."""

    keys: tuple[str, ...]
    output: Any


@dataclass(frozen=True, slots=True)
class KeyView:
    """A secret view of a table: how many units hold each text, and whatever a question over found keys asks."""

    question: Keys
    table: Source

    def units(self) -> tuple[Sequence[str], Any]:
        """The texts that occur, sorted, and how many units hold each; an engine gives them in any order."""
        texts, counts = self.table.answer(self.question.statistic)
        places = sorted(range(len(texts)), key=texts.__getitem__)
        return [texts[place] for place in places], np.asarray(counts)[places]


@runtime_checkable
class Shown(Noise, Protocol):
    """Noise on counts that are shown from a threshold on."""

    def ends(self, shown: npt.NDArray[np.float64], beta: float) -> Bounds: ...


class ShownCounts(Counts):
    """Counts of discovered keys whose own noise carried them over the threshold."""

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The true counts that are not refused, given that the key is shown."""
        assert isinstance(noise, Shown)
        return noise.ends(self.estimate(noisy), beta)

    @property
    def case(self) -> tuple[str, ...]:
        """Near the threshold intervals reach down to a single holder."""
        return ("keys well above the threshold",)


class Discovering(Protocol):
    """A mechanism that discovers keys and answers over them."""

    @property
    def discovery(self) -> Erring: ...

    def over(self, keys: tuple[str, ...]) -> Any:
        """What answers over these keys; its `query` is the question over them."""


@dataclass(frozen=True, slots=True)
class Keys(Bound):
    """How many units hold each text, at most `per_unit` different ones each; then the query for each that is found."""

    query: Query
    schema: Schema

    def __post_init__(self) -> None:
        space = self.schema.space(self.column)
        if not space.discoverable:
            raise UnsupportedQuery(
                f"discovered({self.column!r}) needs a column declared as Texts; "
                f"{type(space).__name__} columns have public keys: group by {self.column!r} itself"
            )

    @property
    def column(self) -> str:
        """The column whose values are discovered."""
        (column,) = (key.column for key in self.query.keys if isinstance(key, Discovered))
        return column

    @property
    def counted_alone(self) -> bool:
        """Whether the numbers of holders are the answer: a count by the one key, of units of one row."""
        return self.query.kind == "count" and self.per_unit == 1 and len(self.query.keys) == 1

    @property
    def per_unit(self) -> int:
        """How many keys one unit can hold."""
        return self.schema.unit.rows

    @property
    def replaced(self) -> bool:
        """Whether neighbors exchange a unit, which removes one and adds another."""
        return isinstance(self.schema.adjacency, Replace)

    @property
    def statistic(self) -> Distinct:
        """What the engine is asked first."""
        return Distinct(self.query.bound_condition(self.schema), self.column)

    def over(self, keys: tuple[str, ...] = STAND_INS) -> Question:
        """The question over keys that are public by then."""
        assert isinstance(self.query.details, Grouped)
        return self.query.details.over(self.query, self.schema, self.cells(keys))

    def cells(self, keys: tuple[str, ...]) -> Cells:
        """The cells of found keys and public ones, in the order of the query."""
        public = iter(bind_cells([key for key in self.query.keys if not isinstance(key, Discovered)], self.schema).keys)
        found = (Key(self.column, keys) if isinstance(key, Discovered) else next(public) for key in self.query.keys)
        return Cells(tuple(found))

    def counts(self, keys: tuple[str, ...]) -> ShownCounts:
        """The counts of keys that were found by their own noise."""
        return ShownCounts(self.query, self.schema, self.cells(keys))

    def answer(self, table: Source) -> KeyView:
        """A secret view: the units of each text first, the question over the found ones after."""
        return KeyView(self, table)

    def accuracy(self, mechanism: Discovering, beta: float) -> Accuracy:
        """Which keys are found, and the error of each answer over them."""
        answering = mechanism.over(STAND_INS)
        each: Accuracy = answering.query.accuracy(answering, beta)
        found = ErrorStatement("keys", mechanism.discovery.error(beta), level_of(beta), each=True)
        return replace(found, besides=(each.words() if isinstance(each, NotStated) else each,))

    def read(self, output: Found, mechanism: Discovering) -> Answer:
        """What the question over the found keys reads."""
        answering = mechanism.over(output.keys)
        answer: Answer = answering.query.read(output.output, answering)
        return answer

    def stored(self, output: Found) -> dict[str, object]:
        """The keys beside what was released for them."""
        return {**self.over(output.keys).stored(output.output), "keys": list(output.keys)}

    def restored(self, record: Mapping[str, Any]) -> Found:
        """The same from a stored release."""
        keys = tuple(record["keys"] or ())
        return Found(keys, self.over(keys).restored(record))
