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

from sfumato.privacy.adjacency import Person

__all__ = ["bounded"]

PRIME = 2**31 - 1  # a product of two residues fits in 62 bits
MULTIPLIER = 48_271  # a primitive root modulo PRIME [ParkMiller1988]; column i gets its power i + 1


def bounded(table: Any, unit: Person, numbers: Sequence[str], ties: Sequence[str]) -> Any:
    """The rows that count.  `numbers` (never null) are mixed; `ties` (never null) decide what remains."""
    mixture = ibis.literal(0, "int64")
    multiplier = 1
    for column in numbers:
        multiplier = multiplier * MULTIPLIER % PRIME
        mixture = mixture + ((table[column] % PRIME) * multiplier) % PRIME
    order = [mixture % PRIME, *(table[column] for column in (*numbers, *ties))]
    window = ibis.window(group_by=table[unit.column], order_by=order)
    ranked = table.filter(table[unit.column].notnull()).mutate(_place=ibis.row_number().over(window))
    return ranked.filter(ranked["_place"] < unit.rows)
