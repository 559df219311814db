"""A synthetic table that may be shown: invented rows drawn from a private model, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.release.tables import TableRelease

__all__ = ["SyntheticTable"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticTable(TableRelease):
    """Rows drawn from a private model of the table.  Whatever is computed from them is free.

    How far they are from the table is not stated: that depends on the table, and no bound is known.
    """

    FORMAT: ClassVar[str] = "sfumato-synthetic/1"

    @property
    def measured(self) -> list[tuple[str, str]]:
        """The pairs of columns whose joint counts were measured, each once."""
        pairs = (tuple(part["columns"]) for part in self.method.get("measured", ()))
        return sorted({(one, other) for one, other in pairs})

    def accuracy(self) -> str:
        """What was measured, in words, and what follows from it; how far the rows err is not known."""
        unknown = "not stated: how far the rows are from the table depends on the table, and no bound is known; "
        if self.method["type"] == "smooth-synthesis":
            return unknown + (
                "the rows were made for averages of smooth functions of all columns, and are too few for the shares of "
                "single values; missing values are not modelled"
            )
        columns = len(self.method["columns"])
        among, pairs = columns * (columns - 1) // 2, len(self.measured)
        known = f"every column was counted with noise, and {pairs} of {among} pairs of columns"
        if among and not pairs:
            known = (
                "every column was counted with noise; the table is too small, or the budget too low, to measure pairs: "
                "columns are independent of one another here, and nothing is known of their relations"
            )
        return f"{unknown}{known}; levels were merged and smoothed, and all other relations are those that these imply"

    def plot(self) -> Any:
        """A picture of every column's shares (an Altair chart)."""
        from sfumato.report.synthetic import plot_columns

        return plot_columns(self)
