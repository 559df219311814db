r"""Hit-and-run by slices, the reference walk: exact moves along random lines for the density exp(-gauge).

From z draw a level h = gauge(z) + an exponential variable, a direction v from N(0, I), and move to a uniform point of
the chord {z + t v : gauge <= h} [Smith1984; Neal2003].  The ends of the chord are found by pivots in both directions,
so that a step costs as little as it can.  The gauge is redrawn from gamma(d) as in the bouncy-particle sampler.
"""

from __future__ import annotations

import numpy as np

from sfumato.deferred import njit
from sfumato.randomness import Rng
from sfumato.sampling.bodies import facets
from sfumato.sampling.bodies.bouncing import Path, refresh, rescale, unit
from sfumato.sampling.bodies.facets import advance, exit_time, leave, move, point, turn
from sfumato.sampling.bodies.frame import Frame
from sfumato.sampling.bodies.pricing import workroom
from sfumato.sampling.reals import normals

__all__ = ["hit_and_run"]

BLOCK = 1 << 14


def hit_and_run(frame: Frame, records: int, thin: int, warmup: int, rng: Rng) -> Path:
    """One chain from a random start: `records` points, `thin` steps apart, after `warmup` steps thrown away."""
    columns, rank = frame.columns, frame.rank
    state = facets.locate(columns, normals((rank,), rng))
    points, ys = np.empty((records, rank)), np.empty((records, rank))
    done = -(warmup // thin + 1) * thin
    while done < (records - 1) * thin + 1:
        done = run(columns, state, rng.bits64(BLOCK + 4 * rank), done, thin, points, ys)
    return Path(points, ys, int(state[1][1]))


@njit(cache=True)
def reach(columns, state, level, room):  # type: ignore[no-untyped-def]
    """Move on until the gauge is `level`; returns how long that took."""
    weights, speeds = state[6], state[7]
    passed = 0.0
    while True:
        time, leaving = exit_time(weights, speeds)
        slope, gauge = speeds.sum(), weights.sum()
        needed = (level - gauge) / slope if slope > 0.0 else np.inf
        if needed <= time:
            move(weights, speeds, max(needed, 0.0))
            return passed + max(needed, 0.0)
        move(weights, speeds, time)
        passed += time
        leave(columns, state, leaving, room)


@njit(cache=True)
def run(columns, state, words, done, thin, points, ys):  # type: ignore[no-untyped-def]
    """Step until the words or the records run out; returns the steps done."""
    d = columns.shape[0]
    weights, speeds = state[6], state[7]
    room = workroom(columns)
    used = 0
    while used + 2 * d + 6 < words.size:
        used = rescale(state, words, used)
        used = refresh(state, words, used)
        level = weights.sum() - np.log(unit(words[used]))
        reach(columns, state, level, room)  # one end of the chord, then the other
        turn(speeds)
        chord = reach(columns, state, level, room)
        turn(speeds)
        advance(columns, state, chord * unit(words[used + 1]), room)
        used += 2
        if done >= 0 and done % thin == 0:
            point(columns, state, points[done // thin])
            ys[done // thin] = state[4]
            if done // thin == points.shape[0] - 1:
                return done + 1
        done += 1
    return done
