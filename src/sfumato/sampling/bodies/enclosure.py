r"""Rounding-proof upper bounds: how large can an exact preimage of a point be?

Given A (d x m) of full row rank, a point f and a guess g with A g about f, there is an exact preimage
g + c with c supported on d chosen columns B of A.  With R an approximate inverse of A_B, the matrix
I - R A_B has infinity norm at most some alpha < 1 (bounded with all rounding counted), and then
||c||_inf <= || |R| |f - A g| ||_inf / (1 - alpha).  [Rump2010, section 10]  Each product of length k
computed in floating point is off by at most gamma_k = k u / (1 - k u) times the product of absolute values.
Proof: docs/proofs/sampling-bodies.md.
"""

from __future__ import annotations

import numpy as np

from sfumato.errors import ParameterError
from sfumato.sampling.bodies.frame import row_units
from sfumato.sampling.reals import Reals

__all__ = ["norm_bound", "preimage_bound", "solve_bound"]

ROUNDING = 2.0**-53


def growth(terms: int) -> float:
    """gamma_k with room for the sums that use it."""
    return 4 * (terms + 4) * ROUNDING


def preimage_bound(matrix: Reals, points: Reals, guesses: Reals) -> Reals:
    """For each row f of points: a vector that bounds |g| entry by entry, for some g with matrix g = f exactly."""
    rows, columns = matrix.shape
    exact = whole(matrix, points, guesses)
    units = row_units(matrix)  # powers of two: rows of one size, the same preimages
    matrix, points = matrix / units, points / units.T
    basis = independent_columns(matrix)
    square = matrix[:, basis]
    if len(basis) < rows or np.linalg.matrix_rank(square) < rows:
        raise ParameterError("the matrix does not reach every direction of the space; its rows must be independent")
    inverse = np.linalg.inv(square)
    slack = growth(max(rows, columns))
    defect = np.abs(np.eye(rows) - inverse @ square) + slack * (np.abs(inverse) @ np.abs(square) + 1)
    alpha = float(defect.sum(axis=1).max()) * (1 + slack)
    if not alpha < 0.5:
        raise ParameterError("matrix is too badly conditioned to bound gauges; rescale or reduce its rows")
    residual = np.abs(points - guesses @ matrix.T)
    if not exact:
        residual += slack * (np.abs(points) + np.abs(guesses) @ np.abs(matrix).T)
    shift = (residual @ np.abs(inverse).T).max(axis=1) * (1 + slack) / (1 - alpha) * (1 + slack)
    bound = np.abs(guesses)
    bound[:, basis] += shift[:, None]
    return np.where((shift > 0)[:, None] & (bound > 0), np.nextafter(bound, np.inf), bound)


def solve_bound(matrix: Reals, points: Reals) -> tuple[Reals, Reals]:
    """For a square matrix: approximate solutions of matrix g = f, one a row, and a bound on their error."""
    guesses = np.asarray(np.linalg.solve(matrix, points.T).T, dtype=np.float64)
    bound = preimage_bound(matrix, points, guesses)
    return guesses, np.asarray((bound - np.abs(guesses)).max(axis=1))


def norm_bound(magnitudes: Reals, p: float) -> Reals:
    """The l_p norm of each row of nonnegative numbers, rounded up."""
    if p == np.inf:
        return np.asarray(magnitudes.max(axis=1))
    if p == 1 and whole(np.ones((1, magnitudes.shape[1])), magnitudes):
        return np.asarray(magnitudes.sum(axis=1))
    largest = magnitudes.max(axis=1, keepdims=True)
    ratios = magnitudes / np.where(largest > 0, largest, 1)
    norm = largest[:, 0] * (ratios**p).sum(axis=1) ** (1 / p)
    return np.asarray(norm * (1 + growth(2 * magnitudes.shape[1]) + 16 * p * ROUNDING))


def whole(matrix: Reals, *vectors: Reals) -> bool:
    """Whether all entries are integers, so small that products with the matrix have no rounding."""
    largest = [float(np.abs(part).max(initial=0.0)) for part in vectors]
    integers = all(bool((part == np.floor(part)).all()) for part in (matrix, *vectors))
    return integers and float(np.abs(matrix).sum(axis=1).max()) * max(largest) < 2.0**52


def independent_columns(matrix: Reals) -> list[int]:
    """Columns of a well-conditioned square part, by QR with column pivoting."""
    from scipy.linalg import qr

    if matrix.shape[0] == matrix.shape[1]:
        return list(range(matrix.shape[0]))
    _, _, order = qr(matrix, mode="economic", pivoting=True)
    return [int(j) for j in order[: matrix.shape[0]]]
