"""Limits for estimates, by the sharpest inequality that is proven for their protocol (`questions.limits`).

counts of supports      binomial: for the share in the population, and among those who reported
sums of other reports   Bernstein, with the exact worst variance and the furthest that one report can move the sum;
                        for those who reported
Laplace noise           Chernoff, with its exact moment generating function; for those who reported
larger questions        their own limits, for the population
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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

__all__ = ["half_width", "limits_of", "possible", "rates", "reach_beyond", "state_worst_ranges"]

ONE_CELL = "a share of one cell, at worst"
MOST_OUTPUTS = 1 << 16  # reports that are tried one by one for how far they move an estimate
MOST_CELLS = 4096  # cells whose ranges are looked at beforehand
FEW_CELLS = 96  # cells all of whose ranges are looked at, one by one
ROWS = 128  # functionals at a time
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
        return state_worst_ranges(protocol, n, beta)[ONE_CELL][1]
    if isinstance(protocol, Marginals):
        asked = max(1, n // len(protocol.parts))  # of the tables, which differ in size, the hardest
        return max(half_width(table, asked, beta, share) for table in dict.fromkeys(protocol.tables))
    size = protocol.size if isinstance(protocol, Sets) else 1
    bounds = rates(protocol)
    if bounds is None or share is None:
        return float(np.max(_radius(protocol, n)(beta)))
    p, q = map(float, bounds)
    low, high = binomial([n * (q + (p - q) * share / size)], n, beta)
    return float(high[0] - low[0]) / 2 * size / (p - q)


def state_worst_ranges(protocol: Ranges, n: int, beta: float) -> dict[str, tuple[float, float]]:
    """Return the worst variance and half width of a cell, of the share up to a cell, and of a range of cells.

    Of many cells not all ranges are looked at: a range is a difference of two shares up to a cell, and its deviation,
    like its half width, at most the sum of theirs.
    """
    k, counts = protocol.k, [n / len(protocol.parts)] * len(protocol.parts)

    def worst(rows: Iterator[Floats]) -> tuple[float, float]:
        variance = width = 0.0
        for few in rows:
            spread = protocol.functional_variance(few, counts)
            variance = max(variance, float(np.max(spread)))
            width = max(width, float(np.max(bernstein_sum(spread, protocol.functional_span(few, counts), beta))))
        return variance, width

    if k > MOST_CELLS:
        places = np.unique(np.linspace(0, k - 1, ROWS).astype(np.int64))
        return {ONE_CELL: worst(iter([np.asarray(np.arange(k) == places[:, None], dtype=np.float64)]))}
    cells = worst(np.eye(min(ROWS, k - start), k, start) for start in range(0, k, ROWS))
    up_to = worst(np.tri(min(ROWS, k - start), k, start) for start in range(0, k, ROWS))
    every = 4 * up_to[0], 2 * up_to[1]
    if k <= FEW_CELLS:
        every = worst(np.tri(k - low, k, low) - np.tri(1, k, low - 1) for low in range(k))
    return {ONE_CELL: cells, "a share up to a cell, at worst": up_to, "a share of a range of cells, at worst": every}


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
