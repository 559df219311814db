"""What an owner keeps of a value, and the report made of it: the same, or for RAPPOR a copy with fresh noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.local.protocols.protocol import Bits, LocalProtocol, Reports
from sfumato.local.protocols.rappor import Rappor
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["answered", "drawn", "keeping_costs", "place_of", "single"]


def single(value: object) -> npt.NDArray[np.object_]:
    """A list of one person's value, whatever it is."""
    values = np.empty(1, dtype=object)
    values[0] = value
    return values


def place_of(protocol: LocalProtocol, values: npt.ArrayLike) -> str:
    """The name of a value in the domain: values that count as the same have one randomization."""
    return ",".join(map(str, np.asarray(protocol.coerce(values)).reshape(-1).tolist()))


def drawn(protocol: LocalProtocol, values: npt.ArrayLike, bits: Bits) -> Reports:
    """What is kept of a value."""
    return protocol.permanent(values, bits) if isinstance(protocol, Rappor) else protocol.randomize(values, bits)


def answered(protocol: LocalProtocol, kept: Reports, bits: Bits) -> Reports:
    """A report made of what is kept."""
    return protocol.fresh(np.asarray(kept, dtype=np.uint8), bits) if isinstance(protocol, Rappor) else kept


def keeping_costs(protocol: LocalProtocol) -> Pure | Approximate:
    """What all reports made of one kept value cost together."""
    return protocol.forever() if isinstance(protocol, Rappor) else protocol.guarantee()
