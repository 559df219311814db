"""How often each declared item occurs in the sets of a column: one vector of counts, released with one noise.

A row adds one to each item of its set, so to at most `cap` numbers: the sensitivity body is `contributions.Items`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.queries import contributions
from sfumato.queries.aggregation import Frequencies, Measure
from sfumato.queries.counts import Tallies
from sfumato.queries.details import OfColumn
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.vector import Whole
from sfumato.spaces.schema import Schema

__all__ = ["ItemCounts", "ItemsDetails", "items"]


@dataclass(frozen=True, slots=True)
class ItemsDetails(OfColumn):
    """How many rows hold each item of a column of sets."""

    kind: ClassVar[str] = "items"

    def over(self, query: Query, schema: Schema, cells: Cells) -> ItemCounts:
        """One count for each cell and item."""
        space = schema.space(self.column)
        if space.items is None or space.labels is not None:
            raise UnsupportedQuery(
                f"items are counted in a column of sets; {self.column!r} is {type(space).__name__}: ask for "
                f"histogram({self.column!r}) of categories, histogram(bins({self.column!r}, ...)) of numbers"
            )
        return ItemCounts(query, schema, Cells((*cells.keys, Key(self.column, space.items))))


class ItemCounts(Tallies):
    """How many rows of each group hold each item."""

    @property
    def groups(self) -> Cells:
        """The cells without the items."""
        return Cells(self.cells.keys[:-1])

    @property
    def most_items(self) -> int:
        """How many items of a row count."""
        return self.schema.space(self.cells.keys[-1].column).most_items

    @property
    def body(self) -> contributions.Items:
        """A row adds one to each of its items."""
        return contributions.Items(self.most_items)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The engine is asked for frequencies instead."""
        return ()

    @cached_property
    def statistic(self) -> Frequencies:  # type: ignore[override]
        """What the engine is asked."""
        return Frequencies(self.query.bound_condition(self.schema), self.groups, self.cells.keys[-1].column)

    def answer(self, table: Source) -> Whole:
        """The exact, secret counts, group after group."""
        counts = np.zeros((self.groups.count, len(self.cells.keys[-1].labels)), dtype=np.int64)
        if self.groups.count:
            groups, values, found = table.answer(self.statistic)
            counts[groups, values] = found
        return self.vector(counts)

    def vector(self, totals: Whole) -> Whole:
        """The counts in one row."""
        return np.asarray(totals, dtype=np.int64).reshape(-1)


def items(column: str) -> Query:
    """How many rows hold each item of a column of sets, all of them at once.

    A row adds to at most as many counts as the column's `cap`: the smaller it is, the less noise each count gets.
    """
    return Query(ItemsDetails(column))
