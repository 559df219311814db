"""Reports as a type of their own: what a protocol drew, and so the only thing that is ever put into a message."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.client.bits import SystemBits
from sfumato.local.protocols.protocol import Bits, LocalProtocol, Reports

__all__ = ["Randomized", "randomized"]


@dataclass(frozen=True, slots=True, eq=False)
class Randomized:
    """Reports of one protocol.  `randomized` draws them; values that nobody randomized are no reports."""

    protocol: LocalProtocol
    reports: Reports

    def __post_init__(self) -> None:
        kind = getattr(self.reports, "dtype", None)
        if kind != self.protocol.dtype:
            raise ParameterError(
                f"reports of {self.protocol.name} are what its randomize returns, {self.protocol.dtype}, got "
                f"{kind or type(self.reports).__name__}; values are never sent as they are"
            )
        shape = self.reports.shape[1:]
        if shape != ((self.protocol.columns,) if self.protocol.columns else ()):
            raise ParameterError(f"reports need the shape (n, {self.protocol.columns or ''}), got {self.reports.shape}")
        wrong = int(np.count_nonzero(~self.protocol.valid(self.reports))) if len(self.reports) else 0
        if wrong:
            raise ParameterError(
                f"{wrong} of {len(self.reports)} reports cannot have been sent by {self.protocol.name}"
            )

    def __len__(self) -> int:
        return len(self.reports)


def randomized(protocol: LocalProtocol, values: npt.ArrayLike, bits: Bits | None = None) -> Randomized:
    """One report for each value of a column, as a simulation or a server that holds many values draws them.

    >>> from sfumato.local.protocols import GeneralizedResponse
    >>> from sfumato.privacy.guarantees import Pure
    >>> len(randomized(GeneralizedResponse.calibrate(3, Pure(1.0)), [0, 2, 1]))
    3
    """
    return Randomized(protocol, protocol.randomize(values, SystemBits() if bits is None else bits))
