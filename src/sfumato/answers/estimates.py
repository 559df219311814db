"""Numbers with error bars: one for each cell of public keys, or for each row that was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import (
    NO_COUNTS,
    Columns,
    Frame,
    Read,
    Units,
    failure_of,
    in_units,
    numbers,
    spanning,
    tell_empty,
)
from sfumato.answers.statements import Accuracy, ErrorStatement, NotStated, level_of
from sfumato.errors import UnsupportedQuery

__all__ = ["Estimates"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Estimates(Read):
    """One number for each row of `keys`, a single one where there are none.

    `ends(beta, joint)` are the intervals' ends: each misses with probability at most beta, or all together.
    """

    kind: ClassVar[str] = "estimates"
    step: ClassVar[float | None] = None

    keys: Columns
    estimates: Floats
    ends: Callable[[float, bool], tuple[Floats, Floats]]
    measure: str  # what the numbers are, for an axis
    order: str = "size"  # of the rows: along an axis, as they were asked, crossed with sums, or none but their size
    is_total: bool = False  # whether zero is a number like others, so that bars may start there
    frame: Frame | None = None  # the public range of the numbers, where it is worth showing
    stated: Callable[[float], Accuracy] | None = None  # the error, where the intervals do not say all of it
    whole: Callable[[float, bool], Columns] | None = None  # counts as whole numbers with their sums
    span: Frame | None = None  # the public range of the numbers, where a picture does not show it
    units: Units | None = None  # how the column shows its numbers, where these are numbers of a column

    @property
    def value(self) -> object:
        """A number, or one for each row of the table."""
        return numbers(self.table()["estimate"], self.units, self.is_single(len(self.estimates)))

    def shown(self, columns: Columns) -> Columns:
        """Estimates and the ends of intervals in the column's units."""
        return in_units(columns, ("estimate", "low", "high"), self.units)

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The keys, the estimate, and the interval's ends; no estimate where they say nothing."""
        return tell_empty(self.list_numbers(level, joint=joint), self.frame or self.span)

    def list_numbers(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The same with an estimate in every cell."""
        low, high = self.ends(failure_of(level), joint)
        return {
            **self.keys,
            "estimate": self.estimates.tolist(),
            "low": np.minimum(low, self.estimates).tolist(),
            "high": np.maximum(high, self.estimates).tolist(),
        }

    def remarks(self, columns: Columns, level: float) -> list[str]:
        """Which intervals are the whole public range."""
        return spanning(columns, self.frame or self.span)

    def added_up(self, level: float, joint: bool) -> Columns:
        """Counts as whole numbers whose margins agree."""
        if self.whole is None:
            raise UnsupportedQuery(NO_COUNTS)
        return self.whole(failure_of(level), joint)

    def error(self, level: float = 0.95) -> Accuracy:
        """How far the estimates can be from what their intervals cover."""
        beta = failure_of(level)
        if self.stated is not None:
            return self.stated(beta)
        if not len(self.estimates):
            return NotStated("no cell was released")
        low, high = self.ends(beta, False)
        reach = np.maximum(np.maximum(high - self.estimates, self.estimates - low), 0.0)
        return ErrorStatement(
            "answer", float(reach.max()), level_of(beta), least=float(reach.min()), each=len(self.estimates) > 1
        )
