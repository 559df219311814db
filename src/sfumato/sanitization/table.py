"""A sanitized table, and what its noise allows one to estimate from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato import arguments
from sfumato.queries import Query
from sfumato.release.tables import TableRelease
from sfumato.sanitization.blocks import Block
from sfumato.sanitization.categories import Responses
from sfumato.sanitization.estimation import estimates
from sfumato.sanitization.part import Integers, indices
from sfumato.sanitization.plan import AnyPart, Sanitization
from sfumato.sanitization.sets import Flipped
from sfumato.spaces import Categories

__all__ = ["SanitizedTable"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SanitizedTable(TableRelease):
    """Perturbed records, in random order.  Whatever is computed from them is free.

    `estimate` undoes the noise for counts, histograms and means; plain counts of the published rows are biased.
    """

    FORMAT: ClassVar[str] = "sfumato-sanitized/1"

    @property
    def randomizer(self) -> Sanitization:
        """How the records were perturbed."""
        return Sanitization.from_record(self.method, self.schema)

    def accuracy(self) -> str:
        """The mean error of a record in each column, in words."""
        return self.randomizer.accuracy()

    def estimate(self, query: Query, level: float = 0.95, *, joint: bool = False) -> Any:
        """An Arrow table: keys, estimate, low, high; unbiased, at no cost.

        For counts, histograms and means, with conditions; the ends miss the true answer with probability at most
        1 - level, per cell or with `joint` for all cells.  Missing numbers count as the middle of their range.
        """
        level = arguments.level(level)
        values, halves, columns = estimates(self.randomizer, self._records(), query, 1 - level, joint)
        low, high = self._range(query)
        return pa.table({
            **columns, "estimate": values, "low": np.clip(values - halves, low, high),
            "high": np.clip(values + halves, low, high),
        })  # fmt: skip

    def _range(self, query: Query) -> tuple[float, float]:
        """Where the answer lies in any case."""
        if query.kind != "mean":
            return 0.0, float(len(self))
        lattice = self.schema.space(query.column or "").lattice  # type: ignore[attr-defined]
        return lattice.low_value, lattice.high_value

    def _records(self) -> dict[str, Integers]:
        """The published whole numbers, as the parts made them."""
        return {name: _whole(self.rows[name], part) for part in self.randomizer.parts for name in part.columns}


def _whole(column: Any, part: AnyPart) -> Integers:
    if isinstance(part, Flipped):
        bits = {item: 1 << place for place, item in enumerate(part.space.of)}
        return np.array([sum(bits[item] for item in row) for row in column.to_pylist()], dtype=np.int64)
    if isinstance(part, Responses) and isinstance(part.space, Categories):
        places: dict[Any, int] = {label: place for place, label in enumerate(part.space.values)} | {None: part.size - 1}
        return np.array([places[label] for label in column.to_pylist()], dtype=np.int64)
    space = part.spaces[0] if isinstance(part, Block) else part.space
    return indices(column.to_numpy(), space)  # type: ignore[arg-type]
