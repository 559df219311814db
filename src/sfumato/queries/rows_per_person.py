"""How many rows people have: a private quantile, to choose what counts of one person by.

Each person who has rows is one value, their number, at most `most`; a person added or removed adds or removes one
value, so that quantiles of these values cost what those of a table with one row a person do (docs/proofs/quantiles.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from sfumato import arguments
from sfumato.errors import UnsupportedQuery
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Frequencies
from sfumato.queries.details import known_parts
from sfumato.queries.grouping import Cells
from sfumato.queries.quantiles import Quantiles, QuantilesDetails
from sfumato.queries.query import Query
from sfumato.spaces import Integers, Lattice, Numeric
from sfumato.spaces.schema import Schema

__all__ = ["RowsPerPerson", "RowsPerPersonDetails", "rows_per_person"]

SUBJECT = "rows per person"
MOST = 1000


@dataclass(frozen=True, slots=True)
class RowsPerPersonDetails:
    """Quantiles of the numbers of rows that people have; more than `most` count as so many."""

    kind: ClassVar[str] = "rows_per_person"

    probabilities: tuple[float, ...]
    most: int = MOST

    def __post_init__(self) -> None:
        arguments.whole("most", self.most, least=2, most=10**9)
        self.quantiles  # noqa: B018  # refuses probabilities that are none

    @property
    def quantiles(self) -> QuantilesDetails:
        """The same as quantiles of a column."""
        return QuantilesDetails(SUBJECT, self.probabilities)

    def subject(self) -> str:
        """What is asked."""
        return f"{self.quantiles.subject()}, up to {self.most}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"probabilities": list(self.probabilities), **({} if self.most == MOST else {"most": self.most})}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> RowsPerPersonDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "probabilities", "most")
        return cls(arguments.several("probabilities", record.get("probabilities", ())), record.get("most", MOST))

    def within(self, schema: Schema) -> Schema:
        """The schema in which all rows of a person are one value."""
        if not isinstance(schema.unit, Person):
            raise UnsupportedQuery("rows_per_person is for tables with several rows a person; declare unit= and rows=")
        return replace(schema, unit=Person(schema.unit.column, 1, 1, (0.0, float(self.most))))

    def bind(self, query: Query, schema: Schema) -> RowsPerPerson:
        """The bound question."""
        if query.keys or query.limits is not None:
            raise UnsupportedQuery("rows_per_person takes a condition, but no keys and no limits")
        return RowsPerPerson(query, self.within(schema), Cells(()))


class RowsPerPerson(Quantiles):
    """Quantiles of numbers of rows, each person one."""

    @property
    def details(self) -> QuantilesDetails:
        """The query's own parameters, as those of quantiles."""
        assert isinstance(self.query.details, RowsPerPersonDetails)
        return self.query.details.quantiles

    @cached_property
    def space(self) -> Numeric:
        """From one row to the most that are told apart."""
        assert isinstance(self.query.details, RowsPerPersonDetails)
        return Integers(1, self.query.details.most)

    @cached_property
    def lattice(self) -> Lattice:
        """Whole numbers."""
        return self.space.lattice

    @property
    def statistic(self) -> Frequencies:
        """How many people have each number of rows."""
        return Frequencies(self.query.bound_condition(self.schema), self.cells, None)


def rows_per_person(probabilities: float | Iterable[float] = 0.95, *, most: int = MOST) -> Query:
    """Quantiles of how many rows people have, `most` at most: what to give as `rows`, found privately and charged."""
    several = not isinstance(probabilities, int | float | str)
    chosen = arguments.several("probabilities", probabilities) if several else (probabilities,)
    return Query(RowsPerPersonDetails(chosen, most))
