r"""Selection with weights multiplicity_i exp(-rate penalty_i), without a floating softmax.

`choose` gives candidate i a whole number of words, a certified floor of its weight; a uniform integer below
an upper bound of the total falls on a candidate's words, or, about once in 2^38, on the remainder: the
fractional parts, settled by enclosures of growing width.  `permute_and_flip` tosses every candidate's coin
exactly and picks one of the heads uniformly, which is the first head of a uniformly random order
(McKennaSheldon2020).  Proof: docs/proofs/sampling-selection.md.

The floating exponential is assumed within a relative 2^-44 of the truth (it is within 2^-50; tested); with
the rounding of its argument (at most 745 times 2^-52) a weight is within 2^-41: BAND is 2^-40.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.fixedpoint import LazyUniform, exp_minus
from sfumato.sampling.uniform import floor_scaled, uniform_integers

__all__ = ["choose", "permute_and_flip"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BAND = 2.0**-40
FULL = 62  # the words of all candidates together number about 2**FULL


def choose(penalties: Integers, rate: float, rng: Rng, multiplicities: Integers | None = None) -> int:
    """Index i with probability proportional to multiplicities[i] * exp(-rate * penalties[i])."""
    distance = _distances(penalties, rate)
    counts = _counts(multiplicities, distance.size)
    weights = np.exp(-rate * distance)
    if counts is not None:
        weights *= counts
    total = float(weights.sum())
    scale = math.ldexp(1.0, FULL - math.frexp(total)[1])  # total * scale is in [2**61, 2**62)
    owned = (weights * (scale * (1 - BAND))).astype(np.int64)
    ends = np.cumsum(owned)
    everything = int(total * scale * (1 + 4 * BAND)) + 1
    while True:
        position = int(uniform_integers(everything, None, rng))
        if position < int(ends[-1]):
            return int(np.searchsorted(ends, position, side="right"))
        spare = everything - int(ends[-1])
        found = _remainder(distance, Fraction(rate), counts, owned, Fraction(scale), spare, rng)
        if found is not None:
            return found


def permute_and_flip(penalties: Integers, rate: float, rng: Rng) -> int:
    """The first head in random order, coin i showing heads with probability exp(-rate * excess_i)."""
    distance = _distances(penalties, rate)
    words = rng.words(distance.size)
    excess = (words >> np.uint64(11)) * 2.0**-53 - np.exp(-rate * distance)
    heads = excess < -BAND
    for i in np.flatnonzero(np.abs(excess) <= BAND).tolist():
        x = Fraction(rate) * int(distance[i])
        heads[i] = _coin(x, int(words[i]), rng)
    candidates = np.flatnonzero(heads)
    return int(candidates[uniform_integers(candidates.size, None, rng)])


def _coin(x: Fraction, word: int, rng: Rng) -> bool:
    return LazyUniform(word, 64).below(lambda bits: exp_minus(x, bits), rng)


def _distances(penalties: Integers, rate: float) -> Integers:
    values = np.asarray(penalties)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise ParameterError("penalties must be a one-dimensional integer array with an entry")
    if not (math.isfinite(rate) and rate > 0):
        raise ParameterError(f"rate must be finite and positive, got {rate!r}")
    least = values.min()
    if least < 0:
        raise ParameterError("penalties must not be negative; subtract the least possible score")
    distance: Integers = (values - least).astype(np.int64, copy=False)
    return distance


def _counts(multiplicities: Integers | None, size: int) -> Integers | None:
    if multiplicities is None:
        return None
    counts = np.asarray(multiplicities)
    if counts.shape != (size,) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise ParameterError("multiplicities must be positive integers, one for each penalty")
    return counts.astype(np.int64, copy=False)


def _remainder(
    distance: Integers,
    rate: Fraction,
    counts: Integers | None,
    owned: Integers,
    scale: Fraction,
    spare: int,
    rng: Rng,
) -> int | None:
    """The candidate into whose fractional part a uniform position below `spare` falls, if any."""
    position = LazyUniform()
    position.refine(rng)
    while True:
        position.refine(rng)
        bits = position.bits
        left, right = position.value * spare, (position.value + 1) * spare
        low = high = 0
        for i, (less, more) in enumerate(_parts(distance, rate, counts, scale, bits)):
            held = int(owned[i]) << bits
            low += max(less - held, 0)
            high += more - held
            if left < high:
                break
        if left >= high:
            return None
        if right <= low:
            return i


def _parts(
    distance: Integers, rate: Fraction, counts: Integers | None, scale: Fraction, bits: int
) -> Iterator[tuple[int, int]]:
    """Enclosures of 2**bits scale multiplicity exp(-rate distance), in the order of the candidates."""
    extra = 128  # more than the words of all candidates

    @lru_cache(maxsize=1 << 16)
    def exponential(d: int) -> tuple[int, int]:
        low, high = exp_minus(rate * d, bits + extra)
        return low, high

    for i, d in enumerate(distance.tolist()):
        low, high = exponential(d)
        count: Any = 1 if counts is None else int(counts[i])
        yield int(low * count * scale) >> extra, (int(high * count * scale) >> extra) + 1
