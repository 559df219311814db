r"""The ball walk and the grid walk on a hull, for uniform points: references, with the textbook corrections.

Ball walk: propose a uniform point of the ball of radius `radius` around the present one, and stay where you are if it
lies outside the body [KannanLovaszSimonovits1997].  Grid walk: on the lattice of spacing `step`, stay with probability
1/2, else propose a neighbor and stay if it lies outside [DyerFriezeKannan1991].  A refused proposal is a step:
proposing until one is accepted, as document 000 does, changes the law, which is then not uniform.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.deferred import njit
from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.bodies import facets
from sfumato.sampling.bodies.bouncing import unit
from sfumato.sampling.bodies.facets import advance, aim, point, turn
from sfumato.sampling.bodies.hull import Hull
from sfumato.sampling.bodies.pricing import workroom
from sfumato.sampling.reals import Reals, normals, uniforms

__all__ = ["ball_walk", "grid_walk"]


def ball_walk(hull: Hull, steps: int, radius: float, rng: Rng) -> Reals:
    """The points of one ball walk from near the origin, one a row, refused steps included.

    The radius is in the coordinates of the hull's frame, where the hull lies between balls of radius 1 and sqrt(d).
    """
    rank = hull.frame.rank
    _check(steps, radius)
    moves = normals((steps, rank), rng)
    moves *= radius * uniforms((steps, 1), rng) ** (1 / rank) / np.linalg.norm(moves, axis=1, keepdims=True)
    state = facets.locate(hull.frame.columns, 1e-3 * normals((rank,), rng) / math.sqrt(rank))
    out = np.empty((steps, rank))
    ball_steps(hull.frame.columns, state, moves, out)
    return np.asarray(out @ hull.frame.lift.T)


def grid_walk(hull: Hull, steps: int, step: float, rng: Rng) -> Reals:
    """The points of one lazy grid walk from the origin, one a row; the grid is that of the hull's frame."""
    rank = hull.frame.rank
    _check(steps, step)
    state = facets.locate(hull.frame.columns, 1e-3 * normals((rank,), rng) / math.sqrt(rank))
    out = np.empty((steps, rank))
    grid_steps(hull.frame.columns, state, rng.bits64(2 * steps), step, out)
    return np.asarray(out @ hull.frame.lift.T)


def _check(steps: int, size: float) -> None:
    if steps < 1 or not (math.isfinite(size) and size > 0):
        raise ParameterError(f"a walk needs at least one step of positive size, got {steps} and {size!r}")


@njit(cache=True)
def moved(columns, state, here, there, room):  # type: ignore[no-untyped-def]
    """Go from `here` to `there` if that lies inside; the state follows."""
    aim(state, there - here)
    advance(columns, state, 1.0, room)
    if state[6].sum() <= 1.0:
        return True
    turn(state[7])
    advance(columns, state, 1.0, room)
    return False


@njit(cache=True)
def ball_steps(columns, state, moves, out):  # type: ignore[no-untyped-def]
    """One row a step."""
    room, here = workroom(columns), np.empty(columns.shape[0])
    for i in range(moves.shape[0]):
        point(columns, state, here)
        moved(columns, state, here, here + moves[i], room)
        point(columns, state, out[i])


@njit(cache=True)
def grid_steps(columns, state, words, step, out):  # type: ignore[no-untyped-def]
    """One row a step; the position is kept in whole steps, so that it does not drift off the grid."""
    d = columns.shape[0]
    room, here, there = workroom(columns), np.empty(d), np.empty(d)
    place = np.zeros(d)
    for i in range(out.shape[0]):
        if words[2 * i] >> np.uint64(63):
            axis = int(unit(words[2 * i + 1]) * d)
            move = 1.0 if (words[2 * i] >> np.uint64(62)) & np.uint64(1) else -1.0
            place[axis] += move
            point(columns, state, here)
            there[:] = step * place
            if not moved(columns, state, here, there, room):
                place[axis] -= move
        out[i] = step * place
