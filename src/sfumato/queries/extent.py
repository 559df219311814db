r"""A private range of a column: ends in round numbers, beyond each of which about a given share of the rows lies.

The declared range is cut at public places: 1, 2 and 5 times the powers of ten on both sides of zero, and equal parts.
The lower end is the lower edge of the cell where the share's quantile lies, the upper end that of the mirrored column:
two choices by rank, in each of which a row counts, so that the penalties' changes lie within twice as much of one
another as for one quantile (docs/proofs/quantiles.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers import choices as answers
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import exact
from sfumato.queries.aggregation import Frequencies
from sfumato.queries.details import known_parts, needed_column
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.quantiles import Quantiles, RankErrors
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.ranks import Ranks
from sfumato.queries.vector import numeric_space, units_of
from sfumato.spaces import Lattice, Numeric
from sfumato.spaces.schema import Schema

__all__ = ["Extent", "ExtentDetails", "edges_of", "extent"]

PARTS = 32  # equal parts of the declared range
DIGITS = (1, 2, 5)
ENDS = Cells((Key("end", ("low", "high")),))
OUTSIDE = 0.01


@dataclass(frozen=True, slots=True)
class ExtentDetails:
    """The range that all but about a share of the rows lie in."""

    kind: ClassVar[str] = "extent"
    bars: ClassVar[bool] = False

    column: str
    outside: float = OUTSIDE

    def __post_init__(self) -> None:
        needed_column(self.kind, self.column)
        object.__setattr__(self, "outside", arguments.number("outside", self.outside))
        if not 0 < self.outside < 1:
            raise ParameterError(
                f"outside is the share of rows that may lie beyond the two ends together, above 0 and below 1, such as "
                f"0.01; got {self.outside!r:.40}"
            )

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Half of the share beyond each end."""
        return (self.outside / 2,)

    def subject(self) -> str:
        """What is asked."""
        share = "" if self.outside == OUTSIDE else f" but for {self.outside:g}"
        return f"extent of {self.column}{share}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"column": self.column, **({} if self.outside == OUTSIDE else {"outside": self.outside})}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> ExtentDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "column", "outside")
        return cls(record.get("column", ""), record.get("outside", OUTSIDE))

    def bind(self, query: Query, schema: Schema) -> Extent:
        """The question of the whole table, or of the rows that meet a condition."""
        if query.keys:
            raise UnsupportedQuery("an extent is of all rows, since a column is declared once; ask it without by")
        numeric_space(query, schema)
        return Extent(query, schema, ENDS)


class Extent(Quantiles):
    """Two choices by rank among the cells of a public scale: of the column, and of the column mirrored."""

    @property
    def details(self) -> ExtentDetails:  # type: ignore[override]
        """The query's own parameters."""
        assert isinstance(self.query.details, ExtentDetails)
        return self.query.details

    @cached_property
    def edges(self) -> tuple[int, ...]:
        """The lattice indices where the cells begin, and where the last one ends."""
        return edges_of(numeric_space(self.query, self.schema))

    @cached_property
    def lattice(self) -> Lattice:
        """The places of the cells."""
        return Lattice(Fraction(1), 0, len(self.edges) - 2)

    @cached_property
    def probabilities(self) -> tuple[Fraction, ...]:
        """Half of the share, exactly."""
        return (exact(self.details.outside) / 2,)

    @property
    def statistic(self) -> Frequencies:
        """What the engine is asked."""
        return Frequencies(self.query.bound_condition(self.schema), Cells(()), self.details.column)

    @property
    def spread(self) -> int:
        """A row counts in both choices."""
        return 2 * super().spread

    def answer(self, table: Source) -> list[Ranks]:
        """The exact, secret running counts of the cells, from either side."""
        _, values, counts = table.answer(self.statistic)
        cells = self.lattice.high + 1
        starts = np.array(self.edges[:-1], dtype=np.int64)
        places = np.searchsorted(starts, np.asarray(values, dtype=np.int64), side="right") - 1
        held = np.zeros(cells, dtype=np.int64)
        np.add.at(held, places, np.asarray(counts, dtype=np.int64))
        return [_ranks(held), _ranks(held[::-1])]

    def estimate(self, output: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The two ends in the column's units."""
        low, high = (int(place) for place in np.asarray(output).reshape(-1))
        column, cells = numeric_space(self.query, self.schema).lattice, self.lattice.high + 1
        return column.values(np.array([self.edges[low], self.edges[max(low, cells - 1 - high) + 1]]))

    def read(self, output: npt.ArrayLike, mechanism: RankErrors) -> answers.Quantiles:
        """The lower and the upper end."""
        p = self.details.outside / 2
        space = numeric_space(self.query, self.schema)
        return answers.Quantiles(
            self.cells.columns(), (p, 1 - p), self.estimate(output), partial(self.accuracy, mechanism),
            self.details.column, float(space.lattice.step), units_of(space),
        )  # fmt: skip

    def accuracy(self, mechanism: RankErrors, beta: float) -> Accuracy:
        """By how many rows more or less than the share an end may be off, on any table."""
        most = mechanism.error(beta)
        return ErrorStatement("rank", most, level_of(beta), least=most, each=True)


def edges_of(space: Numeric) -> tuple[int, ...]:
    """Public places to cut a column's range at, as lattice indices from its lower to its upper end.

    >>> from sfumato.spaces import Integers
    >>> edges_of(Integers(-3, 12))
    (-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    >>> [edge for edge in edges_of(Integers(0, 100_000)) if edge < 4000]
    [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 3125]
    """
    lattice = space.lattice
    inside = {lattice.low + (lattice.high - lattice.low) * part // PARTS for part in range(PARTS + 1)}
    if not space.decodes:  # dates and elapsed times have no powers of ten
        reach = max(abs(lattice.low), abs(lattice.high), 1) * lattice.step
        first, last = math.floor(math.log10(lattice.step)), math.ceil(math.log10(reach))
        round_numbers = (digit * Fraction(10) ** power for power in range(first, last + 1) for digit in DIGITS)
        indices = {math.ceil(number / lattice.step) for number in round_numbers} | {0}
        inside |= {sign * index for index in indices for sign in (1, -1)}
    found = tuple(sorted(index for index in inside if lattice.low <= index <= lattice.high))
    return found if len(found) > 1 else found * 2


def _ranks(held: npt.NDArray[np.int64]) -> Ranks:
    places = np.flatnonzero(held)
    return Ranks.counted(places, held[places])


def extent(column: str, outside: float = OUTSIDE) -> Query:
    """A range of a number to declare: round ends beyond which about the share `outside` of the rows lies in all.

    For a column that was declared too widely, because nothing better was known; it is charged like any question.
    """
    return Query(ExtentDetails(column, outside))
