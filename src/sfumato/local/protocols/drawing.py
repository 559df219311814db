"""Exact draws from random words: coins in units of 2^-62, uniform integers, and calibration to a ratio.

Nothing here rounds: a coin of probability t / 2^62 compares 62 bits with t, and uniform integers reject.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols.protocol import Bits, LocalProtocol
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = [
    "check_coin",
    "check_count",
    "check_target",
    "coins",
    "grains",
    "loss",
    "meet",
    "ratios",
    "uniform",
    "uniform_below",
]

GRAIN = 62  # coins have probabilities in units of 2^-62
LARGEST = 40.0  # epsilon; beyond it a lie would be rarer than a few units
SHIFT = np.uint64(64 - GRAIN)
HALF, LOW = np.uint64(32), np.uint64(2**32 - 1)

P = TypeVar("P", bound=LocalProtocol)


def coins(p: Fraction, count: int, bits: Bits) -> npt.NDArray[np.bool_]:
    """True with probability exactly p, a multiple of 2^-62."""
    return (bits.bits64(count) >> SHIFT) < int(p * 2**GRAIN)


def uniform(high: int, count: int, bits: Bits) -> npt.NDArray[np.int64]:
    """Exactly uniform integers below `high`, at most 2^32: multiply, and reject what would be unfair [Lemire2019]."""
    out = np.empty(2 * ((count + 1) // 2), dtype=np.uint64)
    words = bits.bits64(out.size // 2)
    out[0::2], out[1::2] = words >> HALF, words & LOW
    out *= np.uint64(high)
    unfair = np.uint64(2**32 % high)
    if unfair:
        again = np.flatnonzero((out & LOW) < unfair)
        while again.size:
            out[again] = (bits.bits64(again.size) >> HALF) * np.uint64(high)
            again = again[(out[again] & LOW) < unfair]
    return (out >> HALF).view(np.int64)[:count]


def uniform_below(high: npt.NDArray[np.int64], bits: Bits) -> npt.NDArray[np.int64]:
    """An exactly uniform integer below each entry of `high`, from 1 to 2^32."""
    bound = high.astype(np.uint64)
    unfair = np.uint64(2**32) % bound
    out = (bits.bits64(bound.size) >> HALF) * bound
    again = np.flatnonzero((out & LOW) < unfair)
    while again.size:
        out[again] = (bits.bits64(again.size) >> HALF) * bound[again]
        again = again[(out[again] & LOW) < unfair[again]]
    return (out >> HALF).view(np.int64)


def grains(p: Fraction) -> Fraction:
    """The greatest coin not above p."""
    return Fraction(math.floor(p * 2**GRAIN), 2**GRAIN)


def loss(ratio: Fraction) -> float:
    """ln(ratio) rounded up; 0 below 1."""
    return round_up(math.log(ceil_float(ratio)), 4) if ratio > 1 else 0.0


def ratios(target: Pure | Approximate) -> Iterator[Fraction]:
    """Likelihood ratios from e^epsilon down, in growing steps of a few roundings."""
    check_target(target)
    excess = Fraction(math.expm1(min(target.epsilon, LARGEST)))
    for step in range(51, 0, -1):
        yield 1 + excess
        excess *= 1 - Fraction(1, 2**step)


def meet(
    build: Callable[[Fraction], P],
    target: Pure | Approximate,
    claim: Callable[[P], Pure | Approximate] = lambda protocol: protocol.guarantee(),
) -> P:
    """The protocol of the greatest likelihood ratio whose claim implies `target`."""
    for ratio in ratios(target):
        protocol = build(ratio)
        if claim(protocol).implies(target):
            return protocol
    raise ParameterError(f"epsilon = {target.epsilon!r} is too small for exact coins in units of 2^-{GRAIN}")


def check_target(target: Pure | Approximate) -> None:
    """Refuse what no local protocol can meet."""
    if not isinstance(target, Pure | Approximate):
        raise UnsupportedQuery(
            f"local protocols meet pure or approximate targets; give a target such as Pure(1.0), not {target!r}"
        )
    if target.epsilon <= 0:
        raise ParameterError("epsilon must be positive: a report that costs nothing tells nothing")


def check_coin(name: str, p: Fraction) -> None:
    """Refuse a probability that cannot be drawn exactly, or leaves nothing to learn or to hide."""
    if not (isinstance(p, Fraction) and 0 < p < 1 and 2**GRAIN % p.denominator == 0):
        raise ParameterError(f"{name} must be a fraction strictly between 0 and 1, in units of 2^-{GRAIN}")


def check_count(name: str, count: int, least: int, most: int) -> None:
    """Refuse a public size outside its range."""
    if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= most:
        raise ParameterError(f"{name} must be a whole number from {least} to {most}, got {count!r}")
