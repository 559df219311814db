r"""Inverse problems: the noise for a target, the releases a budget allows, the best split of a budget.

Gaussian releases compose exactly (mus add in squares).  Laplace releases under an approximate
target are calibrated by their composed loss (`batch`), not by the printed rule
sqrt(2 k ln(1/delta)) / epsilon, which is too small for large epsilon [Huang2014, 1.12].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.batch import Batch
from sfumato.privacy.gaussian import gaussian_sigma
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee
from sfumato.privacy.laws import LaplaceLaw, Law
from sfumato.privacy.parameters import nonnegative, positive, probability, whole

__all__ = [
    "Split",
    "best_split",
    "gaussian_sigma_for",
    "laplace_scale_for",
    "printed_gaussian_sigma",
    "printed_laplace_scale_for",
    "releases_within",
]

MARGIN = 1 - 1e-13  # over the rounding of a sum of squares
PRECISION = 1e-6  # relative excess of a scale found by bisection


@dataclass(frozen=True, slots=True)
class Split:
    """Noise for every release of a plan: `kind` is laplace or gaussian, `scales` its parameter."""

    kind: str
    scales: tuple[float, ...]
    error: float  # root of the weighted mean square error


def gaussian_sigma_for(count: int, sensitivity: float, epsilon: float, delta: float) -> float:
    """The least sigma for `count` Gaussian releases of one l2 sensitivity, exact in composition.

    >>> round(gaussian_sigma_for(20, 1.0, 1.0, 1e-6), 4)
    18.8933
    """
    whole("count", count)
    return gaussian_sigma(round_up(math.sqrt(count) * sensitivity, 4), epsilon, delta)


def laplace_scale_for(count: int, sensitivity: float, epsilon: float, delta: float) -> float:
    """A scale for `count` Laplace releases of one l1 sensitivity, within 1e-6 of the least certified."""
    whole("count", count)
    if sensitivity == 0:
        return math.ulp(0.0)
    return _common_factor([positive("sensitivity", sensitivity)] * count, epsilon, delta) * sensitivity


def printed_laplace_scale_for(count: int, sensitivity: float, epsilon: float, delta: float) -> float:
    """The printed rule sqrt(2 count ln(1/delta)) sensitivity / epsilon: not a guarantee, for comparison."""
    whole("count", count)
    positive("epsilon", epsilon)
    probability("delta", delta)
    return sensitivity * math.sqrt(-2 * count * math.log(delta)) / epsilon


def printed_gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """The printed rule sensitivity sqrt(2 ln(2/delta)) / epsilon: proved for epsilon at most 1 only.

    For comparison with `gaussian_sigma`, which is exact.  [Huang2014, example 1.3]
    """
    positive("epsilon", epsilon)
    probability("delta", delta)
    return sensitivity * math.sqrt(2 * math.log(2 / delta)) / epsilon


def releases_within(law: Law, epsilon: float, delta: float) -> int:
    """How many releases of one law fit into (epsilon, delta), fixed in advance.

    >>> releases_within(LaplaceLaw(0.1), 1.0, 1e-9)
    10
    """
    nonnegative("epsilon", epsilon)

    def fits(count: int) -> bool:
        return Batch(((law, count),)).upper(delta, tolerance=1e-4) <= epsilon

    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
        if high > 1 << 40:
            raise ParameterError("more than 2^40 releases fit: the law costs next to nothing")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def best_split(sensitivities: Sequence[float], target: Guarantee, weights: Sequence[float] | None = None) -> Split:
    """The noise per release that meets `target` with the least weighted mean square error.

    Weights multiply squared errors.  Squares and first powers of the noise are balanced by
    Lagrange: sigma_i^2 ~ s_i / sqrt(w_i) for Gaussian noise, b_i ~ (s_i / w_i)^(1/3) for Laplace.

    >>> best_split([1.0] * 20, Approximate(1.0, 1e-6)).kind
    'gaussian'
    """
    parts = [positive("sensitivity", sensitivity) for sensitivity in sensitivities]
    loads = [positive("weight", weight) for weight in (weights or [1.0] * len(parts))]
    if len(loads) != len(parts) or not parts:
        raise ParameterError(
            f"weights must match the {len(parts)} sensitivities, and be at least one; got {len(loads)}"
        )
    if isinstance(target, Concentrated):
        return _gaussian(parts, loads, math.sqrt(2 * positive("rho", target.rho)) * MARGIN)
    choices = [_laplace_pure(parts, loads, positive("epsilon", target.epsilon))]
    if isinstance(target, Approximate) and target.delta > 0:
        sigma = gaussian_sigma(1.0, target.epsilon, target.delta)
        choices.append(_gaussian(parts, loads, 1 / sigma * MARGIN))
        choices.append(_laplace_approximate(parts, loads, target.epsilon, target.delta))
    return min(choices, key=lambda split: split.error)


def _gaussian(parts: Sequence[float], loads: Sequence[float], mu: float) -> Split:
    total = math.fsum(s * math.sqrt(w) for s, w in zip(parts, loads, strict=True))
    scales = [math.sqrt(total * s / math.sqrt(w)) / mu for s, w in zip(parts, loads, strict=True)]
    return _split("gaussian", scales, loads, 1.0)


def _laplace_pure(parts: Sequence[float], loads: Sequence[float], epsilon: float) -> Split:
    shape = [(s / w) ** (1 / 3) for s, w in zip(parts, loads, strict=True)]
    factor = math.fsum(s / b for s, b in zip(parts, shape, strict=True)) / epsilon
    return _split("laplace", [factor * b for b in shape], loads, 2.0)


def _laplace_approximate(parts: Sequence[float], loads: Sequence[float], epsilon: float, delta: float) -> Split:
    shape = [math.sqrt(s / math.sqrt(w)) for s, w in zip(parts, loads, strict=True)]
    ratios = [s / b for s, b in zip(parts, shape, strict=True)]
    factor = _common_factor(ratios, epsilon, delta)
    return _split("laplace", [factor * b for b in shape], loads, 2.0)


def _split(kind: str, scales: Sequence[float], loads: Sequence[float], square: float) -> Split:
    ups = tuple(round_up(scale, 4) for scale in scales)
    errors = math.fsum(w * square * b * b for w, b in zip(loads, ups, strict=True))
    return Split(kind, ups, math.sqrt(errors / math.fsum(loads)))


def _common_factor(ratios: Sequence[float], epsilon: float, delta: float) -> float:
    """A factor f for which Laplace losses of ratio / f compose to (epsilon, delta)."""
    positive("epsilon", epsilon)
    probability("delta", delta)
    counts: dict[float, int] = {}
    for ratio in ratios:
        counts[ratio] = counts.get(ratio, 0) + 1

    def fits(factor: float) -> bool:
        parts = tuple((LaplaceLaw(round_up(ratio / factor)), n) for ratio, n in counts.items())
        return Batch(parts).upper(delta, tolerance=1e-4) <= epsilon

    basic = round_up(math.fsum(ratios) / epsilon, 4)  # epsilons add up: always enough
    return _shrunk(fits, basic)


def _shrunk(fits: Callable[[float], bool], enough: float) -> float:
    low, high = enough / 2, enough
    while fits(low):
        low, high = low / 2, low
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
