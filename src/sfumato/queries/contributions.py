r"""How far one unit can move an integer vector of answers: the sensitivity body of a query.

Each kept row adds a vector from a public set C that contains 0 (a row may be filtered out or
missing).  With at most m rows a unit, one unit added or removed moves the answer by a point of
m conv(C) or its negative; one unit replaced, by a difference of two such points.  Where a question lets a person count
in several groups, with at most m rows in each, the same holds in each of these cells.

Proof of each number: docs/proofs/contributions.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.adjacency import Person, Replace
from sfumato.spaces.schema import Schema

__all__ = ["Contribution", "Copies", "Items", "Products", "Rectangle", "Segment", "Simplex", "sensitivity"]


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
class Rectangle:
    """A few entries of one cell move, each within its own ends, or none does: two sums of the same rows."""

    ends: tuple[tuple[int, int], ...]

    def alone(self, norm: str) -> float:
        """The largest norm of a point."""
        return max(_norm(corner, norm) for corner in self._corners())

    def apart(self, norm: str, dimension: int) -> float:
        """The largest norm of a difference of two points, of one cell or of two."""
        points = [*self._corners(), (0,) * len(self.ends)]
        same = max(_norm(tuple(a - b for a, b in zip(one, other, strict=True)), norm)
                   for one, other in itertools.combinations(points, 2))  # fmt: skip
        if dimension == len(self.ends) or norm == "linf":
            return same
        reach = self.alone(norm)
        return max(same, 2 * reach if norm == "l1" else round_up(math.sqrt(2) * reach, 3))

    def _corners(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*self.ends))


@dataclass(frozen=True, slots=True)
class Products:
    """Four entries of one cell are products of two pairs and add up to `total`; two more, within `squares`, vanish
    where one of the four is all: the moments of two numbers.  Or none moves.
    """

    total: int
    squares: tuple[int, int]

    def alone(self, norm: str) -> float:
        """The largest norm of a point; in l2 that of a corner, since no part of a square is larger than they allow."""
        return _up(self.total + sum(self.squares)) if norm == "l1" else _up(self.total)

    def apart(self, norm: str, dimension: int) -> float:
        """The largest norm of a difference of two points, of one cell or of two (in l1 of one cell, a bound)."""
        if norm == "linf":
            return self.alone(norm)
        if norm == "l2":
            return round_up(math.sqrt(2) * self.alone(norm), 3)
        return _up(2 * self.total + (1 if dimension == 6 else 2) * sum(self.squares))


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


@dataclass(frozen=True, slots=True)
class Copies:
    """As many vectors as `times`, each with a point of `each`, all in the same cell: the entries of arrays."""

    times: int
    each: Simplex | Segment

    def alone(self, norm: str) -> float:
        """The largest norm of a point."""
        return ceil_float(_together(norm, (self.times, self.each.alone(norm))))

    def apart(self, norm: str, dimension: int) -> float:
        """The largest norm of a difference of two points: of each vector by itself, and of all together."""
        return ceil_float(_together(norm, (self.times, self.each.apart(norm, dimension // self.times))))


Contribution = Simplex | Segment | Rectangle | Products | Items | Copies


def sensitivity(body: Contribution, norm: str, dimension: int, schema: Schema, cells: int = 1) -> float:
    """The largest norm by which one unit of `schema` moves a vector of the given dimension, shared by the cells.

    >>> from sfumato.spaces import Interval
    >>> rows = {"age": Interval(0, 120, step=1)}
    >>> sensitivity(Simplex(1), "l1", 50, Schema(rows))
    1.0
    >>> from sfumato.privacy.adjacency import Person
    >>> sensitivity(Simplex(1), "l1", 50, Schema(rows, unit=Person("id", 3), adjacency=Replace()))
    6.0
    """
    groups = min(schema.unit.groups or 1, cells) if isinstance(schema.unit, Person) else 1
    if not isinstance(schema.adjacency, Replace):
        return ceil_float(schema.unit.rows * _together(norm, (groups, body.alone(norm))))
    met = max(0, 2 * groups - cells)  # cells in which the two contents of a unit must meet
    within, across = body.apart(norm, dimension // cells), body.apart(norm, dimension)
    return ceil_float(schema.unit.rows * _together(norm, (met, within), (groups - met, across)))


def _together(norm: str, *pieces: tuple[int, float]) -> Fraction:
    """The norm of vectors in different cells, from how many have which norm."""
    held = [(times, Fraction(length)) for times, length in pieces if times]
    if norm == "linf" or sum(times for times, _ in held) == 1:
        return max(length for _, length in held)
    if norm == "l1":
        return sum((times * length for times, length in held), Fraction(0))
    squares = sum((times * length**2 for times, length in held), Fraction(0))
    return Fraction(round_up(math.sqrt(ceil_float(squares))))


def _norm(vector: tuple[int, ...], norm: str) -> float:
    """A norm of a vector of whole numbers, rounded up."""
    if norm == "l2":
        return ceil_float(Fraction(math.isqrt(max(0, sum(z * z for z in vector) * 2**160 - 1)) + 1, 2**80))
    sizes = [abs(z) for z in vector]
    return _up(sum(sizes) if norm == "l1" else max(sizes))


def _up(whole: int) -> float:
    """A whole number as a float, rounded up beyond 2^53."""
    return ceil_float(Fraction(whole))
