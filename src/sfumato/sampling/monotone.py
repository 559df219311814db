r"""Monotone paths drawn with weight exp(-rate * height), height the largest distance from a given curve: exactly.

Paths are whole numbers 0 <= y_1 <= ... <= y_g <= top; the height of y is max_i |curve_i - unit y_i|.  Since
exp(-r h) = sum_{p >= h} (1 - e^{-r}) e^{-r p}, it is enough to choose a band p with probability proportional to
(1 - e^{-r}) e^{-r p} N(p), N(p) the number of paths of height at most p, and then one of these paths uniformly.

N(p) is a whole number, by dynamic programming over the band.  Bands are grouped into segments; p is proposed with the
number of paths at its segment's end and accepted with probability N(p) over that number; one uniform whole
number below it decides acceptance and picks the path.  Proof: docs/proofs/sampling-monotone.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.fixedpoint import Enclosure, LazyUniform, exp_minus
from sfumato.sampling.uniform import floor_scaled

__all__ = ["MonotonePaths"]

ACCEPTED = 0.5  # of proposals, at least
GUARD = 64  # bits beyond those of the uniform and of the largest count

Band = tuple[list[int], list[int]]  # the least and the greatest value at each place
Segment = tuple[int, int | None]  # heights from the first up to the second, which is left out


@dataclass(frozen=True, slots=True, eq=False)
class MonotonePaths:
    """Paths near a curve of whole numbers, which need not be monotone; `unit` may be 0."""

    curve: npt.NDArray[Any]
    unit: int
    top: int
    known: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if np.asarray(self.curve).ndim != 1 or self.unit < 0 or self.top < 1:
            raise ParameterError("a monotone path needs a one-dimensional curve, unit >= 0 and top >= 1")

    def height(self, path: npt.ArrayLike) -> int:
        """The largest distance of a path from the curve."""
        away = [abs(int(c) - self.unit * int(y)) for c, y in zip(self.curve, np.asarray(path), strict=True)]
        return max(away, default=0)

    def count(self, height: int) -> int:
        """N(height): how many paths have at most this height."""
        if height not in self.known:
            ways = self._completions(height)
            self.known[height] = 0 if ways is None else sum(ways[0]) if ways else 1
        return self.known[height]

    def sample(self, rate: float, rng: Rng) -> list[int]:
        """One path."""
        segments = self._segments(rate)
        chooser = _Bands(Fraction(rate), tuple(segments), tuple(self._ends(segment) for segment in segments))
        while True:
            place, height = chooser.draw(rng)
            rank = floor_scaled(LazyUniform(rng.word(), 64), chooser.counts[place], rng)
            if rank < self.count(height):
                return self._unranked(height, rank)

    def _ends(self, segment: Segment) -> int:
        """The number of paths at the segment's upper end."""
        return self.count(segment[0] if segment[1] is None else segment[1] - 1)

    def _segments(self, rate: float) -> list[Segment]:
        """Consecutive ranges of heights, split until at least half of the proposals are accepted."""
        start, last = self._least(), self._last()
        edges = [start]
        width = max(1, int(1 / rate)) if rate * last > 1 else max(1, last - start)
        while edges[-1] < last:
            edges.append(min(last, edges[-1] + width))
            width *= 2
        segments: list[Segment] = [*pairwise(edges), (edges[-1], None)]
        while True:
            upper = [self._log_weight(rate, segment, self._ends(segment), start) for segment in segments]
            lower = [self._log_weight(rate, segment, self.count(segment[0]), start) for segment in segments]
            top = max(upper)
            gains = [math.exp(u - top) - math.exp(low - top) for u, low in zip(upper, lower, strict=True)]
            if sum(gains) <= (1 - ACCEPTED) * sum(math.exp(u - top) for u in upper):
                return segments
            worst = int(np.argmax(gains))
            low, high = segments[worst]
            assert high is not None
            middle = (low + high) // 2
            segments[worst : worst + 1] = [(low, middle), (middle, high)]

    @staticmethod
    def _log_weight(rate: float, segment: Segment, count: int, start: int) -> float:
        low, high = segment
        inside = 0.0 if high is None else math.log(-math.expm1(-rate * (high - low)))
        return math.log(count) - rate * (low - start) + inside

    def _last(self) -> int:
        """A height that no path exceeds."""
        return max((max(abs(int(c)), abs(int(c) - self.unit * self.top)) for c in self.curve), default=0)

    def _least(self) -> int:
        """The least height of a path, by bisection."""
        low, high = -1, self._last()
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._band(middle) is not None else (middle, high)
        return high

    def _band(self, height: int) -> Band | None:
        """The values that a path of at most this height can take at each place; None if there is no such path."""
        if self.unit == 0:
            fits = all(abs(int(c)) <= height for c in self.curve)
            return ([0] * len(self.curve), [self.top] * len(self.curve)) if fits else None
        low = [max(0, -((height - int(c)) // self.unit)) for c in self.curve]
        high = [min(self.top, (int(c) + height) // self.unit) for c in self.curve]
        low = list(accumulate(low, max))
        high = list(accumulate(high[::-1], min))[::-1]
        return (low, high) if all(a <= b for a, b in zip(low, high, strict=True)) else None

    def _completions(self, height: int) -> list[list[int]] | None:
        """For each place and value the number of ways to go on to the end; None if there is no path."""
        band = self._band(height)
        if band is None:
            return None
        low, high = band
        ways: list[list[int]] = [[]] * len(low)
        for place in range(len(low) - 1, -1, -1):
            if place == len(low) - 1:
                ways[place] = [1] * (high[place] - low[place] + 1)
                continue
            after = list(accumulate(ways[place + 1][::-1]))[::-1]  # going on to a value or a greater one
            skip = low[place + 1]
            ways[place] = [after[max(value - skip, 0)] for value in range(low[place], high[place] + 1)]
        return ways

    def _unranked(self, height: int, rank: int) -> list[int]:
        """The path of this rank among those of at most this height, in lexicographic order."""
        ways, band = self._completions(height), self._band(height)
        assert ways is not None
        assert band is not None
        path: list[int] = []
        for place, counts in enumerate(ways):
            value = max(band[0][place], path[-1] if path else 0)
            while rank >= counts[value - band[0][place]]:
                rank -= counts[value - band[0][place]]
                value += 1
            path.append(value)
        return path


@dataclass(frozen=True, slots=True, eq=False)
class _Bands:
    """Heights with probability proportional to counts[segment] e^{-rate height}, by inversion of one lazy uniform."""

    rate: Fraction
    segments: tuple[Segment, ...]
    counts: tuple[int, ...]
    found: dict[int, list[Enclosure]] = field(default_factory=dict, repr=False)

    def draw(self, rng: Rng) -> tuple[int, int]:
        """A segment's position, and a height in it."""
        u = LazyUniform(rng.word(), 64)
        place = self._search(u, 0, len(self.segments), lambda k: (k, 0), rng)
        low, high = self.segments[place]
        if high is None:
            return place, low
        return place, self._search(u, low, high, lambda height: (place, height - low), rng)

    def _search(self, u: LazyUniform, low: int, high: int, point: Any, rng: Rng) -> int:
        """The largest index whose point is not above u; the one at `low` never is."""
        while high - low > 1:
            middle = (low + high) // 2
            place, offset = point(middle)
            if u.below(lambda bits, place=place, offset=offset: self._share(place, offset, bits), rng):  # type: ignore[misc]
                high = middle
            else:
                low = middle
        return low

    def _share(self, place: int, offset: int, bits: int) -> Enclosure:
        """The probability of everything before a segment's height, enclosed in units of 2**-bits."""
        width = bits + GUARD + max(self.counts).bit_length()
        weights = self._weights(width)
        low, high = (sum(column) for column in zip((0, 0), *weights[:place], strict=True))
        if offset:
            less, more = self._weight(place, self.segments[place][0] + offset, width)
            low, high = low + less, high + more
        least, most = (sum(column) for column in zip(*weights, strict=True))
        return (low << bits) // most, -(-(high << bits) // max(least, 1))

    def _weights(self, width: int) -> list[Enclosure]:
        if width not in self.found:
            self.found[width] = [self._weight(place, end, width) for place, (_, end) in enumerate(self.segments)]
        return self.found[width]

    def _weight(self, place: int, end: int | None, width: int) -> Enclosure:
        """The count times e^{-rate start} - e^{-rate end}, enclosed in units of 2**-width."""
        start, base = self.segments[place][0], self.segments[0][0]
        low, high = exp_minus(self.rate * (start - base), width)
        if end is not None:
            less, more = exp_minus(self.rate * (end - base), width)
            low, high = max(low - more, 0), high - less
        return self.counts[place] * low, self.counts[place] * high
