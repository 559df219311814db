"""Popular items of set-valued columns: counts of items, of which only the order is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Frequencies
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.schema import Schema
from sfumato.spaces import Categories, Label, Subsets
from sfumato.statements import Accuracy, ErrorStatement, level_of

__all__ = ["Popular"]


@dataclass(frozen=True, slots=True)
class Popular:
    """The k most frequent items (or categories) in each cell, most popular first."""

    query: Query
    schema: Schema
    cells: Cells

    def __post_init__(self) -> None:
        if self.query.k > len(self.items):
            raise ParameterError(f"k={self.query.k} is more than the {len(self.items)} declared items")

    @property
    def name(self) -> str:
        """The query's readable name."""
        return self.query.name

    @property
    def items(self) -> tuple[Label, ...]:
        """The public candidates."""
        space = self.schema.space(self.query.column or "")
        if isinstance(space, Subsets):
            return space.of
        if isinstance(space, Categories):
            return space.values
        raise UnsupportedQuery(
            f"popular items need a column of sets or categories; {self.query.column!r} is {type(space).__name__}"
        )

    @property
    def statistic(self) -> Frequencies:
        """What the engine is asked."""
        return Frequencies(self.query.bound_condition(self.schema), self.cells, self.query.column or "")

    @property
    def spread(self) -> int:
        """How far apart the counts' changes can lie when one unit changes.

        A row adds 0 or 1 to every count of its cell, so its changes lie within 1 of one another.
        """
        return self.schema.unit.rows * (2 if isinstance(self.schema.adjacency, Replace) else 1)

    def estimate(self, chosen: Any) -> list[Label]:
        """The chosen items, cell after cell, most popular first."""
        return [self.items[int(place)] for place in np.asarray(chosen).reshape(-1)]

    def table(self, chosen: Any, mechanism: Any, beta: float, joint: bool = False) -> dict[str, list[Any]]:
        """The public columns: keys, rank, item."""
        k = self.query.k
        ranks = list(range(1, k + 1)) * self.cells.count
        return {**self.cells.columns(k), "rank": ranks, "item": self.estimate(chosen)}

    def scores(self, cells: Any, values: Any, counts: Any) -> npt.NDArray[np.int64]:
        """The engine's triples as counts of shape (cells, items)."""
        scores = np.zeros((self.cells.count, len(self.items)), dtype=np.int64)
        scores[cells, values] = counts
        return scores

    def accuracy(self, mechanism: Any, beta: float) -> Accuracy:
        """The error to expect."""
        return ErrorStatement("choice", mechanism.error(beta), level_of(beta))
