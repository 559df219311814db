"""A synthetic table that may be shown: rows that nobody has, and what may be asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.release.tables import TableRelease

__all__ = ["SyntheticTable"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticTable(TableRelease):
    """Rows drawn from a private model of the table.  Whatever is computed from them is free.

    Errors are stated as total variation: half the sum of absolute differences of the shares of all cells, which is also
    the largest error of any average of a function of these columns with values from 0 to 1.
    """

    FORMAT: ClassVar[str] = "sfumato-synthetic/1"

    @property
    def measured(self) -> list[tuple[str, str]]:
        """The pairs of columns whose joint counts were measured, each once."""
        return [(one, other) for one, other, _ in self.method.get("pair_errors", ())]

    def predicted(self, *columns: str) -> float:
        """The error to expect of one column, or of two together, in total variation.

        For a measured pair it is what its noise brings, at the resolution it was measured at; for any other, what it
        can have been off by (with probability 0.95, in merged levels) when the last round passed it over.
        """
        if "smooth_error" in self.method:
            raise UnsupportedQuery("this table was made for smooth queries; shares of single values are not predicted")
        singles: dict[str, float] = self.method["column_errors"]
        for name in columns:
            if name not in singles:
                raise ParameterError(f"there is no column {name!r} in this table; it has {', '.join(singles)}")
        if len(set(columns)) == 1:
            return singles[columns[0]]
        if len(set(columns)) != 2:
            raise ParameterError("errors are predicted for one column or two; relations of three are not measured")
        carried = min(1.0, sum(singles[name] for name in set(columns)))
        for one, other, error in (*self.method["pair_errors"], *self.method["other_errors"]):
            if {one, other} == set(columns):
                return float(min(1.0, error + carried))
        return 1.0  # nothing was measured of any pair

    def accuracy(self) -> str:
        """The error to expect for each kind of question, in words."""
        if "smooth_error" in self.method:
            return (
                f"averages of smooth functions of all columns: at most about {self.method['smooth_error']:.3f} for "
                "mixtures of Gaussian kernels as wide as 1.5 times a column's range; too few rows for the shares of "
                "single values, and missing values are not modelled"
            )
        singles: dict[str, float] = self.method["column_errors"]
        worst = max(singles, key=lambda name: singles[name])
        mean = sum(singles.values()) / len(singles)
        words = f"one column: about {mean:.3f} in total variation (at most {singles[worst]:.3f}, in {worst!r})"
        pairs, among = self.method["pair_errors"], len(singles) * (len(singles) - 1) // 2
        if pairs:
            typical = sorted(error for _, _, error in pairs)[len(pairs) // 2]
            words += f"; {len(pairs)} measured pairs of {among}: about {typical:.3f} more at the resolution measured"
            others = sorted(error for _, _, error in self.method["other_errors"])
            if others:
                words += f"; other pairs: up to about {others[len(others) // 2]:.3f} more"
        elif among:
            words += (
                "; the table is too small, or the budget too low, to measure pairs: columns are independent of one "
                "another here, and nothing is known of their relations"
            )
        return words + (
            "; an average of a smooth or any other function of one or two columns with values from 0 to 1 errs by no "
            "more than their total variation; what varies inside merged levels is smoothed, and relations of three "
            "columns are only those that pairs imply"
        )

    def plot(self) -> Any:
        """A picture of every column's shares (an Altair chart)."""
        from sfumato.report.synthetic import plot_columns

        return plot_columns(self)
