r"""What no pure mechanism can beat on linear queries over integer tables of unbounded size, by volumes.

With a quadratic B-spline a pure integer mechanism becomes metric with 2 sinh(epsilon / 2), so for columns f_1..f_m that
span R^d the worst mean square is at least d (d + 1) vr(K_S)^2 / (4 sinh^2(epsilon / 2)) - sum ||f_i||^2 / 4, K_S the
hull of the columns and their negatives.  Proof: docs/proofs/bounds-dithering.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import positive
from sfumato.bounds.volume import cross_polytope_radius

__all__ = ["dithered_mean_square"]


def dithered_mean_square(points: npt.ArrayLike, epsilon: float) -> float:
    """The bound for d columns chosen greedily; may be negative, and is then no bound.

    >>> dithered_mean_square(np.eye(2), 1.0) < 2 / (2 * math.sinh(0.5) ** 2)
    True
    """
    from scipy.linalg import qr

    columns = np.asarray(points, dtype=np.float64)
    d = len(columns)
    _, _, order = qr(columns, mode="economic", pivoting=True)
    chosen = columns[:, order[:d]]
    radius = cross_polytope_radius(chosen)
    share = math.exp(-positive("epsilon", epsilon) / 2) / -math.expm1(-epsilon)  # 1 / (2 sinh(epsilon / 2))
    return float(d * (d + 1) * (radius * share) ** 2 - (chosen**2).sum() / 4)
