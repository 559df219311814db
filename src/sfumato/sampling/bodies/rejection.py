"""Exact K-norm draws by rejection: uniform points of the smallest box around the hull, kept where the gauge is below 1.

A kept point is uniform on the hull; brought to gauge 1 and multiplied by gamma(d) it has density exp(-gauge).  The walk
towards a point stops as soon as the gauge is known to exceed 1: the products <y, z> rise with every pivot.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from sfumato.deferred import compiled, njit
from sfumato.randomness import Rng, seeded
from sfumato.sampling.bodies import facets
from sfumato.sampling.bodies.facets import MOST, aim, exit_time, leave, move, point
from sfumato.sampling.bodies.pricing import workroom
from sfumato.sampling.reals import Reals, gammas, normals, uniforms

if TYPE_CHECKING:
    from sfumato.sampling.bodies.hull import Hull

__all__ = ["acceptance", "affordable", "draw"]

PILOT = 1000  # proposals from which the acceptance is estimated
BATCH = 2000
DIRECTIONS = 2000  # from which a small acceptance is estimated
PATIENCE = 2e-5  # least acceptance for one draw that must not rest on a walk: some seconds
LARGEST = 30  # dimensions: beyond, hulls of any number of columns that can be listed fill no box


@lru_cache(maxsize=32)
def acceptance(hull: Hull) -> float:
    """An estimate of Vol(hull) / Vol(box); a public figure of the matrix, so that a fixed seed may decide it."""
    if hull.degrees < hull.dimension or hull.dimension > LARGEST:
        return 0.0
    _, gauges = propose(hull, PILOT, seeded(0))
    return float((gauges <= 1).mean())


@lru_cache(maxsize=32)
def affordable(hull: Hull) -> bool:
    """Whether one draw can wait for a point of the box that is kept, where it is rarer than `acceptance` can see.

    Vol K = Vol B E ||theta||^{-d} over the sphere; a public figure of the matrix again.
    """
    d = hull.dimension
    if hull.degrees < d or d > LARGEST:
        return False
    directions = normals((DIRECTIONS, d), seeded(0))
    logs = -d * np.log(hull.gauge(directions / np.linalg.norm(directions, axis=1, keepdims=True)))
    sides = 2 * np.abs(np.asarray(hull.vertices)).max(axis=1)
    mean = float(logs.max() + np.log(np.exp(logs - logs.max()).mean()))
    ball = d / 2 * math.log(math.pi) - math.lgamma(1 + d / 2)
    return bool(mean + ball - np.log(sides).sum() >= math.log(PATIENCE))


def draw(hull: Hull, count: int, rng: Rng) -> Reals:
    """Independent draws with density proportional to exp(-gauge), one a row."""
    kept = np.empty((0, hull.dimension))
    share = max(acceptance(hull), 1 / PILOT)
    while len(kept) < count:
        wanted = int(min(1.2 * (count - len(kept)) / share + 10, BATCH))
        points, gauges = propose(hull, wanted, rng)
        inside = gauges <= 1
        kept = np.vstack([kept, points[inside] / gauges[inside][:, None]])
    return np.asarray(kept[:count] * gammas(hull.dimension, (count, 1), rng))


def propose(hull: Hull, count: int, rng: Rng) -> tuple[Reals, Reals]:
    """Uniform points of the box and their gauges, of which those above 1 are only known to be above 1."""
    frame = hull.frame
    sides = np.abs(np.asarray(hull.vertices)).max(axis=1)
    points = (2 * uniforms((count, hull.dimension), rng) - 1) * sides
    start = normals((frame.rank,), rng)
    if not compiled():
        return points, hull.gauge_by_program(points)
    state = facets.locate(frame.columns, start)
    gauges = np.empty(count)
    screen(frame.columns, state, np.ascontiguousarray(points @ frame.drop.T), gauges)
    lost = np.isnan(gauges)
    if lost.any():
        gauges[lost] = hull.gauge_by_program(points[lost])
    return points, gauges


@njit(cache=True)
def screen(columns, state, targets, out):  # type: ignore[no-untyped-def]
    """The gauge of each row of targets; walks that pass 1 on the way stop there."""
    room, here = workroom(columns), np.empty(columns.shape[0])
    weights, speeds, normal = state[6], state[7], state[4]
    for row in range(targets.shape[0]):
        shrink = 1e-3 / weights.sum()
        for k in range(weights.size):
            weights[k] *= shrink
        point(columns, state, here)
        aim(state, targets[row] - here)
        left = 1.0
        out[row] = np.nan  # unless the walk arrives
        for _ in range(MOST):
            reached = (normal * targets[row]).sum()
            if reached > 1.0 + 1e-9:
                out[row] = reached
                break
            time, leaving = exit_time(weights, speeds)
            if time >= left:
                move(weights, speeds, left)
                out[row] = weights.sum()
                break
            move(weights, speeds, time)
            left -= time
            leave(columns, state, leaving, room)
