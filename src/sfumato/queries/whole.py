"""What questions share that are about a whole table: one cell, under the query's own name."""

from __future__ import annotations

from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query

__all__ = ["WholeTable"]


class WholeTable:
    """A bound question without keys."""

    query: Query

    @property
    def name(self) -> str:
        """The query's readable name."""
        return self.query.name

    @property
    def cells(self) -> Cells:
        """One cell: the whole table."""
        return Cells(())
