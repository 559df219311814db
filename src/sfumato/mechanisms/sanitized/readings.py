"""Unbiased readings of published records: functions whose mean, over the noise, is the condition on the true record.

Readings of different columns multiply, since their noise is independent; so every column may occur in one part of a
condition only.  A product's variance is at most v w + v + w, the means being conditions, hence between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.sanitized.categories import Responses
from sfumato.mechanisms.sanitized.numbers import Noised
from sfumato.mechanisms.sanitized.part import Floats, Integers, Reading
from sfumato.mechanisms.sanitized.plan import AnyPart
from sfumato.mechanisms.sanitized.sets import Flipped
from sfumato.queries.conditions import Between, Both, Contains, Either, Negated, Test
from sfumato.queries.predicates import Predicate, columns_of
from sfumato.spaces import numeric

__all__ = ["Bounded", "condition_reading"]

Bounded = tuple[Floats, float, float, float]
"""One number a record, the least and largest it can be, and its variance at most."""


def condition_reading(condition: Predicate, parts: Mapping[str, AnyPart], records: Mapping[str, Integers]) -> Bounded:
    """The unbiased reading of a bound condition on every record."""
    if isinstance(condition, Negated):
        return _less(condition_reading(condition.one, parts, records))
    if isinstance(condition, Both | Either):
        if set(columns_of(condition.one)) & set(columns_of(condition.other)):
            raise UnsupportedQuery(
                "a sanitized table reads each column in one part of a condition only; combine the comparisons of one "
                "column into one (`in`, or a histogram), or ask the session"
            )
        one, other = (condition_reading(side, parts, records) for side in (condition.one, condition.other))
        return _product(one, other) if isinstance(condition, Both) else _less(_product(_less(one), _less(other)))
    (test,) = condition.tests()
    read, low, high, variance = _simple(test, parts)
    return read(records[test.column]), low, high, variance


def _simple(condition: Test, parts: Mapping[str, AnyPart]) -> Reading:
    """The reading of a comparison of one column."""
    part = parts.get(condition.column)
    if isinstance(part, Noised) and isinstance(condition, Between):
        low = part.space.lattice.low
        return part.reading(condition.low - low, condition.high - low)
    if isinstance(part, Flipped) and isinstance(condition, Contains):
        return part.reading(condition.item)
    if isinstance(part, Responses) and condition.kind == "one of" and part.space.labels is not None:
        held = [condition.passes(label) for label in part.space.labels]
        return part.reading(np.array([*held, False][: part.size], dtype=np.float64))
    if isinstance(part, Responses) and condition.kind == "between" and numeric(part.space):
        index = np.arange(part.size) + part.space.lattice.low
        return part.reading(np.array([condition.passes(one) for one in index.tolist()], dtype=np.float64))
    raise UnsupportedQuery(
        f"column {condition.column!r} was not published so that this condition can be read from it; sanitize it on its "
        "own, or ask the session"
    )


def _product(one: Bounded, other: Bounded) -> Bounded:
    corners = [a * b for a in one[1:3] for b in other[1:3]]
    return one[0] * other[0], min(corners), max(corners), one[3] * other[3] + one[3] + other[3]


def _less(one: Bounded) -> Bounded:
    """The reading of the opposite."""
    return 1 - one[0], 1 - one[2], 1 - one[1], one[3]
