r"""What no pure mechanism can beat on any finite family of tables: packing, with distances.

For tables x in T at distances dist(x, x0): sum_x e^{-epsilon dist(x, x0)} P[||M(x) - F x|| <= r] is at most
max_z #{x in T : ||F x - z|| <= r}, since every such event is at least e^{-epsilon dist} as likely under x0.  So on
some table P[error > r] >= 1 - max_z # / sum_x e^{-epsilon dist}.  It holds for bounded tables, replacement, and
selection.  A constant answer bounds every such bound from above.  Proof: docs/proofs/bounds-bounded_tables.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import positive
from sfumato.errors import ParameterError

__all__ = ["packed_mean_error", "packed_tail"]

MOST_TABLES = 4000


def packed_tail(answers: npt.ArrayLike, distances: npt.ArrayLike, epsilon: float, radius: float) -> float:
    """A lower bound on the worst table's P[||error||_2 > radius]; one row of `answers` for each table.

    Points within `radius` of a common center lie within twice that of each other, so the largest number of answers
    in a ball of twice the radius around one of them bounds the overlap.
    """
    found, far = _checked(answers, distances)
    gaps = np.linalg.norm(found[:, None] - found[None], axis=2)
    overlap = int((gaps <= 2 * radius * (1 + 1e-12)).sum(axis=1).max())
    weight = float(np.exp(-positive("epsilon", epsilon) * far).sum()) * (1 - 1e-12)
    return max(0.0, 1 - overlap / weight)


def packed_mean_error(answers: npt.ArrayLike, distances: npt.ArrayLike, epsilon: float) -> float:
    """A lower bound on the worst table's mean l2 error: the integral of the tail over all radii.

    The tail bounds belong to one average over the tables (weights e^{-epsilon dist}), so they may be added up.
    """
    found, far = _checked(answers, distances)
    gaps = np.linalg.norm(found[:, None] - found[None], axis=2)
    weight = float(np.exp(-positive("epsilon", epsilon) * far).sum()) * (1 - 1e-12)
    ends = np.unique(gaps) / 2
    total, previous, overlap = 0.0, 0.0, 0
    for end in ends:
        if previous < end:
            total += (end - previous) * max(0.0, 1 - overlap / weight)
        overlap = int((gaps <= 2 * end * (1 + 1e-12)).sum(axis=1).max())
        previous = float(end)
        if overlap >= weight:
            break
    return total * (1 - 1e-9)


def _checked(
    answers: npt.ArrayLike, distances: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    found, far = np.atleast_2d(np.asarray(answers, dtype=np.float64)), np.asarray(distances, dtype=np.float64)
    if found.shape[0] != far.size or far.size > MOST_TABLES:
        raise ParameterError(f"answers and distances must speak of the same tables, at most {MOST_TABLES}")
    if not (np.isfinite(found).all() and (far >= 0).all() and math.isfinite(float(far.sum()))):
        raise ParameterError("answers must be finite, and distances finite and not negative")
    return found, far
