"""Where walks take place: the distinct columns of a hull, reduced to its span and rounded.

The smallest ellipsoid around the columns (Khachiyan's iterations) is mapped to the ball of radius sqrt(r), r the
rank, so that walks need no tuning to the workload: then B_2 lies in K and K in sqrt(r) B_2, up to the iterations'
tolerance [Todd2016].  Noise shaped like K is mapped back by a matrix, since gauges do not change under linear maps.
The dimension of the span is the exact rank; columns so nearly flat that doubles would lose a direction are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.elimination import rank
from sfumato.errors import ParameterError
from sfumato.sampling.reals import Reals

__all__ = ["Frame", "distinct_columns", "frame"]

ROUNDS = 200
CLOSE = 0.05  # relative excess of the farthest column that ends the iterations
FLATTEST = 1e-8  # least width over largest, rows brought to one size: below, rounding would spoil the shape


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """z = lift @ z', z' = drop @ z on the span; `columns` (r, n) generates the same body in the new coordinates."""

    columns: Reals
    lift: Reals
    drop: Reals

    @property
    def rank(self) -> int:
        """Of the span."""
        return int(self.columns.shape[0])


def frame(vertices: Reals) -> Frame:
    """The frame of the hull of the signed columns of `vertices`."""
    columns = distinct_columns(vertices)
    units = row_units(columns)
    left, values, right = np.linalg.svd(columns / units, full_matrices=False)
    kept = rank(columns)
    if values[kept - 1] < FLATTEST * values[0]:
        raise ParameterError(
            "the columns lie so nearly in a space of fewer dimensions that noise of their shape cannot be drawn in "
            "doubles; use the cube, or rows of more equal weight"
        )
    round_columns = right[:kept] * np.sqrt(columns.shape[1])  # orthogonal rows: no direction is short any more
    root = np.linalg.cholesky((round_columns * john_weights(round_columns)) @ round_columns.T)
    widths = values[:kept] / np.sqrt(columns.shape[1])
    lift = units * (left[:, :kept] * widths) @ root
    drop = np.linalg.solve(root, (left[:, :kept] / widths).T / units.T)
    # the weighted moment matrix is the identity now, and the farthest column has length about sqrt(rank)
    return Frame(np.ascontiguousarray(np.linalg.solve(root, round_columns)).reshape(kept, -1), lift, drop)


def row_units(columns: Reals) -> Reals:
    """For each row the power of two below its largest entry, as a column; 1 for rows of zeros."""
    largest = np.abs(columns).max(axis=1, keepdims=True)
    return np.where(largest > 0, np.ldexp(0.5, np.frexp(largest)[1]), 1.0)


def john_weights(columns: Reals) -> Reals:
    """Probabilities on the columns whose moment matrix M nearly has max <f, M^{-1} f> = rank."""
    rank, count = columns.shape
    weights = np.full(count, 1 / count)
    for _ in range(ROUNDS):
        moment = (columns * weights) @ columns.T
        lengths = (columns * np.linalg.solve(moment, columns)).sum(axis=0)
        if lengths.max() <= (1 + CLOSE) * rank:
            break
        weights = weights * lengths / rank
    return np.asarray(weights)


def distinct_columns(vertices: Reals) -> Reals:
    """The columns, each once up to sign, without zeros; in a fixed order."""
    columns = vertices[:, vertices.any(axis=0)]
    first = np.argmax(columns != 0, axis=0)
    leading = columns[first, np.arange(columns.shape[1])]
    return np.ascontiguousarray(np.unique(columns * np.sign(leading), axis=1))
