"""Coins of exact probability: rational, or exp(-x).

The leading 64 bits of a uniform are compared with those of the probability; equality (once in 2**64)
is decided by further bits of both.  Proof: docs/proofs/sampling-lazy.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.fixedpoint import Enclosure, LazyUniform, exp_minus

__all__ = ["bernoulli", "bernoulli_exp"]

Shape = int | tuple[int, ...] | None


def bernoulli(p: Fraction, shape: Shape, rng: Rng) -> Any:
    """True with probability p, a boolean array of this shape; a bool for () and None."""
    if isinstance(p, bool) or not isinstance(p, Fraction | int | float) or not 0 <= p <= 1:
        raise ParameterError(f"p must be a rational from 0 to 1, got {p!r}")
    exact = Fraction(p)

    def enclose(bits: int) -> Enclosure:
        low = (exact.numerator << bits) // exact.denominator
        return low, low + ((low * exact.denominator) != exact.numerator << bits)

    return _coins(enclose, shape, rng)


def bernoulli_exp(x: Fraction | float, shape: Shape, rng: Rng) -> Any:
    """True with probability exp(-x), a boolean array of this shape; a bool for () and None."""
    number = isinstance(x, Fraction | int | float) and not isinstance(x, bool)
    if not (number and x >= 0 and (isinstance(x, Fraction) or math.isfinite(x))):
        raise ParameterError(f"x must be finite and not negative, got {x!r}")
    exact = Fraction(x)
    return _coins(lambda bits: exp_minus(exact, bits), shape, rng)


def _coins(enclose: Callable[[int], Enclosure], shape: Shape, rng: Rng) -> Any:
    if shape is None or shape == ():
        return LazyUniform(rng.word(), 64).below(enclose, rng)
    low, high = enclose(64)  # words below `low` are heads, from `high` on tails
    words = rng.bits64(math.prod(shape) if isinstance(shape, tuple) else shape)
    out = words < low if low < 1 << 64 else np.ones(words.size, dtype=bool)
    if low < high:
        for i in np.flatnonzero((words >= low) & (words < high)).tolist():
            out[i] = LazyUniform(int(words[i]), 64).below(enclose, rng)
    return out.reshape(shape)
