r"""Several numbers of a record perturbed together: vectors, images, and curves through their leading waves.

Numbers of one width W form a vector whose differences fill the cube [-W, W]^d.  Noise from the cube body costs
half of what Laplace noise costs for large d, and normal noise (with delta) far less.  A curve of d points is first
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

from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.mechanisms.additive import Vector, ratio_up
from sfumato.mechanisms.gaussian import Gaussian
from sfumato.mechanisms.laplace import Laplace
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.sampling import CubeNoise, DiscreteLaplace, RoundedNormal
from sfumato.sanitization.part import Floats, Integers, in_units
from sfumato.schema import Schema
from sfumato.spaces import Integers as WholeNumbers
from sfumato.spaces import Interval

__all__ = ["Block", "Together", "together"]

LAWS = ("cube", "laplace", "normal")
FLOATING = 1 + 1e-9  # over the rounding of cosines and roots, for up to 10^5 of them
WORD = 60  # bits of the products
FINEST = 30  # bits below a lattice step


@dataclass(frozen=True, slots=True)
class Together:
    """Columns that form one vector; with `basis`, a curve kept through that many leading cosines."""

    columns: tuple[str, ...]
    basis: int | None = None

    def __post_init__(self) -> None:
        if len(self.columns) < 2:
            raise ParameterError("columns must name at least two numbers to perturb together")
        if self.basis is not None and not (isinstance(self.basis, int) and 1 <= self.basis <= len(self.columns)):
            raise ParameterError(f"basis must be from 1 to the number of columns ({len(self.columns)})")


def together(*columns: str, basis: int | None = None) -> Together:
    """Numbers of one width that are one thing: a vector, an image, or (with `basis`) a curve.

    >>> together("h0", "h1", "h2", basis=2)
    Together(columns=('h0', 'h1', 'h2'), basis=2)
    """
    return Together(columns, basis)


@dataclass(frozen=True)
class Block:
    """One law of noise on the vector, or on the leading cosines, of each record."""

    group: Together
    spaces: tuple[Interval | WholeNumbers, ...]
    law: str
    scale: float
    epsilon: float | None = None

    @classmethod
    def calibrate(cls, group: Together, schema: Schema, target: Pure | Approximate) -> Block:
        """The law with the least mean square error at a point."""
        spaces = tuple(_number(schema, name) for name in group.columns)
        if len({space.lattice.width for space in spaces}) > 1:
            raise SchemaError("columns perturbed together must have ranges of equally many steps; declare them so")
        shape = cls(group, spaces, "cube", 1.0)._moved
        pure = Pure(target.epsilon)
        found = [cls(group, spaces, "laplace", Laplace.calibrate(shape, pure).scale)]
        scale = shape.linf / target.epsilon
        while not cls(group, spaces, "cube", scale).guarantee().implies(pure):
            scale = round_up(scale)
        found.append(cls(group, spaces, "cube", scale))
        if isinstance(target, Approximate) and target.delta > 0:
            found.append(cls(group, spaces, "normal", Gaussian.calibrate(shape, target).sigma, target.epsilon))
        return min(found, key=lambda block: block.noise.variance)

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
    def noise(self) -> CubeNoise | DiscreteLaplace | RoundedNormal:
        """The law of the noise; of a vector for the cube, of each coordinate for the others."""
        if self.law == "cube":
            return CubeNoise(self.scale, self._moved.dimension)
        return DiscreteLaplace(self.scale) if self.law == "laplace" else RoundedNormal(self.scale)

    @property
    def diameter(self) -> float:
        """The largest sum of distances."""
        return sum(space.diameter for space in self.spaces)

    @property
    def mean_error(self) -> float:
        """At most the root mean square noise of every point, added up; what the left-out waves held comes on top."""
        return math.sqrt(self.spread) * self.diameter

    @property
    def spread(self) -> float:
        """The noise's mean variance at a point, over the width squared."""
        share = self._moved.dimension / len(self.columns)
        return self.noise.variance * share / self.spaces[0].lattice.width ** 2

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record costs."""
        if self.law == "normal":
            return Gaussian(self._moved, self.scale, self.epsilon).guarantee()  # type: ignore[return-value]
        return Pure(ratio_up(self._moved.sensitivity("linf" if self.law == "cube" else "l1"), self.scale))

    def release(self, records: Integers, rng: Rng) -> Integers:
        """Each record's numbers, or leading waves, with noise of their own."""
        held = self.held(records)
        drawn = self.noise.sample(len(held) if self.law == "cube" else held.shape, rng)
        return np.asarray(held + drawn, dtype=np.int64)

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
                name: in_units(noisy[:, i], space)
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
            "type": "block", "columns": list(self.columns), "basis": self.group.basis, "law": self.law,
            "scale": self.scale, "epsilon": self.epsilon,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any], schema: Schema) -> Block:
        """The part that `to_record` wrote."""
        if record["law"] not in LAWS:
            raise SchemaError(f"unknown law {record['law']!r}; known are {', '.join(LAWS)}")
        group = Together(tuple(record["columns"]), record["basis"])
        spaces = tuple(_number(schema, name) for name in group.columns)
        return cls(group, spaces, record["law"], record["scale"], record["epsilon"])


def _number(schema: Schema, name: str) -> Interval | WholeNumbers:
    space = schema.space(name)
    if not isinstance(space, Interval | WholeNumbers):
        raise UnsupportedQuery(f"column {name!r} is no number; only numbers are perturbed together")
    return space
