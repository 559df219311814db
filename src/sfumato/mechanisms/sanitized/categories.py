r"""A category, or a number with few values, answered at random: document 001, 4.10.

The true value is kept with probability 1 - p m, else each other one is published with probability p; one more
value, "missing", joins the categories where neither `missing` nor `other` takes all bad values.  For answers inside
the space no randomizer has a smaller worst error (5.5).  For any function f of the value,
h(y) = (f(y) - p sum f) / (1 - p (m + 1)) has mean f(x).

Where the categories have distances of their own, errors are such distances, "missing" being as far from every category
as the two farthest are from one another: still a metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.mechanisms.noise.randomized_response import RandomizedResponse
from sfumato.mechanisms.sanitized.part import Floats, Integers, OneColumn, Reading, telling
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.spaces import Categories, Space, numeric
from sfumato.spaces.distances import Distances

__all__ = ["Responses", "distances", "points"]


@dataclass(frozen=True, slots=True)
class Responses(OneColumn):
    """Randomized response on the values of one column.

    Proof: docs/proofs/sanitization.md.
    """

    column: str
    space: Space
    response: RandomizedResponse

    @classmethod
    def calibrate(cls, column: str, space: Space, target: Pure | Approximate) -> Responses:
        """The most truthful response that meets the target."""
        return cls(column, space, telling(RandomizedResponse.calibrate(points(space), target), column))

    @property
    def diameter(self) -> float:
        """That of the metric; 1 for categories without one."""
        return 1.0 if self.space.labels is not None and self.space.distances is None else self.space.diameter

    @property
    def mean_error(self) -> float:
        """The chance of another value; for numbers times the mean distance to it, from the worst end."""
        between = distances(self.space)
        if between is not None:
            return float(self.response.p) * max(map(sum, between))
        chance = self.response.error()
        if not numeric(self.space):
            return chance
        step = float(self.space.lattice.step)
        return float(self.response.p) * step * self.size * (self.size - 1) / 2

    @property
    def spread(self) -> float:
        """Of the presence of one category, or of the number."""
        if self.space.labels is not None:
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
        instead = self.space.lattice.width // 2 if numeric(self.space) else self.size - 1
        return np.where(values < 0, instead, values)

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """Labels, null for missing; or numbers."""
        return {self.column: self.space.decoded(noisy[:, 0])}

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
    def from_record(cls, record: dict[str, Any], space: Space) -> Responses:
        """The part that `to_record` wrote."""
        return cls(record["column"], space, RandomizedResponse(points(space), Fraction(record["p"]), record["delta"]))


def points(space: Space) -> Categories:
    """The values a response chooses among; "missing" is one of them unless another value takes it.

    >>> len(points(Categories(["a", "b"])).values), len(points(Categories(["a", "b"], other="c", missing="c")).values)
    (3, 3)
    """
    if numeric(space):
        return Categories(tuple(range(space.lattice.width + 1)))
    return Categories(tuple(range(len(space.labels or ()) + (not space.settled))))


def distances(space: Space) -> Distances | None:
    """The declared distances of the values that a response chooses among, "missing" included; None of other spaces.

    >>> distances(Categories(["a", "b"], distances=[[0, 2], [2, 0]]))
    ((0.0, 2.0, 2.0), (2.0, 0.0, 2.0), (2.0, 2.0, 0.0))
    """
    declared = space.distances
    if declared is None or space.settled:
        return declared
    farthest = space.diameter
    return (*((*row, farthest) for row in declared), (*([farthest] * len(declared)), 0.0))
