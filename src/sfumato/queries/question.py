"""A query bound to a schema, and what of a table it may ask: the contract between queries, mechanisms and engines.

A question is public, but for the one thing that it computes from a table: the exact answer, which goes from `answer` to
a mechanism's `release` and nowhere else.  Nobody asks a question for its class: what differs between kinds is behind
these methods, in the closed list of kinds (`queries/kinds.py`) and in the planner's table of candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfumato.answers.answer import Answer
from sfumato.answers.statements import Accuracy
from sfumato.queries.aggregation import Statistic
from sfumato.queries.predicates import Predicate
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    from sfumato.queries.query import Query

__all__ = ["Bound", "Erring", "Known", "Question", "Source"]

Known = tuple[tuple[str, tuple[str, ...]], ...]  # columns of texts, each with those that are public


class Source(Protocol):
    """What of an engine's table a question may ask; everything that comes back is exact and secret."""

    @property
    def schema(self) -> Schema:
        """What is public of the table."""

    @property
    def steady(self) -> bool:
        """Whether nobody can write to the rows between two statistics, so that both are of one state."""

    def answer(self, statistic: Statistic) -> Any:
        """A statistic by its description, in the form that the description states."""

    def rows(
        self, columns: Sequence[str], where: Predicate | None = None, texts: Known = ()
    ) -> Iterator[Mapping[str, np.ndarray]]:
        """The coerced, bounded rows in batches of whole numbers, -1 where missing; `where` is bound to the schema.

        `texts` are those that are public by now, of columns of texts.
        """

    def persons(
        self, columns: Sequence[str], texts: Known = ()
    ) -> Iterator[tuple[np.ndarray, Mapping[str, np.ndarray]]]:
        """The same rows where persons are protected, those of each together: the number of each row's person, too."""


class Question(Protocol):
    """What a query becomes when it is bound to a schema: frozen, public, and complete.

    Binding finds every public mistake and computes what is needed once.  A question holds no mechanism: the same one is
    answered, previewed and certified with several.  How far one unit moves its answer is said in the form that its
    mechanisms take: `sensitivity(norm)` of a vector, the vertices of a body, or the `spread` of scores.
    """

    @property
    def query(self) -> Query:
        """What was asked."""

    @property
    def schema(self) -> Schema:
        """What it was bound to."""

    @property
    def name(self) -> str:
        """A readable name."""

    def answer(self, table: Source) -> object:
        """The exact, secret answer: a finished value, or for adaptive mechanisms a secret view.

        A view holds the table and answers further statistics by description, as the mechanism's public outputs so far
        ask for them (discovered keys, synthesis): it is handed to `release` of one mechanism, which pays for all of it.
        Data values never raise here.
        """

    def accuracy(self, mechanism: Any, beta: float) -> Accuracy:
        """The error to expect of a mechanism that was calibrated for this question, from public quantities alone."""

    def read(self, output: Any, mechanism: Any) -> Answer:
        """What an output of the mechanism says, as a public value: estimates with intervals, items, a curve, rows.

        Reading is post-processing: it looks at no table, and may be done again at any time.
        """

    def stored(self, output: Any) -> dict[str, object]:
        """The output as plain values, by the parts of a stored release: `output`, and `keys` where some were found."""

    def restored(self, record: Mapping[str, Any]) -> Any:
        """The output whose parts a release stored."""


class Erring(Protocol):
    """A mechanism that bounds its own error."""

    def error(self, beta: float) -> float: ...


class Bound:
    """What bound questions share: the query's name, and outputs that are arrays of whole numbers."""

    __slots__ = ()

    query: Query

    @property
    def name(self) -> str:
        """The query's readable name."""
        return self.query.name

    def stored(self, output: Any) -> dict[str, object]:
        """The output as plain values."""
        return {"keys": None, "output": np.asarray(output, dtype=object).tolist()}

    def restored(self, record: Mapping[str, Any]) -> Any:
        """The output that was stored."""
        return np.array(record["output"], dtype=object)
