"""Keys held by enough units (rows, or persons): the question behind `by(discovered(column))`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.errors import UnsupportedQuery
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Distinct
from sfumato.queries.grouping import Discovered
from sfumato.queries.query import Query
from sfumato.schema import Schema
from sfumato.spaces import Texts
from sfumato.statements import Accuracy, ErrorStatement, level_of

__all__ = ["Keys"]


@dataclass(frozen=True, slots=True)
class Keys:
    """How many units hold each text; a unit has at most `per_unit` different ones."""

    query: Query
    schema: Schema

    def __post_init__(self) -> None:
        space = self.schema.space(self.column)
        if not isinstance(space, Texts):
            raise UnsupportedQuery(
                f"discovered({self.column!r}) needs a column declared as Texts; "
                f"{type(space).__name__} columns have public keys: group by {self.column!r} itself"
            )

    @property
    def name(self) -> str:
        """The query's readable name."""
        return f"keys of {self.query.name}"

    @property
    def column(self) -> str:
        """The column whose values are discovered."""
        (key,) = self.query.keys
        assert isinstance(key, Discovered)
        return key.column

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
        """What the engine is asked."""
        return Distinct(self.query.bound_condition(self.schema), self.column)

    def accuracy(self, mechanism: Any, beta: float) -> Accuracy:
        """Which keys are found."""
        return ErrorStatement("keys", mechanism.error(beta), level_of(beta), each=True)
