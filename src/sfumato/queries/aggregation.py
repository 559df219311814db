"""What an engine is asked to compute: whole numbers per cell, and nothing about noise.

Numbers enter as `t`, the lattice index counted from the column's lower bound, so that every summand
is non-negative.  A row counts where the condition holds, every key is known, and the measured
column (if any) is present.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import Predicate

__all__ = ["Aggregation", "Distinct", "Frequencies", "Measure", "Rows", "Statistic"]

POWERS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Measure:
    """The sum of `t ** power` over the rows where `column` is present; no column: the number of rows."""

    column: str | None
    power: int = 0


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The measures of every cell: an integer array of shape (measures, cells)."""

    where: Predicate | None
    cells: Cells
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How often each value of `column` occurs in each cell: triples (cell, value, count), count > 0.

    For a number the value is its lattice index; for a set, the position of each of its items.
    """

    where: Predicate | None
    cells: Cells
    column: str


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many units hold each text of `column`: pairs (text, units), for the discovery of keys."""

    where: Predicate | None
    column: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The coerced rows themselves, for the few questions that need them: whole numbers, streamed in batches.

    A number is its lattice index, a category its position among the declared ones, a set the bits of its items'
    positions; -1 stands for missing.
    """

    where: Predicate | None
    columns: tuple[str, ...]


Statistic = Aggregation | Frequencies | Distinct | Rows
