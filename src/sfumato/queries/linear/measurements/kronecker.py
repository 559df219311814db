"""Measurements of several axes at once: the product of one measurement for each axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.numeric import round_up
from sfumato.queries.linear.bodies import EXACT
from sfumato.queries.linear.factors import Floats, Whole
from sfumato.queries.linear.matrix import Linear
from sfumato.queries.linear.measurements.dense import Dense
from sfumato.queries.linear.measurements.hierarchy import Hierarchy

__all__ = ["Kronecker"]


@dataclass(frozen=True, slots=True)
class Kronecker:
    """The Kronecker product of the measurements of the axes, in order."""

    axes: tuple[Dense | Hierarchy, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(axis.cells for axis in self.axes)

    @property
    def cells(self) -> int:
        """Numbers measured from."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Numbers measured."""
        return math.prod(axis.size for axis in self.axes)

    def apply(self, x: Whole) -> Whole:
        """The exact measurement of counts."""
        part = x.reshape(self.shape)
        for i, axis in enumerate(self.axes):
            part = np.moveaxis(axis.apply(np.moveaxis(part, i, 0)), 0, i)
        return part.reshape(-1)

    def norms(self, norm: str) -> tuple[float, float]:
        """The largest norm of a column, and at most twice that for a difference of two."""
        own = math.prod(axis.norms(norm)[0] for axis in self.axes)
        own = own if float(own).is_integer() and own < EXACT else round_up(own, 2 * len(self.axes))
        return own, 2 * own

    def solve(self, y: Floats) -> Floats:
        """The counts of least squares, axis by axis."""
        part = np.asarray(y, dtype=np.float64).reshape([axis.size for axis in self.axes])
        for i, axis in enumerate(self.axes):
            part = np.moveaxis(axis.solve(np.moveaxis(part, i, 0)), 0, i)
        return part.reshape(-1)

    def variances(self, linear: Linear) -> Floats:
        """For each row of a workload, the variance of its answer for noise of variance one."""
        if linear.shape != self.shape:
            raise UnsupportedQuery("a product answers workloads over a product of its own shape")
        found = []
        for block in linear.blocks:
            parts = [
                axis.variances(Linear((axis.cells,), (type(block)((factor,)),)))
                for axis, factor in zip(self.axes, block.factors, strict=True)
            ]
            found.append(float(block.weight) ** 2 * reduce(np.multiply.outer, parts).reshape(-1))
        return np.concatenate(found)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": "kronecker", "axes": [axis.to_record() for axis in self.axes]}
