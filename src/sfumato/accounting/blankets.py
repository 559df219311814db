r"""The privacy blanket of a known local randomizer, and what it hides in a shuffled crowd.

Let w be a measure with w <= R(x) for every input x [BalleBellGasconNissim2019].  Then n shuffled reports cost at most
    delta(e) = (1/n) E (V_1 + ... + V_n)^+,   V = (R0(z) - e^e R1(z)) / w(z) with probability w(z), else 0,
the V independent.  The mean is computed by one tilted Fourier transform after a mean-preserving spread of V to a
grid, which can only raise it; rounded up.  The grid is as coarse as `MOST_POINTS` makes it, and one report by itself,
E V^+, always bounds the mean.
Proof: docs/proofs/accounting-shuffling.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.accounting.channels import Channel, Row
from sfumato.errors import ParameterError
from sfumato.privacy.parameters import positive, whole

__all__ = ["Blanket", "Kind"]

Reals = npt.NDArray[np.float64]
Kind = tuple[float, float, float]  # of the reports of one kind: their mass under R0, under R1, and in the blanket

ULP = 2.0**-53
REACH = 6.5  # tilted deviations on each side of the window that is wanted
FEWEST, FINEST, MOST_POINTS = 1 << 10, 1 << 15, 1 << 20  # points of the window: at least, wanted, at most
MOST_STEPS = 1 << 25  # points of the window times values of V, at most
OUTSIDE = 5e-10  # tilted mass beyond either end of the window, at most
WIDEST = 2.0**40  # grid steps in a value of V, at most
COARSEST = 12.0  # grid steps in a deviation of V, at least
SLACK = 1e-9  # relative, over the rounding of masses and exponents


@dataclass(frozen=True, slots=True)
class Blanket:
    """Two inputs and the blanket of a randomizer, reports gathered into kinds of equal ratios.

    >>> Blanket.generalized_response(3, 1.0).mass < Blanket.generalized_response(30, 1.0).mass < 1
    True
    """

    kinds: tuple[Kind, ...]

    def __post_init__(self) -> None:
        table = np.array(self.kinds, dtype=np.float64).reshape(-1, 3)
        if not len(table) or np.any(table < 0) or np.any((table[:, :2].sum(axis=1) > 0) & (table[:, 2] <= 0)):
            raise ParameterError("kinds must give every possible report a positive mass in the blanket")
        above = table[:, 2] > table[:, :2].min(axis=1) * (1 + 1e-12)
        if np.any(np.abs(table[:, :2].sum(axis=0) - 1) > 1e-9) or np.any(above):
            raise ParameterError("kinds must be two laws that add up to 1, and a blanket below both")

    @classmethod
    def generalized_response(cls, k: int, local: float) -> Blanket:
        """Randomized response among k values."""
        ratio = math.exp(positive("local", local))
        each = 1 / (ratio + whole("k", k, 2) - 1)
        rest = (k - 2) * each
        kinds = ((ratio * each, each, each), (each, ratio * each, each), (rest, rest, rest))
        return cls(kinds if k > 2 else kinds[:2])

    @classmethod
    def unary(cls, true: float, false: float) -> Blanket:
        """One-hot bits sent independently: 1 with probability `true` at the value, `false` elsewhere."""
        if not 0 < false < true < 1:
            raise ParameterError("true and false must satisfy 0 < false < true < 1")
        at = {1: true, 0: 1 - true}
        off = {1: false, 0: 1 - false}
        lowest = (1 - true) / (1 - false)
        bits = [(a, b) for a in (1, 0) for b in (1, 0)]
        return cls(tuple((at[a] * off[b], off[a] * at[b], lowest * off[a] * off[b]) for a, b in bits))

    @classmethod
    def subset(cls, k: int, size: int, local: float) -> Blanket:
        """A random subset of `size` of k values, e^local times likelier if it holds the true one."""
        whole("size", size)
        if not size < whole("k", k, 2):
            raise ParameterError(f"size must be below k = {k}, got {size}")
        ratio, share = math.exp(positive("local", local)), size / k
        low = 1 / (ratio * share + 1 - share)
        both = share * (size - 1) / (k - 1)
        one = share - both
        neither = max(0.0, 1 - both - 2 * one)
        kinds = (
            (ratio * low * one, low * one, low * one), (low * one, ratio * low * one, low * one),
            (ratio * low * both, ratio * low * both, low * both), (low * neither, low * neither, low * neither),
        )  # fmt: skip
        return cls(tuple(kind for kind in kinds if kind[2] > 0))

    @classmethod
    def of(cls, channel: Channel) -> tuple[Blanket, ...]:
        """The blankets of every kind of pair of inputs of an exact channel."""
        if channel.relative_error:
            raise ParameterError("channel must be exact; give its probabilities as fractions")
        lowest = tuple(min(column) for column in zip(*channel.rows, strict=True))
        pairs = ((x, y) for x in range(channel.inputs) for y in range(x))
        found = dict.fromkeys(_kinds(channel.rows[x], channel.rows[y], lowest) for x, y in pairs)
        return tuple(cls(kinds) for kinds in found)

    @property
    def mass(self) -> float:
        """The probability that a report says nothing about its sender."""
        return math.fsum(kind[2] for kind in self.kinds)

    @property
    def ratio(self) -> float:
        """The largest ratio of the two laws."""
        return max(max(p, q) / min(p, q) if min(p, q) else math.inf for p, q, w in self.kinds if w)

    def delta(self, reports: int, epsilon: float) -> float:
        """The least delta at `epsilon` that the blanket proves for `reports` shuffled reports, in both directions."""
        if epsilon >= math.log(self.ratio) + 1e-12:
            return 0.0
        factor = math.exp(epsilon)
        table = np.array(self.kinds)
        ways = [table, table[:, [1, 0, 2]]]
        if sorted(map(tuple, ways[0])) == sorted(map(tuple, ways[1])):
            ways.pop()
        return min(1.0, max(self._excess(way, reports, factor) for way in ways) * (1 + SLACK))

    def _excess(self, table: Reals, reports: int, factor: float) -> float:
        first, second, blanket = table.T
        values = np.append((first - factor * second) / blanket, 0.0)
        one = float(np.sum(np.maximum(first - factor * second, 0.0)))
        return min(1.0, one, mean_excess(values, np.append(blanket, max(0.0, 1 - self.mass)), reports))


def mean_excess(values: Reals, masses: Reals, m: int) -> float:
    """(1/m) E (V_1 + ... + V_m)^+ for independent V with the given values and masses, rounded up.

    The window has at most `MOST_POINTS` points: where it would be larger, the grid is made coarser.
    """
    values, masses = values[masses > 0], masses[masses > 0]
    if values.max() <= 0:
        return 0.0
    alone = float(np.sum(masses * np.maximum(values, 0.0))) * (1 + SLACK)
    if m == 1:
        return alone
    values = np.maximum(values, -(m - 1) * values.max())  # a sum with a smaller one has no positive part either
    step = max(_wanted_step(values, masses, m), float(np.abs(values).max()) / WIDEST)
    most = max(FEWEST, min(MOST_POINTS, 1 << int(math.log2(MOST_STEPS / (2 * len(values))))))
    while (tilted := _Tilted.on_grid(values, masses, m, step)).size > most:
        step *= max(1.5, tilted.size / most / 4)
    return min(alone, tilted.mean_excess())


def _wanted_step(values: Reals, masses: Reals, m: int) -> float:
    """The grid step that would serve the tilted law before it is spread, if memory were no matter."""
    tilt, log_total = _saddle(values, masses)
    weights = np.exp(np.log(masses) + tilt * values - log_total)
    deviation = math.sqrt(float(np.sum(weights * (values - np.sum(weights * values)) ** 2)))
    return min(max(2 * REACH * deviation * math.sqrt(m), 2 * float(values.max())) / FINEST, deviation / COARSEST)


@dataclass(frozen=True, slots=True)
class _Tilted:
    """The law of V on a grid of this step, tilted; the window that holds the sum of m draws, and what lies outside."""

    m: int
    step: float
    index: npt.NDArray[np.int64]
    weights: Reals
    tilt: float
    log_total: float
    size: int
    outside: float
    rounding: float

    @classmethod
    def on_grid(cls, values: Reals, masses: Reals, m: int, step: float) -> _Tilted:
        """The law with each value split between the grid points around it; the largest value stays a grid point."""
        top = float(values.max())
        step = top / max(1, math.floor(top / step)) if step < top else step
        index, weights = _spread(values / step, masses)
        places = np.asarray(index * step, dtype=np.float64)
        tilt, log_total = _saddle(places, weights)
        exponents = np.log(weights) + tilt * places
        tilted = np.exp(exponents - log_total)
        found = tilted * m > 1e-30
        parts = (np.abs(np.log(weights)) + tilt * np.abs(places))[found]
        size, outside = _window(places[found], tilted[found], m, step)
        left = float(np.sum(tilted[~found])) * m  # the sum has one of these with at most this chance
        rounding = ULP * m * (40 + 4 * float(np.max(parts, initial=0.0)))
        return cls(m, step, index[found], tilted[found], tilt, log_total, size, outside + left, rounding)

    def mean_excess(self) -> float:
        """(1/m) E S^+ from the law of the sum in the window."""
        sums, error = _sum_law(self.index, self.weights, self.m, self.size)
        points = self.step * (np.arange(self.size) - self.size // 2)
        gains = np.where(points > 0, points * np.exp(-self.tilt * np.maximum(points, 0.0)), 0.0)
        most = self.m * self.step * float(self.index.max() + 1)
        peak = min(most, 1 / (math.e * self.tilt)) if self.tilt > 0 else most
        # no BLAS product here: it would wake threads
        mean = float(np.sum(gains * np.maximum(sums, 0.0))) + error * float(gains.max()) + 2 * self.outside * peak
        return math.exp(self.m * self.log_total) * mean * (1 + 1e-9 + self.rounding) / self.m


def _spread(scaled: Reals, masses: Reals) -> tuple[npt.NDArray[np.int64], Reals]:
    """Each mass split between the two whole numbers around its value, with the same mean, if it is more than 0."""
    below = np.floor(scaled)
    part = scaled - below
    index = np.concatenate([below, below + 1]).astype(np.int64)
    weights = np.concatenate([masses * (1 - part), masses * part])
    places, inverse = np.unique(index, return_inverse=True)
    gathered = np.asarray(np.bincount(inverse, weights), dtype=np.float64)
    return places[gathered > 0], gathered[gathered > 0]


def _saddle(values: Reals, weights: Reals) -> tuple[float, float]:
    """An exponent t >= 0 under which the mean is nearly 0 (any would do), and ln E e^(t V)."""
    top = float(values.max())

    def mean(tilt: float) -> float:
        return float(np.sum(weights * np.exp(tilt * (values - top)) * values))

    low, high = 0.0, 1 / top
    if mean(low) < 0:
        while mean(high) < 0:
            low, high = high, 2 * high
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if mean(middle) < 0 else (low, middle)
    return low, float(_log_moments(values, weights, np.array([low]))[0])


def _window(values: Reals, tilted: Reals, m: int, step: float) -> tuple[int, float]:
    """Points of a window around 0 that holds the sum of m draws, and Chernoff's bound of the tilted mass outside."""
    centered = values - float(np.sum(tilted * values)) / max(float(np.sum(tilted)), ULP)
    spread = math.sqrt(m * float(np.sum(tilted * centered**2)))
    limit, sides = 0.0, []
    for sign in (1.0, -1.0):
        top = float(np.max(sign * values))
        if top <= 0:
            continue
        fastest = 50 * max(1 / top, 1 / spread if spread else 0.0)
        moves = np.geomspace(min(0.2 / spread if spread else fastest, fastest / 2), fastest, 160)  # any is valid
        logs = m * _log_moments(sign * values, tilted, moves) + 64 * ULP * m * (1 + moves * top)
        limit = max(limit, min(m * top, float(np.min((logs - math.log(OUTSIDE)) / moves))))
        sides.append((top, moves, logs))
    size = 1 << math.ceil(math.log2(max(FEWEST, 2 * limit / step + 4)))
    held = step * (size // 2 - 1)
    beyond = [math.exp(min(0.0, float(np.min(logs - moves * held)))) for top, moves, logs in sides if held < m * top]
    return size, math.fsum(beyond)


def _log_moments(values: Reals, weights: Reals, exponents: Reals) -> Reals:
    """ln E e^(t V) for each exponent t; `values` all have mass, so that the logarithm is that of no zero."""
    top = float(values.max())
    return np.asarray(exponents * top + np.log(np.exp(exponents[:, None] * (values - top)) @ weights))


def _sum_law(index: npt.NDArray[np.int64], weights: Reals, m: int, size: int) -> tuple[Reals, float]:
    """The law of the sum of m draws on a circle of `size` points around 0, and its error in l1."""
    turns = np.exp(-2j * math.pi / size * np.arange(size))
    frequencies = np.arange(size // 2 + 1, dtype=np.int64)
    transform = np.zeros(size // 2 + 1, dtype=np.complex128)
    for place, weight in zip(index.tolist(), weights.tolist(), strict=True):
        transform += weight * turns[(frequencies * (place % size)) % size]
    kept = np.abs(transform) > math.exp(-200.0 / m)
    power = np.zeros_like(transform)
    power[kept] = np.exp(m * np.log(transform[kept]))
    sums = np.roll(np.fft.irfft(power, size), size // 2)
    # a coefficient errs by a few units for each of its terms, m times in the power, in l2 relative to the power m - 1,
    # whose norm is at most size^(1/2m) times that of the power m; transforms as in Higham2002
    relative = ULP * (m * size ** (0.5 / m) * (4 * len(index) + 24) + 20 * math.log2(size) + 100)
    return sums, relative * math.sqrt(size) * math.sqrt(float(np.sum(sums * sums))) + size * math.exp(-200.0)


def _kinds(first: Row, second: Row, lowest: Row) -> tuple[Kind, ...]:
    if any(not w and (p or q) for p, q, w in zip(first, second, lowest, strict=True)):
        raise ParameterError("channel must be pure: some output is possible for some inputs only")
    groups: dict[tuple[Fraction, Fraction], list[Fraction]] = {}
    for p, q, w in zip(first, second, lowest, strict=True):
        if w:
            groups.setdefault((p / w, q / w), []).append(w)
    rows = [(float(a * sum(w)), float(b * sum(w)), float(sum(w))) for (a, b), w in groups.items()]
    return tuple(sorted(rows))
