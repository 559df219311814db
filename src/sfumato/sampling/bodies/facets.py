r"""Walking over the facets of a hull: the state of a point, and the pivot into the next cone.

K is the hull of the columns +-f_1 .. +-f_n.  A facet holds d signed columns b_1 .. b_d (its basis); its normal y has
<y, b_k> = 1 and |<y, f_j>| <= 1 for all j.  In the cone of the facet z = sum lambda_k b_k with lambda >= 0,
and the gauge is sum lambda_k = <y, z>.

When a point moving with velocity v leaves the cone through lambda_i = 0, the next facet keeps the other columns:
y - tau beta with beta the i-th row of the inverse basis, and tau >= 0 the first value at which another column
(or -b_i) reaches 1.  That is a dual-simplex pivot (`pricing`).
"""

from __future__ import annotations

import numpy as np

from sfumato.deferred import njit
from sfumato.errors import ParameterError
from sfumato.sampling.bodies.pricing import FAST, follow, forget, price, workroom
from sfumato.sampling.reals import Reals

__all__ = ["Facets", "fresh", "healthy", "leave", "locate", "recompute"]

NUDGES = (0.0, 0.1, 0.3, 0.7, 1.7)  # towards general position, where a point lies on a lower face
NUDGE_LEAST = 1e-9
DRIFT = 1e-7  # relative difference of a pivot's two computations that shows a spoiled inverse
MOST = 200_000  # pivots on a straight line before it is given up
ASTRAY = 1e-7  # of a normal's products above 1, and of a point from where it should be, relative
FRESHEN = 200  # pivots between two recomputations of the inverse basis
FIRST = 6  # columns a dimension that the first program holds
BEYOND = 1e-9  # of a product above 1, as rounding

# basis, counters of pivots; signs, inverse basis, normal, products, weights, speeds
Facets = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def fresh(columns: Reals, basis: np.ndarray, signs: Reals, weights: Reals) -> Facets:
    """The state of the point sum weights_k signs_k f_basis_k; `columns` is (d, n) and C-ordered."""
    d, n = columns.shape
    state: Facets = (
        np.asarray(basis, dtype=np.int64).copy(),
        np.zeros(2, dtype=np.int64),
        np.asarray(signs, dtype=np.float64).copy(),
        np.zeros((d, d)),
        np.zeros(d),
        np.zeros(n),
        np.asarray(weights, dtype=np.float64).copy(),
        np.zeros(d),
    )
    recompute(columns, state)
    return state


@njit(cache=True, fastmath=FAST)
def point(columns, state, out):  # type: ignore[no-untyped-def]
    """The point itself, into `out`."""
    basis, signs, weights = state[0], state[2], state[6]
    d = out.size
    out[:] = 0.0
    for k in range(d):
        scale = signs[k] * weights[k]
        j = basis[k]
        for i in range(d):
            out[i] += scale * columns[i, j]


@njit(cache=True, fastmath=FAST)
def recompute(columns, state):  # type: ignore[no-untyped-def]
    """The inverse basis, normal and products anew from the basis; the weights from the point."""
    basis, counts, signs, inverse, normal, products, weights, speeds = state
    d, n = columns.shape
    z, v = np.zeros(d), np.zeros(d)
    matrix = np.empty((d, d))
    for k in range(d):
        for i in range(d):
            matrix[i, k] = signs[k] * columns[i, basis[k]]
            z[i] += matrix[i, k] * weights[k]
            v[i] += matrix[i, k] * speeds[k]
    inverse[:, :] = np.linalg.inv(matrix)
    for k in range(d):
        weight, speed = 0.0, 0.0
        for i in range(d):
            weight += inverse[k, i] * z[i]
            speed += inverse[k, i] * v[i]
        weights[k] = max(weight, 0.0)
        speeds[k] = speed
    for i in range(d):
        total = 0.0
        for k in range(d):
            total += inverse[k, i]
        normal[i] = total
    products[:] = 0.0
    for i in range(d):
        for j in range(n):
            products[j] += normal[i] * columns[i, j]
    counts[0] = 0


@njit(cache=True, fastmath=FAST)
def leave(columns, state, leaving, room):  # type: ignore[no-untyped-def]
    """The pivot through weights[leaving] = 0; `room` is what `workroom` gave."""
    basis, counts, signs, inverse, normal, products, weights, speeds = state
    shift, new = room[2], room[3]
    d = normal.size
    column, sign, step = 0, 1.0, 0.0
    for attempt in range(2):
        column, sign, step, pivot = price(columns, state, leaving, room)
        for i in range(d):
            new[i] = sign * columns[i, column]
        for k in range(d):
            total = 0.0
            for i in range(d):
                total += inverse[k, i] * new[i]
            shift[k] = total
        if attempt == 1 or counts[0] == 0 or abs(shift[leaving] - sign * pivot) <= DRIFT * abs(shift[leaving]):
            break
        recompute(columns, state)  # the inverse has drifted: the same pivot again from a fresh one
        forget(room)
    follow(products, step, room)
    for i in range(d):
        normal[i] -= step * inverse[leaving, i]
    scale = 1.0 / shift[leaving]
    for i in range(d):
        inverse[leaving, i] *= scale
        new[i] = inverse[leaving, i]
    speed = speeds[leaving] * scale
    for k in range(d):
        if k != leaving:
            factor = shift[k]
            for i in range(d):
                inverse[k, i] -= factor * new[i]
            speeds[k] -= factor * speed
    speeds[leaving] = speed
    weights[leaving] = 0.0
    basis[leaving], signs[leaving] = column, sign
    counts[0] += 1
    counts[1] += 1
    if counts[0] >= FRESHEN:
        recompute(columns, state)
        forget(room)


@njit(cache=True, fastmath=FAST)
def aim(state, velocity):  # type: ignore[no-untyped-def]
    """Set the speeds of the weights to those of a point with this velocity."""
    inverse, speeds = state[3], state[7]
    d = velocity.size
    for k in range(d):
        total = 0.0
        for i in range(d):
            total += inverse[k, i] * velocity[i]
        speeds[k] = total


@njit(cache=True, fastmath=FAST)
def exit_time(weights, speeds):  # type: ignore[no-untyped-def]
    """When the first weight reaches zero, and which."""
    first, leaving = np.inf, -1
    for k in range(weights.size):
        if speeds[k] < 0.0:
            time = weights[k] / -speeds[k]
            if time < first:
                first, leaving = time, k
    return first, leaving


@njit(cache=True, fastmath=FAST)
def move(weights, speeds, time):  # type: ignore[no-untyped-def]
    """Straight on inside the cone.  (In place by loops: augmented array assignments in a loop are miscompiled.)"""
    for k in range(weights.size):
        weights[k] = max(weights[k] + time * speeds[k], 0.0)


@njit(cache=True)
def turn(speeds):  # type: ignore[no-untyped-def]
    """The opposite direction."""
    for k in range(speeds.size):
        speeds[k] = -speeds[k]


@njit(cache=True)
def advance(columns, state, duration, room):  # type: ignore[no-untyped-def]
    """Move straight for `duration`; whether that succeeded."""
    weights, speeds = state[6], state[7]
    left = duration
    for _ in range(MOST):
        time, leaving = exit_time(weights, speeds)
        if time >= left:
            move(weights, speeds, left)
            return True
        move(weights, speeds, time)
        left -= time
        leave(columns, state, leaving, room)
    return False


@njit(cache=True)
def gauges(columns, state, targets, out):  # type: ignore[no-untyped-def]
    """The gauge of each row of targets, walking straight from one to the next."""
    room, here = workroom(columns), np.empty(columns.shape[0])
    for row in range(targets.shape[0]):
        point(columns, state, here)
        aim(state, targets[row] - here)
        arrived = advance(columns, state, 1.0, room)
        point(columns, state, here)
        gap, size = 0.0, 0.0
        for i in range(here.size):
            gap = max(gap, abs(here[i] - targets[row, i]))
            size = max(size, abs(targets[row, i]))
        out[row] = state[6].sum() if arrived and gap <= ASTRAY * size else np.nan


def healthy(columns: Reals, state: Facets) -> bool:
    """Whether the normal is that of a facet, and weights and velocity are what they can be."""
    normal, weights, speeds = state[4], state[6], state[7]
    velocity = (columns[:, state[0]] * state[2]) @ speeds
    numbers = bool(np.isfinite(weights).all() and np.isfinite(speeds).all() and np.isfinite(normal).all())
    d = len(weights)
    return numbers and bool(np.abs(normal @ columns).max() <= 1 + ASTRAY and velocity @ velocity <= 50 * (d + 10))


def locate(columns: Reals, z: Reals) -> Facets:
    """A state for the point z: a linear program for a point in general position near it, then a straight walk."""
    d = columns.shape[0]
    size = float(np.abs(z).max())
    for nudge in NUDGES:
        near = z + nudge * size * (np.sqrt(np.arange(2, d + 2)) % 1 - 0.5)
        basis, signs, weights = _program(columns, near)
        if weights.min() > NUDGE_LEAST * weights.max():
            state = fresh(columns, basis, signs, weights)
            if nudge:
                aim(state, z - near)
                advance(columns, state, 1.0, workroom(columns))
            return state
    raise ParameterError("vertices are too nearly dependent to find a facet; rescale or reduce the query's rows")


def _program(columns: Reals, z: Reals) -> tuple[np.ndarray, Reals, Reals]:
    """The d columns, signs and weights of a basic solution of the least l1 norm.

    Of many columns some are asked first; as long as others would exceed 1, the farthest of them join.
    """
    d, n = columns.shape
    asked = np.sort(np.argsort(-np.abs(z @ columns), kind="stable")[: FIRST * d])
    while True:
        solution, normal = _least_l1(columns[:, asked], z)
        beyond = np.zeros(0, dtype=np.int64)
        if solution is not None and len(asked) < n:
            products = np.abs(normal @ columns)
            products[asked] = 0.0
            farthest = np.argsort(-products, kind="stable")[: 2 * d]
            beyond = farthest[products[farthest] > 1 + BEYOND]
        if solution is None and len(asked) == n:
            raise ParameterError("vertices must span the space; reduce the query to its rank first")
        if solution is not None and not beyond.size:
            chosen = np.argsort(-np.abs(solution), kind="stable")[:d]
            return asked[chosen], np.sign(solution[chosen]), np.abs(solution[chosen])
        asked = np.union1d(asked, beyond) if solution is not None else np.arange(n)


def _least_l1(columns: Reals, z: Reals) -> tuple[Reals | None, Reals]:
    """x of least l1 norm with columns @ x = z, a basic one, and the normal that proves it; None where there is none."""
    from scipy.optimize import linprog

    n = columns.shape[1]
    exactly = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    both = np.hstack([columns, -columns])
    found = linprog(np.ones(2 * n), A_eq=both, b_eq=z, method="highs-ds", options=exactly)
    if found.x is None:
        return None, z
    return found.x[:n] - found.x[n:], np.asarray(found.eqlin.marginals)
