r"""Interactions of chosen axes, each with its own whole weight: what tables of counts have that smaller ones have not.

The interaction of the axes T takes n_i times the deviation from the mean along each axis i of T and the sum along the
others: rows prod (n_i I - 1 1^T) x 1^T.  Interactions of different axes are orthogonal, so any spectrum that is
constant on each can be measured, that of the least ellipsoid among them (XiaoHeZhangKifer2023).
Proof: docs/proofs/factorization.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.queries.linear.bodies import largest_column
from sfumato.queries.linear.factors import WIDE, Floats, Whole
from sfumato.queries.linear.matrix import Linear
from sfumato.queries.linear.measurements.tables import Axes, parts_of, subsets, table_variances

__all__ = ["Interactions"]


@dataclass(frozen=True, slots=True)
class Interactions:
    """Interactions of the axes in `kept`, with positive whole `weights`, over a product of shape `shape`."""

    shape: tuple[int, ...]
    kept: tuple[Axes, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.kept or len(self.kept) != len(self.weights) or min(self.weights) <= 0:
            raise ParameterError("each interaction needs a positive whole weight, and there must be one at least")
        if any(self.shape[i] < 2 for axes in self.kept for i in axes):
            raise ParameterError("an axis of one cell has no deviations to measure")

    @property
    def cells(self) -> int:
        """Numbers measured from."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Numbers measured."""
        return sum(math.prod(self.shape[i] for i in axes) for axes in self.kept)

    def apply(self, x: Whole) -> Whole:
        """The exact interactions, weighted, one after the other."""
        grid, parts = x.reshape(self.shape), []
        for axes, weight in zip(self.kept, self.weights, strict=True):
            dropped = tuple(i for i in range(len(self.shape)) if i not in axes)
            part = np.asarray(grid.sum(axis=dropped, keepdims=True))
            if weight * math.prod(2 * self.shape[i] for i in axes) >= WIDE:
                part = part.astype(object)  # times counts, beyond int64
            parts.append(weight * self._deviations(part, axes).reshape(-1))
        return np.concatenate(parts)

    def _deviations(self, part: Whole, axes: Axes) -> Whole:
        for i in axes:
            part = self.shape[i] * part - part.sum(axis=i, keepdims=True)
        return part

    def norms(self, norm: str) -> tuple[float, float]:
        """The largest norm of a column, and of a difference of two: over the sets of axes on which cells may differ."""
        if norm == "l1":
            own = sum(w * math.prod(2 * (self.shape[i] - 1) for i in axes) for axes, w in self._weighted())
            return tuple(largest_column(np.array([float(sums)]), norm) for sums in (own, 2 * own))  # type: ignore[return-value]
        own = sum(w * w * self._product(axes, ()) for axes, w in self._weighted())
        wide = tuple(i for i, n in enumerate(self.shape) if n > 1)
        apart = max(
            sum(2 * w * w * (self._product(axes, ()) - self._product(axes, parted)) for axes, w in self._weighted())
            for parted in subsets(wide)
        )
        return largest_column(np.array([float(own)]), norm), largest_column(np.array([float(apart)]), norm)

    def _weighted(self) -> list[tuple[Axes, int]]:
        return list(zip(self.kept, self.weights, strict=True))

    def _product(self, axes: Axes, parted: Axes) -> int:
        """The inner product of the columns of two cells that differ on the axes in `parted`, at weight one."""
        return math.prod(-self.shape[i] if i in parted else self.shape[i] * (self.shape[i] - 1) for i in axes)

    def eigenvalue(self, interaction: Axes) -> float:
        """Of the Gram matrix, on the interaction of these axes; 0 if it is not measured."""
        weights = dict(self._weighted())
        scale = math.prod(n**2 if i in interaction else n for i, n in enumerate(self.shape))
        return float(weights.get(interaction, 0)) ** 2 * scale

    def solve(self, y: Floats) -> Floats:
        """The counts of least norm among those of least squares."""
        result = np.zeros(self.shape)
        for (axes, weight), part in zip(self._weighted(), parts_of(y, self.shape, self.kept), strict=True):
            result += weight / self.eigenvalue(axes) * self._deviations(part, axes)
        return result.reshape(-1)

    def variances(self, linear: Linear) -> Floats:
        """For each row of a workload of tables, the variance of its answer for noise of variance one."""
        return table_variances(linear, self.shape, self.eigenvalue)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        kept = [list(axes) for axes in self.kept]
        return {"kind": "interactions", "shape": list(self.shape), "kept": kept, "weights": list(self.weights)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Interactions:
        """What `to_record` wrote."""
        return cls(tuple(record["shape"]), tuple(tuple(axes) for axes in record["kept"]), tuple(record["weights"]))
