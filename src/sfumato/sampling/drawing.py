"""Draws from an envelope: attempts of a fixed number of words, vectorized, undecided ones settled exactly.

One attempt reads one word for its cell and, where cells hold more than one value, one for the place in the
cell and one for acceptance.  Attempts are independent, each accepts or rejects, and the draws are the
accepted ones in order.  The number of attempts is independent of the value accepted, and an attempt takes
the same steps whatever its value: so the time of a draw does not tell its size.

The acceptance test compares a word with a polynomial for exp(-phi), 0 <= phi <= PHI, whose error is below
BAND / 2; a word nearer than BAND to it (one in 2**39) is `undecided` and goes to `settle`, which
decides by enclosures of growing width.  Proof: docs/proofs/sampling-envelope.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng, Words
from sfumato.sampling.envelope import Cell, Envelope
from sfumato.sampling.fixedpoint import Enclosure, LazyUniform, exp_minus
from sfumato.sampling.table import TabulatedLaw, tabulate

__all__ = ["Plan", "Shape", "accepts", "attempt", "draw", "nearness", "plan"]

Shape = int | tuple[int, ...] | None
Integers = npt.NDArray[np.int64]

BAND = 2.0**-40
PHI = 0.5625
CHUNK = 1 << 14  # attempts at a time: the working set stays in the cache
UNIT = 2.0**-53
LONG = 1 << 70  # makes Python's integers equally long, so that comparing them takes equally long


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """An envelope, its alias table, and per listed cell what a draw needs."""

    envelope: Envelope
    table: TabulatedLaw
    words: int  # per attempt: 1, or 3 with a place in the cell and an acceptance test
    keep: int  # mask: the leading bits of the second word that are the place in the cell
    shift: int  # the second word, shifted right by this, is added to the base
    halve: bool  # values are in half units and are rounded to whole ones
    base: Integers
    sign: Integers
    slope: npt.NDArray[np.float64]  # phi = t (slope + curve t) at the place t in [0, 1)
    curve: float
    taylor: tuple[float, ...]
    scalar: tuple[list[int], list[int], list[int], list[int], list[float]] = field(repr=False)

    def value(self, cell: Cell, second: int) -> int:
        """The integer at the place `second` of any cell, listed or not."""
        branch = self.envelope.branches[cell[1]]
        size = _base(branch.start, cell[0], self.envelope.exponent, self.halve) + (second >> self.shift)
        return branch.sign * ((size + 1) >> 1 if self.halve else size)


def plan(shape: Envelope, rounded: bool = False) -> Plan:
    """Plan draws from exp(-E) on the integers, or on the reals and then `rounded` to integers."""
    branches, exponent = shape.branches, shape.exponent
    table = tabulate(shape.weigh)
    simple = exponent == 0 and not rounded
    halve = rounded and exponent >= 0
    shift = 64 if simple or exponent < 0 else 64 - exponent - halve
    slope, curve = _falls(shape, table.outcomes)
    if not simple and max(slope) + curve > PHI:
        raise ParameterError("cells are too long for this scale; this is a defect, please report it")
    base = [_base(branches[index].start, c, exponent, halve) for c, index in table.outcomes] + [0]
    sign = [branches[index].sign for _, index in table.outcomes] + [1]
    return Plan(
        shape,
        table,
        words=1 if simple else 3,
        keep=2**64 - 1 if rounded else 2**64 - 2**shift,
        shift=shift,
        halve=halve,
        base=np.array(base, dtype=np.int64),
        sign=np.array(sign, dtype=np.int64),
        slope=np.array(slope),
        curve=curve,
        taylor=taylor_exp_minus(min(max(slope) + curve, PHI)),
        scalar=([t | LONG for t in table.alias.threshold.tolist()], table.alias.other.tolist(), base, sign, slope),
    )


def _falls(shape: Envelope, cells: tuple[Cell, ...]) -> tuple[list[float], float]:
    """Slopes and curve as doubles, within a relative 2**-50."""
    first = [shape.fall((0, index))[0] for index in range(len(shape.branches))]
    slope, curve = [float(value) for value in first], float(shape.fall((0, 0))[1])
    return [slope[index] + 2 * curve * c for c, index in cells] + [0.0], curve


def _base(start: int, c: int, exponent: int, halve: bool) -> int:
    """The least value in a cell, in half units if `halve`; below unit length, the one value in it."""
    if exponent >= 0:
        return (start + (c << exponent)) << halve
    return start + ((c + (1 << -exponent - 1)) >> -exponent)


def draw(law: Plan, shape: Shape, rng: Rng) -> Any:
    """Independent draws: an int64 array of this shape, or an int for () and None."""
    if shape is None or shape == ():
        while (value := attempt(law, rng)) is None:
            pass
        return value
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    if count < 0:
        raise ParameterError(f"shape must not be negative, got {shape!r}")
    out = np.empty(count, dtype=np.int64)
    done = 0
    while done < count:
        tries = min(CHUNK, count - done + (count - done) // 8 + 8)
        found = attempts(law, rng.bits64(law.words * tries), rng)[: count - done]
        out[done : done + found.size] = found
        done += found.size
    return out.reshape(shape)


def attempts(law: Plan, words: Words, rng: Rng) -> Integers:
    """The accepted values of consecutive attempts, in order."""
    first = words[: words.size // law.words]
    cell = law.table.alias.picks(first)
    undecided = cell == len(law.table.outcomes)
    values = law.base.take(cell)
    if law.words == 1:
        accepted = ~undecided
    else:
        second, third = words[first.size : 2 * first.size], words[2 * first.size :]
        phi = phis(law, cell, second)
        excess = (third >> np.uint64(11)).view(np.int64) * UNIT
        excess -= exp_minus_near(phi, law.taylor)
        accepted = excess < -BAND
        undecided |= (excess <= BAND) ^ accepted
        if law.shift < 64:
            values += (second >> np.uint64(law.shift)).view(np.int64)
        if law.halve:
            values += 1
            values >>= 1
    values *= law.sign.take(cell)
    for i in np.flatnonzero(undecided).tolist():
        value = settle(law, *(int(words[i + k * first.size]) for k in range(law.words)), rng=rng)
        accepted[i] = value is not None
        values[i] = value if value is not None else 0
    found: Integers = values[accepted]
    return found


def phis(law: Plan, cell: Integers, second: Words) -> Any:
    """t (slope + curve t) for each attempt; the slope is the same everywhere if there is no curve."""
    t = ((second & np.uint64(law.keep)) >> np.uint64(11)).view(np.int64) * UNIT
    if law.curve == 0:
        t *= law.slope[0]
        return t
    phi = law.slope.take(cell)
    phi += law.curve * t
    phi *= t
    return phi


def exp_minus_near(phi: Any, taylor: tuple[float, ...]) -> Any:
    """exp(-phi) by its Taylor polynomial, a float or an array, within 2**-42 where the polynomial holds."""
    total = phi * taylor[0]
    total += taylor[1]
    for coefficient in taylor[2:]:
        total *= phi
        total += coefficient
    return total


def taylor_exp_minus(largest: float) -> tuple[float, ...]:
    """Coefficients of exp(-phi), highest first, with a remainder below 2**-43 for phi <= largest."""
    degree = 2
    while largest ** (degree + 1) / math.factorial(degree + 1) > 2.0**-43:
        degree += 1
    return tuple((-1.0) ** n / math.factorial(n) for n in range(degree, -1, -1))


def attempt(law: Plan, rng: Rng) -> int | None:
    """One attempt in plain Python: the fast way to a single draw."""
    threshold, other, base, sign, _ = law.scalar
    rest = 64 - law.table.alias.bits
    first = rng.word()
    column = first >> rest
    cell = (other[column], column)[first & ((1 << rest) - 1) | LONG < threshold[column]]  # no branch to time
    if law.words == 1:
        return sign[cell] * base[cell] if cell < len(law.table.outcomes) else settle(law, first, rng=rng)
    second, third = rng.word(), rng.word()
    excess = nearness(law, cell, second, third)
    if abs(excess) <= BAND or cell == len(law.table.outcomes):
        return settle(law, first, second, third, rng=rng)
    if excess > 0:
        return None
    size = base[cell] + (second >> law.shift)
    return sign[cell] * ((size + 1) >> 1 if law.halve else size)


def nearness(law: Plan, index: int, second: int, third: int) -> float:
    """How far the acceptance word is above the acceptance probability of a listed cell, within BAND."""
    t = ((second & law.keep) >> 11) * UNIT
    phi = t * (law.scalar[4][index] + law.curve * t)
    return float((third >> 11) * UNIT - exp_minus_near(phi, law.taylor))


def settle(law: Plan, first: int, second: int = 0, third: int = 0, *, rng: Rng) -> int | None:
    """The exact outcome of the attempt that begins with these words."""
    index = law.table.alias.pick(first)
    listed = law.table.outcomes
    cell = listed[index] if index < len(listed) else law.table.remainder(rng)
    if cell is None:
        return None
    place = LazyUniform(second, 64)
    if law.words == 3 and not accepts(law, cell, place, LazyUniform(third, 64), rng):
        return None
    return saturate(law.value(cell, second))


def accepts(law: Plan, cell: Cell, place: LazyUniform, chance: LazyUniform, rng: Rng) -> bool:
    """Whether `chance` is below exp(-phi) at `place`; on the continuum both are refined as needed."""
    slope, curve = law.envelope.fall(cell)

    def phi(numerator: int, bits: int) -> Fraction:
        t = Fraction(numerator, 1 << bits)
        return t * (slope + curve * t)

    def on_lattice(bits: int) -> Enclosure:
        return exp_minus(phi(place.value & law.keep, 64), bits)

    def on_continuum(bits: int) -> Enclosure:
        while place.bits < bits + 64:
            place.refine(rng)
        low, _ = exp_minus(phi(place.value + 1, place.bits), bits)
        _, high = exp_minus(phi(place.value, place.bits), bits)
        return low, high

    return chance.below(on_lattice if law.keep != 2**64 - 1 else on_continuum, rng)


def saturate(value: int) -> int:
    """Keep a draw inside int64; at the largest scale allowed this has probability below e**-9000."""
    return max(-(2**63) + 1, min(2**63 - 1, value))
