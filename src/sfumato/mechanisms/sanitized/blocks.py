r"""Several numbers of a record perturbed together: vectors, images, and curves through their leading waves.

Numbers of one width W form a vector whose differences fill the cube [-W, W]^d.  Noise from the cube body costs
half of what Laplace noise costs for large d, and normal noise (with delta) far less; the law with the least variance
is taken: for a curve's waves the ball from three of them on.  A curve of d points is first
written in the r leading cosines of the discrete cosine transform, by a matrix M of whole numbers, 2^b times the cosines
rounded, and the products are divided by 2^b and rounded: all in integers, so that a record's numbers depend on that
record alone.  Between two curves they move by at most ceil(W sum_j |M_kj| / 2^b) + 1 each and, in l2, W sqrt(d) plus
what rounding the products (sqrt(r)) and the matrix can add; so the noise falls on r numbers instead of d, and what
the other waves held is lost, as smoothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.mechanisms.noise.additive import Vector
from sfumato.mechanisms.noise.gauges import CUBE, LAPLACE
from sfumato.mechanisms.noise.law import Drawn, NoiseLaw
from sfumato.mechanisms.noise.laws import law_named, pure_laws
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.mechanisms.sanitized.part import Floats, Integers, near_its_end
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.queries.sanitized import Together
from sfumato.randomness import Rng
from sfumato.spaces import Numeric, numeric
from sfumato.spaces.schema import Schema

__all__ = ["Block"]

FLOATING = 1 + 1e-9  # over the rounding of cosines and roots, for up to 10^5 of them
WORD = 60  # bits of the products
FINEST = 30  # bits below a lattice step


@dataclass(frozen=True)
class Block:
    """One law of noise on the vector, or on the leading cosines, of each record.

    Proof: docs/proofs/sanitization.md.
    """

    group: Together
    spaces: tuple[Numeric, ...]
    law: NoiseLaw
    scale: float
    epsilon: float | None = None

    @classmethod
    def calibrate(cls, group: Together, schema: Schema, target: Pure | Approximate) -> Block:
        """The law with the least mean square error at a point."""
        spaces = tuple(_number(schema, name) for name in group.columns)
        if len({space.lattice.width for space in spaces}) > 1:
            raise SchemaError("columns perturbed together must have ranges of equally many steps; declare them so")
        moved = cls(group, spaces, CUBE, 1.0)._moved
        laws = (LAPLACE, *pure_laws(moved.dimension), *((NORMAL,) if NORMAL.meets(target) else ()))
        scales = [(law, *law.calibrate(moved.sensitivity(law.norm), target)) for law in laws]
        return min((cls(group, spaces, *scale) for scale in scales), key=lambda block: block.noise.variance)

    @property
    def columns(self) -> tuple[str, ...]:
        """The block's columns."""
        return self.group.columns

    @cached_property
    def waves(self) -> Floats | None:
        """The orthonormal rows that a record is written in; None for the coordinates themselves."""
        if self.group.basis is None:
            return None
        d = len(self.columns)
        rows = np.cos(np.pi * np.outer(np.arange(self.group.basis), np.arange(d) + 0.5) / d) * math.sqrt(2 / d)
        rows[0] = math.sqrt(1 / d)
        return rows

    @cached_property
    def _moved(self) -> Vector:
        """How far one record's numbers move between any two records, rounded up."""
        width, d = self.spaces[0].lattice.width, len(self.columns)
        if self.waves is None:
            return Vector("block", d, l1=d * width, l2=round_up(width * math.sqrt(d), 2), linf=width)
        sums = [int(row) for row in np.abs(self._matrix).sum(axis=1)]
        each = [-(-width * row >> self._bits) + 1 for row in sums]  # one more, as releases of 0.2.0 were rounded
        skewed = math.sqrt(len(each) * d) * 2.0**-self._bits  # the rounded matrix is at most this far from orthonormal
        l2 = (width * math.sqrt(d) * (1 + skewed) + math.sqrt(len(each))) * FLOATING
        l1, linf = float(sum(each)), float(max(each))
        return Vector("waves", len(each), l1=l1, l2=min(max(l2, linf), l1), linf=linf)

    @cached_property
    def _bits(self) -> int:
        """Fractional bits of the matrix, so that products stay within a word."""
        assert self.waves is not None
        largest = float(np.abs(self.waves).sum(axis=1).max()) * self.spaces[0].lattice.width
        return max(0, min(FINEST, WORD - math.ceil(math.log2(max(largest, 1.0)))))

    @cached_property
    def _matrix(self) -> Integers:
        assert self.waves is not None
        return np.asarray(np.rint(self.waves * 2.0**self._bits), dtype=np.int64)

    def held(self, records: Integers) -> Integers:
        """Each record's exact, secret numbers, or leading waves, before noise."""
        values = self.coerced(records)
        if self.waves is None:
            return values
        return np.asarray((values @ self._matrix.T + ((1 << self._bits) >> 1)) >> self._bits)

    @property
    def noise(self) -> Drawn:
        """The noise of one record's vector."""
        return self.law.on(self.scale, self._moved.dimension)

    @property
    def diameter(self) -> float:
        """The largest sum of distances."""
        return sum(space.diameter for space in self.spaces)

    @property
    def mean_error(self) -> float:
        """At most the root mean square noise of every point, added up; what the left-out waves held comes on top."""
        return math.sqrt(self.spread) * self.diameter

    @property
    def cut_off(self) -> tuple[str, ...]:
        """Columns whose type ends within reach of the noise; curves through waves are published as numbers."""
        noise = math.sqrt(self.noise.variance)
        near = [near_its_end(space, noise * float(space.lattice.step)) for space in self.spaces]
        return tuple(name for name, at in zip(self.columns, near, strict=True) if at and self.waves is None)

    @property
    def spread(self) -> float:
        """The noise's mean variance at a point, over the width squared."""
        share = self._moved.dimension / len(self.columns)
        return self.noise.variance * share / self.spaces[0].lattice.width ** 2

    def guarantee(self, distance: int = 1) -> Pure | Approximate:
        """What replacing `distance` records costs."""
        moved = self._moved.sensitivity(self.law.norm)
        return self.law.claim(moved, self.scale, self.epsilon, distance)  # type: ignore[return-value]

    def release(self, records: Integers, rng: Rng) -> Integers:
        """Each record's numbers, or leading waves, with noise of their own."""
        held = self.held(records)
        return np.asarray(held + self.noise.sample(len(held), rng), dtype=np.int64)

    def coerced(self, values: Integers) -> Integers:
        """Missing numbers are the middle of their range."""
        return np.where(values < 0, self.spaces[0].lattice.width // 2, values)

    def points(self, noisy: Integers) -> Floats:
        """The published record at each of its points, in lattice steps."""
        return noisy.astype(np.float64) if self.waves is None else noisy @ self.waves

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """Numbers, also outside the range."""
        if self.waves is None:
            return {
                name: space.decoded(noisy[:, i])
                for i, (name, space) in enumerate(zip(self.columns, self.spaces, strict=True))
            }
        points = self.points(noisy)
        return {
            name: (points[:, i] + space.lattice.low) * float(space.lattice.step)
            for i, (name, space) in enumerate(zip(self.columns, self.spaces, strict=True))
        }

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "type": "block", "columns": list(self.columns), "basis": self.group.basis, "law": self.law.name,
            "scale": self.scale, "epsilon": self.epsilon,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any], schema: Schema) -> Block:
        """The part that `to_record` wrote."""
        group = Together(tuple(record["columns"]), record["basis"])
        spaces = tuple(_number(schema, name) for name in group.columns)
        return cls(group, spaces, law_named(record["law"]), record["scale"], record["epsilon"])


def _number(schema: Schema, name: str) -> Numeric:
    space = schema.space(name)
    if not numeric(space):
        raise UnsupportedQuery(f"column {name!r} is no number; only numbers are perturbed together")
    return space
