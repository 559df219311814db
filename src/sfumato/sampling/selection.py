r"""Selection with weights multiplicity_i exp(-rate penalty_i), without a floating softmax.

`choose` gives candidate i a whole number of words, a certified floor of its weight; a uniform integer below
an upper bound of the total falls on a candidate's words, or, about once in 2^38, on the remainder: the
fractional parts, settled by enclosures of growing width.  `permute_and_flip` tosses every candidate's coin
exactly and picks one of the heads uniformly, which is the first head of a uniformly random order
(McKennaSheldon2020).  Proof: docs/proofs/sampling-selection.md.

Error band.  The exponential (`exponentials`) is within a relative 2^-49 of the truth, its argument, at most CLAMP,
within 3 roundings: so a weight is within 2^-41; BAND is 2^-40.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.exponentials import exp_in_place
from sfumato.sampling.fixedpoint import Enclosure, LazyUniform, exp_minus
from sfumato.sampling.uniform import floor_scaled

__all__ = ["choose", "permute_and_flip"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BAND = 2.0**-40
CLAMP = 700.0  # exp(-CLAMP) owns no word and is far inside the band
FULL = 62  # the candidates own about 2**FULL words together
LARGEST = 10**8  # candidates
BLOCK = 1 << 14  # candidates at a time


def choose(penalties: Integers, rate: float, rng: Rng, multiplicities: Integers | None = None) -> int:
    """Index i with probability proportional to multiplicities[i] * exp(-rate * penalties[i])."""
    values = _check(penalties, rate)
    counts = _counts(multiplicities, values.size)
    least, parts = int(values.min()), _blocks(values.size)
    weights = [_weights(_distances(values[part], least), rate) for part in parts]
    if counts is not None:
        for block, part in zip(weights, parts, strict=True):
            block *= counts[part]
    total = math.fsum(float(block.sum()) for block in weights)
    scale = math.ldexp(1.0, FULL - math.frexp(total)[1])  # total * scale is in [2**61, 2**62)
    ends = [_owned(block, scale).cumsum() for block in weights]
    sums = [int(block[-1]) for block in ends]
    last, everything = sum(sums), int(total * scale * (1 + 4 * BAND)) + 1
    while True:
        position = floor_scaled(LazyUniform(rng.word(), 64), everything, rng)
        if position < last:
            return _owner(ends, sums, position)
        found = _Remainder(
            distance=_distances(values, least),
            rate=Fraction(rate),
            counts=counts,
            owned=np.concatenate([_owned(block, scale) for block in weights]),
            scale=Fraction(scale),
            spare=everything - last,
        ).draw(rng)
        if found is not None:
            return found


def permute_and_flip(penalties: Integers, rate: float, rng: Rng) -> int:
    """The first head in random order, coin i showing heads with probability exp(-rate * excess_i)."""
    values = _check(penalties, rate)
    least = int(values.min())
    heads = [_flip(values[part], least, rate, rng) + int(part.start) for part in _blocks(values.size)]
    place = floor_scaled(LazyUniform(rng.word(), 64), sum(found.size for found in heads), rng)
    for found in heads:
        if place < found.size:
            return int(found[place])
        place -= found.size
    raise AssertionError("a least penalty always shows heads")


def _owned(weights: Floats, scale: float) -> Integers:
    """The whole words under each weight, certainly not more than its true value."""
    return (weights * (scale * (1 - BAND))).astype(np.int64)


def _owner(ends: list[Integers], sums: list[int], position: int) -> int:
    """The candidate that owns a word."""
    for index, size in enumerate(sums):
        if position < size:
            return index * BLOCK + int(ends[index].searchsorted(position, side="right"))
        position -= size
    raise AssertionError("the position is below the sum of all blocks")


def _flip(values: Integers, least: int, rate: float, rng: Rng) -> npt.NDArray[np.int64]:
    """Toss one coin for each candidate; where the heads are."""
    distance = _distances(values, least)
    words = rng.bits64(distance.size)
    excess = (words >> np.uint64(11)).view(np.int64) * 2.0**-53
    excess -= _weights(distance, rate)
    likely = np.flatnonzero(excess <= BAND)
    certain = excess[likely] < -BAND
    for k in np.flatnonzero(~certain).tolist():
        i = int(likely[k])
        certain[k] = _coin(Fraction(rate) * int(distance[i]), int(words[i]), rng)
    return likely[certain]


def _coin(x: Fraction, word: int, rng: Rng) -> bool:
    return LazyUniform(word, 64).below(lambda bits: exp_minus(x, bits), rng)


def _blocks(size: int) -> list[slice]:
    """Consecutive slices that stay in the cache."""
    return [slice(start, start + BLOCK) for start in range(0, size, BLOCK)]


def _weights(distance: npt.NDArray[np.uint64], rate: float) -> Floats:
    """exp(-rate * distance) within a relative BAND, but never below exp(-CLAMP)."""
    x = np.minimum(distance, CLAMP / rate)
    x *= -rate
    exp_in_place(x)
    return x


def _distances(values: Integers, least: int) -> npt.NDArray[np.uint64]:
    """Penalties above the least one, exact modulo 2**64 and so exact."""
    return values.view(np.uint64) - np.uint64(least % 2**64)


def _check(penalties: Integers, rate: float) -> Integers:
    """Any integers will do, so no value of them is refused."""
    values = np.asarray(penalties)
    if values.ndim != 1 or not 1 <= values.size <= LARGEST or values.dtype.kind != "i":
        raise ParameterError("penalties must be a one-dimensional array of signed integers, not empty")
    if not (isinstance(rate, int | float) and math.isfinite(rate) and rate > 0):
        raise ParameterError(f"rate must be finite and positive, got {rate!r}")
    return np.ascontiguousarray(values, dtype=np.int64)


def _counts(multiplicities: Integers | None, size: int) -> Integers | None:
    if multiplicities is None:
        return None
    counts = np.asarray(multiplicities)
    if counts.shape != (size,) or counts.dtype.kind != "i" or counts.min() < 1:
        raise ParameterError("multiplicities must be positive integers, one for each penalty")
    return counts.astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Remainder:
    """What the whole words of the candidates leave of their weights, and `spare` words over it."""

    distance: npt.NDArray[np.uint64]
    rate: Fraction
    counts: Integers | None
    owned: Integers
    scale: Fraction
    spare: int

    def draw(self, rng: Rng) -> int | None:
        """The candidate whose fractional part lies under a uniform position; None: draw again."""
        position = LazyUniform(rng.word(), 64)
        while True:
            position.refine(rng)
            decided, found = self.locate(position)
            if decided:
                return found

    def locate(self, position: LazyUniform) -> tuple[bool, int | None]:
        """Whether it is decided where `position` falls, and the candidate there."""
        left, right = position.value * self.spare, (position.value + 1) * self.spare
        low = high = 0
        for i, (less, more) in enumerate(self.enclosures(position.bits)):
            held = int(self.owned[i]) << position.bits
            low += max(less - held, 0)
            high += more - held
            if left < high:
                return right <= low, i
        return left >= high, None

    def enclosures(self, bits: int) -> Iterator[Enclosure]:
        """2**bits * scale * multiplicity * exp(-rate * distance), enclosed, candidate by candidate."""
        extra = 160  # covers the factor scale * multiplicity, below 2**126, and the sum of the errors

        @lru_cache(maxsize=1 << 16)
        def exponential(d: int) -> Enclosure:
            return exp_minus(self.rate * d, bits + extra)

        for i, d in enumerate(self.distance.tolist()):
            low, high = exponential(d)
            factor = self.scale * (1 if self.counts is None else int(self.counts[i]))
            yield int(low * factor) >> extra, (int(high * factor) >> extra) + 1
