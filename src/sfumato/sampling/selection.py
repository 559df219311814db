r"""Selection with weights multiplicity_i exp(-rate penalty_i), without a floating softmax.

`choose` gives candidate i a whole number of words, a certified floor of its weight; a uniform integer below
an upper bound of the total falls on a candidate's words, or, about once in 2^38, on the remainder: the
fractional parts, settled by enclosures of growing width.  `permute_and_flip` tosses every candidate's coin
exactly and picks one of the heads uniformly, which is the first head of a uniformly random order
(McKennaSheldon2020).  Proof: docs/proofs/sampling-selection.md.

Error band.  The floating exponential is taken to be within a relative 2^-44 of the truth (libraries state
2^-50; a test measures it), its argument, at most CLAMP, within 3 roundings: so within 2^-41; BAND is 2^-40.
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
from sfumato.sampling.fixedpoint import Enclosure, LazyUniform, exp_minus
from sfumato.sampling.uniform import floor_scaled

__all__ = ["choose", "permute_and_flip"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BAND = 2.0**-40
CLAMP = 700.0  # exp(-CLAMP) owns no word and is far inside the band
FULL = 62  # the candidates own about 2**FULL words together
LARGEST = 10**8


def choose(penalties: Integers, rate: float, rng: Rng, multiplicities: Integers | None = None) -> int:
    """Index i with probability proportional to multiplicities[i] * exp(-rate * penalties[i])."""
    distance = _distances(penalties, rate)
    counts = _counts(multiplicities, distance.size)
    weights = _weights(distance, rate)
    if counts is not None:
        weights *= counts
    total = float(weights.sum())
    scale = math.ldexp(1.0, FULL - math.frexp(total)[1])  # total * scale is in [2**61, 2**62)
    weights *= scale * (1 - BAND)
    owned = weights.astype(np.int64)
    ends = owned.cumsum()
    last, everything = int(ends[-1]), int(total * scale * (1 + 4 * BAND)) + 1
    while True:
        position = floor_scaled(LazyUniform(rng.word(), 64), everything, rng)
        if position < last:
            return int(ends.searchsorted(position, side="right"))
        rest = _Remainder(distance, Fraction(rate), counts, owned, Fraction(scale), everything - last)
        found = rest.draw(rng)
        if found is not None:
            return found


def permute_and_flip(penalties: Integers, rate: float, rng: Rng) -> int:
    """The first head in random order, coin i showing heads with probability exp(-rate * excess_i)."""
    distance = _distances(penalties, rate)
    words = rng.words(distance.size)
    excess = (words >> np.uint64(11)) * 2.0**-53
    excess -= _weights(distance, rate)
    likely = np.flatnonzero(excess <= BAND)
    certain = excess[likely] < -BAND
    for k in np.flatnonzero(~certain).tolist():
        i = int(likely[k])
        certain[k] = _coin(Fraction(rate) * int(distance[i]), int(words[i]), rng)
    heads = likely[certain]
    return int(heads[floor_scaled(LazyUniform(rng.word(), 64), heads.size, rng)])


def _coin(x: Fraction, word: int, rng: Rng) -> bool:
    return LazyUniform(word, 64).below(lambda bits: exp_minus(x, bits), rng)


def _weights(distance: npt.NDArray[np.uint64], rate: float) -> Floats:
    """exp(-rate * distance) within a relative BAND, but never below exp(-CLAMP)."""
    x = np.minimum(distance, CLAMP / rate)
    x *= -rate
    np.exp(x, out=x)
    return x


def _distances(penalties: Integers, rate: float) -> npt.NDArray[np.uint64]:
    """Penalties above the least one; any integers will do, so no value of them is refused."""
    values = np.asarray(penalties)
    if values.ndim != 1 or not 1 <= values.size <= LARGEST or values.dtype.kind != "i":
        raise ParameterError("penalties must be a one-dimensional array of signed integers, not empty")
    if not (isinstance(rate, int | float) and math.isfinite(rate) and rate > 0):
        raise ParameterError(f"rate must be finite and positive, got {rate!r}")
    wide = values.astype(np.int64, copy=False).view(np.uint64)  # the difference is exact modulo 2**64
    return wide - np.uint64(int(values.min()) % 2**64)


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
