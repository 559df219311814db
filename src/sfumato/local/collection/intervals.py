"""Limits for estimates, by the sharpest inequality that is proven for their protocol (`questions.limits`).

counts of supports      binomial: for the share in the population, and among those who reported
sums of other reports   Bernstein, with the exact worst variance and the furthest that one report can move the sum;
                        for those who reported
Laplace noise           Chernoff, with its exact moment generating function; for those who reported
larger questions        their own limits, for the population
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.local.protocols import (
    HadamardResponse,
    Hypercube,
    LocalHashing,
    LocalLaplace,
    PrivUnit,
    SampledCoordinates,
)
from sfumato.local.protocols.privunit import LEVELS
from sfumato.local.protocols.protocol import Floats, LocalProtocol, Tally
from sfumato.local.questions.limits import bernstein_sum, binomial
from sfumato.local.questions.mapped import Mapped
from sfumato.local.questions.moments import supports

__all__ = ["limits_of"]

MOST_OUTPUTS = 1 << 16  # reports that are tried one by one for how far they move an estimate
ROUNDED = 1 + 1e-5  # PrivUnit's variance leaves out the rounding of reports, below 1e-5 of it


def limits_of(protocol: LocalProtocol, tally: Tally, n: int, beta: float) -> tuple[Floats, Floats]:
    """For each estimate, limits that cover the truth with probability at least 1 - beta."""
    own = protocol.limits(tally, n, beta)
    if own is not None:
        return np.asarray(own[0]), np.asarray(own[1])
    rates = _rates(protocol)
    if rates is not None:
        p, q = map(float, rates)
        ends = binomial(tally, n, beta)
        low, high = ((end - q) / (p - q) for end in ends)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)
    found = protocol.estimate(tally, n)
    if isinstance(protocol, LocalLaplace):
        unit = (protocol.high - protocol.low) / protocol.steps
        radius = np.full(1, _laplace_sum(protocol.scale, n, beta) * unit / n)
    else:
        radius = bernstein_sum(protocol.variance(n) * ROUNDED, _span(protocol) / n, beta)
    low, high = found - radius, found + radius
    if protocol.goal == "frequencies":
        return np.clip(low, 0, 1), np.clip(high, 0, 1)
    return low, high


def _rates(protocol: LocalProtocol) -> tuple[Fraction, Fraction] | None:
    """p and q of protocols whose tally counts supports."""
    if isinstance(protocol, Mapped):
        return _rates(protocol.inner)
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
