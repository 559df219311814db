r"""What no mechanism can beat on linear queries over integer tables of unbounded size.

Hammersley-Chapman-Robbins: if the chi-square divergence between neighbors is at most C (4 sinh^2(epsilon / 2) for pure,
e^{2 rho} - 1 for concentrated privacy), the worst mean square is at least min{tr A : K in the ellipsoid of A} / C.
Dithering: with a quadratic B-spline a pure integer mechanism becomes metric with 2 sinh(epsilon / 2), so for
columns f_1..f_m that span R^d: at least d (d + 1) vr(K_S)^2 / (4 sinh^2(epsilon / 2)) - sum ||f_i||^2 / 4.
Coordinates: in any orthonormal basis u_1..u_d each coordinate is a count in steps of <u_m, f_i>, so the mean square is
at least sum_m max_i <u_m, f_i>^2 / (2 sinh^2(epsilon / 2)) for pure mechanisms; a histogram attains it.
The ellipsoid of weights p has trace at least (tr sqrt(F P F^T))^2; with equal weights that is the squared nuclear norm
over the number of columns.  Proof: docs/proofs/bounds-integer_tables.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import positive
from sfumato.bounds.counting import count_mean_square
from sfumato.bounds.volume import cross_polytope_radius
from sfumato.queries.linear.ellipsoid import least_ellipsoid

__all__ = [
    "concentrated_divergence",
    "coordinate_mean_square",
    "dithered_mean_square",
    "elliptic_mean_square",
    "prefix_nuclear_norm",
    "pure_divergence",
]


def pure_divergence(epsilon: float) -> float:
    """The largest chi-square divergence between neighbors of a pure mechanism.

    >>> round(pure_divergence(1.0), 4)
    1.0862
    """
    return 4 * math.sinh(positive("epsilon", epsilon) / 2) ** 2


def concentrated_divergence(rho: float) -> float:
    """The largest chi-square divergence between neighbors of a concentrated mechanism."""
    return math.expm1(2 * positive("rho", rho))


def elliptic_mean_square(points: npt.ArrayLike, divergence: float) -> float:
    """The least worst-case mean square for neighbors that differ by the columns of `points`."""
    return least_ellipsoid(points).lower / positive("divergence", divergence)


def coordinate_mean_square(points: npt.ArrayLike, epsilon: float) -> float:
    """The pure bound of single coordinates, along the axes or along the singular vectors, whichever is larger.

    >>> coordinate_mean_square(np.eye(3), 1.0) == 3 * count_mean_square(1.0)
    True
    """
    columns = np.asarray(points, dtype=np.float64)
    left, _, _ = np.linalg.svd(columns, full_matrices=False)
    along = float((columns**2).max(axis=1).sum())
    turned = float(((left.T @ columns) ** 2).max(axis=1).sum()) * (1 - 1e-12)
    return max(along, turned) * count_mean_square(epsilon)


def dithered_mean_square(points: npt.ArrayLike, epsilon: float) -> float:
    """The B-spline bound for the columns chosen greedily, or for all; may be negative, and is then no bound."""
    from scipy.linalg import qr

    columns = np.asarray(points, dtype=np.float64)
    d = len(columns)
    _, _, order = qr(columns, mode="economic", pivoting=True)
    chosen = columns[:, order[:d]]
    radius = cross_polytope_radius(chosen)
    return d * (d + 1) * radius**2 / pure_divergence(epsilon) - float((chosen**2).sum()) / 4


def prefix_nuclear_norm(cells: int) -> float:
    """The sum of the singular values of all prefix sums, 1 / (2 sin((2k - 1) pi / (4n + 2))), rounded down.

    >>> matrix = np.tri(6)
    >>> bool(abs(prefix_nuclear_norm(6) - np.linalg.svd(matrix, compute_uv=False).sum()) < 1e-6)
    True
    """
    k = np.arange(1, cells + 1, dtype=np.float64)
    return float((0.5 / np.sin((2 * k - 1) * math.pi / (4 * cells + 2))).sum()) * (1 - 1e-9)
