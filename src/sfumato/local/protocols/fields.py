"""Finite fields of at most 256 elements, as tables: the numbers below a prime power, digits base p as polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

__all__ = ["ORDERS", "Field", "field"]

Table = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Addition and multiplication, and subtraction as minus[a, b] = a - b."""

    order: int
    plus: Table
    minus: Table
    times: Table


def _split(order: int) -> tuple[int, int]:
    """The prime and the exponent of a prime power, or (0, 0)."""
    prime = next(p for p in range(2, order + 1) if order % p == 0)
    exponent = 0
    while order % prime == 0:
        order, exponent = order // prime, exponent + 1
    return (prime, exponent) if order == 1 else (0, 0)


ORDERS = tuple(q for q in range(2, 257) if _split(q)[0])


@lru_cache(maxsize=8)
def field(order: int) -> Field:
    """The field of a prime power of elements.

    >>> field(4).times[2, 3], field(5).times[2, 3], field(9).plus[2, 2]
    (np.int64(1), np.int64(1), np.int64(1))
    """
    if order not in ORDERS:
        raise ParameterError(f"order must be a prime power from 2 to 256, got {order}")
    p, r = _split(order)
    powers = p ** np.arange(r)
    digits = np.arange(order)[:, None] // powers % p
    plus = ((digits[:, None] + digits[None]) % p) @ powers
    minus = ((digits[:, None] - digits[None]) % p) @ powers
    short = digits[: p ** (r // 2 + 1)]  # if x^r + tail has factors, one of them is among these
    tail = next(tail for tail in digits if np.all(_products(short, digits, tail, p, powers)[1:, 1:] > 0))
    return Field(order, plus, minus, _products(digits, digits, tail, p, powers))


def _products(left: Table, right: Table, tail: Table, p: int, powers: Table) -> Table:
    """All products of polynomials modulo x^r + tail."""
    r = powers.size
    product = np.zeros((len(left), len(right), 2 * r - 1), dtype=np.int64)
    for i in range(r):
        product[:, :, i : i + r] += left[:, None, i : i + 1] * right[None]
    for i in range(2 * r - 2, r - 1, -1):
        product[:, :, i - r : i] -= product[:, :, i : i + 1] % p * tail
    return np.asarray((product[:, :, :r] % p) @ powers)
