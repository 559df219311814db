r"""The metric bound over orthogonal projections, one at a time or several together.

For orthogonal projections P_m of ranks k_m whose ranges are orthogonal to each other, one mechanism answers all
projected queries, so E ||noise||^2 >= sum_m k_m (k_m + 1) vr(P_m K)^2 / epsilon^2.  Here the ranges are spans of
consecutive singular vectors of the columns, and the best cut into groups is found by dynamic programming.  One
group alone is document 000's GVolLB, with its constant; the whole space is one of the projections, so the bound is
never below that of the volume.  Proof: docs/proofs/bounds-projections.md.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import positive
from sfumato.bounds.volume import cross_polytope_radius, volume_radius
from sfumato.errors import ParameterError

__all__ = ["projected_mean_norm", "projected_mean_square"]

LARGEST = 64  # dimensions: the program looks at all pairs of ends
FLATTEST = 1e-6  # of the largest width: flatter directions are projected away, which keeps a lower bound


def projected_mean_square(
    points: npt.ArrayLike, epsilon: float, confidence: float = 0.999
) -> tuple[float, tuple[int, ...]]:
    """A lower bound on the worst mean square, and the ranks of the groups that give it, widest directions first.

    It holds with this confidence where the volume of the whole body is simulated; at 1 nothing is.

    >>> bound, ranks = projected_mean_square(np.eye(3), 1.0)
    >>> round(bound, 6), ranks
    (6.0, (1, 1, 1))
    """
    scale = positive("epsilon", epsilon) ** 2
    turned, whole = _turned(points, confidence)
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for end in range(1, len(turned) + 1):
        found = []
        for start in range(end):
            k = end - start
            radius = cross_polytope_radius(turned[start:end])
            value = k * (k + 1) * (max(radius, whole) if k == len(turned) else radius) ** 2
            found.append((best[start][0] + value, (*best[start][1], k)))
        best.append(max(found))
    return best[-1][0] / scale * (1 - 1e-9), best[-1][1]


def projected_mean_norm(points: npt.ArrayLike, epsilon: float, confidence: float = 0.999) -> tuple[float, int]:
    """A lower bound on the worst mean l2 error: the best projection to the k widest directions, and that k.

    It holds with this confidence where the volume of the whole body is simulated; at 1 nothing is.

    >>> projected_mean_norm(np.diag([9, 1]), 1.0)[1]
    1
    """
    turned, whole = _turned(points, confidence)
    found = [(k * cross_polytope_radius(turned[:k]), k) for k in range(1, len(turned) + 1)]
    bound, k = max(*found, (len(turned) * whole, len(turned)))
    return bound / positive("epsilon", epsilon) * (1 - 1e-9), k


def _turned(points: npt.ArrayLike, confidence: float) -> tuple[npt.NDArray[np.float64], float]:
    """The columns in the basis of their singular vectors, the widest first (for equal widths, the axes themselves),
    and a lower bound on the volume radius of their hull; 0 at confidence 1.
    """
    columns = np.asarray(points, dtype=np.float64)
    if len(columns) > LARGEST:
        raise ParameterError(f"points must have at most {LARGEST} rows, one a dimension, got {len(columns)}")
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    if sizes[-1] > (1 - 1e-9) * sizes[0]:
        return columns, _whole(columns, confidence)
    kept = sizes > FLATTEST * sizes[0]
    turned = np.asarray(left[:, kept].T @ columns)
    return turned, _whole(columns if kept.all() else turned, confidence)  # turning keeps volumes


def _whole(columns: npt.NDArray[np.float64], confidence: float) -> float:
    return volume_radius(columns, confidence).value if confidence < 1 else 0.0
