r"""The metric bound over orthogonal projections, one at a time or several together.

For orthogonal projections P_m of ranks k_m whose ranges are orthogonal to each other, one mechanism answers all
projected queries, so E ||noise||^2 >= sum_m k_m (k_m + 1) vr(P_m K)^2 / epsilon^2.  Here the ranges are spans of
consecutive singular vectors of the columns, and the best cut into groups is found by dynamic programming.  One
group alone is document 000's GVolLB, with its constant.  Proof: docs/proofs/bounds-projections.md.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import positive
from sfumato.bounds.volume import cross_polytope_radius

__all__ = ["projected_mean_norm", "projected_mean_square"]

LARGEST = 64  # dimensions: the program looks at all pairs of ends


def projected_mean_square(points: npt.ArrayLike, epsilon: float) -> tuple[float, tuple[int, ...]]:
    """A lower bound on the worst mean square, and the ranks of the groups that give it, widest directions first.

    >>> bound, ranks = projected_mean_square(np.eye(3), 1.0)
    >>> round(bound, 6), ranks
    (6.0, (1, 1, 1))
    """
    scale = positive("epsilon", epsilon) ** 2
    turned = _turned(points)
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for end in range(1, len(turned) + 1):
        found = []
        for start in range(end):
            k = end - start
            value = k * (k + 1) * cross_polytope_radius(turned[start:end]) ** 2
            found.append((best[start][0] + value, (*best[start][1], k)))
        best.append(max(found))
    return best[-1][0] / scale * (1 - 1e-9), best[-1][1]


def projected_mean_norm(points: npt.ArrayLike, epsilon: float) -> tuple[float, int]:
    """A lower bound on the worst mean l2 error: the best projection to the k widest directions, and that k."""
    turned = _turned(points)
    found = [(k * cross_polytope_radius(turned[:k]), k) for k in range(1, len(turned) + 1)]
    bound, k = max(found)
    return bound / positive("epsilon", epsilon) * (1 - 1e-9), k


def _turned(points: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The columns in the basis of their singular vectors, the widest first; for equal widths, the axes themselves."""
    columns = np.asarray(points, dtype=np.float64)
    if len(columns) > LARGEST:
        positive("the number of dimensions up to 64", -1)
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    if sizes[-1] > (1 - 1e-9) * sizes[0]:
        return columns
    kept = sizes > 1e-12 * sizes[0]
    return np.asarray(left[:, kept].T @ columns)
