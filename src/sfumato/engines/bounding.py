"""At most m rows of each person, chosen from the contents of that person's rows alone.

Rows are ordered by a public mixture of their coerced columns modulo a prime, ties by the columns
themselves, and the first m are kept.  Rows that tie completely are interchangeable, so the kept
multiset depends on nothing else: not on physical order, not on other people.  No secret key is
needed, since the rule is part of the (bounded) query.  Rows without an id are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["bounded", "in_groups", "mixed", "placed", "totals_of"]

PRIME = 2**31 - 1  # a product of two residues fits in 62 bits
MULTIPLIER = 950_706_376  # a primitive root modulo PRIME [FishmanMoore1986]; column i gets its power i + 1
Number = TypeVar("Number", int, "ir.IntegerColumn")

SHIFT = 1_226_874_159  # so that 0 is not always first


def bounded(rows: ir.Table, unit: str, most: int, numbers: Sequence[str], ties: Sequence[str]) -> ir.Table:
    """The rows that count."""
    ranked = placed(rows, unit, numbers, ties)
    return ranked.filter(ranked["place"] < most)


def placed(rows: ir.Table, unit: str, numbers: Sequence[str], ties: Sequence[str]) -> ir.Table:
    """Each row of a person with its `place`.  `numbers` (never null) are mixed; `ties` (never null) decide the rest."""
    columns = [rows[column] for column in numbers]
    order = [mixed(columns), *columns, *(rows[column] for column in ties)] if columns else None
    window = ibis.window(group_by=rows[unit], order_by=order)
    return rows.filter(rows[unit].notnull()).mutate(place=ibis.row_number().over(window))


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


def mixed(numbers: Sequence[Number]) -> Number:
    """A linear form modulo PRIME, squared: the order it induces follows no single column.

    >>> mixed([0]), mixed([1]), mixed([0, 1])
    (604629562, 1180078062, 2129932757)
    """
    mixture: Number | int = SHIFT
    multiplier = 1
    for number in numbers:
        multiplier = multiplier * MULTIPLIER % PRIME
        mixture = ((number % PRIME) * multiplier) % PRIME + mixture
    mixture = mixture % PRIME
    return (mixture * mixture) % PRIME
