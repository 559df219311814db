r"""Quantiles, by rank: the penalty of a lattice point and how far one unit moves it.

For probability p and n present rows, of which L lie below the point and U above it, the penalty is
max(0, L - p n, U - (1 - p) n) / (2 max(p, 1 - p)): zero exactly at the p-quantiles, ties or not.  With
p = 1/2 it is the tie-safe median score.  Between neighbors, the penalties of all points change by amounts
that lie within one another by at most 1 for a row added or removed, and 2 for a row replaced
(docs/proofs/quantiles.md): that spread is what an exponential mechanism pays for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.numeric import exact
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Frequencies
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.vector import numeric_space
from sfumato.schema import Schema
from sfumato.spaces import Lattice
from sfumato.statements import Accuracy, ErrorStatement, level_of

__all__ = ["Quantiles"]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of a column over each cell; an answer is the lattice's counts, cell by cell."""

    query: Query
    schema: Schema
    cells: Cells

    @property
    def name(self) -> str:
        """The query's readable name."""
        return self.query.name

    @property
    def lattice(self) -> Lattice:
        """The column's lattice."""
        return numeric_space(self.query, self.schema).lattice

    @property
    def probabilities(self) -> tuple[Fraction, ...]:
        """The probabilities, exactly as written."""
        return tuple(exact(p) for p in self.query.probabilities)

    @property
    def statistic(self) -> Frequencies:
        """What the engine is asked."""
        return Frequencies(self.query.bound_condition(self.schema), self.cells, self.query.column or "")

    @property
    def spread(self) -> int:
        """How far apart the penalties' changes can lie when one unit changes, over all cells together."""
        return self.schema.unit.rows * (2 if isinstance(self.schema.adjacency, Replace) else 1)

    def estimate(self, chosen: Any) -> npt.NDArray[np.float64]:
        """The chosen lattice points in the column's units, cell after cell."""
        return self.lattice.values(np.asarray(chosen).reshape(-1))

    def table(self, chosen: Any, mechanism: Any, beta: float, joint: bool = False) -> dict[str, list[Any]]:
        """The public columns: keys, probability, estimate."""
        repeat = len(self.probabilities)
        probabilities = list(self.query.probabilities) * self.cells.count
        return {
            **self.cells.columns(repeat),
            "probability": probabilities,
            "estimate": self.estimate(chosen).tolist(),
        }

    def accuracy(self, mechanism: Any, beta: float) -> Accuracy:
        """The error to expect: by rank, since the error in value depends on the data."""
        several, level, least = len(self.probabilities) > 1, level_of(beta), mechanism.spread_error(beta)
        share = f"and {mechanism.share_of_ties} of the rows that share a value"
        tied = (ErrorStatement("tied", mechanism.tied_error(beta), level, besides=(share,)),) if several else ()
        most = max(least, mechanism.error(beta))
        kind = "ranks" if several else "rank"
        return ErrorStatement(kind, most, level, least=least, each=self.cells.count > 1, besides=tied)
