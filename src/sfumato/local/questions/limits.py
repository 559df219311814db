r"""Confidence limits whose coverage is proven, for sums of independent reports.

binomial    A count S of n independent events with mean probability mu, not necessarily alike.  The limits of
            Clopper and Pearson for S - 1 and S + 1 cover mu with probability at least 1 - beta: beyond one from the
            mean, the tails of S are below those of the binomial law with the same mean  [Hoeffding1956, theorem 4].
            So they cover both the frequency among those who reported and the frequency in the population they
            were drawn from.  [ClopperPearson1934]
bernstein   A sum of independent variables, each within `span` of its own mean, the variances adding up to at most
            v: |sum - expectation| <= sqrt(2 v L) + span L / 3, L = ln(2 / beta), with probability at least
            1 - beta.  [BoucheronLugosiMassart2013, 2.8]

Proof: docs/proofs/local-questions.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.questions.tails import ERROR, lower_tail, upper_tail

__all__ = ["bernstein_sum", "binomial", "binomial_threshold", "checked_level", "surely_above", "surely_below"]

Floats = npt.NDArray[np.float64]

SLACK = 1e-9  # relative; the incomplete beta function of scipy is inverted to about 1e-12


def checked_level(level: float) -> float:
    """A confidence level strictly between 0 and 1."""
    if not (isinstance(level, int | float) and 0 < level < 1):
        raise ParameterError(f"level must lie strictly between 0 and 1, got {level!r}; 0.95 is usual")
    return float(level)


def binomial(counts: npt.ArrayLike, n: int, beta: float) -> tuple[Floats, Floats]:
    """Limits for the mean probabilities behind counts out of n.

    >>> low, high = binomial([50], 100, 0.05)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.389, 0.611)
    """
    from scipy.special import betaincinv

    held = np.asarray(counts, dtype=np.float64)
    below, above = np.maximum(held - 1, 0), np.minimum(held + 1, n)
    with np.errstate(invalid="ignore"):
        low = np.where(below > 0, betaincinv(np.maximum(below, 1), n - below + 1, beta / 2), 0.0)
        high = np.where(above < n, betaincinv(above + 1, np.maximum(n - above, 1), 1 - beta / 2), 1.0)
    return low * (1 - SLACK), np.minimum(high * (1 + SLACK), 1.0)


def binomial_threshold(n: int, p: float, beta: float) -> int:
    """The least count that n events of mean probability at most p reach with probability at most `beta`.

    At least one above the mean, so that it holds for events that are not alike.

    >>> binomial_threshold(100, 0.5, 0.05)
    59
    """
    low, high = math.floor(n * p), n + 1
    while low < high:  # least c with P(Bin >= c) <= beta
        middle = (low + high) // 2
        low, high = (low, middle) if upper_tail(middle, n, p) * (1 + ERROR) <= beta else (middle + 1, high)
    return max(low, math.ceil(n * p) + 1)


def surely_above(count: int, n: int, p: float, beta: float) -> bool:
    """Whether `count` of n events shows that their mean chance exceeds p; wrong with probability at most `beta`."""
    return upper_tail(count - 1, n, p) * (1 + ERROR) < beta


def surely_below(count: int, n: int, p: float, beta: float) -> bool:
    """Whether `count` of n events shows that their mean chance is below p; wrong with probability at most `beta`."""
    return lower_tail(count + 1, n, p) * (1 + ERROR) < beta


def bernstein_sum(variance: npt.ArrayLike, span: npt.ArrayLike, beta: float) -> Floats:
    """How far a sum of independent variables stays from its mean: its variance, and how far one of them reaches.

    >>> round(float(bernstein_sum(0.25 / 10_000, 1 / 10_000, 0.05)), 4)
    0.0137
    """
    logarithm = math.log(2 / beta)
    spread, reach = np.asarray(variance, dtype=np.float64), np.asarray(span, dtype=np.float64)
    return np.asarray(np.sqrt(2 * spread * logarithm) + reach * logarithm / 3, dtype=np.float64)
