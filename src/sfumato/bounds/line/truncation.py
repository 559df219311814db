r"""The least variance of noise whose translate by 1 is (epsilon, delta)-close: mixtures of truncated geometric laws.

Let q = e^-epsilon and let the law of n points have weights q^|j|, j = -a..b, a + b + 1 = n and 0 <= a - b <= 1, moved
so that its mean is 0; its variance is v_n, and it is (epsilon, delta_n)-close to its translates with delta_n the mean
of the weights of its two ends.  The least variance as a function of delta is the lower convex envelope of the points
(delta_n, v_n) and of (0, 1 / (2 sinh^2(epsilon / 2))), the two-sided geometric law: every line below these points,
v_n >= c - l delta_n, is a bound c - l delta.  Whole noise: of the points with n odd alone.
Proof: docs/proofs/bounds-truncation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import rounded_down
from sfumato.bounds.counting import count_mean_square

__all__ = ["Laws", "truncated_laws", "truncated_variance"]

FINE = 1e-3  # losses below are grouped up to about this one: a relative loss of FINE^2 / 12
MOST_POINTS = 200_000  # of a law, on either side; wider laws have a greater variance
LEAST_SHARE = 1e-13  # of epsilon; smaller deltas are counted as this one, which only lowers the bound
ROUNDING = 1e-9  # far above what sums of MOST_POINTS positive terms lose


@dataclass(frozen=True, slots=True)
class Laws:
    """What the truncated laws of n = 1, 2, 3, ... points give up, in falling order, and their variances."""

    deltas: npt.NDArray[np.float64]
    variances: npt.NDArray[np.float64]

    def line(self, delta: float) -> tuple[float, float]:
        """A line (c, l) below all points, also those of wider laws, whose c - l delta is about the greatest."""
        near = int(np.searchsorted(-self.deltas, -delta))
        places = range(max(0, near - 3), min(len(self.deltas), near + 3))
        lines = [self._through(one, other) for one in places for other in places if one < other]
        return max(lines, key=lambda line: line[0] - line[1] * delta, default=(0.0, 0.0))

    def _through(self, one: int, other: int) -> tuple[float, float]:
        fallen = self.deltas[one] - self.deltas[other]
        slope = float((self.variances[other] - self.variances[one]) / fallen) if fallen > 0 else 0.0
        if not 0 <= slope < math.inf:
            return 0.0, 0.0
        return float(min((self.variances + slope * self.deltas).min(), self.variances[-1])), slope


def truncated_laws(epsilon: float, delta: float, whole: bool = False) -> Laws:
    """The laws of at least as many points as delta allows; of an odd number of points alone if noise must be whole."""
    farthest = math.log1p(math.expm1(min(epsilon, 700.0)) / delta) / epsilon if delta else math.inf
    reach = min(farthest + 40 / epsilon, 8 * farthest + 8, MOST_POINTS)  # so wide that all is said but for far tails
    j = np.arange(int(reach) + 1.0)
    weights = np.exp(-epsilon * j)
    mass, first, second = (np.cumsum(j**power * weights) for power in (0, 1, 2))
    odd = 2 * mass - 1
    deltas, variances = weights / odd, 2 * second / odd
    if whole:
        return Laws(deltas, variances)
    even = mass[:-1] + mass[1:] - 1
    between = (weights[:-1] + weights[1:]) / (2 * even)
    spread = (second[:-1] + second[1:]) / even - ((first[1:] - first[:-1]) / even) ** 2
    return Laws(_woven(deltas, between), _woven(variances, spread))


def truncated_variance(epsilon: float, delta: float) -> float:
    """The least second moment of a real X such that X and X + 1 are (epsilon, delta)-close both ways, rounded down.

    >>> round(truncated_variance(0.01, 0.01), 1), round(truncated_variance(1.0, 1e-6), 4)
    (497.2, 1.8411)
    """
    if not delta:
        return count_mean_square(epsilon)
    delta = max(delta, LEAST_SHARE * min(1.0, epsilon))  # a smaller one is worth no more
    group = max(1, int(FINE / max(epsilon, delta)))
    grown = (
        delta * (math.expm1(group * epsilon) / math.expm1(min(epsilon, 700.0)) if group > 1 else 1.0) * (1 + ROUNDING)
    )
    constant, slope = truncated_laws(group * epsilon, grown).line(grown)
    least = group**2 * (constant * (1 - ROUNDING) - slope * grown)
    return rounded_down(max(0.0, min(least, count_mean_square(epsilon))))


def _woven(odd: npt.NDArray[np.float64], even: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    both = np.empty(len(odd) + len(even))
    both[0::2], both[1::2] = odd, even
    return both
