r"""The ellipsoid of least mean square that holds given points, with a bound that proves it.

Primal: min tr(A) such that f_i^T A^{-1} f_i <= 1 for all i.  Dual: max (tr sqrt(F P F^T))^2 over weights p on the
points.  With S = sqrt(F P F^T) and g_i = f_i^T S^{-1} f_i / tr S, the matrix max(g) tr(S) S is feasible and the dual
value is tr(S)^2, so max(g) is the ratio of the two, whatever the weights are.  The weights follow the classical
multiplicative ascent of experimental design (SilveyTitteringtonTorsney1978): p_i <- p_i g_i^2, which is at once right
for orthogonal points, and p_i <- p_i g_i once that no longer climbs.
Proof: docs/proofs/elliptic_gaussian.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

__all__ = ["Ellipsoid", "least_ellipsoid"]

Floats = npt.NDArray[np.float64]
SMALLEST = 1e-12  # of the largest singular value: below, a direction is numerical dust
PLAIN = 1e-6  # of the largest eigenvalue: below, squaring the matrix would cost digits


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """`shape` contains the points, up to rounding; no ellipsoid that does has a trace below `lower`.

    `weights`, one a column of the points, are those that prove it.
    """

    shape: Floats
    lower: float
    weights: Floats

    @property
    def trace(self) -> float:
        """The squared radius of the noise."""
        return float(np.trace(self.shape))


def least_ellipsoid(points: npt.ArrayLike, tolerance: float = 1e-3, steps: int = 5000) -> Ellipsoid:
    """The least ellipsoid around the columns of `points` and their negatives, within `tolerance` of optimal.

    >>> found = least_ellipsoid(np.diag([1.0, 2.0]))
    >>> round(found.trace, 2), found.lower <= found.trace
    (5.0, True)
    """
    columns = np.asarray(points, dtype=np.float64)
    moved = np.any(columns != 0, axis=0)
    columns = columns[:, moved]
    if columns.size == 0:
        raise ParameterError("points are all zero; an ellipsoid needs one that is not")
    weights = (columns**2).sum(axis=0)
    weights /= weights.sum()
    lower, upper, shape, power = 0.0, np.inf, np.eye(len(columns)), 2
    best = weights
    for _ in range(steps):
        root, gaps = _state(columns, weights)
        total = float(np.trace(root))
        worst = float(gaps.max())
        if total**2 > lower:
            lower, best = total**2, weights
        else:
            power = 1
        if worst * total**2 < upper:
            upper, shape = worst * total**2, worst * total * root
        if upper <= (1 + tolerance) * lower:
            break
        weights = weights * gaps**power
        weights = np.maximum(weights / weights.sum(), 1e-300)
    spread = np.zeros(len(moved))
    spread[moved] = best
    return Ellipsoid(shape, lower * (1 - 1e-9), spread)


def _state(columns: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """sqrt(F P F^T), and f_i^T S^+ f_i / tr S."""
    vectors, roots = _axes(columns, weights)
    along = vectors.T @ columns
    gaps = (along**2 / roots[:, None]).sum(axis=0) / roots.sum()
    return (vectors * roots) @ vectors.T, gaps


def _axes(columns: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The eigenvectors of F P F^T and the roots of its eigenvalues; by singular values where they lie far apart."""
    values, vectors = np.linalg.eigh((columns * weights) @ columns.T)
    if values[0] > PLAIN * values[-1]:
        return vectors, np.sqrt(values)
    left, sizes, _ = np.linalg.svd(columns * np.sqrt(weights), full_matrices=False)
    kept = sizes > SMALLEST * sizes[0]
    return left[:, kept], sizes[kept]
