"""A continuous normal variable rounded to the nearest integer, exactly.

P(z) = Phi((z + 1/2) / sigma) - Phi((z - 1/2) / sigma).  The real number is drawn lazily: its cell, then its
leading bits, and more bits only if acceptance or rounding is undecided (docs/proofs/sampling-normal.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.randomness import Rng
from sfumato.sampling.drawing import Plan, Shape, draw, plan
from sfumato.sampling.envelope import Branch, Envelope
from sfumato.sampling.gaussian import normal_exponent
from sfumato.sampling.law import check_scale, least_integer, outward

__all__ = ["SYMMETRIC", "RoundedNormal"]

SYMMETRIC = (Branch(0), Branch(0, -1))
DIRECT = 64.0  # below, sums over the lattice; above, asymptotic series with error below 1e-12
ROOT = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class RoundedNormal:
    """N(0, sigma^2) rounded to the nearest integer; `sigma` is the exact double.

    >>> law = RoundedNormal(1.0)
    >>> round(law.pmf(0), 4), law.quantile(0.05)
    (0.3829, 2)
    """

    sigma: float

    def __post_init__(self) -> None:
        check_scale("sigma", self.sigma)

    def sample(self, shape: Shape, rng: Rng) -> Any:
        """Independent draws, an int64 array of this shape; an int for () and None."""
        return draw(_plan(self.sigma), shape, rng)

    def pmf(self, z: int) -> float:
        """P(Z = z)."""
        k = abs(z)
        if self.sigma >= DIRECT:  # the cell's mean density, by Taylor's series at its center
            x = k / self.sigma
            x2, h2 = x * x, 1 / self.sigma**2
            mean = 1 + h2 * (x2 - 1) / 24 + h2 * h2 * (x2 * x2 - 6 * x2 + 3) / 1920
            return math.exp(-x2 / 2) / (self.sigma * math.sqrt(2 * math.pi)) * mean
        if k == 0:
            return math.erf(0.5 / (self.sigma * ROOT))
        return 0.5 * (self._above(k - 0.5) - self._above(k + 0.5))

    def tail(self, t: int) -> float:
        """P(|Z| > t), rounded up."""
        if t < 0:
            return 1.0
        return outward(self._above(t + 0.5), ((t + 0.5) / self.sigma) ** 2)

    def quantile(self, beta: float) -> int:
        """The least integer t with P(|Z| > t) <= beta, never too small."""
        guess = self.sigma * math.sqrt(2 * math.log(2 / beta)) if 0 < beta < 1 else 0.0
        return least_integer(self.tail, beta, guess)

    @property
    def variance(self) -> float:
        """E Z^2: sigma^2 + 1/12 but for terms below rounding once sigma exceeds 2."""
        if self.sigma >= 4:
            return self.sigma**2 + 1 / 12
        tails = ((2 * k + 1) * self._above(k + 0.5) for k in range(self._reach()))
        return math.fsum(tails)

    @property
    def mean_absolute(self) -> float:
        """E |Z|, the sum of P(|Z| > k)."""
        if self.sigma < DIRECT:
            return math.fsum(self._above(k + 0.5) for k in range(self._reach()))
        inverse = 1 / self.sigma
        series = self.sigma - inverse / 24 - 7 * inverse**3 / 5760
        return 2 * series / math.sqrt(2 * math.pi)

    def _above(self, x: float) -> float:
        return math.erfc(x / (self.sigma * ROOT))

    def _reach(self) -> int:
        return math.ceil(40 * self.sigma) + 1


@lru_cache(maxsize=64)
def _plan(sigma: float) -> Plan:
    quadratic = 1 / (2 * Fraction(sigma) ** 2)
    return plan(Envelope(Fraction(0), quadratic, normal_exponent(sigma), SYMMETRIC), rounded=True)
