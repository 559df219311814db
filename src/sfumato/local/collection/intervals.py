"""Limits for estimates, by the sharpest inequality that is proven for their protocol (`questions.limits`)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.local.protocols.hadamard import HadamardResponse
from sfumato.local.protocols.hashing import LocalHashing
from sfumato.local.protocols.protocol import Floats, LocalProtocol, Tally
from sfumato.local.questions.limits import bernstein_sum, binomial
from sfumato.local.questions.moments import supports

__all__ = ["limits_of"]

MOST_OUTPUTS = 1 << 16  # reports that are tried one by one for how far they move an estimate


def limits_of(protocol: LocalProtocol, tally: Tally, n: int, beta: float) -> tuple[Floats, Floats]:
    """For each estimate, limits that cover the truth with probability at least 1 - beta."""
    if hasattr(protocol, "limits"):
        low, high = protocol.limits(tally, n, beta)
        return np.asarray(low), np.asarray(high)
    rates = _rates(protocol)
    if rates is not None:
        p, q = map(float, rates)
        ends = binomial(tally, n, beta)
        low, high = ((end - q) / (p - q) for end in ends)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)
    found = protocol.estimate(tally, n)
    radius = bernstein_sum(protocol.variance(n), _span(protocol) / n, beta)
    low, high = found - radius, found + radius
    return (np.clip(low, 0, 1), np.clip(high, 0, 1)) if protocol.goal == "frequencies" else (low, high)


def _rates(protocol: LocalProtocol) -> tuple[Fraction, Fraction] | None:
    """p and q of protocols whose tally counts supports."""
    if isinstance(protocol, LocalHashing):
        return protocol.truthful + (1 - protocol.truthful) / protocol.g, Fraction(1, protocol.g)
    try:
        found = supports(protocol)
    except UnsupportedQuery:
        return None
    return found.own, found.other


def _span(protocol: LocalProtocol) -> Any:
    """How far one report can move n times an estimate."""
    if isinstance(protocol, HadamardResponse):
        return 2 / float(protocol.informed)
    outputs = protocol.outputs()
    if len(outputs) > MOST_OUTPUTS:
        raise UnsupportedQuery(f"no proven interval is known for protocol {protocol.name!r}; use its variances")
    moved = np.array([protocol.estimate(protocol.tally(outputs[i : i + 1]), 1) for i in range(len(outputs))])
    return moved.max(axis=0) - moved.min(axis=0)
