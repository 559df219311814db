r"""The bouncy-particle sampler on the facets of a hull, for the density exp(-gauge(z)).

Between events the point moves straight with velocity v; inside the cone of a facet with normal y the gauge grows at
the constant rate <y, v>, so a bounce comes at rate max(0, <y, v>): v <- v - 2 <y, v> y / |y|^2.  Every LEG time
units v is drawn anew from N(0, I), which makes the chain irreducible, and every REDRAW time units the gauge is drawn
anew from gamma(d), its law given direction and velocity.  Both steps and the flow leave exp(-gauge) x N(0, I)
invariant [BouchardCoteVollmerDoucet2018].  The point is recorded after every `thin`-th redrawing of the gauge.

How fast it mixes is not proven: whatever rests on it assumes so, and reports diagnostics.
Proof of invariance: docs/proofs/sampling-bodies.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.deferred import njit
from sfumato.randomness import Rng
from sfumato.sampling.bodies import facets
from sfumato.sampling.bodies.facets import MOST, aim, exit_time, leave, move, point
from sfumato.sampling.bodies.frame import Frame
from sfumato.sampling.bodies.pricing import FAST, workroom
from sfumato.sampling.reals import Reals, normals

__all__ = ["Path", "bounce", "burn_in"]

LEG = 120.0  # time units; in the frame the longest columns have length sqrt(d), and velocities too
REDRAW = 5.0
UNIT = 2.0**-53
BLOCK = 1 << 12  # words handed to the loop at a time


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Records of one chain: points and facet normals, one a row, in the frame's coordinates."""

    points: Reals
    normals: Reals
    pivots: int


def burn_in(rank: int) -> int:
    """Redrawings to throw away: some 60 autocorrelation times on sign matrices of rank 5 to 40."""
    return max(300, 10 * rank)


def bounce(frame: Frame, records: int, thin: int, rng: Rng) -> Path:
    """One chain from a random start, after its burn-in: `records` points, `thin` redrawings apart."""
    columns, rank = frame.columns, frame.rank
    state = facets.locate(columns, normals((rank,), rng))
    points, ys = np.empty((records, rank)), np.empty((records, rank))
    clock = np.zeros(3)  # left of the leg, of the time to the next redrawing, and of the exponential clock
    done = began = -(burn_in(rank) // thin + 1) * thin
    pivots, good = 0, point_of(columns, state)
    while done < (records - 1) * thin + 1:
        words = rng.bits64(BLOCK + 4 * rank)
        done = run(columns, state, clock, words, done, thin, points, ys)
        if facets.healthy(columns, state):
            good = point_of(columns, state)
        else:  # rounding spoiled the block: return to where it began, and do its records again
            pivots += int(state[1][1])
            state, clock = facets.locate(columns, good), np.zeros(3)
            done = began
        began = done
    return Path(points, ys, pivots + int(state[1][1]))


def point_of(columns: Reals, state: facets.Facets) -> Reals:
    """The point of a state."""
    out = np.empty(columns.shape[0])
    point(columns, state, out)
    return out


@njit(cache=True)
def unit(word):  # type: ignore[no-untyped-def]
    """A uniform number in (0, 1)."""
    return (np.float64(word >> np.uint64(11)) + 0.5) * UNIT


@njit(cache=True)
def rescale(state, words, used):  # type: ignore[no-untyped-def]
    """The gauge anew from gamma(d); returns how many words are used up."""
    weights = state[6]
    gauge, total = 0.0, 0.0
    for k in range(weights.size):
        gauge -= np.log(unit(words[used + k]))
        total += weights[k]
    for k in range(weights.size):
        weights[k] *= gauge / total
    return used + weights.size


@njit(cache=True)
def refresh(state, words, used):  # type: ignore[no-untyped-def]
    """The velocity anew; returns how many words are used up."""
    d = state[6].size
    velocity = np.empty(d + 1)
    for k in range(0, d, 2):
        radius = np.sqrt(-2.0 * np.log(unit(words[used + k])))
        angle = 2.0 * np.pi * unit(words[used + k + 1])
        velocity[k] = radius * np.cos(angle)
        velocity[k + 1] = radius * np.sin(angle)
    aim(state, velocity[:d])
    return used + d + 1


@njit(cache=True, fastmath=FAST)
def reflect(state, slope):  # type: ignore[no-untyped-def]
    """Mirror the velocity at the facet's normal."""
    inverse, normal, speeds = state[3], state[4], state[7]
    d = normal.size
    square = 0.0
    for i in range(d):
        square += normal[i] * normal[i]
    for k in range(d):
        total = 0.0
        for i in range(d):
            total += inverse[k, i] * normal[i]
        speeds[k] -= 2.0 * slope / square * total


@njit(cache=True)
def run(columns, state, clock, words, done, thin, points, ys):  # type: ignore[no-untyped-def]
    """Move until the words or the records run out; `clock` and `state` carry over.  Returns the redrawings done."""
    d = columns.shape[0]
    weights, speeds = state[6], state[7]
    room = workroom(columns)
    used, last = 0, state[1][1] + MOST
    while used + 2 * d + 4 < words.size and state[1][1] < last:
        if clock[0] <= 0.0:
            used = refresh(state, words, used)
            clock[0] = LEG
            clock[2] = -np.log(unit(words[used]))
            used += 1
        time, leaving = exit_time(weights, speeds)
        slope = speeds.sum()
        ring = clock[2] / slope if slope > 0.0 else np.inf
        step = min(time, ring, clock[0], clock[1])
        move(weights, speeds, step)
        clock[0] -= step
        clock[1] -= step
        clock[2] -= step * max(slope, 0.0)
        if step == time:
            leave(columns, state, leaving, room)
        elif step == ring:
            reflect(state, slope)
            clock[2] = -np.log(unit(words[used]))
            used += 1
        elif clock[1] <= 0.0:
            clock[1] = REDRAW
            used = rescale(state, words, used)
            if done >= 0 and done % thin == 0:
                point(columns, state, points[done // thin])
                ys[done // thin] = state[4]
                if done // thin == points.shape[0] - 1:
                    return done + 1
            done += 1
    return done
