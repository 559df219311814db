r"""Noise of density exp(-||z||_2 / scale) on R^d, stretched along the axes and rounded to whole numbers: exactly.

The radius is gamma of shape d, and by the duplication formula Gamma(d)^2 = 4 Gamma(d/2) Gamma((d+1)/2) in law, the
factors independent.  Since 2 Gamma(d/2) is chi-square with d degrees of freedom, z = scale sqrt(2 G) (N_1, ..., N_d)
with G gamma of shape (d+1)/2 and independent standard normal N_i.  For odd d the shape is whole and G a sum of
exponential variables; for even d one more coordinate is drawn and dropped.  G and N_i are lazy reals, refined until
each rounded coordinate is decided.  Proof: docs/proofs/sampling-ball.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.law import check_scale
from sfumato.sampling.lazy import LazyReal, gamma, normal

__all__ = ["BallNoise"]

LARGEST = 50_000  # coordinates
ROOT = 128  # bits after the point of a square root
HALF = Fraction(1, 2)

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BallNoise:
    """Ball noise of the given scale; `parts` says how many coordinates are multiplied by which stretch, in order."""

    scale: float
    parts: tuple[tuple[int, Fraction], ...]

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)
        widest = max((stretch for _, stretch in self.parts), default=Fraction(0))
        if not 1 <= self.size <= LARGEST or any(count < 1 or stretch <= 0 for count, stretch in self.parts):
            raise ParameterError(f"parts must be 1 to {LARGEST} coordinates in all, with positive stretches")
        if self.scale * float(widest) * (self.dimension + 800) > 2**60:
            raise ParameterError("scale times dimension must stay below 2**60; coarsen the lattice")

    @property
    def size(self) -> int:
        """How many coordinates are returned."""
        return sum(count for count, _ in self.parts)

    @property
    def dimension(self) -> int:
        """How many coordinates are drawn: an odd number, so one more than are returned if those are even."""
        return self.size | 1

    def sample(self, rng: Rng) -> Integers:
        """One vector of whole numbers."""
        mixing = gamma((self.dimension + 1) // 2, rng)
        points = iter([normal(rng) for _ in range(self.dimension)])
        found: list[int] = []
        for count, stretch in self.parts:
            factor = 2 * (Fraction(self.scale) * stretch) ** 2
            roots = _roots(factor, mixing)
            for point in islice(points, count):
                low, high = _nearest(roots, point)
                if low != high:
                    low = settled(factor, mixing, point, rng)
                    roots = _roots(factor, mixing)
                found.append(low)
        return np.array(found, dtype=np.int64)

    @property
    def variances(self) -> npt.NDArray[np.float64]:
        """E Z_i^2 of each coordinate before rounding: (d + 1) (scale stretch)^2."""
        stretches = np.repeat([float(stretch) for _, stretch in self.parts], [count for count, _ in self.parts])
        return np.asarray((self.dimension + 1) * np.square(self.scale * stretches))


def settled(factor: Fraction, mixing: LazyReal, point: LazyReal, rng: Rng) -> int:
    """The whole number nearest to sqrt(factor * mixing) * point, both refined as far as it takes."""
    while True:
        low, high = _nearest(_roots(factor, mixing), point)
        if low == high:
            return low
        mixing.refine(rng)
        point.refine(rng)


def _roots(factor: Fraction, mixing: LazyReal) -> tuple[Fraction, Fraction]:
    """An enclosure of sqrt(factor * mixing), as fine as the known bits of the gamma variable allow."""
    low, high = mixing.interval()
    bits = max(ROOT, (high - low).denominator.bit_length())
    least, most = (math.isqrt((v.numerator << (2 * bits)) // v.denominator) for v in (factor * low, factor * high))
    return Fraction(least, 1 << bits), Fraction(most + 1, 1 << bits)


def _nearest(roots: tuple[Fraction, Fraction], point: LazyReal) -> tuple[int, int]:
    """The whole numbers nearest to the ends of an enclosure of root * point."""
    low, high = point.interval()
    least = low * roots[0 if low >= 0 else 1]
    most = high * roots[1 if high >= 0 else 0]
    return math.floor(least + HALF), math.floor(most + HALF)
