"""Derived columns inside the engine: formulas over the coerced columns of a row, coerced in their turn.

Within a formula a missing number is NaN, so that arithmetic hands it on, and each operation names its arguments once:
the text that the engine reads grows with the formula and no faster.  Engines order NaN above every number, and take it
to equal itself.  No operation can fail on a value: arguments are guarded before a function sees them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import ibis

from sfumato.engines.coercion import floor, held
from sfumato.spaces.dates import FIRST, LAST, PART_OF_DAY

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sfumato.queries.formulas import Term
    from sfumato.queries.predicates import Predicate
    from sfumato.spaces.schema import Schema

    Holding = Callable[[Predicate, Schema, ir.Table], ir.BooleanColumn]

__all__ = ["computed"]

NAN = ibis.literal(math.nan, "float64")


def computed(term: Term, schema: Schema, rows: ir.Table, holding: Holding) -> ir.Column:
    """The value of a formula in each row of coerced columns, null for none; `holding` says what conditions come to."""

    def column(name: str) -> ir.Column:
        return rows[held(name)]

    def value(one: Term) -> ir.Column:
        if one.operation == "constant":
            return ibis.literal(one.value, "float64" if isinstance(one.value, float) else None)
        if one.operation == "label":
            return _label(column(one.value), schema, one.value)
        if one.operation == "condition":
            return holding(one.value, schema, rows)
        if one.operation == "number":
            return _number(column(one.value), schema, one.value)
        if one.operation in PART_OF_DAY:
            return ibis.coalesce(PART_OF_DAY[one.operation](_days(column(one.parts[0].value), schema, one)), NAN)
        parts = [value(part) for part in one.parts]
        if one.operation == "hour":
            return _floored(parts[0] * one.value)
        return OPERATIONS[one.operation](*parts)

    found = value(term)
    return _known(found) if found.type().is_floating() else found


def _number(index: ir.Column, schema: Schema, name: str) -> ir.Column:
    """`Lattice.values`, operation by operation; NaN where it is missing."""
    lattice = schema.lattice(name)
    scaled = ibis.coalesce((index + lattice.low).cast("float64"), NAN)
    scaled = scaled if lattice.step.numerator == 1 else scaled * float(lattice.step.numerator)
    return scaled if lattice.step.denominator == 1 else scaled / float(lattice.step.denominator)


def _label(held: ir.Column, schema: Schema, name: str) -> ir.Column:
    """A declared label, whole numbers as doubles; engines hold unknown ones too."""
    known = ibis.ifelse(held.isin(schema.space(name).labels), held, ibis.null(held.type()))
    return known if held.type().is_string() else ibis.coalesce(known.cast("float64"), NAN)


def _days(index: ir.Column, schema: Schema, part: Term) -> ir.Column:
    """Days since 1970-01-01, of the years 1 to 9999."""
    lattice = schema.lattice(part.parts[0].value)
    days = index.cast("int64") + lattice.low
    if lattice.low >= FIRST and lattice.high <= LAST:
        return days
    return ibis.cases(
        ((days >= FIRST) & (days <= LAST), days),
        (days < FIRST, ibis.literal(FIRST, "int64")),
        (days > LAST, ibis.literal(LAST, "int64")),
        else_=ibis.null("int64"),
    )


def _known(number: ir.Column) -> ir.Column:
    """The number with null for NaN."""
    return number.nullif(NAN)


def _nonzero(number: ir.Column) -> ir.Column:
    return ibis.coalesce(number.nullif(ibis.literal(0.0, "float64")), NAN)


def _floored(number: ir.Column) -> ir.Column:
    """The whole number below; from 2^53 on every double is whole, and Spark's FLOOR makes 0 of NaN."""
    return ibis.ifelse(number.abs() < float(1 << 53), floor(number), number)


def _compared(sign: Callable[[ir.Column, ir.Column], ir.BooleanColumn]) -> Callable[..., ir.BooleanColumn]:
    """A comparison that is false where either number is missing."""
    return lambda one, other: sign(_known(one), _known(other)).fill_null(False)


def _joined(join: Callable[[ir.Column, ir.Column], ir.BooleanColumn]) -> Callable[..., ir.BooleanColumn]:
    return lambda *truths: reduce(join, truths)


OPERATIONS: dict[str, Callable[..., ir.Column]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda one, other: one / _nonzero(other),
    "min": lambda *numbers: -ibis.greatest(*(-number for number in numbers)),  # NaN is the greatest, and handed on
    "max": lambda *numbers: ibis.greatest(*numbers),
    "abs": lambda one: one.abs(),
    "floor": lambda one: _floored(one),
    "log": lambda one: _nonzero(ibis.greatest(one, ibis.literal(0.0, "float64"))).ln(),
    "exp": lambda one: one.exp(),
    "<": _compared(operator.lt),
    "<=": _compared(operator.le),
    ">": _compared(operator.gt),
    ">=": _compared(operator.ge),
    "==": _compared(operator.eq),
    "!=": _compared(operator.ne),
    "and": _joined(operator.and_),
    "or": _joined(operator.or_),
    "not": operator.invert,
    "if": lambda wanted, one, other: ibis.ifelse(wanted, one, other),
}
