"""Which frequency protocol a part of a larger question uses: the least variance, then the shortest report."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.protocols import LocalProtocol, protocol_from
from sfumato.local.protocols.generalized import GeneralizedResponse
from sfumato.local.protocols.subset import SubsetSelection
from sfumato.local.protocols.unary import OptimizedUnary
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["oracle", "protocols_from"]

CLOSE = 1.03  # a variance within this of the least is traded for a shorter report


def oracle(k: int, target: Pure | Approximate) -> LocalProtocol:
    """A frequency protocol for k categories that meets `target`, of those whose joint moments are known exactly."""
    found = [kind.calibrate(k, target) for kind in (GeneralizedResponse, SubsetSelection, OptimizedUnary)]
    variances = [float(np.sum(protocol.variance(1, np.full(k, 1 / k)))) for protocol in found]
    close = [p for p, variance in zip(found, variances, strict=True) if variance <= CLOSE * min(variances)]
    return min(close, key=lambda protocol: protocol.report_bytes)


def protocols_from(records: object) -> tuple[LocalProtocol, ...]:
    """Protocols that `to_record` wrote."""
    if not isinstance(records, list):
        raise ParameterError("levels must be a list of protocols")
    return tuple(protocol_from(_object(record)) for record in records)


def _object(record: object) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise ParameterError("a protocol must be an object with its type and parts")
    return record
