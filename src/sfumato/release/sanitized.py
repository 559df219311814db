"""A sanitized table, and what its noise allows one to estimate from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato import arguments
from sfumato.answers.statements import Accuracy
from sfumato.mechanisms.sanitized.blocks import Block
from sfumato.mechanisms.sanitized.categories import Responses
from sfumato.mechanisms.sanitized.estimation import estimates
from sfumato.mechanisms.sanitized.part import Integers
from sfumato.mechanisms.sanitized.plan import AnyPart, Sanitization
from sfumato.mechanisms.sanitized.sets import Flipped
from sfumato.queries import Query
from sfumato.queries.sanitized import Sanitized, SanitizedRows, asked_of
from sfumato.release.tables import TableRelease

if TYPE_CHECKING:
    from sfumato.release.asking import Asked

__all__ = ["SanitizedTable"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SanitizedTable(TableRelease):
    """Perturbed records, in random order.  Whatever is computed from them is free.

    `estimate` undoes the noise for counts, histograms and means; plain counts of the published rows are biased.
    """

    FORMAT: ClassVar[str] = "sfumato-sanitized/1"

    @property
    def question(self) -> SanitizedRows:
        """What was asked, bound to the schema again."""
        held = ((part.get("columns") or [part["column"]], part.get("basis")) for part in self.method["parts"])
        parts = (asked_of(columns, basis, self.schema) for columns, basis in held)
        details = Sanitized(tuple(parts))
        return details.bind(Query(details), self.schema)

    @property
    def mechanism(self) -> Sanitization:
        """How the records were perturbed."""
        return Sanitization.from_record(self.question, self.method)

    def error(self, level: float = 0.95) -> Accuracy:
        """The mean error of a record in each column, which no probability goes with."""
        return self.question.accuracy(self.mechanism, 1 - level)

    def estimate(self, query: Query, level: float = 0.95, *, joint: bool = False) -> Any:
        """An Arrow table: keys, estimate, low, high; unbiased, at no cost.

        For counts, histograms and means, with conditions; the ends miss the true answer with probability at most
        1 - level, per cell or with `joint` for all cells.  Missing numbers count as the middle of their range.
        """
        level = arguments.level(level)
        values, halves, columns = estimates(self.mechanism, self._records(), query, 1 - level, joint)
        low, high = self._range(query)
        return pa.table({
            **columns, "estimate": values, "low": np.clip(values - halves, low, high),
            "high": np.clip(values + halves, low, high),
        })  # fmt: skip

    def against_asking(self, queries: Sequence[Query], level: float = 0.95) -> list[Asked]:
        """The half-widths of questions read from this table, beside asking the session for the same spend instead."""
        from sfumato.release.asking import against_asking

        return against_asking(self.mechanism, queries, self.spend, level)

    def _range(self, query: Query) -> tuple[float, float]:
        """Where the answer lies in any case."""
        if query.kind != "mean":
            return 0.0, float(len(self))
        lattice = self.schema.lattice(query.column or "")
        return lattice.low_value, lattice.high_value

    def _records(self) -> dict[str, Integers]:
        """The published whole numbers, as the parts made them."""
        return {name: _whole(self.rows[name], part) for part in self.mechanism.parts for name in part.columns}


def _whole(column: Any, part: AnyPart) -> Integers:
    if isinstance(part, Flipped):
        bits = {item: 1 << place for place, item in enumerate(part.items)}
        return np.array([sum(bits[item] for item in row) for row in column.to_pylist()], dtype=np.int64)
    space = part.spaces[0] if isinstance(part, Block) else part.space
    places = space.places(column)
    return part.coerced(places) if isinstance(part, Responses) else places
