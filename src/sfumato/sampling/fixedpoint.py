"""Integer fixed point: enclosures of exp(-x) of any width, and uniform reals revealed bit by bit.

Nothing here is approximate.  `exp_minus(x, bits)` returns integers with low <= exp(-x) 2**bits <= high,
by directed rounding only; `LazyUniform` is a uniform real in [0, 1) of which the first bits are known, and
which can be compared with any real that has enclosures.  Proof: docs/proofs/sampling-lazy.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.randomness import Rng

__all__ = ["Enclosure", "LazyUniform", "exp_minus"]

Enclosure = tuple[int, int]

REDUCED = 8  # the series is summed at an argument below 2**-REDUCED


def exp_minus(x: Fraction, bits: int) -> Enclosure:
    """Integers (low, high) with low <= exp(-x) 2**bits <= high, and high - low at most 3.

    >>> exp_minus(Fraction(1), 16)
    (24109, 24110)
    """
    if x == 0:
        return 1 << bits, 1 << bits
    if x > bits:  # exp(-x) < exp(-bits) < 2**-bits
        return 0, 1
    halvings = (x.numerator // x.denominator).bit_length() + REDUCED
    width = bits + halvings + 16
    low, high = _exp_plus((x.numerator << width) // (x.denominator << halvings), width)
    low, high = (1 << 2 * width) // high, -(-(1 << 2 * width) // low)
    for _ in range(halvings):
        low = low * low >> width
        high = (high * high >> width) + 1
    return low >> (width - bits), (high >> (width - bits)) + 1


def _exp_plus(y: int, width: int) -> Enclosure:
    """Enclose exp(t) 2**width for y <= t 2**width <= y + 1, t below 2**-REDUCED."""
    one = 1 << width
    low = low_term = one
    high = high_term = one
    n = 0
    while low_term:
        n += 1
        low_term = (low_term * y >> width) // n
        high_term = (high_term * (y + 1) >> width) // n + 1
        low += low_term
        high += high_term
    return low, high + 2 * high_term  # the omitted terms are below a geometric series of ratio 1/2


class LazyUniform:
    """A uniform real in [0, 1), known to lie in [value, value + 1) 2**-bits."""

    __slots__ = ("bits", "value")

    def __init__(self, value: int = 0, bits: int = 0) -> None:
        self.value, self.bits = value, bits

    def refine(self, rng: Rng) -> None:
        """Reveal 64 more bits."""
        self.value = self.value << 64 | rng.word()
        self.bits += 64

    def below(self, enclose: Callable[[int], Enclosure], rng: Rng) -> bool:
        """Whether this uniform is below the real p with low <= p 2**bits <= high.

        True with probability exactly p; ends with probability one, after a bit more than one round.
        """
        while True:
            low, high = enclose(self.bits)
            if self.value + 1 <= low:
                return True
            if self.value >= high:
                return False
            self.refine(rng)
