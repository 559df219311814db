"""Where walks take place: the distinct columns of a hull, reduced to its span and rounded.

The smallest ellipsoid around the columns (Khachiyan's iterations) is mapped to the ball of radius sqrt(r), r the
rank, so that walks need no tuning to the workload: then B_2 lies in K and K in sqrt(r) B_2, up to the iterations'
tolerance [Todd2016].  Noise shaped like K is mapped back by a matrix, since gauges do not change under linear maps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.sampling.reals import Reals

__all__ = ["Frame", "distinct_columns", "frame"]

ROUNDS = 200
CLOSE = 0.05  # relative excess of the farthest column that ends the iterations
SPAN = 1e-10  # singular values below this fraction of the largest count as zero


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
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    span = left[:, values > SPAN * values[0]]
    inside = span.T @ columns
    rank = inside.shape[0]
    weights = john_weights(inside)
    root = np.linalg.cholesky((inside * weights) @ inside.T)
    lift, drop = span @ root, np.linalg.solve(root, span.T)
    # the weighted moment matrix is the identity now, and the farthest column has length about sqrt(rank)
    return Frame(np.ascontiguousarray(drop @ columns).reshape(rank, -1), lift, drop)


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
