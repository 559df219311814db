"""Rows as an answer: a whole public table, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.answers.answer import NO_COUNTS, Columns
from sfumato.answers.statements import Accuracy
from sfumato.errors import UnsupportedQuery

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RowsAnswer"]


@dataclass(frozen=True, slots=True, eq=False)
class RowsAnswer:
    """Public rows, as one Arrow array for each column, and what can be said of their error."""

    kind: ClassVar[str] = "rows"

    columns: Mapping[str, Any]
    stated: Accuracy

    @property
    def keys(self) -> Columns:
        """None: the whole table is one cell."""
        return {}

    @property
    def measure(self) -> str:
        """What the numbers are: nothing in particular."""
        return "rows"

    @property
    def order(self) -> str:
        """Rows come as they were published."""
        return "asked"

    @property
    def step(self) -> float | None:
        """Each column has its own."""
        return None

    @property
    def value(self) -> pa.Table:
        """The rows."""
        import pyarrow as pa

        return pa.table(dict(self.columns))

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The rows as plain columns."""
        found: Columns = self.value.to_pydict()
        return found

    def list_numbers(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The rows, each of which says something."""
        return self.table(level, joint=joint)

    def shown(self, columns: Columns) -> Columns:
        """The columns as they are: their values are of their own types."""
        return columns

    def interval(self, level: float = 0.95, *, joint: bool = False) -> tuple[object, object]:
        """Rows have no error bars."""
        raise UnsupportedQuery(f"a table of rows has no error bars; what is known: {self.stated.words()}")

    def remarks(self, columns: Columns, level: float) -> list[str]:
        """None: there is no interval to speak of."""
        return []

    def error(self, level: float = 0.95) -> Accuracy:
        """What can be said of the error."""
        return self.stated

    def added_up(self, level: float, joint: bool) -> Columns:
        """Refused: rows are no counts."""
        raise UnsupportedQuery(NO_COUNTS)
