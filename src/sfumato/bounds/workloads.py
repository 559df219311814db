"""Which bound speaks about the release of a workload: the largest of those that are proven for its unit and claim.

Only bounds for every mechanism on integer tables count: the sharper ones for real tables (`metric`, `projections`) are
about a class of mechanisms that the released ones do not belong to.  Proof: docs/proofs/bounds-workloads.md.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds.dithering import dithered_mean_square
from sfumato.bounds.exchanges import families_of_columns
from sfumato.bounds.linear import Family, Floats, Judged, Least, among, best_family
from sfumato.bounds.reachability import obstacle
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.linear.bodies import Moves
from sfumato.queries.linear.factorization import factorization
from sfumato.queries.linear.matrix import Linear
from sfumato.queries.linear.workload import Workload
from sfumato.queries.running import Running

__all__ = ["certify_running", "certify_workload", "least_of_moves", "least_of_workload", "root_of"]

LARGEST = 256  # dimensions of ellipsoids
LARGEST_EQUAL = 2048  # cells whose singular values are summed
LARGEST_GRAM = 4096
MOST_ENTRIES = 2_000_000
SMALLEST = 1e-11  # of the largest eigenvalue: more than rounding may have added to any


def certify_workload(question: Workload, mechanism: Judged, claim: Guarantee) -> Certificate | NoBoundKnown:
    """The certificate of a mechanism on a workload: the weighted root mean square of a row."""
    if question.sensitivity("l1") == 0:
        return NoBoundKnown("the answers are public, their error is zero")
    found = obstacle(question)
    if found is not None:
        return NoBoundKnown(found)
    least = least_of_workload(question, claim)
    return least.certificate(mechanism.root_mean_square**2, question.dimension)


def certify_running(question: Running, mechanism: Judged, claim: Guarantee) -> Certificate | NoBoundKnown:
    """That of running counts on the prefix sums of all periods: also whoever waits for the last period is among all."""
    found = obstacle(question)
    if found is not None:
        return NoBoundKnown(found)
    least = least_of_workload(question.prefixes, claim)
    return least.certificate(mechanism.root_mean_square**2, question.prefixes.dimension)


def least_of_workload(question: Workload, claim: Guarantee) -> Least:
    """The least mean square of all weighted rows together."""
    moves, linear = question.moves, question.linear
    units = question.schema.size if moves.apart else None
    found = [(least_of_moves(linear, moves, units, claim), "least variance of a count, least ellipsoid")]
    if units is None and not moves.apart and 0 < claim.pure_epsilon < math.inf and _is_small(linear):
        found.append((moves.rows**2 * _dithered(linear, claim.pure_epsilon), "volume by dithering"))
    least, name = max(found)
    return Least(least, name, among(claim, units))


def least_of_moves(linear: Linear, moves: Moves, units: int | None, claim: Guarantee) -> float:
    """The least mean square of all answers together that a unit moves so, on tables of so many units."""
    return best_family(_families(linear, moves, units), claim, units)


@lru_cache(maxsize=64)
def _families(linear: Linear, moves: Moves, units: int | None) -> list[Family]:
    """The moves that carry the least ellipsoid; with a declared size also fewer ones, which it has more room for."""
    whole = factorization(linear, moves)
    found = [] if whole is None else [Family(whole.units, whole.lower, partial(float, whole.lower))]
    if found and not moves.apart:
        return found
    if not moves.apart and linear.cells <= LARGEST_EQUAL:
        return [_equally(linear, moves.rows)]
    columns = moves.rows * _some_columns(linear)
    return found + families_of_columns(columns, moves.alone, moves.apart, units)


def _is_small(linear: Linear) -> bool:
    return linear.cells <= LARGEST or (linear.rows <= LARGEST and linear.rows * linear.cells <= MOST_ENTRIES)


@lru_cache(maxsize=256)
def _dithered(linear: Linear, epsilon: float) -> float:
    points = _columns(linear)
    left, sizes, _ = np.linalg.svd(points, full_matrices=False)
    kept = left[:, sizes > 1e-6 * sizes[0]]  # projecting flatter directions away keeps a lower bound
    return dithered_mean_square(kept.T @ points, epsilon)


def _columns(linear: Linear) -> Floats:
    """The columns of the matrix, or of another with the same inner products, which ellipsoids cannot tell apart."""
    if linear.rows <= linear.cells:
        return linear.dense().astype(np.float64)
    return root_of(linear.gram())


def _some_columns(linear: Linear) -> Floats:
    """As `_columns`; of the cells, if there are too many, as many as can be looked at, spread out."""
    if _is_small(linear):
        return _columns(linear)
    count = LARGEST if linear.cells <= LARGEST_GRAM else max(4, min(LARGEST, MOST_ENTRIES // linear.rows))
    places = np.linspace(0, linear.cells - 1, count).round().astype(np.int64)
    if linear.cells <= LARGEST_GRAM:
        return root_of(linear.gram()[np.ix_(places, places)])
    chosen = []
    for place in places:
        unit = np.zeros(linear.cells, dtype=np.int64)
        unit[place] = 1
        chosen.append(linear.apply(unit).astype(np.float64))
    columns = np.stack(chosen, axis=1)
    return root_of(columns.T @ columns)


def _equally(linear: Linear, rows: int) -> Family:
    """All cells with equal weights: the squared sum of the singular values over the number of cells."""
    values = np.linalg.eigvalsh(linear.gram())
    value = float(np.sqrt(np.maximum(values - SMALLEST * values[-1], 0.0)).sum()) ** 2 / linear.cells
    value *= rows**2 * (1 - 1e-9)
    return Family(linear.cells, value, partial(float, value))


def root_of(gram: Floats) -> Floats:
    """A matrix with these inner products of columns, or with a little less."""
    values, vectors = np.linalg.eigh(gram)
    sizes = values - SMALLEST * values[-1]
    kept = sizes > 0
    return np.asarray(np.sqrt(sizes[kept])[:, None] * vectors[:, kept].T)
