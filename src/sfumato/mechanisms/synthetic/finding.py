"""What synthesizers share that first find something public: what makes the rows then, and rows with what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.mechanism import Mechanism
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.synthetic import Synthesized

__all__ = ["Found", "Synthesizer"]


class Synthesizer(Mechanism, Protocol):
    """What makes the rows once all levels are public."""

    @property
    def target(self) -> Guarantee:
        """What it was calibrated to."""


@dataclass(frozen=True, slots=True)
class Found:
    """Rows over levels that were found, and by column what was, under a name among the measurements."""

    made: Synthesized
    name: str
    found: tuple[tuple[str, tuple[Any, ...]], ...]

    @property
    def rows(self) -> Mapping[str, npt.NDArray[np.int64]]:
        """For each column indices above the lower bound, -1 where missing."""
        return self.made.rows

    @property
    def persons(self) -> npt.NDArray[np.int64] | None:
        """Whose each row is, where rows belong to persons."""
        return self.made.persons

    def measurements(self) -> dict[str, Any]:
        """What was measured, and what was found."""
        return {**self.made.measurements(), self.name: {column: list(each) for column, each in self.found}}
