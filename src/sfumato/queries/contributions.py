r"""How far one unit can move an integer vector of answers: the sensitivity body of a query.

Each kept row adds a vector from a public set C that contains 0 (a row may be filtered out or
missing).  With at most m rows a unit, one unit added or removed moves the answer by a point of
m conv(C) or its negative; one unit replaced, by a difference of two such points.

Proof of each number: docs/proofs/contributions.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.adjacency import Replace
from sfumato.schema import Schema

__all__ = ["Contribution", "Items", "Segment", "Simplex", "sensitivity"]


@dataclass(frozen=True, slots=True)
class Simplex:
    """Vectors with non-negative entries that add up to at most `total`: counts, histograms, moments."""

    total: int

    def alone(self, norm: str) -> float:
        """The largest norm of a point."""
        return _up(self.total)

    def apart(self, norm: str, dimension: int) -> float:
        """The largest norm of a difference of two points."""
        if dimension == 1 or norm == "linf":
            return _up(self.total)
        return _up(2 * self.total) if norm == "l1" else round_up(math.sqrt(2) * self.total, 3)


@dataclass(frozen=True, slots=True)
class Segment:
    """One entry moves, within `low..high`, and 0 lies between: sums."""

    low: int
    high: int

    def alone(self, norm: str) -> float:
        """The largest norm of a point."""
        return _up(max(self.high, -self.low))

    def apart(self, norm: str, dimension: int) -> float:
        """The largest norm of a difference of two points (in one entry, or in two)."""
        same, reach = _up(self.high - self.low), self.alone(norm)
        if dimension == 1 or norm == "linf":
            return same
        return 2 * reach if norm == "l1" else max(same, round_up(math.sqrt(2) * reach, 2))


@dataclass(frozen=True, slots=True)
class Items:
    """At most `cap` entries are 1, the others 0: how often items occur in sets."""

    cap: int

    def alone(self, norm: str) -> float:
        """The largest norm of a point."""
        return {"l1": float(self.cap), "l2": round_up(math.sqrt(self.cap)), "linf": 1.0}[norm]

    def apart(self, norm: str, dimension: int) -> float:
        """The largest norm of a difference of two points."""
        moved = min(2 * self.cap, dimension)
        return {"l1": float(moved), "l2": round_up(math.sqrt(moved)), "linf": 1.0}[norm]


Contribution = Simplex | Segment | Items


def sensitivity(body: Contribution, norm: str, dimension: int, schema: Schema) -> float:
    """The largest norm by which one unit of `schema` moves a vector of the given dimension.

    >>> from sfumato.spaces import Interval
    >>> rows = {"age": Interval(0, 120, step=1)}
    >>> sensitivity(Simplex(1), "l1", 50, Schema(rows))
    1.0
    >>> from sfumato.privacy.adjacency import Person
    >>> sensitivity(Simplex(1), "l1", 50, Schema(rows, unit=Person("id", 3), adjacency=Replace()))
    6.0
    """
    replaced = isinstance(schema.adjacency, Replace)
    one_row = body.apart(norm, dimension) if replaced else body.alone(norm)
    return ceil_float(schema.unit.rows * Fraction(one_row))


def _up(whole: int) -> float:
    """A whole number as a float, rounded up beyond 2^53."""
    return ceil_float(Fraction(whole))
