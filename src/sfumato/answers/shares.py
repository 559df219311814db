"""The share of rows at or below each point of a grid, read from a small database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Columns, Read, Units, failure_of, in_units
from sfumato.answers.statements import Accuracy

__all__ = ["Shares"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shares(Read):
    """All thresholds at once; `reach(beta)` bounds the error of every share, where the size is declared."""

    kind: ClassVar[str] = "shares"
    step: ClassVar[float | None] = None
    order: ClassVar[str] = "axis"

    thresholds: Floats
    shares: Floats
    database: Floats  # the rows that the shares are read from, in the column's units
    reach: Callable[[float], float] | None
    stated: Callable[[float], Accuracy]
    measure: str  # the column
    units: Units | None = None  # how the column shows its numbers

    @property
    def keys(self) -> Columns:
        """None: thresholds are points of one axis."""
        return {}

    def shown(self, columns: Columns) -> Columns:
        """Thresholds in the column's units."""
        return in_units(columns, ("threshold",), self.units)

    @property
    def value(self) -> object:
        """The share at or below each threshold."""
        return self.shares

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """One row a threshold: its value and share, with bars that hold for all at once where there are any."""
        columns: Columns = {"threshold": self.thresholds.tolist(), "estimate": self.shares.tolist()}
        if self.reach is None:
            return columns
        reach = self.reach(failure_of(level))
        low, high = np.clip(self.shares - reach, 0, 1), np.clip(self.shares + reach, 0, 1)
        return columns | {"low": low.tolist(), "high": high.tolist()}

    def error(self, level: float = 0.95) -> Accuracy:
        """The error of all shares."""
        return self.stated(failure_of(level))
