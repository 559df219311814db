r"""Generalized randomized response: the true category, or one at random.

Definition.  Of k categories report the true one with probability c, otherwise one of all k uniformly.  Then the truth
is reported with probability p = c + (1 - c)/k and each other category with q = (1 - c)/k.

Guarantee.   (epsilon, delta) if and only if p <= e^epsilon q + delta; at delta = 0 the best is p =
e^epsilon/(e^epsilon + k - 1) [Warner1965, KairouzOhViswanath2016].  Proof: docs/proofs/local-categories.md.

Accuracy.    f = (count/n - q)/(p - q) is unbiased; its variance for given data is
(f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)^2); at k = 2 that is e^epsilon/(e^epsilon - 1)^2 / n.

Assumes.     Nothing beyond random bits: c is a multiple of 2^-62.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.drawing import check_coin, check_count, check_target, coins, grains, loss, meet, uniform
from sfumato.local.protocols.layouts import counts, unsigned
from sfumato.local.protocols.linear import frequencies, frequency_risk, frequency_variance
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["GeneralizedResponse"]

MOST = 1 << 24  # categories


@dataclass(frozen=True, slots=True)
class GeneralizedResponse(LocalProtocol):
    """The true category with probability `truthful`, else one of all k; values outside [0, k) count as the last.

    Proof: docs/proofs/local-categories.md.

    >>> rr = GeneralizedResponse.calibrate(4, Pure(1.0))
    >>> round(rr.keep, 6), rr.guarantee().implies(Pure(1.0)), rr.report_bytes
    (0.475367, True, 1)
    """

    name: ClassVar[str] = "grr"
    goal: ClassVar[str] = "frequencies"

    k: int
    truthful: Fraction
    delta: float = 0.0

    def __post_init__(self) -> None:
        check_count("k", self.k, 2, MOST)
        check_coin("truthful", self.truthful)
        Approximate(0.0, self.delta)

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate) -> GeneralizedResponse:
        """The most truthful response that meets `target`: c = (k delta + e^epsilon - 1)/(k - 1 + e^epsilon)."""
        check_count("k", k, 2, MOST)
        check_target(target)
        delta = target.delta

        def build(ratio: Fraction) -> GeneralizedResponse:
            return cls(k, grains((k * Fraction(delta) + ratio - 1) / (k - 1 + ratio)), delta)

        return meet(build, target)

    @property
    def keep(self) -> float:
        """p: the probability of the true category."""
        return float(self.truthful + self._lie)

    @property
    def _lie(self) -> Fraction:
        """q: the probability of each other category."""
        return (1 - self.truthful) / self.k

    def guarantee(self) -> Pure | Approximate:
        """What one report costs: p <= e^epsilon q + delta, solved for epsilon."""
        epsilon = loss((self.truthful + self._lie - Fraction(self.delta)) / self._lie)
        return Approximate(epsilon, self.delta) if self.delta else Pure(epsilon)

    def owned(self, value: object, names: Names) -> int:
        """A label, or a position."""
        return names.position(value, self.k)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Positions; everything outside [0, k) counts as the last category."""
        return positions(values, self.k)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """The responses, as positions."""
        truth = self.coerce(values)
        kept = coins(self.truthful, truth.size, bits)
        return np.where(kept, truth, uniform(self.k, truth.size, bits)).astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One position."""
        return unsigned(self.k)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Positions below k."""
        return np.asarray(reports < self.k)

    @property
    def cells(self) -> int:
        """A count for each category."""
        return self.k

    def tally(self, reports: Reports) -> Tally:
        """How often each category was reported."""
        return counts(reports, self.k)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased frequencies."""
        return frequencies(tally, n, self.truthful + self._lie, self._lie)

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each frequency."""
        return frequency_variance(self.k, n, self.truthful + self._lie, self._lie, truth)

    def risk(self, n: int) -> float:
        """The total variance, which the data do not change."""
        return frequency_risk(self.k, n, self.truthful + self._lie, self._lie)

    def outputs(self) -> Reports:
        """The k positions."""
        return np.arange(self.k).astype(self.dtype)

    def channel(self) -> Matrix:
        """p on the diagonal, q elsewhere."""
        self.check_entries(self.k**2)
        lie = self._lie
        return [[lie + (self.truthful if i == j else 0) for j in range(self.k)] for i in range(self.k)]

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"one of {self.k} categories: the true one with probability {self.keep:.4g}, "
            f"each other one with probability {float(self._lie):.4g}"
        )
