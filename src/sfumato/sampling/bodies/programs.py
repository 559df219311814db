"""Linear programs, one a point: the gauge of a hull and the least preimage under a linear map (HiGHS)."""

from __future__ import annotations

import numpy as np

from sfumato.errors import ParameterError
from sfumato.sampling.reals import Reals

__all__ = ["gauge_by_program", "least_norm_preimages"]


def gauge_by_program(vertices: Reals, points: Reals) -> Reals:
    """max{<y, z> : |<y, f>| <= 1 for every column f}, for each row z of points: the dual route."""
    from scipy.optimize import linprog

    sides = np.vstack([vertices.T, -vertices.T])
    gauges = []
    for z in np.atleast_2d(points):
        found = linprog(-z, A_ub=sides, b_ub=np.ones(len(sides)), bounds=(None, None), method="highs")
        gauges.append(np.inf if found.status == 3 else -found.fun)
    return np.array(gauges, dtype=np.float64)


def least_norm_preimages(matrix: Reals, points: Reals, order: float) -> Reals:
    """For each row z a vector g with matrix g = z and the least l_order norm; order 1, 2 or infinity."""
    if order == 2:
        return np.asarray(np.linalg.lstsq(matrix, points.T, rcond=None)[0].T)
    if order not in (1.0, np.inf):
        raise ParameterError("the gauge of a non-injective image is known for p = 1, 2 and infinity only")
    return np.array([_least(matrix, z, order) for z in points])


def _least(matrix: Reals, z: Reals, order: float) -> Reals:
    from scipy.optimize import linprog

    rows, columns = matrix.shape
    if order == 1:
        found = linprog(np.ones(2 * columns), A_eq=np.hstack([matrix, -matrix]), b_eq=z, method="highs")
        return np.zeros(columns) if found.x is None else found.x[:columns] - found.x[columns:]
    cost = np.append(np.zeros(columns), 1.0)
    sides = np.vstack([np.eye(columns), -np.eye(columns)])
    limits = np.hstack([sides, -np.ones((2 * columns, 1))])
    equal = np.hstack([matrix, np.zeros((rows, 1))])
    bounds = [(None, None)] * columns + [(0, None)]
    found = linprog(cost, limits, np.zeros(2 * columns), equal, z, bounds=bounds, method="highs")
    return np.zeros(columns) if found.x is None else np.asarray(found.x[:columns])
