"""Limits for estimates, by the sharpest inequality that is proven for their protocol (`questions.limits`).

counts of supports      binomial: for the share in the population, and among those who reported
sums of other reports   Bernstein, with the exact worst variance and the furthest that one report can move the sum;
                        for those who reported
Laplace noise           Chernoff, with its exact moment generating function; for those who reported
larger questions        their own limits, for the population
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.local.protocols import (
    HadamardResponse,
    Hybrid,
    Hypercube,
    LocalHashing,
    LocalLaplace,
    PrivUnit,
    SampledCoordinates,
)
from sfumato.local.protocols.numbers import Number
from sfumato.local.protocols.privunit import LEVELS
from sfumato.local.protocols.protocol import Floats, LocalProtocol, Tally
from sfumato.local.questions.limits import bernstein_sum, binomial
from sfumato.local.questions.mapped import Mapped
from sfumato.local.questions.marginals import Marginals
from sfumato.local.questions.moments import supports
from sfumato.local.questions.ranges import Ranges
from sfumato.local.questions.sets import Sets

__all__ = ["half_width", "limits_of", "possible", "rates", "reach_beyond"]

MOST_OUTPUTS = 1 << 16  # reports that are tried one by one for how far they move an estimate
LEVELS_TRIED = np.exp(-np.arange(1.0, 700.0, 0.5)).tolist()  # from the largest
ROUNDED = 1 + 1e-5  # PrivUnit's variance leaves out the rounding of reports, below 1e-5 of it


def limits_of(protocol: LocalProtocol, tally: Tally, n: int, beta: float) -> tuple[Floats, Floats]:
    """For each estimate, limits that cover the truth with probability at least 1 - beta.

    An estimate beyond what can be true counts as the nearest that can: limits of a share grow with it, so they cover as
    before, and none ends up with a width of zero.
    """
    own = protocol.limits(tally, n, beta)
    if own is not None:
        return np.asarray(own[0]), np.asarray(own[1])
    bounds = rates(protocol)
    if bounds is not None:
        p, q = map(float, bounds)
        ends = binomial(np.clip(tally, math.floor(n * q), math.ceil(n * p)), n, beta)
        low, high = ((end - q) / (p - q) for end in ends)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)
    found, radius = protocol.estimate(tally, n), _radius(protocol, n)(beta)
    if protocol.goal == "frequencies":
        possible = np.clip(found, 0, 1)
        return np.clip(possible - radius, 0, 1), np.clip(possible + radius, 0, 1)
    return found - radius, found + radius


def half_width(protocol: LocalProtocol, n: int, beta: float, share: float | None = None) -> float:
    """Half the width that limits will have at the tally that is expected, before they are cut to what is possible.

    `share` is the true one, where reports are counted.
    """
    if isinstance(protocol, Ranges):
        n_each, one = [n / len(protocol.parts)] * len(protocol.parts), np.eye(1, protocol.k)
        spread, span = protocol.functional_variance(one, n_each), protocol.functional_span(one, n_each)
        return float(np.max(bernstein_sum(spread, span, beta)))
    parts = len(protocol.parts) if isinstance(protocol, Marginals) else 1
    size = protocol.size if isinstance(protocol, Sets) else 1
    bounds = rates(protocol.tables[0] if isinstance(protocol, Marginals) else protocol)
    if bounds is None or share is None:
        return float(np.max(_radius(protocol, n)(beta)))
    p, q = map(float, bounds)
    asked = max(1, n // parts)
    low, high = binomial([asked * (q + (p - q) * share / size)], asked, beta)
    return float(high[0] - low[0]) / 2 * size / (p - q)


def reach_beyond(protocol: LocalProtocol, tally: Tally, n: int) -> Floats:
    """For each estimate that is no count of supports, a beta at which its limits leave what can be true; else 1."""
    least, most = possible(protocol)
    found, radius = protocol.estimate(tally, n), _radius(protocol, n)
    beyond = np.maximum(np.maximum(found - most, least - found), 0.0)
    levels = np.ones(len(found))
    for beta in LEVELS_TRIED if np.any(beyond > 0) else ():
        levels = np.where(beyond > radius(beta), beta, levels)
    return levels


def possible(protocol: LocalProtocol) -> tuple[float, float]:
    """The least and the greatest that an estimate can stand for."""
    match protocol:
        case Number() | Hybrid() | Hypercube():
            return protocol.low, protocol.high
        case SampledCoordinates():
            return protocol.inner.low, protocol.inner.high
        case PrivUnit():
            return -1.0, 1.0
    if protocol.goal in ("frequencies", "tables"):
        return 0.0, 1.0
    raise UnsupportedQuery(f"protocol {protocol.name!r} has no proven law of its estimates")


def _radius(protocol: LocalProtocol, n: int) -> Callable[[float], Floats]:
    """How far an estimate lies from the truth, at most, with probability 1 - beta: a function of beta."""
    if isinstance(protocol, LocalLaplace):
        unit = (protocol.high - protocol.low) / protocol.steps
        return lambda beta: np.full(1, _laplace_sum(protocol.scale, n, beta) * unit / n)
    variance, span = protocol.variance(n) * ROUNDED, _span(protocol) / n
    return lambda beta: bernstein_sum(variance, span, beta)


def rates(protocol: LocalProtocol) -> tuple[Fraction, Fraction] | None:
    """p and q of protocols whose tally counts supports."""
    if isinstance(protocol, Mapped):
        return rates(protocol.inner)
    if isinstance(protocol, LocalHashing):
        return protocol.truthful + (1 - protocol.truthful) / protocol.g, Fraction(1, protocol.g)
    try:
        found = supports(protocol)
    except UnsupportedQuery:
        return None
    return found.own, found.other


def _span(protocol: LocalProtocol) -> Any:
    """How far one report can move n times an estimate."""
    match protocol:
        case HadamardResponse():
            return 2 / float(protocol.informed)
        case Hypercube():
            none, all_ones = np.zeros(protocol.cells, dtype=np.int64), np.ones(protocol.cells, dtype=np.int64)
            return np.subtract(protocol.estimate(all_ones, 1), protocol.estimate(none, 1))
        case PrivUnit():
            return 2 * protocol.estimate(np.full(protocol.cells, LEVELS), 1)
        case SampledCoordinates():
            middle = sum(protocol._bounds) / 2
            least, most = _reach(protocol.inner)
            return protocol.dimension * (np.maximum(most - middle, 0) - np.minimum(least - middle, 0))
    least, most = _reach(protocol)
    return most - least


def _reach(protocol: LocalProtocol) -> tuple[Floats, Floats]:
    """The least and the greatest estimate from a single report."""
    outputs = protocol.outputs()
    if len(outputs) > MOST_OUTPUTS:
        raise UnsupportedQuery(f"no proven interval is known for protocol {protocol.name!r}; use its variances")
    alone = np.array([protocol.estimate(protocol.tally(outputs[i : i + 1]), 1) for i in range(len(outputs))])
    return alone.min(axis=0), alone.max(axis=0)


def _laplace_sum(scale: int, n: int, beta: float) -> float:
    """How far n noises with P(z) ~ exp(-|z| / scale) add up: min over t of (n ln E exp(t Z) + ln(2 / beta)) / t."""
    t = np.geomspace(1e-6, 0.999, 2000) / scale  # any t is valid; the best is near sqrt(ln(2 / beta) / n) / scale
    r, rest = math.exp(-1 / scale), -math.expm1(-1 / scale)
    generating = -np.log1p(-4 * r * (np.sinh(t / 2) / rest) ** 2)  # 1/E exp(t Z) = 1 - r (e^t + e^-t - 2)/(1 - r)^2
    return float(np.min((n * generating + math.log(2 / beta)) / t)) * (1 + 1e-9)
