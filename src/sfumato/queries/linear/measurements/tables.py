r"""Marginal tables of chosen axes, each with its own whole weight.

The Gram matrix of all weighted tables w_S is diagonal in the interactions T (products of "deviation from the mean"
over the axes of T and "mean" over the others), with eigenvalues
lambda_T = sum_{S contains T} w_S^2 prod_{i not in S} n_i (McKennaMiklauHayMachanavajjhala2018).
Proof: docs/proofs/strategy.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.linear.bodies import largest_column
from sfumato.queries.linear.factors import Floats, Whole
from sfumato.queries.linear.matrix import Linear

__all__ = ["Axes", "Tables", "interactions", "subsets", "table_variances"]

Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of the axes in `kept`, with positive whole `weights`, over a product of shape `shape`."""

    shape: tuple[int, ...]
    kept: tuple[Axes, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.kept or len(self.kept) != len(self.weights) or min(self.weights) <= 0:
            raise ParameterError("each table needs a positive whole weight, and there must be one table at least")

    @property
    def cells(self) -> int:
        """Numbers measured from."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Numbers measured."""
        return sum(math.prod(self.shape[i] for i in axes) for axes in self.kept)

    def apply(self, x: Whole) -> Whole:
        """The exact tables, weighted, one after the other."""
        grid = x.reshape(self.shape)
        parts = []
        for axes, weight in zip(self.kept, self.weights, strict=True):
            dropped = tuple(i for i in range(len(self.shape)) if i not in axes)
            parts.append(weight * np.asarray(grid.sum(axis=dropped)).reshape(-1))
        return np.concatenate(parts)

    def norms(self, norm: str) -> tuple[float, float]:
        """The largest norm of a column, and of a difference of two: cells that share no coordinate."""
        power = 1 if norm == "l1" else 2
        own = float(sum(w**power for w in self.weights))
        apart = 2.0 * sum(w**power for w, axes in zip(self.weights, self.kept, strict=True) if axes)
        return largest_column(np.array([own]), norm), largest_column(np.array([apart]), norm)

    def eigenvalue(self, interaction: Axes) -> float:
        """lambda_T."""
        return sum(
            float(weight) ** 2 * math.prod(n for i, n in enumerate(self.shape) if i not in axes)
            for axes, weight in zip(self.kept, self.weights, strict=True)
            if set(interaction) <= set(axes)
        )

    def solve(self, y: Floats) -> Floats:
        """The counts of least norm among those of least squares."""
        spread = np.zeros(self.shape)
        for weight, part in zip(self.weights, parts_of(y, self.shape, self.kept), strict=True):
            spread += weight * part
        result = np.zeros(self.shape)
        for interaction in interactions(self.kept):
            part = spread
            for axis in range(len(self.shape)):
                mean = part.mean(axis=axis, keepdims=True)
                part = part - mean if axis in interaction else mean
            result += part / self.eigenvalue(interaction)
        return result.reshape(-1)

    def variances(self, linear: Linear) -> Floats:
        """For each row of a workload of tables, the variance of its answer for noise of variance one."""
        return table_variances(linear, self.shape, self.eigenvalue)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        kept = [list(axes) for axes in self.kept]
        return {"kind": "tables", "shape": list(self.shape), "kept": kept, "weights": list(self.weights)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Tables:
        """What `to_record` wrote."""
        return cls(tuple(record["shape"]), tuple(tuple(axes) for axes in record["kept"]), tuple(record["weights"]))


def parts_of(y: Floats, shape: tuple[int, ...], kept: tuple[Axes, ...]) -> Iterator[Floats]:
    """Tables that stand one after the other, each with its own axes kept and width one on the others."""
    start = 0
    for axes in kept:
        sizes = [n if i in axes else 1 for i, n in enumerate(shape)]
        count = math.prod(sizes)
        yield np.asarray(y[start : start + count], dtype=np.float64).reshape(sizes)
        start += count


def subsets(axes: Axes) -> list[Axes]:
    """All sets of some of the axes, the smaller first."""
    return [chosen for k in range(len(axes) + 1) for chosen in itertools.combinations(axes, k)]


def interactions(kept: tuple[Axes, ...]) -> list[Axes]:
    """All sets of axes that lie within one of those kept."""
    return sorted({chosen for axes in kept for chosen in subsets(axes)}, key=lambda chosen: (len(chosen), chosen))


def table_variances(linear: Linear, shape: tuple[int, ...], eigenvalue: Callable[[Axes], float]) -> Floats:
    """For each row of a workload of tables its variance, if interactions are measured with these eigenvalues."""
    if linear.shape != shape:
        raise UnsupportedQuery("tables answer workloads over a product of their own shape")
    found = []
    for block, rows in zip(linear.blocks, linear.counts, strict=True):
        axes = block.marginal()
        if axes is None:
            raise UnsupportedQuery("these tables do not determine the workload")
        outside = math.prod(n for i, n in enumerate(shape) if i not in axes)
        total = 0.0
        for interaction in subsets(axes):
            freedom, measured = math.prod(shape[i] - 1 for i in interaction), eigenvalue(interaction)
            if freedom and not measured:
                raise UnsupportedQuery("these tables do not determine the workload")
            total += freedom * outside / measured if freedom else 0.0
        found.append(np.full(rows, float(block.weight) ** 2 * total / rows))
    return np.concatenate(found)
