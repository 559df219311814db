"""At most m rows of each person, chosen from the contents of that person's rows alone.

Rows are ordered by a public mixture of their coerced columns modulo a prime, ties by the columns
themselves, and the first m are kept.  Rows that tie completely are interchangeable, so the kept
multiset depends on nothing else: not on physical order, not on other people.  No secret key is
needed, since the rule is part of the (bounded) query.  Rows without an id are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["Digit", "digits_of", "in_groups", "linear", "packed", "placed", "squared", "totals_of"]

PRIME = 2**31 - 1  # a product of two residues fits in 62 bits
MULTIPLIER = 950_706_376  # a primitive root modulo PRIME [FishmanMoore1986]; column i gets its power i + 1
Number = TypeVar("Number", int, "ir.IntegerColumn")

SHIFT = 1_226_874_159  # so that 0 is not always first
BITS = 63
MOST = 2**BITS - 1


def placed(
    rows: ir.Table,
    unit: str,
    numbers: Mapping[str, int | None],
    marks: Mapping[str, int],
    ties: Sequence[str],
    besides: Sequence[str],
) -> ir.Table:
    """Each row of a person with its `place`: by the mixture of the numbers, then by each of them, the marks, the ties.

    None of them is null, and no number negative.  Of each the largest value is given, or None where it is not known.
    Only the keys of the order travel through it, with the ties and the columns `besides`: the numbers and marks whose
    largest value is known are digits of the keys, and read from these again.
    """
    rows = rows.filter(rows[unit].notnull())
    if not numbers:
        return rows.mutate(place=ibis.row_number().over(ibis.window(group_by=rows[unit])))
    rows = rows.mutate(mixture=linear([(rows[name], largest) for name, largest in numbers.items()]))
    rows = rows.mutate(mixture=squared(rows["mixture"]))
    known = {"mixture": PRIME - 1, **numbers, **marks}
    digits, keys = digits_of(list(known.values())), packed([(rows[name], largest) for name, largest in known.items()])
    rows = rows.select(unit, *dict.fromkeys([*ties, *besides]), **{f"o{i}": key for i, key in enumerate(keys)})
    order = [*(rows[f"o{i}"] for i in range(len(keys))), *(rows[name] for name in ties)]
    rows = rows.mutate(place=ibis.row_number().over(ibis.window(group_by=rows[unit], order_by=order)))
    read = {name: digit.of(rows[f"o{digit.key}"]) for name, digit in zip(known, digits, strict=True) if digit.bits}
    return rows.mutate(**read)


def in_groups(rows: ir.Table, unit: str, keys: Sequence[str], most: int | None, groups: int) -> ir.Table:
    """Of each person at most `most` placed rows (None: all) in each of `groups` groups, those of the first rows."""
    own = ibis.window(group_by=[rows[unit], *(rows[key] for key in keys)], order_by=rows["place"])
    whole = ibis.window(group_by=[rows[unit], *(rows[key] for key in keys)])
    ranked = rows.mutate(turn=ibis.row_number().over(own), first=rows["place"].min().over(whole))
    if keys:
        ranked = ranked.mutate(group=ibis.dense_rank().over(group_by=ranked[unit], order_by=ranked["first"]))
        ranked = ranked.filter(ranked["group"] < groups)
    return ranked if most is None else ranked.filter(ranked["turn"] < most)


def totals_of(rows: ir.Table, unit: str, keys: Sequence[str], column: str, low: int, ends: tuple[int, int]) -> ir.Table:
    """One row a person and group: the sum of its indices, counted from `low` on, clipped, and counted from its end.

    DuckDB adds up integers in 128 bits by itself, Spark only decimals; both hold any table's sum.
    """
    summand = rows[column].cast("int64") + low
    wide = summand if rows.get_backend().name == "duckdb" else summand.cast("decimal(19, 0)")
    grouped = rows.group_by([unit, *keys]).aggregate(total=wide.sum())
    total = grouped["total"].fill_null(0)
    inside = (total - ends[0]).cast("decimal(38, 0)").cast("int64")
    least, most = ibis.literal(0, "int64"), ibis.literal(ends[1] - ends[0], "int64")
    clipped = ibis.cases((total <= ends[0], least), (total >= ends[1], most), else_=inside)
    return grouped.select(*keys, **{column: clipped})


def linear(numbers: Sequence[tuple[Number, int | None]]) -> Number:
    """A linear form modulo PRIME of numbers with their largest values; no step leaves 63 bits.

    >>> [squared(linear(one)) for one in ([(0, 9)], [(1, 1)], [(0, 5), (1, None)])]
    [604629562, 1180078062, 2129932757]
    """
    mixture: Number | int = SHIFT
    bound, multiplier = SHIFT, 1
    for number, largest in numbers:
        multiplier = multiplier * MULTIPLIER % PRIME
        if largest is None or largest >= PRIME:
            number, largest = number % PRIME, PRIME - 1
        if bound + largest * multiplier > MOST:
            mixture, bound = mixture % PRIME, PRIME - 1
        mixture, bound = number * multiplier + mixture, bound + largest * multiplier
    return mixture % PRIME


def squared(mixture: Number) -> Number:
    """The square modulo PRIME: the order that it induces follows no single column."""
    return (mixture * mixture) % PRIME


@dataclass(frozen=True, slots=True)
class Digit:
    """Where a number stands: in which key, above how many bits, and how many are its own (0: the key is the number)."""

    key: int
    above: int
    bits: int

    def of(self, key: Number) -> Number:
        """The number that a key holds."""
        held: Number = (key >> self.above) & (2**self.bits - 1)
        return held


def digits_of(largest: Sequence[int | None]) -> list[Digit]:
    """The digits of as few keys of 63 bits as hold numbers with these largest values one after the other.

    >>> [(one.key, one.above, one.bits) for one in digits_of([9, 1, None, 3])]
    [(0, 1, 4), (0, 0, 1), (1, 0, 0), (2, 0, 2)]
    """
    groups: list[list[int]] = []
    for most in largest:
        bits = 0 if most is None else max(1, most.bit_length())
        if groups and bits and groups[-1][-1] and sum(groups[-1]) + bits <= BITS:
            groups[-1].append(bits)
        else:
            groups.append([bits])
    return [Digit(key, sum(group[i + 1 :]), bits) for key, group in enumerate(groups) for i, bits in enumerate(group)]


def packed(numbers: Sequence[tuple[Number, int | None]]) -> list[Number]:
    """Fewer numbers in the same order: neighbors are the digits of one, as long as it fits in 63 bits.

    >>> packed([(3, 9), (1, 1), (5, None), (2, 3)])
    [7, 5, 2]
    """
    keys: list[Number] = []
    for (number, _), digit in zip(numbers, digits_of([largest for _, largest in numbers]), strict=True):
        if digit.key == len(keys):
            keys.append(number * 2**digit.above)
        else:
            keys[-1] = keys[-1] + number * 2**digit.above
    return keys
