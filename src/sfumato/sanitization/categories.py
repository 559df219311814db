r"""A category, or a number with few values, answered at random: document 001, 4.10.

The true value is kept with probability 1 - p m, else each other one is published with probability p; one more
value, "missing", joins the categories where neither `missing` nor `other` takes all bad values.  For answers inside
the space no randomizer has a smaller worst error (5.5).  For any function f of the value,
h(y) = (f(y) - p sum f) / (1 - p (m + 1)) has mean f(x).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.mechanisms.randomized_response import RandomizedResponse
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.sanitization.part import Floats, Integers, Reading, in_units, telling
from sfumato.spaces import Categories
from sfumato.spaces import Integers as WholeNumbers
from sfumato.spaces.interval import Interval

__all__ = ["Responses", "points"]


@dataclass(frozen=True, slots=True)
class Responses:
    """Randomized response on the values of one column."""

    column: str
    space: Categories | Interval | WholeNumbers
    response: RandomizedResponse

    @classmethod
    def calibrate(
        cls, column: str, space: Categories | Interval | WholeNumbers, target: Pure | Approximate
    ) -> Responses:
        """The most truthful response that meets the target."""
        return cls(column, space, telling(RandomizedResponse.calibrate(points(space), target), column))

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def diameter(self) -> float:
        """1 for categories, the width for numbers."""
        return 1.0 if isinstance(self.space, Categories) else self.space.diameter

    @property
    def mean_error(self) -> float:
        """The chance of another value; for numbers times the mean distance to it, from the worst end."""
        chance = self.response.error()
        if isinstance(self.space, Categories):
            return chance
        step = float(self.space.lattice.step)
        return float(self.response.p) * step * self.size * (self.size - 1) / 2

    @property
    def spread(self) -> float:
        """Of the presence of one category, or of the number."""
        if isinstance(self.space, Categories):
            return self.reading(np.eye(1, self.size)[0])[3]
        return self.reading(np.linspace(0.0, 1.0, self.size))[3]

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.response.space.values)

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record costs."""
        return self.response.guarantee()

    def release(self, records: Integers, rng: Rng) -> Integers:
        """Each record's response."""
        return self.response.release(self.coerced(records[:, 0]), rng)[:, None]

    def coerced(self, values: Integers) -> Integers:
        """Missing categories stand last; a missing number is the middle of its range."""
        if isinstance(self.space, Categories):
            return np.where(values < 0, self.size - 1, values)
        return np.where(values < 0, self.space.lattice.width // 2, values)

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """Labels, null for missing; or numbers."""
        if isinstance(self.space, Categories):
            labels = [*self.space.values, None][: self.size]
            return {self.column: pa.array(labels).take(pa.array(noisy[:, 0]))}
        return {self.column: in_units(noisy[:, 0], self.space)}

    def reading(self, wanted: Floats) -> Reading:
        """The unbiased reading of a function, given by its value at each point."""
        p, slope = float(self.response.p), float(1 - self.response.p * self.size)
        table = (wanted - p * wanted.sum()) / slope
        variance = slope * table**2 + p * float((table**2).sum()) - wanted**2
        return lambda values: table[values], float(table.min()), float(table.max()), float(variance.max())

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "type": "responses", "column": self.column, "p": str(self.response.p), "delta": self.response.delta,
            "keep": self.response.keep,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any], space: Any) -> Responses:
        """The part that `to_record` wrote."""
        return cls(record["column"], space, RandomizedResponse(points(space), Fraction(record["p"]), record["delta"]))


def points(space: Categories | Interval | WholeNumbers) -> Categories:
    """The values a response chooses among; "missing" is one of them unless another value takes it.

    >>> len(points(Categories(["a", "b"])).values), len(points(Categories(["a", "b"], other="c", missing="c")).values)
    (3, 3)
    """
    if not isinstance(space, Categories):
        return Categories(tuple(range(space.lattice.width + 1)))
    settled = space.missing is not None and space.other is not None
    return Categories(tuple(range(len(space.values) + (0 if settled else 1))))
