"""Which lower bound speaks about which local estimate; where none does, that is said."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds.minimax.frequencies import frequency_error, worst_frequency_error
from sfumato.bounds.minimax.means import ball_mean_error, cube_mean_error, mean_error

__all__ = ["certify_local"]

AMONG = "sequentially interactive protocols of the same pure local privacy, estimating the population"
LARGEST = 20.0  # epsilon: beyond it sampling error, not privacy, decides
GRID = 129  # values at which the second moment of a number's report is compared


def certify_local(protocol: Any, n: int, objective: str = "total") -> Certificate | NoBoundKnown:
    """The certificate of a protocol's unbiased estimates from n people, sampling error included.

    `objective` is "total" (all estimates together) or, for frequencies, "worst" (the worst category).
    """
    claim = protocol.guarantee()
    if claim.pure_epsilon == math.inf:
        return NoBoundKnown(
            "what local reports with a delta must cost is an open problem; bounds are proven for pure ones"
        )
    if not 0 < claim.pure_epsilon <= LARGEST:
        return NoBoundKnown("at this much privacy loss the sampling error decides, not privacy")
    if protocol.goal == "frequencies":
        return _frequencies(protocol, n, claim.pure_epsilon, objective)
    if protocol.goal == "mean":
        least, achieved = mean_error(n, claim.pure_epsilon, protocol.low, protocol.high), _number(protocol) / n
        return _certificate(achieved, least, "van Trees, signs", "root mean square error of the mean")
    if protocol.goal == "means":
        return _vectors(protocol, n, claim.pure_epsilon)
    return NoBoundKnown("none is proven here for a whole distribution on a line")


def _frequencies(protocol: Any, n: int, epsilon: float, objective: str) -> Certificate | NoBoundKnown:
    if objective == "worst":
        achieved = float(np.max(protocol.variance(n))) + 0.25 / n
        measure = "root mean square error of the worst frequency"
        return _certificate(achieved, worst_frequency_error(n, epsilon), "van Trees, one against the rest", measure)
    achieved = protocol.risk(n) + (1 - 1 / protocol.k) / n
    measure = "root of the total mean square error of the frequencies"
    return _certificate(achieved, frequency_error(n, epsilon, protocol.k), "van Trees, Dirichlet", measure)


def _number(protocol: Any) -> float:
    """The largest second moment around the middle of one report's estimate: what a population can make of it."""
    middle = (protocol.low + protocol.high) / 2
    values = np.linspace(protocol.low, protocol.high, GRID)
    moments = [float(protocol.variance(1, [value])[0]) + (value - middle) ** 2 for value in values.tolist()]
    return float(np.max([*moments, float(protocol.variance(1)[0])]))


def _vectors(protocol: Any, n: int, epsilon: float) -> Certificate | NoBoundKnown:
    d, measure = protocol.dimension, "root of the total mean square error of the means"
    if protocol.name == "privunit":
        achieved = protocol.risk(n) + 1 / n
        return _certificate(achieved, ball_mean_error(n, epsilon, d), "van Trees, sphere", measure)
    low, high = (getattr(getattr(protocol, "inner", protocol), end) for end in ("low", "high"))
    half = (high - low) / 2
    achieved = protocol.risk(n) + d * half * half / n
    return _certificate(achieved, half * half * cube_mean_error(n, epsilon, d), "van Trees, signs", measure)


def _certificate(achieved: float, least: float, name: str, measure: str) -> Certificate | NoBoundKnown:
    if not 0 < least < math.inf:
        return NoBoundKnown("so few reports that the least error is too small to state")
    return Certificate(math.sqrt(achieved), math.sqrt(least), measure, name, AMONG, "population")
