"""Quotients and differences of aggregates that are one question: shares, means, ratios, differences between groups.

One question errs far less than two whose answers are divided: its noise is shared, and its interval is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from sfumato.errors import UnsupportedQuery
from sfumato.queries import Query, difference, mean, ratio
from sfumato.queries.predicates import Both, Compare, Negated, Predicate, condition_from, condition_record
from sfumato.queries.share import share
from sfumato.sql.columns import Columns
from sfumato.sql.conditions import number
from sfumato.sql.reading import Tree, written

__all__ = ["AFTER", "difference_of", "quotient"]

FORMS = (
    "divided are counts, for a share: count(*) FILTER (WHERE age >= 65) / count(*); sums: sum(tip) / sum(fare); and "
    "weighted ones: sum(w * x) / sum(w)"
)
AFTER = "compute it from what is released, and from the ends of its interval, which costs nothing"
DIFFERENCES = "subtracted are two groups: avg(pay) FILTER (WHERE sex = 'F') - avg(pay) FILTER (WHERE sex = 'M')"

Reader = Callable[[Tree, Columns], Query]


def quotient(tree: exp.Div, columns: Columns, aggregate: Reader) -> Query:
    """The question that the quotient of two aggregates is."""
    above, below = _bare(tree.this), _bare(tree.expression)
    if isinstance(below, exp.Literal) and below.is_number:
        raise UnsupportedQuery(f"{written(tree)} is not supported; {AFTER}")
    weighted = _weighted(above, below, columns, aggregate)
    if weighted is not None:
        return weighted
    one, other = aggregate(above, columns), aggregate(below, columns)
    if one.limits is None and other.limits is None and not one.keys and not other.keys:
        kinds = one.kind, other.kind
        if kinds == ("count", "count"):
            return _share(one, other)
        if kinds == ("sum", "sum") and one.column == other.column:
            found = _share(one, other)
            return replace(found, details=replace(found.details, weight=one.column))  # type: ignore[type-var]
        if kinds == ("sum", "sum") and one.condition == other.condition:
            return replace(ratio(str(one.column), str(other.column)), condition=one.condition)
        present = Negated(Compare(str(one.column), "null", True))
        if kinds == ("sum", "count") and other.condition == _joined(one.condition, present):
            return replace(mean(str(one.column)), condition=one.condition)
        if kinds == ("sum", "count"):
            raise UnsupportedQuery(f"a sum over a count is a mean: avg({one.column})")
    raise UnsupportedQuery(f"this quotient is no question; {FORMS}")


def _share(one: Query, other: Query) -> Query:
    """The share of the rows of one count among those of another, whose condition the former begins with."""
    rest = _rest(one.condition, other.condition)
    if rest is None:
        raise UnsupportedQuery(
            "a share is of rows that both counts hold: count(*) FILTER (WHERE a AND b) / count(*) FILTER (WHERE a)"
        )
    return replace(share(rest), condition=other.condition)


def _rest(whole: Predicate | None, start: Predicate | None) -> Predicate | None:
    """What a condition asks besides the one that it begins with; None where it does not begin so."""
    if whole is None or start is None:
        return whole
    parts, begun = _parts(whole), _parts(start)
    if parts[: len(begun)] != begun or len(parts) == len(begun):
        return None
    rest = [condition_from(part) for part in parts[len(begun) :]]
    joined = rest[0]
    for part in rest[1:]:
        joined = Both(joined, part)
    return joined


def _parts(whole: Predicate) -> list[object]:
    record = condition_record(whole)
    return list(record["all"]) if "all" in record else [record]


def _joined(one: Predicate | None, other: Predicate) -> Predicate:
    return other if one is None else Both(one, other)


def _weighted(above: Tree, below: Tree, columns: Columns, aggregate: Reader) -> Query | None:
    """The mean of a column that is weighted by another: sum(w * x) / sum(w)."""
    if not (isinstance(above, exp.Sum) and isinstance(below, exp.Sum) and isinstance(above.this, exp.Mul)):
        return None
    weight = columns.of(below.this)
    factors = [columns.of(above.this.this), columns.of(above.this.expression)]
    if weight is None or weight not in factors or None in factors:
        return None
    factors.remove(weight)
    return mean(str(factors[0]), weight=weight)


def difference_of(one: Query, other: Query) -> Query:
    """The question that the difference of the same aggregate of two groups is."""
    told, untold = (None if each.condition is None else condition_record(each.condition) for each in (one, other))
    if told is None or untold is None or one.details != other.details or one.limits or other.limits:
        raise UnsupportedQuery(f"this difference is no question; {DIFFERENCES}")
    if not told.get("is") == untold.get("is") == "==" or told["column"] != untold["column"]:
        raise UnsupportedQuery(f"this difference is no question; {DIFFERENCES}")
    plain = replace(one, condition=None)
    return difference(plain, across=told["column"], between=(told["constant"], untold["constant"]))


def _bare(tree: Tree) -> Tree:
    """An aggregate without what only makes SQL divide exactly: casts, * 1.0, nullif(..., 0)."""
    while True:
        divides = isinstance(tree, exp.Nullif) and number(tree.expression) == 0
        multiplies = isinstance(tree, exp.Mul) and number(tree.expression) == 1
        if isinstance(tree, exp.Paren | exp.Cast) or divides or multiplies:
            tree = tree.this
        elif isinstance(tree, exp.Mul) and number(tree.this) == 1:
            tree = tree.expression
        else:
            return tree
