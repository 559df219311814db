"""A synthetic table as a distribution on a grid: points of some columns with weights, and what it says of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.queries.features import Axis
from sfumato.queries.query import Query
from sfumato.queries.smooth import GaussianMixture, Polynomial, SmoothFunction, evaluate
from sfumato.randomness import Rng
from sfumato.schema import Schema
from sfumato.synthesis.grid_fit import cosines, fit, on_grid
from sfumato.synthesis.trigonometric import Trigonometric

__all__ = ["GridDistribution", "distribution", "query_bound"]

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
            lattice: Any = self.schema.space(name).lattice  # type: ignore[attr-defined]
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

    def to_arrow(self) -> Any:
        """The points with a column `weight`, as an Arrow table."""
        import pyarrow as pa

        return pa.table({**self.values(), "weight": self.weights})


def distribution(mechanism: Trigonometric, output: npt.ArrayLike) -> GridDistribution:
    """The distribution on the grid nearest to what was released."""
    means, _ = mechanism.means(output)
    features = mechanism.features
    order = max(max(degree) for degree in features.degrees) + 1
    found = fit(cosines(features.axes, order), features.degrees, means)
    return GridDistribution(mechanism.schema, mechanism.columns, features.axes, found.cells, found.weights)


def query_bound(
    mechanism: Trigonometric, output: npt.ArrayLike, found: GridDistribution, query: Query, beta: float = 0.05
) -> float:
    """How far the distribution's answer to a smooth query can be from the table's, but for probability `beta`.

    With h the polynomial of the mechanism's order nearest to f, coefficients c: |c| times the misfit and noise of each
    feature, twice the distance of f and h on the grid, and what the cells hide.  It holds for all queries at once.
    """
    function = query.details
    if not isinstance(function, GaussianMixture | Polynomial) or function.columns != mechanism.columns:
        raise ParameterError(f"query must be a smooth function of {', '.join(mechanism.columns)}, in this order")
    features = mechanism.features
    means, rows = mechanism.means(output)
    reach = mechanism.error(beta)
    noise = (reach + np.abs(means) * (reach if mechanism.counted else 0.0)) / max(rows - reach, 1.0)
    misfit = np.abs(features.at(found.points()).T @ found.weights - means)
    order = max(max(degree) for degree in features.degrees) + 1
    tensor = _coefficients(function, order)
    tables = cosines(features.axes, order)
    grid = np.stack(np.meshgrid(*(axis.positions() for axis in features.axes), indexing="ij"), axis=-1)
    exact = function.values(grid.reshape(-1, len(tables)))
    apart = float(np.abs(exact - on_grid(tables, tensor).reshape(-1)).max())
    sizes = np.abs(tensor[tuple(np.array(features.degrees).T)])
    hidden = function.slope * sum(axis.reach for axis in features.axes)
    rounding = float(sizes.sum()) * 2 / features.scale
    return float(sizes @ (misfit + np.minimum(noise, 2.0))) + 2 * apart + hidden + rounding


def _coefficients(function: SmoothFunction, order: int) -> Floats:
    """The Chebyshev coefficients of a function below `order` in each column, by interpolation at 4 times as many."""
    nodes = 4 * order
    angles = (np.arange(nodes) + 0.5) * np.pi / nodes
    columns = len(function.columns)
    grid = np.stack(np.meshgrid(*[np.cos(angles)] * columns, indexing="ij"), axis=-1).reshape(-1, columns)
    values = function.values(grid).reshape((nodes,) * columns)
    table = np.cos(np.arange(order)[:, None] * angles) * np.where(np.arange(order) == 0, 1, 2)[:, None] / nodes
    for _ in range(columns):
        values = np.tensordot(values, table.T, axes=(0, 0))
    return values
