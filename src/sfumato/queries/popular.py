"""Popular items of set-valued columns: the order of their counts, and the counts where a mechanism releases them.

Of D items with independent symmetric noise on each count, sorted, the one at rank r is above its true count by more
than a with probability at most (D - r + 1) P(Z > a), and below by more than b with at most r P(Z > b); so an interval
of each chosen item's count holds whatever the table is (docs/proofs/sorted_counts.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.choices import Items
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.privacy.adjacency import Replace
from sfumato.queries import contributions
from sfumato.queries.aggregation import Frequencies
from sfumato.queries.details import Grouped, known_parts, needed_column
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.question import Bound, Erring, Source
from sfumato.queries.vector import Bounds, Noise
from sfumato.spaces import Label
from sfumato.spaces.schema import Schema

__all__ = ["Popular", "TopDetails", "most_popular", "top"]


@dataclass(frozen=True, slots=True)
class TopDetails(Grouped):
    """The k items that occur in most sets of a column."""

    kind: ClassVar[str] = "top"

    column: str
    k: int = 1

    def __post_init__(self) -> None:
        needed_column(self.kind, self.column)
        arguments.whole("k", self.k)

    def subject(self) -> str:
        """What is asked."""
        return f"most popular of {self.column}" if self.k == 1 else f"top {self.k} of {self.column}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"column": self.column, "k": self.k}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> TopDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "column", "k")
        return cls(record.get("column", ""), record.get("k", 1))

    def over(self, query: Query, schema: Schema, cells: Cells) -> Popular:
        """The items of each cell."""
        return Popular(query, schema, cells)


class Choosing(Erring, Protocol):
    """A mechanism that chooses; `noise` is asked for only where it released counts beside the items."""

    @property
    def noise(self) -> Noise: ...


@dataclass(frozen=True)
class Popular(Bound):
    """The k most frequent items (or categories) in each cell, most popular first."""

    query: Query
    schema: Schema
    cells: Cells

    def __post_init__(self) -> None:
        if self.k > len(self.items):
            raise ParameterError(f"k={self.k} is more than the {len(self.items)} declared items; ask for fewer")

    @property
    def details(self) -> TopDetails:
        """The query's own parameters."""
        assert isinstance(self.query.details, TopDetails)
        return self.query.details

    @property
    def k(self) -> int:
        """How many items of each cell are asked for."""
        return self.details.k

    @cached_property
    def items(self) -> tuple[Label, ...]:
        """The public candidates."""
        space = self.schema.space(self.details.column)
        if space.items is not None:
            return space.items
        stated = f"{self.details.column!r} is {type(space).__name__}"
        raise UnsupportedQuery(
            f"popular items need a column of sets or categories; {stated}: count numbers by bins, or ask for quantiles"
        )

    @property
    def statistic(self) -> Frequencies:
        """What the engine is asked."""
        return Frequencies(self.query.bound_condition(self.schema), self.cells, self.details.column)

    def answer(self, table: Source) -> npt.NDArray[np.int64]:
        """The exact, secret counts of shape (cells, items)."""
        scores = np.zeros((self.cells.count, len(self.items)), dtype=np.int64)
        if self.cells.count:
            cells, values, counts = table.answer(self.statistic)
            scores[cells, values] = counts
        return scores

    @property
    def spread(self) -> int:
        """How far apart the counts' changes can lie when one unit changes.

        A row adds 0 or 1 to every count of its cell, so its changes lie within 1 of one another.
        """
        return self.schema.unit.rows * (2 if isinstance(self.schema.adjacency, Replace) else 1)

    @property
    def assumptions(self) -> frozenset[str]:
        """What the spread takes for granted: nothing."""
        return frozenset()

    @property
    def dimension(self) -> int:
        """Counts in all."""
        return self.cells.count * len(self.items)

    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the vector of all counts."""
        held = contributions.Items(self.schema.space(self.details.column).most_items)
        return contributions.sensitivity(held, norm, self.dimension, self.schema)

    def estimate(self, output: npt.ArrayLike) -> list[Label]:
        """The chosen items, cell after cell, most popular first."""
        places, _ = _parts(output)
        return [self.items[int(place)] for place in places]

    def read(self, output: npt.ArrayLike, mechanism: Choosing) -> Items:
        """The chosen items, cell after cell; with their counts, where these were released."""
        ranks = list(range(1, self.k + 1)) * self.cells.count
        stated = partial(self.accuracy, mechanism)
        keys, (_, counts) = self.cells.columns(self.k), _parts(output)
        ends = None if counts is None else partial(self.ends, counts, mechanism.noise)
        return Items(keys, ranks, self.estimate(output), stated, self.details.column, counts, ends)

    def ends(self, counts: npt.NDArray[np.float64], noise: Noise, beta: float, joint: bool) -> Bounds:
        """For each chosen item an interval that misses its count with probability at most beta, or all together."""
        ranks = np.arange(1, self.k + 1)
        above, below = len(self.items) - ranks + 1, ranks
        if joint:  # any item too high, any of the chosen ones too low
            above, below = np.full(self.k, self.dimension), np.full(self.k, self.k * self.cells.count)
        down, up = ([noise.quantile(beta / many) for many in side.tolist()] for side in (above, below))
        low, high = (np.tile(margin, self.cells.count) for margin in (down, up))
        return np.maximum(counts - low, 0.0), np.maximum(counts + high, 0.0)

    def accuracy(self, mechanism: Erring, beta: float) -> Accuracy:
        """The error to expect: of each choice where one is asked for, or all; else of what is left out."""
        kind = "choice" if self.k in (1, len(self.items)) else "left"
        return ErrorStatement(kind, mechanism.error(beta), level_of(beta))


def _parts(output: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64] | None]:
    """The places of the chosen items, and their noisy counts where the output holds pairs of both."""
    array = np.asarray(output)
    if array.ndim < 3 or not array.size:
        return array.reshape(-1).astype(np.int64), None
    return array[..., 0].reshape(-1).astype(np.int64), array[..., 1].reshape(-1).astype(np.float64)


def top(column: str, k: int) -> Query:
    """The k items that occur in most rows of a column of sets or categories, most popular first."""
    return Query(TopDetails(column, k))


def most_popular(column: str) -> Query:
    """The item that occurs in most sets of a set-valued column."""
    return top(column, 1)
