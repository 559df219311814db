"""Shares: of how many rows a condition holds, as a share of all of them.

A share is the mean of an indicator: a row adds (1, 0) where the condition holds and (0, 1) where it does not, so that
one row moves the pair by 1.  Where a value is missing, comparisons with it are false, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.queries.aggregation import Measure
from sfumato.queries.details import Grouped, known_parts, weighted_by
from sfumato.queries.grouping import Cells
from sfumato.queries.mean import Mean
from sfumato.queries.parsing import condition as parsed
from sfumato.queries.predicates import Predicate, columns_of, condition_from, condition_record
from sfumato.queries.query import Query
from sfumato.queries.weights import weights_of
from sfumato.spaces import Lattice
from sfumato.spaces.schema import Schema

__all__ = ["Share", "ShareDetails", "share"]

INDICATOR = Lattice(Fraction(1), 0, 1)


@dataclass(frozen=True, slots=True)
class ShareDetails(Grouped):
    """The share of rows where a condition holds, weighted by a column where one is given."""

    kind: ClassVar[str] = "share"

    condition: Predicate
    weight: str | None = None

    def __post_init__(self) -> None:
        asked = parsed(self.condition) if isinstance(self.condition, str) else self.condition
        if not isinstance(asked, Predicate):
            raise ParameterError(
                'a share needs the condition it is about, such as "age >= 18" or col("age") >= 18, '
                f"not {type(asked).__name__}"
            )
        columns_of(asked)  # refuses what is too deep
        object.__setattr__(self, "condition", asked)
        if self.weight is not None:
            arguments.text("weight", self.weight)

    def subject(self) -> str:
        """What is asked."""
        words = self.condition.words()
        return f"share of {words[1:-1] if words.startswith('(') else words}{weighted_by(self.weight)}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        weight = {} if self.weight is None else {"weight": self.weight}
        return {"condition": condition_record(self.condition), **weight}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> ShareDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "condition", "weight")
        asked = record.get("condition")
        return cls(condition_from(asked) if isinstance(asked, Mapping) else asked, record.get("weight"))  # type: ignore[arg-type]

    def over(self, query: Query, schema: Schema, cells: Cells) -> Share:
        """One for each cell."""
        return Share(
            query, schema, cells, weights_of(self.kind, self.weight, schema, 1), asked=self.condition.bind(schema)
        )


@dataclass(frozen=True)
class Share(Mean):
    """The share of the rows of each cell where a condition, bound to the schema, holds."""

    asked: Predicate = field(kw_only=True)

    @property
    def lattice(self) -> Lattice:
        """A row counts 0 or 1."""
        return INDICATOR

    @property
    def judged(self) -> Predicate:
        """The condition whose rows are counted."""
        return self.asked

    @property
    def never_missing(self) -> bool:
        """A condition holds, or it does not."""
        return True

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of rows, and of those where the condition holds."""
        return (Measure(None), Measure(None, where=self.asked))

    @property
    def measure(self) -> str:
        """What the numbers are."""
        return self.query.details.subject()

    @property
    def shown_in(self) -> None:
        """Shares are plain numbers."""
        return

    @property
    def middle(self) -> str:
        """Nearer to 0 or 1 the error is larger."""
        return "a share of one half"


def share(condition: Predicate | str, *, weight: str | None = None) -> Query:
    """The share of rows where a condition holds, with `weight` (a column of survey weights) each as often as it says.

    >>> share("age >= 65").by("state").name
    'share of age >= 65 by state'
    """
    return Query(ShareDetails(condition, weight))  # type: ignore[arg-type]
