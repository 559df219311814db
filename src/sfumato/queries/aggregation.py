"""What an engine is asked to compute: whole numbers per cell, and nothing about noise.

Numbers enter as `t`, the lattice index counted from the column's lower bound, so that every summand
is non-negative.  A row counts where the condition holds, every key is known, and the measured
column (if any) is present.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import Predicate

__all__ = ["Aggregation", "Distinct", "Frequencies", "Measure", "Rows", "Statistic", "asked_columns", "conditions_of"]

POWERS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Measure:
    """The sum of `t ** power` over the rows where `column` is present; no column: the number of rows.

    With a second column, the sum of `t ** power * u ** times_power` over the rows where both are present; with a
    condition (bound to the schema), over those of them where it holds.
    """

    column: str | None
    power: int = 0
    times: str | None = None
    times_power: int = 0
    where: Predicate | None = None

    @property
    def factors(self) -> tuple[tuple[str, int], ...]:
        """The columns, and the powers of them that are multiplied."""
        named = ((self.column, self.power), (self.times, self.times_power))
        return tuple((column, power) for column, power in named if column is not None)

    @property
    def is_plain(self) -> bool:
        """Whether it is about one column alone."""
        return self.times is None and self.where is None


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The measures of every cell: an integer array of shape (measures, cells)."""

    where: Predicate | None
    cells: Cells
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How often each value of `column` occurs in each cell: triples (cell, value, count), count > 0.

    For a number the value is its lattice index; for a set, the position of each of its items.  No column: how many
    persons have each number of rows, the most that the unit's total lets count standing for more.

    With `shift`, numbers are counted in runs of 2^shift lattice points: the value is the number of the run, t >> shift.
    `within` is a shift and the runs of that one whose rows count, all others are left out; values are then t >> shift
    as well.
    """

    where: Predicate | None
    cells: Cells
    column: str | None
    shift: int = 0
    within: tuple[int, tuple[int, ...]] | None = None

    @property
    def in_runs(self) -> bool:
        """Whether values are numbers of runs, counted from the lower bound."""
        return self.shift > 0 or self.within is not None


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many units hold each text of `column`: pairs (text, units), for the discovery of keys."""

    where: Predicate | None
    column: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The coerced rows themselves, for the few questions that need them: whole numbers, streamed in batches.

    A number is its lattice index, a category its position among the declared ones, a set the bits of its items'
    positions; -1 stands for missing.  With `together`, those of a person follow one another.  `texts` are public by now
    of columns of texts: each is its place among them, and every other text the place after the last.
    """

    where: Predicate | None
    columns: tuple[str, ...]
    together: bool = False
    texts: tuple[tuple[str, tuple[str, ...]], ...] = ()


Statistic = Aggregation | Frequencies | Distinct | Rows


def asked_columns(statistic: Statistic) -> set[str]:
    """The columns whose values are added up, tested, counted or shown, keys and the condition apart."""
    if isinstance(statistic, Rows):
        return set(statistic.columns)
    if not isinstance(statistic, Aggregation):
        return set() if statistic.column is None else {statistic.column}
    factors = {column for measure in statistic.measures for column, _ in measure.factors}
    conditions = [measure.where for measure in statistic.measures if measure.where is not None]
    return factors | {test.column for one in conditions for test in one.tests()}


def conditions_of(statistic: Statistic) -> list[Predicate]:
    """What rows are tested by, to count at all or in one of the measures."""
    measures = statistic.measures if isinstance(statistic, Aggregation) else ()
    return [one for one in (statistic.where, *(measure.where for measure in measures)) if one is not None]
