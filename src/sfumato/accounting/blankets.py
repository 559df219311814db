r"""The privacy blanket of a known local randomizer, and what it hides in a shuffled crowd.

Let w be a measure with w <= R(x) for every input x [BalleBellGasconNissim2019].  Then n shuffled reports cost at most
    delta(e) = (1/n) E (V_1 + ... + V_n)^+,   V = (R0(z) - e^e R1(z)) / w(z) with probability w(z), else 0,
the V independent.  The mean is computed by one tilted Fourier transform after a mean-preserving spread of V to a
grid, which can only raise it; rounded up.
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
REACH = 6.5  # tilted deviations on each side of the window
FEWEST, FINEST = 1 << 10, 1 << 15  # points of the window: at least, and wanted
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
        factor = math.exp(epsilon)
        if factor >= self.ratio * (1 + 1e-12):
            return 0.0
        table = np.array(self.kinds)
        ways = [table, table[:, [1, 0, 2]]]
        if sorted(map(tuple, ways[0])) == sorted(map(tuple, ways[1])):
            ways.pop()
        return min(1.0, max(self._excess(way, reports, factor) for way in ways) * (1 + SLACK))

    def _excess(self, table: Reals, reports: int, factor: float) -> float:
        first, second, blanket = table.T
        values = np.append((first - factor * second) / blanket, 0.0)
        return min(1.0, mean_excess(values, np.append(blanket, max(0.0, 1 - self.mass)), reports))


def mean_excess(values: Reals, masses: Reals, m: int) -> float:
    """(1/m) E (V_1 + ... + V_m)^+ for independent V with the given values and masses, rounded up."""
    if values.max() <= 0:
        return 0.0
    deviation = math.sqrt(float(masses @ (values - masses @ values) ** 2))
    step = min(2 * REACH * deviation * math.sqrt(m) / FINEST, deviation / COARSEST)
    index, weights = _spread(values / step, masses)
    places = np.asarray(index * step, dtype=np.float64)
    tilt, log_total = _saddle(places, weights)
    tilted = weights * np.exp(tilt * step * index - log_total)
    spread = step * math.sqrt(m * float(tilted @ (index - tilted @ index) ** 2))
    size, outside = _window(places, tilted, m, spread, step)
    sums, error = _sum_law(index, tilted, m, size)
    points = step * (np.arange(size) - size // 2)
    gains = np.where(points > 0, points * np.exp(-tilt * np.maximum(points, 0.0)), 0.0)
    most = m * float(values.max()) + step * m
    peak = min(most, 1 / (math.e * tilt)) if tilt > 0 else most
    # no BLAS product here: it would wake threads
    mean = float(np.sum(gains * np.maximum(sums, 0.0))) + error * float(gains.max()) + 2 * outside * peak
    return math.exp(m * log_total) * mean * (1 + 1e-9 + 40 * ULP * m) / m


def _spread(scaled: Reals, masses: Reals) -> tuple[npt.NDArray[np.int64], Reals]:
    """Each mass split between the two whole numbers around its value, with the same mean."""
    below = np.floor(scaled)
    part = scaled - below
    index = np.concatenate([below, below + 1]).astype(np.int64)
    weights = np.concatenate([masses * (1 - part), masses * part])
    places, inverse = np.unique(index, return_inverse=True)
    return places, np.asarray(np.bincount(inverse, weights), dtype=np.float64)


def _saddle(values: Reals, weights: Reals) -> tuple[float, float]:
    """An exponent t >= 0 under which the mean is nearly 0 (any would do), and ln E e^(t V)."""
    top = float(values.max())

    def mean(tilt: float) -> float:
        return float((weights * np.exp(tilt * (values - top))) @ values)

    low, high = 0.0, 1 / top
    if mean(low) < 0:
        while mean(high) < 0:
            low, high = high, 2 * high
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if mean(middle) < 0 else (low, middle)
    return low, _log_moment(values, weights, low)


def _window(values: Reals, tilted: Reals, m: int, spread: float, step: float) -> tuple[int, float]:
    """Points of a window around 0 and Chernoff's bound of the tilted mass outside."""
    reach = REACH * spread
    while True:
        size = 1 << math.ceil(math.log2(max(FEWEST, 2 * reach / step + 4)))
        limit = step * (size // 2 - 1)
        logs = []
        for sign in (1.0, -1.0):
            guess = limit / spread**2
            moves = [guess * share for share in (1.0, 0.7, 0.5, 0.3, 0.15)]
            logs.append(min(m * _log_moment(sign * values, tilted, move) - move * limit for move in moves))
        outside = sum(math.exp(min(0.0, log)) for log in logs)
        if outside <= 1e-9 or limit >= m * float(np.abs(values).max()):
            return size, outside if limit < m * float(np.abs(values).max()) else 0.0
        reach *= 1.3


def _log_moment(values: Reals, weights: Reals, exponent: float) -> float:
    top = float(values.max())
    return exponent * top + math.log(float(weights @ np.exp(exponent * (values - top))))


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
