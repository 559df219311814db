"""At most m rows of each person, chosen from the contents of that person's rows alone.

Rows are ordered by a public mixture of their coerced columns modulo a prime, ties by the columns
themselves, and the first m are kept.  Rows that tie completely are interchangeable, so the kept
multiset depends on nothing else: not on physical order, not on other people.  No secret key is
needed, since the rule is part of the (bounded) query.  Rows without an id are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis

__all__ = ["bounded", "mixed"]

PRIME = 2**31 - 1  # a product of two residues fits in 62 bits
MULTIPLIER = 950_706_376  # a primitive root modulo PRIME [FishmanMoore1986]; column i gets its power i + 1
SHIFT = 1_226_874_159  # so that 0 is not always first


def bounded(rows: Any, unit: str, most: int, numbers: Sequence[str], ties: Sequence[str]) -> Any:
    """The rows that count.  `numbers` (never null) are mixed; `ties` (never null) decide what remains."""
    columns = [rows[column] for column in numbers]
    order = [mixed(columns), *columns, *(rows[column] for column in ties)] if columns else None
    window = ibis.window(group_by=rows[unit], order_by=order)
    ranked = rows.filter(rows[unit].notnull()).mutate(place=ibis.row_number().over(window))
    return ranked.filter(ranked["place"] < most)


def mixed(numbers: Sequence[Any]) -> Any:
    """A linear form modulo PRIME, squared: the order it induces follows no single column.

    >>> mixed([0]), mixed([1]), mixed([0, 1])
    (604629562, 1180078062, 2129932757)
    """
    mixture: Any = SHIFT
    multiplier = 1
    for number in numbers:
        multiplier = multiplier * MULTIPLIER % PRIME
        mixture = ((number % PRIME) * multiplier) % PRIME + mixture
    mixture = mixture % PRIME
    return (mixture * mixture) % PRIME
