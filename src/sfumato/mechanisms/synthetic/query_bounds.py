"""What a table for smooth queries says of one of them: a bound on its error, after the release."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.mechanisms.synthetic.distribution import GridDistribution
from sfumato.mechanisms.synthetic.grid_fit import cosines, on_grid
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.queries.query import Query
from sfumato.queries.smooth import GaussianMixture, Polynomial, SmoothFunction

__all__ = ["query_bound"]

Floats = npt.NDArray[np.float64]


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
    order = mechanism.order
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
