r"""Many vectors of ball noise at once: in doubles where they decide, exactly where they do not.

As in `ball`, z = scale sqrt(2 G) N with G a sum of exponential variables and N normal; points are drawn from the same
envelopes, 64 bits of each known.  In doubles z is off by at most a bound that is stated below; a coordinate nearer than
that to the middle between two whole numbers is settled by the lazy reals that have these bits, refined as far as it
takes.

The rounded coordinates all stay within t exactly when |z_i| < t + 1/2.  Given G they are independent, and their joint
tail grows with G: cutting the values of G into steps and taking each at its upper end bounds it.
Proof: docs/proofs/sampling-ball.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.deferred import function
from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.ball import BallNoise, settled
from sfumato.sampling.drawing import BAND, UNIT, Plan, accepts, exp_minus_near, phis
from sfumato.sampling.fixedpoint import LazyUniform
from sfumato.sampling.law import check_beta, least_integer
from sfumato.sampling.lazy import LazyReal, Point, exponential_plan, normal_plan

__all__ = ["BallVectors", "balls"]

gammaincc = function("scipy.special", "gammaincc")
gammaincinv = function("scipy.special", "gammaincinv")
gammainccinv = function("scipy.special", "gammainccinv")
log_ndtr = function("scipy.special", "log_ndtr")

STEPS = 400  # of the common radius, in the joint tail
FARTHEST = 1e-300  # the mass beyond the last of them
SLACK = 1e-9  # relative, over the error of the special functions
CHUNK = 1 << 17  # points at a time
UNKNOWN = 2.0**-58  # what bits beyond the 64th, and rounding them off, can move a point by

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BallVectors:
    """Ball noise of a scale on whole vectors of a dimension."""

    scale: float
    dimension: int

    def __post_init__(self) -> None:
        _ = self.law

    @property
    def law(self) -> BallNoise:
        """The law of one vector."""
        return BallNoise(self.scale, ((self.dimension, Fraction(1)),))

    @property
    def variance(self) -> float:
        """(m + 1) b^2, and that of rounding."""
        return float(self.law.variances[0]) + 1 / 12

    @property
    def mean_absolute(self) -> float:
        """E |Z_i| before rounding: b E sqrt(2 G) E |N|."""
        shape = (self.law.dimension + 1) / 2
        return self.scale * 2 * math.exp(math.lgamma(shape + 0.5) - math.lgamma(shape)) / math.sqrt(math.pi)

    def tail(self, t: int) -> float:
        """P(max |Z_i| > t), rounded up."""
        return 1.0 if t < 0 else self._beyond(t + 0.5, self.dimension)

    def margin(self, beta: float) -> float:
        """A distance that the real noise of any one coordinate, or direction, exceeds with probability at most beta."""
        _check_beta(beta)
        low, high = 0.0, self.scale
        while self._beyond(high, 1) > beta:
            low, high = high, 2 * high
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self._beyond(middle, 1) > beta else (low, middle)
        return high

    def radius(self, beta: float) -> float:
        """What b sqrt(2 G), the deviation that all coordinates share, exceeds with probability at most beta."""
        return self.scale * math.sqrt(2 * float(gammainccinv((self.law.dimension + 1) / 2, beta))) * (1 + SLACK)

    def _beyond(self, distance: float, together: int) -> float:
        """P(some of so many coordinates is at least this far out before rounding), rounded up."""
        ends, survival = _radii((self.law.dimension + 1) / 2)
        each = np.exp(log_ndtr(-distance / (self.scale * np.sqrt(2 * ends))))
        with np.errstate(divide="ignore"):  # at distance 0, log 0: all coordinates are beyond
            tails = -np.expm1(together * np.log1p(-2 * np.minimum(each, 0.5)))
        rises = np.diff(tails, prepend=0.0, append=1.0)  # by parts: the masses of cells would lose the far tail
        return min(1.0, float(survival @ rises) * (1 + SLACK))

    def quantile(self, beta: float) -> int:
        """The least whole t with `tail` at most beta."""
        _check_beta(beta)
        guess = self.scale * math.sqrt(2 * self.dimension * math.log(2 * self.dimension / beta))
        return least_integer(self.tail, beta, guess)

    def sample(self, count: int, rng: Rng) -> npt.NDArray[np.int64]:
        """So many vectors, one a row."""
        if count == 1:
            return self.law.sample(rng)[None]
        return balls(self.law, count, rng)


def _check_beta(beta: float) -> None:
    check_beta(beta)
    if beta < 10 * FARTHEST:
        raise ParameterError(f"beta must be at least {10 * FARTHEST:g} for ball noise, got {beta!r}")


@lru_cache(maxsize=64)
def _radii(shape: float) -> tuple[Floats, Floats]:
    """Cells of the common G: where each ends, and the mass from where it begins on, rounded up; then the rest."""
    near = np.asarray(gammaincinv(shape, np.linspace(0.0, 0.99, STEPS // 2)[1:]))
    tail = np.append(np.geomspace(1e-2, 1e-15, STEPS // 2), np.geomspace(1e-15, FARTHEST, STEPS)[1:])
    ends = np.append(near, np.asarray(gammainccinv(shape, tail[1:])))
    return ends, np.append(1.0, np.asarray(gammaincc(shape, ends)) * (1 + SLACK))


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Accepted points of an envelope: their values in doubles, and what the exact ones are made of."""

    law: Plan
    values: Floats
    cells: Integers
    places: npt.NDArray[np.uint64]
    settled: dict[int, Point]  # those that doubles could not decide, or of cells that are not listed

    def point(self, at: int) -> Point:
        """The exact point, of which at least 64 bits are known."""
        if at in self.settled:
            return self.settled[at]
        shape, cell = self.law.envelope, self.law.table.outcomes[int(self.cells[at])]
        place = LazyUniform(int(self.places[at]), 64)
        return shape.branches[cell[1]].sign, shape.place(cell), shape.length, place


def balls(law: BallNoise, count: int, rng: Rng) -> Integers:
    """So many independent vectors of a ball's noise, one a row."""
    rows = max(1, CHUNK // (2 * law.dimension))
    parts = [_rows(law, min(rows, count - start), rng) for start in range(0, count, rows)]
    return np.concatenate(parts) if parts else np.empty((0, law.size), dtype=np.int64)


def _rows(law: BallNoise, count: int, rng: Rng) -> Integers:
    shape, size = (law.dimension + 1) // 2, law.size
    waits = _points(exponential_plan(), count * shape, rng)
    points = _points(normal_plan(), count * law.dimension, rng)
    stretches = np.repeat([float(stretch) for _, stretch in law.parts], [many for many, _ in law.parts])
    mixed = waits.values.reshape(count, shape).sum(axis=1)[:, None]
    normal = points.values.reshape(count, law.dimension)[:, :size]
    radii = law.scale * np.sqrt(2 * mixed) * stretches
    z = radii * normal
    whole = np.floor(z + 0.5)
    # every double above is within (shape + 32) roundings of its real; a point, besides, within UNKNOWN
    error = (np.abs(z) + 1) * (shape + 64) * 2.0**-51 + radii * UNKNOWN
    # the unknown bits of a small sum move its root by far more than of a large one
    error += law.scale * stretches * (np.abs(normal) + 1) * _root_moved(mixed, shape)
    part = z + 0.5 - whole
    doubtful = np.minimum(part, 1 - part) <= error
    found = np.where(doubtful, 0, whole).astype(np.int64)
    exact = [stretch for many, stretch in law.parts for _ in range(many)]
    for row in np.flatnonzero(doubtful.any(axis=1)).tolist():
        mixing = LazyReal([waits.point(row * shape + i) for i in range(shape)])
        for column in np.flatnonzero(doubtful[row]).tolist():
            point = LazyReal([points.point(row * law.dimension + column)])
            factor = 2 * (Fraction(law.scale) * exact[column]) ** 2
            found[row, column] = settled(factor, mixing, point, rng)
    return found


def _root_moved(mixed: Floats, shape: int) -> Floats:
    """What unknown bits of so many points can move sqrt(2 G) by: t / sqrt(G), and sqrt(t), move sqrt(G) by t in G."""
    moved = shape * UNKNOWN
    return np.asarray(1.5 * moved / np.sqrt(np.maximum(mixed, moved)))


def _points(law: Plan, count: int, rng: Rng) -> _Points:
    """Accepted points, in the order of their attempts."""
    kept: list[_Points] = []
    done = 0
    while done < count:
        tries = count - done + (count - done) // 8 + 8
        some = _attempts(law, rng.bits64(3 * tries), rng)
        kept.append(some)
        done += some.values.size
    starts = np.cumsum([0, *(some.values.size for some in kept)])
    settled = {int(start) + at: p for start, some in zip(starts, kept, strict=False) for at, p in some.settled.items()}
    values, cells, places = (
        np.concatenate([getattr(some, part) for some in kept])[:count] for part in ("values", "cells", "places")
    )
    return _Points(law, values, cells, places, settled)


def _attempts(law: Plan, words: npt.NDArray[np.uint64], rng: Rng) -> _Points:
    """One attempt for each three words; the accepted ones."""
    size = words.size // 3
    first, second, third = words[:size], words[size : 2 * size], words[2 * size :]
    cells = law.table.alias.picks(first)
    listed = cells < len(law.table.outcomes)
    excess = (third >> np.uint64(11)).view(np.int64) * UNIT - exp_minus_near(phis(law, cells, second), law.taylor)
    accepted = listed & (excess < -BAND)
    undecided = ~listed | (np.abs(excess) <= BAND)
    starts, signs, length = _starts(law)
    values = signs[cells] * (starts[cells] + length * (second.astype(np.float64) * 2.0**-64))
    exact: dict[int, Point] = {}
    for at in np.flatnonzero(undecided).tolist():
        cell = law.table.outcomes[int(cells[at])] if listed[at] else law.table.remainder(rng)
        place, chance = LazyUniform(int(second[at]), 64), LazyUniform(int(third[at]), 64)
        accepted[at] = cell is not None and accepts(law, cell, place, chance, rng)
        if accepted[at] and cell is not None:
            sign, start = law.envelope.branches[cell[1]].sign, law.envelope.place(cell)
            exact[at] = sign, start, law.envelope.length, place
            values[at] = sign * (float(start) + length * math.ldexp(place.value >> place.bits - 64, -64))
    order = np.cumsum(accepted) - 1
    kept = {int(order[at]): point for at, point in exact.items()}
    return _Points(law, values[accepted], cells[accepted], second[accepted], kept)


@lru_cache(maxsize=4)
def _starts(law: Plan) -> tuple[Floats, Floats, float]:
    """Where each listed cell begins, its sign, and the length of all; exact in doubles."""
    shape = law.envelope
    starts = [float(shape.place(cell)) for cell in law.table.outcomes]
    signs = [float(shape.branches[cell[1]].sign) for cell in law.table.outcomes]
    return np.array([*starts, 0.0]), np.array([*signs, 1.0]), float(shape.length)
