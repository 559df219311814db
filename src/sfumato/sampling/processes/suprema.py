r"""Quantiles of the supremum of a Gaussian series: simulated once with public draws, then never too small.

For S = sup_x |sum_k units_k z_k phi_k(x)| with independent standard normal z_k, n simulated values give an upper
confidence limit of each quantile by the binomial law of the number of values below it; it fails with probability
CONFIDENCE over the public draws, which are always the same.  Smaller probabilities than simulation shows follow by the
Gaussian isoperimetric inequality [Borell1975]: S is `spread`-Lipschitz in z.  Proof: docs/proofs/sampling-processes.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.deferred import function
from sfumato.randomness import seeded
from sfumato.sampling.law import check_beta
from sfumato.sampling.reals import normals

if TYPE_CHECKING:
    from sfumato.sampling.processes.kernels.kernel import Reals

__all__ = ["Basis", "supremum_quantile"]

betainc = function("scipy.special", "betainc")
ndtri = function("scipy.special", "ndtri")

CONFIDENCE = 1e-6  # probability that the simulated limits are too small
LEAST = 2e-3  # smallest failure probability read off the simulation itself
DRAWS = 40_000
FEWEST = 8_000  # the limit at LEAST needs 6,901
WORK = 3e8  # numbers to compute, as long as that leaves FEWEST draws
SEED = 20180923


class Basis(Protocol):
    """Finitely many functions on a domain; hashable and comparable, since what is simulated is kept."""

    def __hash__(self) -> int: ...

    @property
    def features(self) -> int:
        """Their number."""
        ...

    def design(self, points: npt.ArrayLike) -> Reals:
        """Their values at points, one row a point."""
        ...

    def suprema(self, coefficients: npt.ArrayLike) -> Reals:
        """For each row of coefficients an upper bound of the largest absolute value of the sum on the domain."""
        ...

    def spread(self, units: npt.ArrayLike) -> float:
        """An upper bound of sup_x sqrt(sum_k (units_k phi_k(x))^2)."""
        ...

    def reach(self, units: npt.ArrayLike) -> float:
        """An upper bound of sup_x sum_k |units_k phi_k(x)|."""
        ...


def supremum_quantile(basis: Basis, units: tuple[float, ...], beta: float) -> float:
    """A bound that sup_x |sum_k units_k z_k phi_k(x)| exceeds with probability at most `beta`."""
    check_beta(beta)
    largest = max(units, default=0.0)
    if largest <= 0:
        return 0.0
    shape = tuple(unit / largest for unit in units)
    simulated = _simulated(basis, shape)
    level = max(beta, LEAST)
    rank = _rank(len(simulated), level)
    further = float(ndtri(level) - ndtri(beta)) * (1 + 1e-12) if beta < level else 0.0
    return largest * (float(simulated[rank - 1]) + basis.spread(shape) * further) * (1 + 1e-12)


@lru_cache(maxsize=64)
def _simulated(basis: Basis, shape: tuple[float, ...]) -> Reals:
    """Sorted suprema of public draws."""
    work = getattr(basis, "work", 20 * basis.features)  # about how many numbers `suprema` computes for a row
    count = int(min(DRAWS, max(FEWEST, WORK / work)))
    rng, scale = seeded(SEED), np.asarray(shape)
    size = max(1, 4_000_000 // basis.features)
    parts = [
        basis.suprema(normals((min(size, count - start), basis.features), rng) * scale)
        for start in range(0, count, size)
    ]
    return np.sort(np.concatenate(parts))


@lru_cache(maxsize=256)
def _rank(count: int, beta: float) -> int:
    """The least j for which the j-th smallest of `count` draws is below the 1 - beta quantile with P <= CONFIDENCE."""
    ranks = np.arange(1, count + 1)
    below = betainc(ranks, count - ranks + 1, 1 - beta)  # P(at least j draws lie below the quantile)
    return int(ranks[below <= CONFIDENCE][0])
