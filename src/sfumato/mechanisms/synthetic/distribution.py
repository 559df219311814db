"""A synthetic table as a distribution on a grid: points of some columns with weights, and what it says of a query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.queries.features import Axis
from sfumato.queries.query import Query
from sfumato.queries.smooth import evaluate
from sfumato.randomness import Rng
from sfumato.spaces.schema import Schema

__all__ = ["WEIGHT", "GridDistribution"]

WEIGHT = "sfumato_weight"  # the column of weights, which add up to 1
MOST_ROWS = 1_000_000  # drawn at once

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class GridDistribution:
    """Grid points (points, columns) by their cells, with weights that add up to 1."""

    schema: Schema
    columns: tuple[str, ...]
    axes: tuple[Axis, ...]
    cells: npt.NDArray[np.int64]
    weights: Floats

    def points(self) -> Floats:
        """The points in [-1, 1]^d."""
        return np.stack([axis.positions()[self.cells[:, i]] for i, axis in enumerate(self.axes)], axis=1)

    def values(self) -> dict[str, Floats]:
        """The points in the columns' own units, each on its column's lattice."""
        found = {}
        for place, (name, axis) in enumerate(zip(self.columns, self.axes, strict=True)):
            lattice = self.schema.lattice(name)
            found[name] = lattice.values(lattice.low + axis.middles()[self.cells[:, place]])
        return found

    def draw(self, rows: int, rng: Rng) -> dict[str, Floats]:
        """Independent rows of the distribution, in the columns' own units."""
        if not (isinstance(rows, int) and 1 <= rows <= MOST_ROWS):
            raise ParameterError(f"rows must be from 1 to {MOST_ROWS:,}, got {rows!r}; or publish points with weights")
        chosen = np.random.default_rng(rng.word()).choice(len(self.weights), rows, p=self.weights)
        return {name: column[chosen] for name, column in self.values().items()}

    def evaluate(self, query: Query) -> float:
        """The mean of a smooth query under the distribution."""
        return evaluate(query, self.values(), self.schema, self.weights)
