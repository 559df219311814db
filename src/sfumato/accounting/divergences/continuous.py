r"""Divergences of two Laplace or two normal laws on the line, in closed form, rounded up.

Between densities p and q: KL = E_p ln(p/q), chi-square = E_q (p/q - 1)^2, squared Hellinger = 1 - E_q sqrt(p/q), hockey
stick at e = E_q (p/q - e^e)^+ and total variation, the hockey stick at 0.  Locations and scales may differ; chi-square
is infinite where the tails of p are too heavy.  ln(p/q) is piecewise linear (Laplace) or quadratic (normal), so
the event {p > e^e q} is a union of at most two intervals found by its crossings.
Proof: docs/proofs/privacy-conversions.md.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np

from sfumato.accounting.laws import Array, normal_masses
from sfumato.deferred import function
from sfumato.errors import ParameterError
from sfumato.privacy.parameters import nonnegative, positive

__all__ = ["LaplaceDensity", "NormalDensity"]

ndtr = function("scipy.special", "ndtr")

SLACK = 1e-12  # relative to the sizes of the terms: over the rounding of a dozen operations
ULPS = 4e-16  # over the differences of distribution functions
FAR = 1e300


class Density(ABC):
    """A law of location and scale on the line."""

    __slots__ = ()

    center: float
    scale: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.center):
            raise ParameterError(f"center must be a finite number, got {self.center!r}")
        positive("scale", self.scale)

    @abstractmethod
    def below(self, x: float) -> float:
        """The distribution function."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """A distance from the center beyond which next to nothing lies."""

    @abstractmethod
    def masses(self, edges: Array) -> Array:
        """The masses between consecutive edges, relatively accurate."""

    @abstractmethod
    def log_densities(self, points: Array) -> Array:
        """The logarithm of the density at each point."""

    @abstractmethod
    def turns(self, other: Density) -> list[float]:
        """Where the ratio to another law, of any family, may turn, the centers apart."""

    @abstractmethod
    def log_ratio(self, other: Self, x: float) -> float:
        """ln(p/q) at x."""

    @abstractmethod
    def crossings(self, other: Self, level: float) -> list[float]:
        """Where ln(p/q) = level, or changes its form: between neighbors it stays on one side."""

    def _shapes(self, other: Self) -> tuple[float, float, float]:
        """Both scales and the shift of the centers; the formulas are for two laws of one family."""
        if type(other) is not type(self):
            raise ParameterError(
                f"the formulas are for two laws of one family, got {type(self).__name__} and {type(other).__name__}; "
                "bin both over the same intervals and compare the bins (hockey_stick, total_variation, ...): that is "
                "a lower bound which rises as the bins get finer"
            )
        return self.scale, other.scale, self.center - other.center

    def hockey_stick(self, other: Self, epsilon: float) -> float:
        """The least delta at `epsilon`, from this law to the other."""
        nonnegative("epsilon", epsilon)
        self._shapes(other)
        edges = sorted({-FAR, FAR, *self.crossings(other, epsilon)})
        factor, value, size = math.exp(min(epsilon, 700.0)), 0.0, 0.0
        for low, high in itertools.pairwise(edges):
            if self.log_ratio(other, _between(low, high, self.scale + other.scale)) > epsilon:
                p, q = (law.below(high) - law.below(low) for law in (self, other))
                value, size = value + p - factor * q, size + p + factor * q
        return min(1.0, max(0.0, value) + SLACK * size + ULPS * (1 + factor)) if size else 0.0

    def total_variation(self, other: Self) -> float:
        """Half the l1 distance of the densities."""
        return self.hockey_stick(other, 0.0)

    @abstractmethod
    def kullback_leibler(self, other: Self) -> float:
        """The mean of ln(p/q) under p."""

    @abstractmethod
    def chi_square(self, other: Self) -> float:
        """The integral of p^2/q, less 1."""

    @abstractmethod
    def squared_hellinger(self, other: Self) -> float:
        """1 less the integral of sqrt(p q)."""

    def divergence(self, other: Self, kind: str) -> float:
        """The divergence of that name."""
        named = {
            "kullback-leibler": self.kullback_leibler,
            "total-variation": self.total_variation,
            "chi-square": self.chi_square,
            "hellinger": self.squared_hellinger,
        }
        return named[kind](other)


@dataclass(frozen=True, slots=True)
class NormalDensity(Density):
    """The normal law with the given mean and standard deviation.

    >>> round(NormalDensity(0.0, 1.0).kullback_leibler(NormalDensity(1.0, 1.0)), 9)
    0.5
    """

    center: float
    scale: float

    def kullback_leibler(self, other: NormalDensity) -> float:
        """ln(t/s) + (s^2 + shift^2)/(2 t^2) - 1/2."""
        s, t, shift = self._shapes(other)
        terms = (math.log(t / s), (s / t) ** 2 / 2 - 0.5, (shift / t) ** 2 / 2)
        return _up(terms)

    def chi_square(self, other: NormalDensity) -> float:
        """t^2 / (s sqrt(2 t^2 - s^2)) e^(shift^2 / (2 t^2 - s^2)) - 1, infinite from s^2 = 2 t^2 on."""
        s, t, shift = self._shapes(other)
        room = 2 - (s / t) ** 2
        if room <= 0 or (shift / t) ** 2 / room > 700:
            return math.inf
        log = (shift / t) ** 2 / room - math.log(s / t) - math.log(room) / 2
        return _up((math.expm1(log),), 1 + abs(log))

    def squared_hellinger(self, other: NormalDensity) -> float:
        """1 - sqrt(2 s t / (s^2 + t^2)) e^(-shift^2 / (4 (s^2 + t^2)))."""
        s, t, shift = self._shapes(other)
        total = s * s + t * t
        return min(1.0, _up((-math.expm1(math.log(2 * s * t / total) / 2 - shift * shift / (4 * total)),), 1e-3))

    def below(self, x: float) -> float:
        """The distribution function."""
        return float(ndtr((x - self.center) / self.scale))

    @property
    def reach(self) -> float:
        """Fifteen deviations: less than 1e-49 lies beyond."""
        return 15 * self.scale

    def masses(self, edges: Array) -> Array:
        """Differences of the distribution function, by Gauss nodes where cells are narrow."""
        return normal_masses((edges - self.center) / self.scale)

    def log_densities(self, points: Array) -> Array:
        """A parabola."""
        return -(((points - self.center) / self.scale) ** 2) / 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def turns(self, other: Density) -> list[float]:
        """Where the slopes agree: against a normal law at most once, against a Laplace law once on each side."""
        if isinstance(other, NormalDensity):
            s, t = self.scale**-2, other.scale**-2
            return [] if s == t else [(self.center * s - other.center * t) / (s - t)]
        return [self.center - self.scale**2 / other.scale, self.center + self.scale**2 / other.scale]

    def log_ratio(self, other: NormalDensity, x: float) -> float:
        """Quadratic in x."""
        self._shapes(other)
        p, q = ((x - law.center) / law.scale for law in (self, other))
        return math.log(other.scale / self.scale) + (q * q - p * p) / 2

    def crossings(self, other: NormalDensity, level: float) -> list[float]:
        """The roots of a x^2 + b x + c, x counted from this center."""
        s, t, back = self._shapes(other)
        shift = -back
        a, b = (1 / t**2 - 1 / s**2) / 2, -shift / t**2
        c = (shift / t) ** 2 / 2 + math.log(t / s) - level
        if a == 0:
            return [self.center - c / b] if b else []
        inside = b * b - 4 * a * c
        if inside < 0:
            return []
        half = -(b + math.copysign(math.sqrt(inside), b)) / 2
        return [self.center + half / a, *([self.center + c / half] if half else [])]


@dataclass(frozen=True, slots=True)
class LaplaceDensity(Density):
    """The Laplace law with the given median and scale.

    >>> round(LaplaceDensity(0.0, 1.0).hockey_stick(LaplaceDensity(1.0, 1.0), 0.5), 9)  # 1 - e^-(1 - 0.5)/2
    0.221199217
    """

    center: float
    scale: float

    def kullback_leibler(self, other: LaplaceDensity) -> float:
        """ln(t/s) + shift/t + (s/t) e^(-shift/s) - 1."""
        s, t, shift = self._parts(other)
        return _up((math.log(t / s), shift / t, s / t * math.expm1(-shift / s), s / t - 1))

    def chi_square(self, other: LaplaceDensity) -> float:
        """The integral of p^2/q, less 1; infinite from s = 2 t on."""
        s, t, shift = self._parts(other)
        a, c = 2 / s, 1 / t
        if a <= c or c * shift > 700:
            return math.inf
        near, far = math.exp(c * shift), math.exp(-a * shift)
        integral = t / (2 * s * s) * (near / (a - c) + (near - far) / (a + c) + far / (a - c))
        return _up((integral - 1,), integral)

    def squared_hellinger(self, other: LaplaceDensity) -> float:
        """1 less the integral of sqrt(p q)."""
        s, t, shift = self._parts(other)
        u, v = 1 / (2 * s), 1 / (2 * t)
        ends = (math.exp(-v * shift) + math.exp(-u * shift)) / (u + v)
        gap = (u - v) * shift
        middle = shift * math.exp(-v * shift) * (-math.expm1(-gap) / gap if gap else 1.0)
        return min(1.0, max(0.0, _up((1 - (ends + middle) / (2 * math.sqrt(s * t)),), 1.0)))

    def below(self, x: float) -> float:
        """The distribution function."""
        z = (x - self.center) / self.scale
        return math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2

    @property
    def reach(self) -> float:
        """Fifty scales: less than 1e-21 lies beyond."""
        return 50 * self.scale

    def masses(self, edges: Array) -> Array:
        """Differences of exponentials on either side of the center."""
        z = (edges - self.center) / self.scale
        left, right = np.minimum(z, 0.0), np.maximum(z, 0.0)
        with np.errstate(invalid="ignore"):
            below = np.exp(left[1:]) * -np.expm1(np.nan_to_num(left[:-1] - left[1:], nan=0.0))
            above = np.exp(-right[:-1]) * -np.expm1(np.nan_to_num(right[:-1] - right[1:], nan=0.0))
        return np.asarray((below + above) / 2)

    def log_densities(self, points: Array) -> Array:
        """Two lines that meet at the center."""
        return -np.abs(points - self.center) / self.scale - math.log(2 * self.scale)

    def turns(self, other: Density) -> list[float]:
        """Between two Laplace laws nowhere but at the centers; the normal law knows the rest."""
        return []

    def log_ratio(self, other: LaplaceDensity, x: float) -> float:
        """Piecewise linear in x."""
        self._shapes(other)
        p, q = (abs(x - law.center) / law.scale for law in (self, other))
        return math.log(other.scale / self.scale) + q - p

    def crossings(self, other: LaplaceDensity, level: float) -> list[float]:
        """The two centers, and the crossing of each of the three lines."""
        self._shapes(other)
        found = [self.center, other.center]
        base = math.log(other.scale / self.scale) - level
        for left, right in ((-1, -1), (1, 1), (1, -1), (-1, 1)):
            slope = right / other.scale - left / self.scale
            if slope:
                found.append(-(base + left * self.center / self.scale - right * other.center / other.scale) / slope)
        return found

    def _parts(self, other: LaplaceDensity) -> tuple[float, float, float]:
        s, t, shift = self._shapes(other)
        return s, t, abs(shift)


def _between(low: float, high: float, scale: float) -> float:
    if low == -FAR:
        return high - scale if high < FAR else 0.0
    return low + scale if high == FAR else (low + high) / 2


def _up(terms: tuple[float, ...], size: float = 0.0) -> float:
    value = math.fsum(terms)
    wrong = SLACK * (size + math.fsum(abs(term) for term in terms))
    return max(0.0, value + wrong) if value or any(terms) else 0.0
