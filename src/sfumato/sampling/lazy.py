"""Continuous draws as real numbers revealed on demand: exponential, gamma of integer shape, normal.

A `LazyReal` is a finite sum of signed points, each known to lie in a dyadic interval; `refine` halves every
interval 64 times with fresh bits.  Acceptance is decided from a prefix of a point's bits, so the
bits not yet revealed are still uniform: the number, fully revealed, follows its law exactly.
`rounded` refines only until the nearest lattice point is decided.  Proof: docs/proofs/sampling-lazy.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.drawing import BAND, Plan, accepts, nearness, plan
from sfumato.sampling.envelope import Branch, Cell, Envelope
from sfumato.sampling.fixedpoint import LazyUniform
from sfumato.sampling.rounded_normal import SYMMETRIC

__all__ = ["LazyReal", "exponential", "gamma", "normal", "rounded", "rounded_gamma"]

HALF = Fraction(1, 2)

Point = tuple[int, Fraction, Fraction, LazyUniform]  # sign, start, length, and the place in the cell


class LazyReal:
    """A sum of points sign * (start + length * u), each u a lazy uniform."""

    __slots__ = ("_points",)

    def __init__(self, points: Iterable[Point]) -> None:
        self._points = tuple(points)

    def interval(self) -> tuple[Fraction, Fraction]:
        """Rationals (low, high) with the number between them."""
        low = high = Fraction(0)
        for sign, start, length, u in self._points:
            near = start + length * Fraction(u.value, 1 << u.bits)
            far = near + length * Fraction(1, 1 << u.bits)
            low += near if sign > 0 else -far
            high += far if sign > 0 else -near
        return low, high

    def refine(self, rng: Rng) -> None:
        """Reveal 64 more bits of every point."""
        for _, _, _, u in self._points:
            u.refine(rng)

    def __add__(self, other: LazyReal) -> LazyReal:
        return LazyReal((*self._points, *other._points))

    def __float__(self) -> float:
        low, high = self.interval()
        return float((low + high) / 2)


def exponential(rng: Rng) -> LazyReal:
    """A standard exponential variable."""
    return LazyReal([_point(exponential_plan(), rng)])


def normal(rng: Rng) -> LazyReal:
    """A standard normal variable."""
    return LazyReal([_point(normal_plan(), rng)])


def gamma(shape: int, rng: Rng) -> LazyReal:
    """A gamma variable of positive integer shape and scale one: the sum of `shape` exponentials."""
    if isinstance(shape, bool) or not isinstance(shape, int) or shape < 1:
        raise ParameterError(f"shape must be a positive integer, got {shape!r}")
    return LazyReal([_point(exponential_plan(), rng) for _ in range(shape)])


def rounded(x: LazyReal, scale: Fraction, rng: Rng) -> int:
    """The integer nearest to scale * x, revealing as much of x as that takes."""
    while True:
        low, high = x.interval()
        ends = math.floor(scale * low + HALF), math.floor(scale * high + HALF)
        if ends[0] == ends[1]:
            return ends[0]
        x.refine(rng)


def rounded_gamma(shape: int, scale: Fraction, rng: Rng) -> int:
    """The integer nearest to scale times a gamma variable of integer shape."""
    if scale <= 0:
        raise ParameterError(f"scale must be positive, got {scale!r}")
    return rounded(gamma(shape, rng), Fraction(scale), rng)


@lru_cache(maxsize=1)
def exponential_plan() -> Plan:
    """Draws of a standard exponential variable."""
    return plan(Envelope(Fraction(1), Fraction(0), -3, (Branch(0),)), rounded=True)


@lru_cache(maxsize=1)
def normal_plan() -> Plan:
    """Draws of a standard normal variable."""
    return plan(Envelope(Fraction(0), HALF, -4, SYMMETRIC), rounded=True)


def _point(law: Plan, rng: Rng) -> Point:
    """Attempts on the continuum until one is accepted."""
    table, shape = law.table, law.envelope
    while True:
        index = table.alias.pick(rng.word())
        listed = index < len(table.outcomes)
        cell: Cell | None = table.outcomes[index] if listed else table.remainder(rng)
        place, chance = LazyUniform(rng.word(), 64), LazyUniform(rng.word(), 64)
        if cell is None:
            continue
        excess = nearness(law, index, place.value, chance.value) if listed else 0.0
        if excess < -BAND or (excess <= BAND and accepts(law, cell, place, chance, rng)):
            return shape.branches[cell[1]].sign, shape.place(cell), shape.length, place
