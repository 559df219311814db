r"""A column of curves: the values of each at its points perturbed together, or its leading cosines.

A curve with missing points is filled in first, as its space says, and one that cannot be read is level in the middle of
the range: a rule for one record.  What follows is a block (`blocks.py`) of as many numbers as there are points.  In the
space's metric, the root mean square over the points, the mean distance is at most the root of the noise's mean variance
at a point, and the diameter is that of two level curves at the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.mechanisms.sanitized.blocks import Block
from sfumato.mechanisms.sanitized.part import Floats, Integers, OneColumn
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.queries.functions.projection import filled
from sfumato.queries.sanitized import Together
from sfumato.randomness import Rng
from sfumato.spaces import Interval, Space
from sfumato.spaces.forms import Points
from sfumato.spaces.schema import Schema

__all__ = ["NoisedCurve"]


@dataclass(frozen=True, slots=True)
class NoisedCurve(OneColumn):
    """One law of noise on the values, or on the leading cosines, of the curve of each record.

    Proof: docs/proofs/sanitization.md.
    """

    column: str
    space: Space
    block: Block

    @classmethod
    def calibrate(cls, column: str, space: Space, basis: int | None, target: Pure | Approximate) -> NoisedCurve:
        """The law with the least mean square error at a point."""
        points = _points(_seen(space))
        return cls(column, space, Block.calibrate(Together(tuple(points.columns), basis), points, target))

    @property
    def basis(self) -> int | None:
        """How many cosines are kept; None where all points are."""
        return self.block.group.basis

    @property
    def mean_error(self) -> float:
        """At most the root mean square noise over the points; what the left-out waves held comes on top."""
        return math.sqrt(self.spread) * self.diameter

    @property
    def spread(self) -> float:
        """The noise's mean variance at a point, over the width squared."""
        return self.block.spread

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record costs."""
        return self.block.guarantee()

    def release(self, records: Integers, rng: Rng) -> Integers:
        """Each record's values, or leading cosines, with noise of their own."""
        return self.block.release(self.coerced(records[:, 0]), rng)

    def coerced(self, values: Integers) -> Integers:
        """Missing points on lines between the others; a curve of which most are missing, level in the middle."""
        whole, absent = np.array(values, dtype=np.int64), (values < 0).sum(axis=1)
        seen = _seen(self.space)
        points = np.array(seen.points)
        for i in np.flatnonzero(absent).tolist():
            few = 2 * absent[i] > len(points)
            whole[i] = seen.lattice.width // 2 if few else filled(whole[i], points)
        return whole

    def points(self, noisy: Integers) -> Floats:
        """The published curve at each of its points."""
        lattice = _seen(self.space).lattice
        return (self.block.points(noisy) + lattice.low) * float(lattice.step)

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """Lists of numbers, also outside the range."""
        values = self.points(noisy)
        offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
        kind = pa.list_(
            pa.field("element", pa.float64())
        )  # as Parquet names it, so that stored bytes read back the same
        lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.reshape(-1)), type=kind)
        return {self.column: lists}

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        held = {part: value for part, value in self.block.to_record().items() if part in ("law", "scale", "epsilon")}
        kept = {} if self.basis is None else {"basis": self.basis}
        return {"type": "curve", "column": self.column, **kept, **held}

    @classmethod
    def from_record(cls, record: dict[str, Any], space: Space) -> NoisedCurve:
        """The part that `to_record` wrote."""
        points = _points(_seen(space))
        held = {**record, "columns": list(points.columns), "basis": record.get("basis")}
        return cls(record["column"], space, Block.from_record(held, points))


def _seen(space: Space) -> Points:
    assert space.curve is not None
    return space.curve


def _points(seen: Points) -> Schema:
    """The points of a curve as numbers side by side."""
    one = Interval(seen.lattice.low_value, seen.lattice.high_value, float(seen.lattice.step))
    return Schema({f"p{place}": one for place in range(len(seen.points))})
