"""Which bound speaks about the release of a workload: the largest of those that are proven for its size and claim.

Only bounds for every mechanism on integer tables count: the sharper ones for real tables (`metric`, `projections`) are
about a class of mechanisms that the released ones do not belong to.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.bounds.integer_tables import (
    concentrated_divergence,
    coordinate_mean_square,
    dithered_mean_square,
    elliptic_mean_square,
    prefix_nuclear_norm,
    pure_divergence,
)
from sfumato.bounds.reachability import obstacle
from sfumato.certificate import Certificate, NoBoundKnown
from sfumato.errors import UnsupportedQuery
from sfumato.privacy.adjacency import AddRemove
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries.linear.factors import UPTO
from sfumato.queries.linear.matrix import Linear
from sfumato.queries.linear.measurements import Tables
from sfumato.queries.linear.measurements.tables import interactions
from sfumato.queries.linear.workload import Workload

__all__ = ["certify_workload", "mean_square_of", "nuclear_norm"]

MEASURE = "root mean square error"
INTEGER = "on integer tables of unbounded size"
MOST_POINTS = 5000
MOST_ENTRIES = 2_000_000
LARGEST_GRAM = 2048
FLATTEST = 1e-6  # of the largest width

Found = tuple[float, str, str]  # least mean square, the bound's name, among whom


def certify_workload(question: Workload, mechanism: Any) -> Certificate | NoBoundKnown:
    """The certificate of a mechanism on a workload: the weighted root mean square of all rows together."""
    if question.sensitivity("l1") == 0:
        return NoBoundKnown("the answers are public, their error is zero")
    if not isinstance(question.schema.adjacency, AddRemove):
        return NoBoundKnown("none is proven here for workloads under replacement")
    found = obstacle(question)
    if found is not None:
        return NoBoundKnown(found)
    achieved = mean_square_of(question, mechanism)
    bounds = [bound for bound in _bounds(question, mechanism.guarantee()) if bound[0] > 0]
    if not bounds:
        return NoBoundKnown("none is proven here for approximate privacy, or for a workload of this size")
    least, name, among = max(bounds)
    return Certificate(math.sqrt(achieved), math.sqrt(least), MEASURE, name, among)


def mean_square_of(question: Workload, mechanism: Any) -> float:
    """The mean square of all weighted rows together."""
    own = getattr(mechanism, "root_mean_square", None)
    return question.dimension * float(mechanism.noise.variance if own is None else own**2)


def _bounds(question: Workload, claim: Any) -> list[Found]:
    if isinstance(claim, Pure):
        divergence, kind = pure_divergence(claim.epsilon), f"pure mechanisms {INTEGER}"
    elif isinstance(claim, Concentrated):
        divergence, kind = concentrated_divergence(claim.rho), f"concentrated mechanisms {INTEGER}"
    else:
        return []
    points = _points(question)
    if points is None:
        sizes = nuclear_norm(question.linear)
        if sizes is None:
            return []
        least = (question.moves.rows * sizes) ** 2 / question.linear.cells / divergence
        return [(least, "Hammersley-Chapman-Robbins, nuclear norm", kind)]
    found = [
        (_elliptic(points.tobytes(), points.shape) / divergence, "Hammersley-Chapman-Robbins, least ellipsoid", kind)
    ]
    if isinstance(claim, Pure):
        found.append((dithered_mean_square(points, claim.epsilon), "volume by dithering", kind))
        found.append(
            (coordinate_mean_square(points, claim.epsilon), "two-sided geometric optimum of each number", kind)
        )
    return found


@lru_cache(maxsize=64)
def _elliptic(content: bytes, shape: tuple[int, int]) -> float:
    return elliptic_mean_square(np.frombuffer(content).reshape(shape), 1.0)


def _points(question: Workload) -> npt.NDArray[np.float64] | None:
    """What one unit can do, in coordinates of its span, or None if there is too much of it."""
    linear = question.linear
    if linear.rows * linear.cells > MOST_ENTRIES or linear.cells > MOST_POINTS:
        return None
    try:
        points = question.vertices.astype(np.float64)
    except UnsupportedQuery:
        return None
    if min(points.shape) > 300 or points.size > MOST_ENTRIES:
        return None
    left, sizes, _ = np.linalg.svd(points, full_matrices=False)
    rank = int((sizes > FLATTEST * sizes[0]).sum())  # projecting flatter directions away keeps a lower bound
    return points if rank == len(points) else np.ascontiguousarray(left[:, :rank].T @ points)


def nuclear_norm(linear: Linear) -> float | None:
    """The sum of the singular values, rounded down, where it can be had: prefix sums, tables, up to 2048 cells."""
    if len(linear.shape) == 1 and len(linear.blocks) == 1 and linear.blocks[0].factors == (UPTO,):
        return linear.blocks[0].weight * prefix_nuclear_norm(linear.cells)
    asked = [block.marginal() for block in linear.blocks]
    if all(axes is not None for axes in asked):
        kept = tuple(axes for axes in asked if axes is not None)
        tables = Tables(linear.shape, kept, tuple(block.weight for block in linear.blocks))
        total = sum(
            math.prod(linear.shape[i] - 1 for i in effect) * math.sqrt(tables.eigenvalue(effect))
            for effect in interactions(kept)
        )
        return total * (1 - 1e-9)
    if linear.cells > LARGEST_GRAM:
        return None
    values = np.linalg.eigvalsh(linear.gram())
    return float(np.sqrt(np.maximum(values - 1e-9 * values[-1], 0)).sum())
