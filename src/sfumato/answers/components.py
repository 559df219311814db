"""Principal components: eigenvalues with error bars, and the direction of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Columns, Read, failure_of
from sfumato.answers.statements import Accuracy

__all__ = ["Components"]


@dataclass(frozen=True, slots=True, eq=False)
class Components(Read):
    """The leading components of columns scaled to [-1, 1]; `columns(beta)` is the table with bars for that failure."""

    kind: ClassVar[str] = "components"
    step: ClassVar[float | None] = None
    order: ClassVar[str] = "asked"
    measure: ClassVar[str] = "eigenvalue, columns in [-1, 1]"

    values: npt.NDArray[np.float64]
    vectors: npt.NDArray[np.float64]  # as columns
    columns: Callable[[float], Columns]
    stated: Callable[[float], Accuracy]

    @property
    def keys(self) -> Columns:
        """None: components are of the whole table."""
        return {}

    @property
    def value(self) -> object:
        """The eigenvalues, largest first."""
        return float(self.values[0]) if self.is_single(len(self.values)) else self.values

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """One row a component: eigenvalue, share of the variance, largest angle, loadings."""
        return self.columns(failure_of(level))

    def error(self, level: float = 0.95) -> Accuracy:
        """The size of the noise in the second moments."""
        return self.stated(failure_of(level))
