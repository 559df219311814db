"""Chosen values: items by popularity, with their counts where these were released; quantiles by rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Columns, Frame, Read, Units, failure_of, in_units, numbers, spanning, tell_empty
from sfumato.answers.statements import Accuracy

__all__ = ["Items", "Names", "Quantiles"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Items(Read):
    """The chosen items of each cell, most popular first; keys are repeated for each of them."""

    kind: ClassVar[str] = "items"
    step: ClassVar[float | None] = None
    order: ClassVar[str] = "asked"

    keys: Columns
    ranks: Sequence[int]
    items: Sequence[object]
    stated: Callable[[float], Accuracy]
    measure: str
    counts: Floats | None = None  # noisy, where they were released with the items
    ends: Callable[[float, bool], tuple[Floats, Floats]] | None = None  # of the counts' intervals

    @property
    def value(self) -> object:
        """An item, or one for each row of the table."""
        return self.items[0] if self.is_single(len(self.items)) else list(self.items)

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The keys, the rank and the item; its count with an interval, where that was released."""
        chosen: Columns = {**self.keys, "rank": list(self.ranks), "item": list(self.items)}
        if self.counts is None or self.ends is None:
            return chosen
        low, high = self.ends(failure_of(level), joint)
        return {
            **chosen,
            "estimate": self.counts.tolist(),
            "low": np.minimum(low, self.counts).tolist(),
            "high": np.maximum(high, self.counts).tolist(),
        }

    def error(self, level: float = 0.95) -> Accuracy:
        """How much less popular than the best a choice can be."""
        return self.stated(failure_of(level))


@dataclass(frozen=True, slots=True, eq=False)
class Names(Read):
    """Keys that were found, and nothing beside their names."""

    kind: ClassVar[str] = "keys"
    step: ClassVar[float | None] = None
    order: ClassVar[str] = "asked"

    measure: str  # the column
    names: Sequence[str]
    stated: Callable[[float], Accuracy]

    @property
    def keys(self) -> Columns:
        """The names, under a heading that no column's name can hide."""
        return {"key": list(self.names)}

    @property
    def value(self) -> object:
        """The names."""
        return list(self.names)

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """One column of names."""
        return self.keys

    def error(self, level: float = 0.95) -> Accuracy:
        """Which names are found."""
        return self.stated(failure_of(level))


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles(Read):
    """The chosen points of each cell, one for each probability; keys are repeated for each of them."""

    kind: ClassVar[str] = "quantiles"
    order: ClassVar[str] = "asked"

    keys: Columns
    probabilities: Sequence[float]
    estimates: npt.NDArray[np.float64]
    stated: Callable[[float], Accuracy]
    measure: str
    step: float  # of the column
    units: Units | None = None  # how the column shows its numbers
    ends: Callable[[float, bool], tuple[Floats, Floats]] | None = None  # of intervals, where these were released
    frame: Frame | None = None  # the column's declared range
    bracketed: float = 1.0  # the highest level that the intervals have

    def shown(self, columns: Columns) -> Columns:
        """Estimates and ends in the column's units."""
        return in_units(columns, ("estimate", "low", "high"), self.units)

    @property
    def value(self) -> object:
        """A number, or one for each row of the table."""
        return numbers(self.table()["estimate"], self.units, self.is_single(len(self.estimates)))

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The keys, the probability and the estimate; with an interval, where that was released."""
        columns = self.list_numbers(level, joint=joint)
        return tell_empty(columns, self.frame if level <= self.bracketed else None)

    def list_numbers(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The same with an estimate in every cell."""
        chosen: Columns = {
            **self.keys, "probability": list(self.probabilities), "estimate": self.estimates.tolist(),
        }  # fmt: skip
        if self.ends is None:
            return chosen
        low, high = self.ends(failure_of(level), joint)
        return {
            **chosen,
            "low": np.minimum(low, self.estimates).tolist(),
            "high": np.maximum(high, self.estimates).tolist(),
        }

    def remarks(self, columns: Columns, level: float) -> list[str]:
        """Which intervals are the whole declared range; beyond the level that they were released at, all are."""
        if level > self.bracketed:
            return [f"the whole range: the interval was released at {self.bracketed:.0%}"] * len(columns["low"])
        return spanning(columns, self.frame)

    def error(self, level: float = 0.95) -> Accuracy:
        """The error by rank, since the error in value depends on the data."""
        return self.stated(failure_of(level))
