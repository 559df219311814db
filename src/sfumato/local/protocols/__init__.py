"""The local protocols, one file each; the closed list by the names that go over the wire."""

from __future__ import annotations

from typing import Any

from sfumato.errors import ParameterError
from sfumato.local.protocols.coordinates import SampledCoordinates
from sfumato.local.protocols.duchi import Duchi
from sfumato.local.protocols.generalized import GeneralizedResponse
from sfumato.local.protocols.hadamard import HadamardResponse
from sfumato.local.protocols.hashing import LocalHashing
from sfumato.local.protocols.hybrid import Hybrid
from sfumato.local.protocols.hypercube import Hypercube
from sfumato.local.protocols.laplace import LocalLaplace
from sfumato.local.protocols.piecewise import Piecewise
from sfumato.local.protocols.privunit import PrivUnit
from sfumato.local.protocols.protocol import Bits, LocalProtocol
from sfumato.local.protocols.rappor import Rappor
from sfumato.local.protocols.square import SquareWave
from sfumato.local.protocols.subset import SubsetSelection
from sfumato.local.protocols.tabulated import Tabulated
from sfumato.local.protocols.unary import OptimizedUnary, SymmetricUnary
from sfumato.local.protocols.window import OptimizedWindow

__all__ = [
    "PROTOCOLS",
    "Bits",
    "Duchi",
    "GeneralizedResponse",
    "HadamardResponse",
    "Hybrid",
    "Hypercube",
    "LocalHashing",
    "LocalLaplace",
    "LocalProtocol",
    "OptimizedUnary",
    "OptimizedWindow",
    "Piecewise",
    "PrivUnit",
    "Rappor",
    "SampledCoordinates",
    "SquareWave",
    "SubsetSelection",
    "SymmetricUnary",
    "Tabulated",
    "protocol_from",
]

KINDS: tuple[type[LocalProtocol], ...] = (
    GeneralizedResponse, OptimizedUnary, SymmetricUnary, Rappor, SubsetSelection, LocalHashing, HadamardResponse,
    LocalLaplace, Duchi, Piecewise, Hybrid, OptimizedWindow, SquareWave,
    Hypercube, SampledCoordinates, PrivUnit, Tabulated,
)  # fmt: skip
PROTOCOLS: dict[str, type[LocalProtocol]] = {kind.name: kind for kind in KINDS}


def protocol_from(record: dict[str, Any]) -> LocalProtocol:
    """The protocol that `to_record` wrote; unknown names and parts are refused."""
    name = record.get("type")
    if not isinstance(name, str) or name not in PROTOCOLS:
        raise ParameterError(f"unknown protocol {name!r}; known are {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name].from_record(record)
