r"""Measurements of a linear map of the workload's own rows: K inside A B_1, or inside the best ellipsoid.

With independent rows F_S that span the workload's, any invertible T of whole numbers gives a measurement T F_S that
determines every answer exactly.  T is searched in real numbers and rounded; the exact norms of T F_S are charged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.deferred import function
from sfumato.elimination import independent_rows, rank
from sfumato.queries.linear.ellipsoid import least_ellipsoid
from sfumato.queries.linear.factors import Floats, Whole
from sfumato.queries.linear.measurements.dense import Dense

__all__ = ["framed", "least_box", "spanning_rows"]

qr = function("scipy.linalg", "qr")
minimize = function("scipy.optimize", "minimize")

FINE = 2**20  # the largest entry of T
LARGEST_RANK = 64
MOST_POINTS = 20_000
MOST_SEARCHED = 100_000  # entries of the points, in coordinates of their span, in the l1 search: seconds there
ROUNDS = (0.1, 0.02, 0.004)  # softness of the largest norm, relative, in the l1 search


def spanning_rows(matrix: Whole) -> Any:
    """Numbers of rows that are independent and span the others, exactly; those farthest apart are preferred."""
    real = matrix.astype(np.float64)
    lengths = np.linalg.norm(real, axis=1, keepdims=True)
    _, _, order = qr((real / np.where(lengths > 0, lengths, 1.0)).T, mode="economic", pivoting=True)
    return np.sort(order[independent_rows(matrix[order])])


def framed(matrix: Whole, points: Whole, norm: str) -> Dense | None:
    """The best T F_S for noise scaled to the largest `norm` of T F_S over the sensitivity body; None if too large."""
    if points.shape[1] > MOST_POINTS or min(matrix.shape) == 0:
        return None
    chosen = spanning_rows(matrix)
    if len(chosen) > LARGEST_RANK or (norm == "l1" and len(chosen) * points.shape[1] > MOST_SEARCHED):
        return None
    rows = matrix[chosen].astype(np.float64)
    left, _, _ = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
    basis = left[:, : len(chosen)]
    inside = basis.T @ points.astype(np.float64)
    found = least_ellipsoid(inside)
    white = _whitening(found.shape)
    if white is None:
        return None
    if norm == "l1":
        starts = [white, basis] if basis.shape[0] == basis.shape[1] else [white]
        white = min((_least(inside, start, "l1") for start in starts), key=lambda pair: pair[0])[1]
    real = white @ basis.T @ matrix @ np.linalg.pinv(rows)
    whole = np.round(real * (FINE / np.abs(real).max())).astype(np.int64)
    reach = float(np.abs(whole).sum(axis=1).max()) * float(np.abs(rows).max())
    if rank(whole) < len(chosen) or reach >= 2.0**62:
        return None
    return Dense.of(whole @ matrix[chosen].astype(np.int64))


def least_box(points: Whole) -> Floats:
    """A matrix B such that every point lies in B [-1, 1]^d up to rounding, with a small ||B||_F; by descent."""
    real = points.astype(np.float64)
    white = _whitening(least_ellipsoid(real).shape)
    starts = [np.eye(len(real))] if white is None else [np.eye(len(real)), white]
    frame = min((_least(real, start, "linf") for start in starts), key=lambda pair: pair[0])[1]
    return np.asarray(np.linalg.inv(frame), dtype=np.float64)


def _whitening(shape: Floats) -> Floats | None:
    """shape^{-1/2}; None if some direction is lost to rounding."""
    values, vectors = np.linalg.eigh(shape)
    if values[0] <= 1e-14 * values[-1]:
        return None
    return np.asarray(vectors / np.sqrt(values) @ vectors.T)


def _least(points: Floats, start: Floats, norm: str) -> tuple[float, Floats]:
    """T with the least ||T^{-1}||_F max_i ||T c_i||, from one start: a smoothed descent, ever sharper."""
    rank = len(points)
    current = plain = start / _largest(start @ points, norm)
    for soft in ROUNDS:
        current = minimize(_soft, current.reshape(-1), (points, soft, norm), jac=True, method="L-BFGS-B",
                           options={"maxiter": 60}).x.reshape(rank, rank)  # fmt: skip
        current = current / _largest(current @ points, norm)
    return min(((float((np.linalg.inv(t) ** 2).sum()), t) for t in (plain, current)), key=lambda pair: pair[0])


def _largest(moved: Floats, norm: str) -> float:
    return float(np.abs(moved).max() if norm == "linf" else np.abs(moved).sum(axis=0).max())


def _soft(flat: Floats, points: Floats, soft: float, norm: str) -> tuple[float, Floats]:
    """ln ||T^{-1}||_F^2 + 2 ln (a smooth bound on the largest norm), and its slope."""
    rank = len(points)
    frame = flat.reshape(rank, rank)
    inverse = np.linalg.inv(frame)
    spread = float((inverse**2).sum())
    moved = frame @ points
    smooth = np.sqrt(moved**2 + (soft / rank) ** 2)
    norms = smooth if norm == "linf" else smooth.sum(axis=0)
    top = float(norms.max())
    shares = np.exp((norms - top) / (soft * top))
    size = top * (1 + soft * math.log(shares.sum()))
    by_norm = (moved / smooth * (shares / shares.sum())) @ points.T * (2 / size)
    by_spread = -2 * inverse.T @ inverse @ inverse.T / spread
    return math.log(spread) + 2 * math.log(size), (by_norm + by_spread).reshape(-1)
