r"""How large the mean square error of a ratio of noisy sums is at most, on the worst table of a given number of rows.

Sums x_1, ..., x_k, not negative, add up to T; each carries independent symmetric noise Z_i of one law, D = sum Z_i.  A
place estimated from them errs by W / (T + D), W = sum a_i Z_i with sum a_i^2 <= 1.  Where D / T >= -theta,

    (1 + d)^-2 = 1 - 2 d + d^2 (3 + 2 d) / (1 + d)^2 <= 1 - 2 d + c d^2,   c = (3 - 2 theta) / (1 - theta)^2.

The middle term has mean zero, since the noise is symmetric; the last one is bounded by fourth moments; the rest has the
probability beta that theta T is the quantile of.  The best of several beta is taken; an estimate that is kept inside
its range never errs by more than its `span`.  Proof: docs/proofs/ratio_error.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato.queries.vector import Noise
from sfumato.queries.weighted_noise import weighted_quantile

__all__ = [
    "deviation_place_mean_square", "mean_place_mean_square", "quotient_mean_square", "triple_mean_mean_square",
    "variance_place_mean_square",
]  # fmt: skip

LEAST = 1e-40  # the chance of one noise to lie farther out than is looked at
BETAS = (1e-30, 1e-20, 1e-14, 1e-10, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.2)  # of the total to fall too low
MEANS_OF_PAIRS, TRIPLES = 2, 3
SQUARED_SPREAD = 1.25  # the largest sum of squared weights (-m, 1/2 - m, 1 - m) of a mean's error
LARGEST_VARIANCE = 0.25


def mean_place_mean_square(noise: Noise, total: float) -> float:
    """At most the worst mean square error of a / (a + b), kept in [0, 1], over all a + b >= total."""
    return _least(noise, total, MEANS_OF_PAIRS, 1.0, 0.0)


def triple_mean_mean_square(noise: Noise, total: float) -> float:
    """At most the worst mean square error of the mean's place read from three sums, kept in [0, 1].

    Its weights (-m, 1/2 - m, 1 - m) have squares that add up to SQUARED_SPREAD at most, so that the error is at most
    the root of that times one whose weights' squares add up to 1.
    """
    return SQUARED_SPREAD * _least(noise, total, TRIPLES, 1.0, 0.0)


def variance_place_mean_square(noise: Noise, total: float) -> float:
    """At most the worst mean square error of a variance in units of the squared range, over all totals >= total."""
    return _least(noise, total, TRIPLES, LARGEST_VARIANCE, SQUARED_SPREAD)


def deviation_place_mean_square(noise: Noise, total: float) -> float:
    """The same of a standard deviation in units of the range: (sqrt v - sqrt w)^2 is at most |v - w|."""
    return math.sqrt(variance_place_mean_square(noise, total)) * (1 + 1e-12)


def quotient_mean_square(noise: Noise, total: float, worth: tuple[float, float], largest: float, span: float) -> float:
    """At most the worst mean square error of a ratio A / B of size at most `largest`, over all B >= total.

    One whole number of noise is worth `worth` in A and in B; the estimate is kept within a range of length `span`.
    """
    weight = worth[0] ** 2 + (largest * worth[1]) ** 2  # of the variance of W = X - r Y
    variance, found, fourth = noise.variance, span**2, _fourth_moment(noise)
    for beta in BETAS:
        theta = worth[1] * _quantile(noise, 1, beta) / total
        if theta < 1:
            curved = (3 - 2 * theta) / (1 - theta) ** 2
            second = curved * worth[1] ** 2 * math.sqrt(max(fourth, 3 * variance**2) * fourth) / total**4
            first = weight * (variance / total**2 + second)
            found = min(found, first + (beta / 2 + 2 * LEAST) * span**2)
    return found * (1 + 1e-9)


def _least(noise: Noise, total: float, k: int, span: float, second: float) -> float:
    """The least of the bounds for each beta, rounded up."""
    variance, found = noise.variance, span**2
    fourth = max(_fourth_moment(noise), 3 * variance**2)
    for beta in BETAS:
        theta = _quantile(noise, k, beta) / total
        if theta >= 1:
            continue
        curved = (3 - 2 * theta) / (1 - theta) ** 2
        of_total = k * fourth + 3 * k * (k - 1) * variance**2  # E D^4
        first = variance / total**2 + curved * math.sqrt(fourth * of_total) / total**4
        squares = second * math.sqrt(fourth) / ((1 - theta) * total) ** 2
        found = min(found, (math.sqrt(first) + squares) ** 2 + (beta / 2 + k * LEAST) * span**2)
    return found * (1 + 1e-9)


@lru_cache(maxsize=256)
def _quantile(noise: Noise, k: int, beta: float) -> float:
    """That of the sum of k of them."""
    return float(weighted_quantile(np.ones((1, k)), noise, beta)[0])


@lru_cache(maxsize=64)
def _fourth_moment(noise: Noise) -> float:
    """E min(|Z|, q)^4, q the quantile at the least chance, from above: by quantiles at falling levels."""
    found, level = 0.0, 1.0
    while level > LEAST:
        level /= math.sqrt(2)
        found += level * (math.sqrt(2) - 1) * float(noise.quantile(level)) ** 4
    return found + level * float(noise.quantile(LEAST)) ** 4
