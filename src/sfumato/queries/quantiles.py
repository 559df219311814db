r"""Quantiles, by rank: the penalty of a lattice point and how far one unit moves it.

For probability p and n present rows, of which L lie below the point and U above it, the penalty is
max(0, L - p n, U - (1 - p) n) / (2 max(p, 1 - p)): zero exactly at the p-quantiles, ties or not.  With
p = 1/2 it is the tie-safe median score.  Between neighbors, the penalties of all points change by amounts
that lie within one another by at most 1 for a row added or removed, and 2 for a row replaced
(docs/proofs/quantiles.md): that spread is what an exponential mechanism pays for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers import choices as answers
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.errors import ParameterError
from sfumato.numeric import exact
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Frequencies
from sfumato.queries.details import Grouped, known_parts, needed_column
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.question import Bound, Source
from sfumato.queries.ranks import Ranks, Seen
from sfumato.queries.refined import refined, shifts_of
from sfumato.queries.vector import Bounds, numeric_space, units_of
from sfumato.spaces import Lattice, Numeric
from sfumato.spaces.schema import Schema

__all__ = ["BRACKETED", "Quantiles", "QuantilesDetails", "median", "quantiles"]


BRACKETED = 0.95  # the level of intervals in the column's units, of all quantiles at once


@dataclass(frozen=True, slots=True)
class QuantilesDetails(Grouped):
    """One or many quantiles of a column."""

    kind: ClassVar[str] = "quantiles"

    column: str
    probabilities: tuple[float, ...]
    bars: bool = False  # whether intervals in the column's units are released, too

    def __post_init__(self) -> None:
        needed_column(self.kind, self.column)
        if not self.probabilities:
            raise ParameterError("probabilities is empty; give at least one number between 0 and 1")
        for p in self.probabilities:
            if not 0 < exact(p, "a probability") < 1:
                raise ParameterError(f"probabilities must lie strictly between 0 and 1, got {p!r}")
        if sorted(set(self.probabilities)) != list(self.probabilities):
            raise ParameterError("probabilities must be increasing and distinct")
        if not isinstance(self.bars, bool):
            raise ParameterError(f"bars must be true or false, got {self.bars!r:.40}")

    def subject(self) -> str:
        """What is asked."""
        bars = " with bars" if self.bars else ""
        if self.probabilities == (0.5,):
            return f"median of {self.column}{bars}"
        return f"quantiles {', '.join(f'{p:g}' for p in self.probabilities)} of {self.column}{bars}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        bars = {"bars": True} if self.bars else {}
        return {"column": self.column, "probabilities": list(self.probabilities), **bars}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> QuantilesDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "column", "probabilities", "bars")
        return cls(record.get("column", ""), tuple(record.get("probabilities", ())), record.get("bars", False))

    def over(self, query: Query, schema: Schema, cells: Cells) -> Quantiles:
        """Quantiles of each cell."""
        numeric_space(query, schema)
        return Quantiles(query, schema, cells)


class RankErrors(Protocol):
    """A mechanism that chooses by rank: its errors in rows, however values lie, where they lie evenly, with ties."""

    def error(self, beta: float) -> float: ...

    def spread_error(self, beta: float) -> float: ...

    def tied_error(self, beta: float) -> float: ...

    @property
    def share_of_ties(self) -> str: ...


@dataclass(frozen=True)
class Quantiles(Bound):
    """Quantiles of a column over each cell; an answer is the lattice's counts, cell by cell."""

    query: Query
    schema: Schema
    cells: Cells

    @property
    def details(self) -> QuantilesDetails:
        """The query's own parameters."""
        assert isinstance(self.query.details, QuantilesDetails)
        return self.query.details

    @cached_property
    def space(self) -> Numeric:
        """The column's space."""
        return numeric_space(self.query, self.schema)

    @cached_property
    def lattice(self) -> Lattice:
        """The column's lattice."""
        return self.space.lattice

    @cached_property
    def probabilities(self) -> tuple[Fraction, ...]:
        """The probabilities, exactly as written."""
        return tuple(exact(p) for p in self.details.probabilities)

    @property
    def statistic(self) -> Frequencies:
        """What the engine is asked."""
        return Frequencies(self.query.bound_condition(self.schema), self.cells, self.details.column)

    def answer(self, table: Source) -> Sequence[Seen]:
        """The exact, secret running counts of each cell; of fine lattices as far as they are looked at."""
        if self.cells.count == 0:
            return []
        shifts = shifts_of(self.lattice, self.cells.count, self.schema.size)
        if len(shifts) > 1 and table.steady:  # else a row may move between two passes, and count in both
            return refined(table, self.statistic, self.lattice, shifts)
        cells, values, counts = table.answer(self.statistic)
        order = np.argsort(cells, kind="stable")
        ends = np.searchsorted(cells[order], np.arange(1, self.cells.count))
        return [Ranks.counted(values[part], counts[part]) for part in np.split(order, ends)]

    @property
    def spread(self) -> int:
        """How far apart the penalties' changes can lie when one unit changes, over all cells together."""
        return self.schema.unit.rows * (2 if isinstance(self.schema.adjacency, Replace) else 1)

    def estimate(self, output: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The chosen lattice points in the column's units, cell after cell."""
        array = np.asarray(output)
        return self.lattice.values((array[..., 0] if array.ndim == 3 else array).reshape(-1))

    def ends(self, output: npt.NDArray[Any], beta: float, joint: bool) -> Bounds:
        """The released ends, which hold for all quantiles at once; beyond their level the whole range."""
        low, high = (self.lattice.values(output[..., side].reshape(-1)) for side in (1, 2))
        if 1 - beta > BRACKETED + 1e-9:
            return np.full_like(low, self.lattice.low_value), np.full_like(high, self.lattice.high_value)
        return low, high

    def read(self, output: npt.ArrayLike, mechanism: RankErrors) -> answers.Quantiles:
        """The chosen points, cell after cell; with their ends, where these were released."""
        array = np.asarray(output)
        ends = partial(self.ends, array) if array.ndim == 3 and array.size else None
        return answers.Quantiles(
            self.cells.columns(len(self.probabilities)), self.details.probabilities * self.cells.count,
            self.estimate(output), partial(self.accuracy, mechanism), self.details.column, float(self.lattice.step),
            units_of(self.space), ends, (self.lattice.low_value, self.lattice.high_value), BRACKETED,
        )  # fmt: skip

    def accuracy(self, mechanism: RankErrors, beta: float) -> Accuracy:
        """The error to expect: by rank, since the error in value depends on the data."""
        several, level, least = len(self.probabilities) > 1, level_of(beta), mechanism.spread_error(beta)
        share = f"and {mechanism.share_of_ties} of the rows that share a value"
        tied = (ErrorStatement("tied", mechanism.tied_error(beta), level, besides=(share,)),) if several else ()
        most = max(least, mechanism.error(beta))
        kind = "ranks" if several else "rank"
        return ErrorStatement(kind, most, level, least=least, each=self.cells.count > 1, besides=tied)


def quantiles(column: str, probabilities: float | Iterable[float], *, bars: bool = False) -> Query:
    """One or many quantiles of a number, in one call; `bars`: with intervals in its units, for half of the spend."""
    several = not isinstance(probabilities, int | float | str)
    chosen = arguments.several("probabilities", probabilities) if several else (probabilities,)
    return Query(QuantilesDetails(column, chosen, bars))


def median(column: str, *, bars: bool = False) -> Query:
    """The median of a number; `bars`: with an interval in its units, for half of the spend."""
    return quantiles(column, 0.5, bars=bars)
