r"""A bounded number with Laplace noise on its lattice: document 001, 4.9, with the exact scale for every delta.

The published number may leave the range, so that its mean is the true one.  With q = e^{-1/scale} the inverse of
the discrete Laplace law is a second difference: for any f,
h(y) = f(y) - q/(1-q)^2 (f(y+1) - 2 f(y) + f(y-1)) has mean f(x), since the generating function of the law is
(1-q)^2 / ((1-qz)(1-q/z)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.mechanisms.noise.additive import Vector
from sfumato.mechanisms.noise.laplace import Laplace
from sfumato.mechanisms.sanitized.part import Integers, OneColumn, Reading, near_its_end
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteLaplace
from sfumato.spaces import Numeric

__all__ = ["Noised"]


@dataclass(frozen=True, slots=True)
class Noised(OneColumn):
    """Discrete Laplace noise on one number of each record.

    Proof: docs/proofs/sanitization.md.
    """

    column: str
    space: Numeric
    mechanism: Laplace

    @classmethod
    def calibrate(cls, column: str, space: Numeric, target: Pure | Approximate) -> Noised:
        """The least noise that meets the target: the whole range may be the difference of two records."""
        return cls(column, space, Laplace.calibrate(_one(column, space), target))

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of the noise, in lattice units."""
        return self.mechanism.noise

    @property
    def mean_error(self) -> float:
        """The mean absolute noise, in the column's units."""
        return self.noise.mean_absolute * float(self.space.lattice.step)

    @property
    def cut_off(self) -> tuple[str, ...]:
        """The column, if its type ends within reach of the noise."""
        return self.columns if near_its_end(self.space, self.mean_error) else ()

    @property
    def spread(self) -> float:
        """The noise's variance, over the width squared."""
        return self.noise.variance / self.space.lattice.width**2

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record costs."""
        return self.mechanism.guarantee()

    def release(self, records: Integers, rng: Rng) -> Integers:
        """Each number with noise of its own."""
        values = self.coerced(records[:, 0])
        return np.asarray((values + self.noise.sample(len(values), rng))[:, None])

    def coerced(self, values: Integers) -> Integers:
        """A missing number is the middle of its range, unless the schema imputes another."""
        return np.where(values < 0, self.space.lattice.width // 2, values)

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """Numbers, also outside the range."""
        return {self.column: self.space.decoded(noisy[:, 0])}

    def reading(self, low: int, high: int) -> Reading:
        """The unbiased reading of "the index lies in low..high"; ends of the range are open."""
        first = -math.inf if low <= 0 else low
        last = math.inf if high >= self.space.lattice.width else high
        q = math.exp(-1 / self.noise.scale)
        c = q / (1 - q) ** 2

        def inside(y: Any) -> Any:
            return ((y >= first) & (y <= last)).astype(np.float64)

        def read(y: Any) -> Any:
            return inside(y) - c * (inside(y + 1) - 2 * inside(y) + inside(y - 1))

        edges = [float(y) for end in (first, last) if math.isfinite(end) for y in (end - 1, end, end + 1)]
        values = [float(read(np.array([y]))[0]) for y in edges]
        at_zero = (1 - q) / (1 + q)
        square = 1.0 + at_zero * sum(max(value**2 - 1, 0.0) for value in values)
        return read, min([0.0, *values]), max([1.0, *values]), square

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "type": "noised", "column": self.column, "scale": self.mechanism.scale, "epsilon": self.mechanism.epsilon,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any], space: Numeric) -> Noised:
        """The part that `to_record` wrote."""
        return cls(record["column"], space, Laplace(_one(record["column"], space), record["scale"], record["epsilon"]))


def _one(column: str, space: Numeric) -> Vector:
    width = space.lattice.width
    return Vector(column, dimension=1, l1=width, l2=width, linf=width)
