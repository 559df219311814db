"""Rational enclosures of e^x for rational x >= 0, as narrow as asked: comparisons with e^epsilon are decided."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from sfumato.errors import ParameterError

__all__ = ["exponential"]

LARGEST = 100_000  # of x: beyond it the powers alone would fill the memory


@lru_cache(maxsize=256)
def exponential(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^x with a relative gap of at most 2^-bits; equal at x = 0.

    >>> low, high = exponential(Fraction(1), 60)
    >>> round(float(low), 12), 0 < high / low - 1 < Fraction(1, 2**60)
    (2.718281828459, True)
    """
    if not 0 <= x <= LARGEST:
        raise ParameterError(f"x must lie between 0 and {LARGEST}")
    if x == 0:
        return Fraction(1), Fraction(1)
    halvings = max(0, int(x).bit_length() + 4)
    guard = bits + halvings + 24
    one = 1 << guard
    low_x = (x.numerator << guard) // (x.denominator << halvings)
    high_x = -((-x.numerator << guard) // (x.denominator << halvings))
    low, high, term_low, term_high, k = one, one, one, one, 0
    while term_high > 1:  # x / 2^halvings <= 1/16: what is left after a term is below the term
        k += 1
        term_low = (term_low * low_x >> guard) // k
        term_high = _up(-(-term_high * high_x >> guard), k)
        low, high = low + term_low, high + term_high
    high += term_high
    for _ in range(halvings):
        low = low * low >> guard
        high = -(-high * high >> guard)
    return Fraction(low, one), Fraction(high, one)


def _up(value: int, divisor: int) -> int:
    return -(-value // divisor)
