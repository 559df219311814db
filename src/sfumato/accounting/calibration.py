r"""Inverse problems: the noise for a target, the releases a budget allows, the best split of a budget.

Gaussian releases compose exactly (mus add in squares).  Laplace releases under an approximate
target are calibrated by their composed loss (`batch`), not by the printed rule
sqrt(2 k ln(1/delta)) / epsilon, which is too small for large epsilon [Huang2014, 1.12].
Laplace noise is that of the mechanisms here, on the integers: its losses are larger than those of real
Laplace noise of the same scale (a count's is randomized response, the worst of all), so that the scales
for real numbers, `real_laplace_scale_for`, are not enough for it.  Proof: docs/proofs/privacy-laplace.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sfumato.accounting.batch import Batch
from sfumato.accounting.lattice import discrete_laplace_law
from sfumato.accounting.laws import LaplaceLaw, Law, pure_law
from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.gaussian import gaussian_sigma
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee
from sfumato.privacy.parameters import nonnegative, positive, probability, whole

__all__ = [
    "Split",
    "best_split",
    "gaussian_sigma_for",
    "laplace_scale_for",
    "printed_gaussian_sigma",
    "printed_laplace_scale_for",
    "real_laplace_scale_for",
    "releases_within",
]

MARGIN = 1 - 1e-13  # over the rounding of a sum of squares
TABULATED = 1 << 16  # steps of a sensitivity up to which integer noise has its own law
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


def laplace_scale_for(count: int, sensitivity: int, epsilon: float, delta: float) -> float:
    """A scale for `count` releases with integer Laplace noise, within 1e-6 of the least certified.

    `sensitivity` is in lattice steps, a whole number: 1 for a count.

    >>> scale = laplace_scale_for(20, 1, 2.0, 1e-6)
    >>> scale > real_laplace_scale_for(20, 1.0, 2.0, 1e-6)
    True
    """
    whole("count", count)
    if sensitivity == 0:
        return math.ulp(0.0)
    steps = float(whole("sensitivity", _steps(sensitivity)))
    return _common_factor({(steps, steps): count}, epsilon, delta, _integer_law) * steps


def real_laplace_scale_for(count: int, sensitivity: float, epsilon: float, delta: float) -> float:
    """The same for Laplace noise on the real numbers, which no mechanism here draws."""
    whole("count", count)
    if sensitivity == 0:
        return math.ulp(0.0)
    reach = positive("sensitivity", sensitivity)
    return _common_factor({(reach, reach): count}, epsilon, delta, _real_law) * reach


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

    >>> releases_within(discrete_laplace_law(10.0, 1), 1.0, 1e-9)
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
    Sensitivities are in lattice steps; Laplace noise is accounted for as that of the integers where they
    are whole, and as the worst pure mechanism of the same epsilon, which covers every noise, where not.

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
    factor = _common_factor(Counter(zip(parts, shape, strict=True)), epsilon, delta, _integer_law)
    return _split("laplace", [factor * b for b in shape], loads, 2.0)


def _split(kind: str, scales: Sequence[float], loads: Sequence[float], square: float) -> Split:
    ups = tuple(round_up(scale, 4) for scale in scales)
    errors = math.fsum(w * square * b * b for w, b in zip(loads, ups, strict=True))
    return Split(kind, ups, math.sqrt(errors / math.fsum(loads)))


def _common_factor(
    counts: Mapping[tuple[float, float], int], epsilon: float, delta: float, law: Callable[[float, float], Law]
) -> float:
    """A factor f for which noise of scales f b composes to (epsilon, delta), for each (sensitivity, b) that often."""
    positive("epsilon", epsilon)
    probability("delta", delta)

    def fits(factor: float) -> bool:
        parts = tuple((law(reach, factor * b), n) for (reach, b), n in counts.items())
        return Batch(parts).upper(delta, tolerance=1e-4) <= epsilon

    basic = math.fsum(n * reach / b for (reach, b), n in counts.items()) / epsilon
    return _shrunk(fits, round_up(basic, 4))  # epsilons add up: always enough


def _integer_law(sensitivity: float, scale: float) -> Law:
    """Integer Laplace noise; the worst pure pair where the sensitivity is not whole, or too large to tabulate."""
    if sensitivity == int(sensitivity) and sensitivity <= TABULATED:
        return discrete_laplace_law(scale, int(sensitivity))
    return pure_law(round_up(sensitivity / scale))


def _real_law(sensitivity: float, scale: float) -> Law:
    return LaplaceLaw(round_up(sensitivity / scale))


def _steps(sensitivity: float) -> int:
    """A whole number that may be written as a float."""
    if sensitivity != int(sensitivity):
        raise ParameterError(
            f"sensitivity must be a whole number of lattice steps, got {sensitivity!r}: divide it by the step and "
            "round up, or ask real_laplace_scale_for about noise on the real numbers"
        )
    return int(sensitivity)


def _shrunk(fits: Callable[[float], bool], enough: float) -> float:
    low, high = enough / 2, enough
    while fits(low):
        low, high = low / 2, low
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
