"""The discrete Gaussian law, P(z) proportional to exp(-z^2 / (2 sigma^2)) on the integers.

Sampled exactly as two half-lines under one envelope (docs/proofs/sampling-gaussian.md; the law is that of
CanonneKamathSteinke2020).  Sums over the lattice are taken directly for small sigma and by Poisson summation
or Euler-Maclaurin for large sigma, where the corrections are far below rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.randomness import Rng
from sfumato.sampling.drawing import Plan, Shape, draw, plan
from sfumato.sampling.envelope import Envelope
from sfumato.sampling.laplace import TWO_SIDED
from sfumato.sampling.law import check_scale, least_integer, outward

__all__ = ["DiscreteGaussian", "normal_exponent"]

DIRECT = 64.0  # below, sums run over the lattice; above, their error terms are below 1e-12
SPREAD = 40.0  # exp(-SPREAD^2 / 2) underflows


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Gaussian weights on the integers; `sigma` is the exact double.

    >>> law = DiscreteGaussian(1.0)
    >>> round(law.pmf(0), 4), law.quantile(0.01)
    (0.3989, 2)
    """

    sigma: float

    def __post_init__(self) -> None:
        check_scale("sigma", self.sigma)

    def sample(self, shape: Shape, rng: Rng) -> Any:
        """Independent draws, an int64 array of this shape; an int for () and None."""
        return draw(_plan(self.sigma), shape, rng)

    def pmf(self, z: int) -> float:
        """P(Z = z)."""
        return self._weight(z) / self._total()

    def tail(self, t: int) -> float:
        """P(|Z| > t), rounded up."""
        if t < 0:
            return 1.0
        if self.sigma < DIRECT:
            return outward(2 * self._above(t) / self._total(), ((t + 1) / self.sigma) ** 2)
        # Euler-Maclaurin at midpoints: the sum is the integral plus a 24th of the slope, with an error of at
        # most 1/384 of the integral of the fourth derivative's size (docs/proofs/sampling-gaussian.md).
        x, h = (t + 0.5) / self.sigma, 1 / self.sigma
        error = -x * h / 24 + (x**3 + 9 * x + 15.1) * h**3 / 384
        density = math.exp(-x * x / 2) / (self.sigma * math.sqrt(2 * math.pi))
        return outward(math.erfc(x / math.sqrt(2)) + 2 * density * error, x * x)

    def quantile(self, beta: float) -> int:
        """The least integer t with P(|Z| > t) <= beta, never too small."""
        guess = self.sigma * math.sqrt(2 * math.log(2 / beta)) if 0 < beta < 1 else 0.0
        return least_integer(self.tail, beta, guess)

    @property
    def variance(self) -> float:
        """E Z^2; sigma^2 to within rounding as soon as sigma exceeds 2."""
        if self.sigma >= DIRECT:
            return self.sigma**2
        return self._moment(2)

    @property
    def mean_absolute(self) -> float:
        """E |Z|."""
        if self.sigma < DIRECT:
            return self._moment(1)
        square = self.sigma**2
        return 2 * (square - 1 / 12 - 1 / (240 * square)) / self._total()

    def _above(self, t: int) -> float:
        """The weights beyond t; those left out are below 1e-18 sigma^2 of the sum, inside the rounding up."""
        above, z, weight = 0.0, t, 1.0
        while weight > 1e-18 * above:
            z += 1
            weight = self._weight(z)
            above += weight
        return above

    def _weight(self, z: int) -> float:
        return math.exp(-0.5 * (z / self.sigma) ** 2)

    def _reach(self) -> int:
        return math.ceil(SPREAD * self.sigma)

    def _total(self) -> float:
        if self.sigma >= 4:  # Poisson summation: the next term is exp(-2 pi^2 sigma^2) < 1e-137
            return self.sigma * math.sqrt(2 * math.pi)
        return 1 + 2 * math.fsum(self._weight(z) for z in range(1, self._reach() + 1))

    def _moment(self, order: int) -> float:
        terms = (z**order * self._weight(z) for z in range(1, self._reach() + 1))
        return 2 * math.fsum(terms) / self._total()


@lru_cache(maxsize=64)
def _plan(sigma: float) -> Plan:
    exponent = max(0, normal_exponent(sigma))
    return plan(Envelope(Fraction(0), 1 / (2 * Fraction(sigma) ** 2), exponent, TWO_SIDED))


def normal_exponent(sigma: float) -> int:
    """Cells of a 32nd to a 16th of sigma."""
    return math.frexp(sigma)[1] - 5
