"""A measurement written out: any matrix of whole numbers whose rows span the workload's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.queries.linear.bodies import largest_column, largest_difference
from sfumato.queries.linear.factors import Floats, Rows, Whole
from sfumato.queries.linear.matrix import Linear

__all__ = ["Dense"]

MOST_PAIRED = 2000  # columns whose differences are all looked at
LOST = 1e-9  # of a row's own largest entry: what rounding may bias its answer by, for each row of the table


@dataclass(frozen=True)
class Dense:
    """The rows of `rows`, all of them over the flat list of cells."""

    rows: Rows

    @classmethod
    def of(cls, matrix: Whole) -> Dense:
        """From an array of whole numbers."""
        return cls(Rows(tuple(map(tuple, np.asarray(matrix).tolist()))))

    @property
    def size(self) -> int:
        """Numbers measured."""
        return len(self.rows.entries)

    @property
    def cells(self) -> int:
        """Numbers measured from."""
        return len(self.rows.entries[0])

    def apply(self, x: Whole) -> Whole:
        """The exact measurement of counts, along the first axis."""
        return self.rows.apply(x)

    def norms(self, norm: str) -> tuple[float, float]:
        """The largest norm of a column, and of a difference of two (l1 or l2), rounded up; twice the first if large."""
        return self._norms[norm]

    @cached_property
    def _norms(self) -> dict[str, tuple[float, float]]:
        matrix, found = self.rows.dense(0), {}
        for norm, power in (("l1", 1), ("l2", 2)):
            alone = largest_column(self.rows.powers(0, power), norm)
            small = self.cells <= MOST_PAIRED
            found[norm] = alone, largest_difference(matrix, norm) if small else 2 * alone
        return found

    def solve(self, y: Floats) -> Floats:
        """The counts of least norm among those of least squares."""
        return np.asarray(np.tensordot(self._inverse, np.asarray(y, dtype=np.float64), axes=1))

    def variances(self, linear: Linear) -> Floats:
        """For each row of a workload, the variance of its answer for noise of variance one."""
        return np.asarray((self.coefficients(linear) ** 2).sum(axis=1))

    def coefficients(self, linear: Linear) -> Floats:
        """Each answer as a combination of measurements."""
        matrix = linear.dense().astype(np.float64)
        combined = np.asarray(matrix @ self._inverse)
        lost = np.abs(combined @ self.rows.dense(0) - matrix).max(axis=1)
        if (lost > LOST * np.abs(matrix).max(axis=1)).any():
            raise UnsupportedQuery("the measurement does not determine the workload; its rows must span the workload's")
        return combined

    @cached_property
    def _inverse(self) -> Floats:
        matrix = self.rows.dense(0).astype(np.float64)
        return np.asarray(np.linalg.pinv(matrix, rcond=1e-11), dtype=np.float64)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": "dense", "matrix": [list(row) for row in self.rows.entries]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Dense:
        """What `to_record` wrote."""
        return cls(Rows(tuple(tuple(row) for row in record["matrix"])))
