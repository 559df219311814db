r"""A distribution on a grid whose feature means come nearest to given ones in l1: a linear program, by columns.

minimize ||W u - b||_1 over u >= 0, sum u = 1, one column of W for each grid point.  Grids have millions of points and
programs of this form a solution on at most R + 1 of them, so columns are generated: solve over some points, take the
dual prices y of the features, and look for points where y . phi(x) exceeds the price of one row.  The function y . phi
is evaluated on the whole grid one axis at a time.  When no point improves, the solution is optimal over the whole grid.
Everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import EngineError
from sfumato.queries.features import Axis

__all__ = ["Fit", "cosines", "fit", "on_grid"]

START = 6  # points a side of the first grid
ROUNDS = 200
COLUMNS = 100  # new points a round
ENOUGH = 1e-6  # a gain within the solver's tolerance; the l1 misfit is then within this of the least

Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Points of the grid with positive weights that add up to 1, and the misfit of each feature."""

    cells: Cells
    weights: Floats
    misfit: Floats
    rounds: int


def cosines(axes: Sequence[Axis], order: int) -> list[Floats]:
    """cos(r arccos x) for r below `order` at the cells of each axis."""
    levels = np.arange(order)[:, None]
    return [np.cos(levels * np.arccos(np.clip(axis.positions(), -1, 1))[None, :]) for axis in axes]


def on_grid(tables: Sequence[Floats], tensor: Floats) -> Floats:
    """sum_r tensor_r prod_i cos(r_i arccos x_i) at every grid point, one axis after another."""
    for table in tables:
        tensor = np.tensordot(tensor, table, axes=(0, 0))  # the contracted axis comes back last
    return tensor


def fit(tables: Sequence[Floats], degrees: Sequence[tuple[int, ...]], target: Floats) -> Fit:
    """The distribution nearest to `target`, means of the features of these degrees."""
    shape, places = tuple(table.shape[1] for table in tables), tuple(np.array(degrees).T)
    cells = _coarse(shape)
    for rounds in range(1, ROUNDS + 1):
        matrix = _features(tables, degrees, cells)
        weights, prices, level = _master(matrix, target)
        tensor = np.zeros(tuple(table.shape[0] for table in tables))
        tensor[places] = prices
        gains = on_grid(tables, tensor) + level
        found = _peaks(gains)
        held = weights > 0
        if not len(found) or rounds == ROUNDS:
            break
        cells = np.unique(np.concatenate([cells[held] if len(cells) > 40 * COLUMNS else cells, found]), axis=0)
    return Fit(cells[held], weights[held] / weights.sum(), matrix @ weights - target, rounds)


def _coarse(shape: tuple[int, ...]) -> Cells:
    """A few points along each axis, ends included."""
    sides = [np.unique(np.linspace(0, cells - 1, START).round().astype(np.int64)) for cells in shape]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(shape))


def _features(tables: Sequence[Floats], degrees: Sequence[tuple[int, ...]], cells: Cells) -> Floats:
    columns = [table[:, cells[:, place]] for place, table in enumerate(tables)]
    return np.stack([np.prod([c[r] for c, r in zip(columns, degree, strict=True)], axis=0) for degree in degrees])


def _master(matrix: Floats, target: Floats) -> tuple[Floats, Floats, float]:
    """Weights of the given points, dual prices of the features, and of the sum of the weights."""
    from scipy.optimize import linprog

    features, points = matrix.shape
    unit = np.eye(features)
    body = np.block([[matrix, unit, -unit], [np.ones((1, points)), np.zeros((1, 2 * features))]])
    costs = np.concatenate([np.zeros(points), np.ones(2 * features)])
    solved = linprog(costs, A_eq=body, b_eq=np.append(target, 1.0), bounds=(0, None), method="highs")
    if not solved.success:
        raise EngineError("the linear program has no solution that the solver accepts; take a smaller order or grid")
    prices = np.asarray(solved.eqlin.marginals)
    return np.maximum(solved.x[:points], 0.0), prices[:features], float(prices[features])


def _peaks(gains: Floats) -> Cells:
    """The best points that improve the program, no two of them neighbors."""
    from scipy.ndimage import maximum_filter

    largest = float(gains.max())
    if largest <= ENOUGH:
        return np.empty((0, gains.ndim), dtype=np.int64)
    peaks = np.argwhere((gains >= maximum_filter(gains, size=3, mode="nearest")) & (gains > ENOUGH))
    order = np.argsort(gains[tuple(peaks.T)])[::-1][:COLUMNS]
    return np.asarray(peaks[order], dtype=np.int64)
