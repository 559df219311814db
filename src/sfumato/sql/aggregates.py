"""Aggregates of SQL as questions, without the statement's own WHERE and GROUP BY."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from sfumato.errors import UnsupportedQuery
from sfumato.queries import (
    Query,
    correlation,
    count,
    count_people,
    mean,
    most_popular,
    quantiles,
    std,
    sum,
    top,
    variance,
)
from sfumato.queries.predicates import Compare, Negated
from sfumato.queries.share import share
from sfumato.sql.columns import Columns
from sfumato.sql.conditions import condition, constant, number
from sfumato.sql.quotients import AFTER, difference_of, quotient
from sfumato.sql.reading import SHOWN, Tree, written

__all__ = ["aggregate", "is_aggregate", "narrowed"]

SHARE = "avg(CASE WHEN age >= 65 THEN 1 ELSE 0 END)"
RANGE = "the least and the greatest value are those of one row; ask quantile_cont(salary, 0.01), or at 0.99"
DERIVED = "for a number that is computed the steward can declare a derived column"
KNOWN = (
    "count", "sum", "avg", "stddev", "variance", "median", "quantile_cont", "approx_quantile", "percentile_cont",
    "corr", "mode", "count_if", "approx_top_k",
)  # fmt: skip
MEANT = {"mean": "avg", "average": "avg", "std": "stddev", "var": "variance", "percentile": "quantile_cont"}
REFUSED: dict[type[Tree], str] = {
    exp.Min: RANGE,
    exp.Max: RANGE,
    exp.Round: AFTER,
    exp.Add: AFTER,
    exp.Mul: AFTER,
    exp.Coalesce: AFTER,
    exp.Window: "windows look at rows; ask for groups by GROUP BY",
    exp.ApproxDistinct: "only people are counted once: count(DISTINCT visitor) of the column that tells them apart",
    exp.Star: "rows are not shown; ask count(*), avg(salary), ...",
}


def aggregate(tree: Tree, columns: Columns) -> Query:
    """The question that an aggregate is."""
    if isinstance(tree, exp.Paren):
        return aggregate(tree.this, columns)
    reader = READERS.get(type(tree))
    if reader is None:
        raise _unsupported(tree)
    return reader(tree, columns)


def is_aggregate(tree: Tree) -> bool:
    """Whether a tree asks something of the rows, rather than being a key."""
    asking = (
        exp.AggFunc,
        exp.WithinGroup,
        exp.Filter,
        exp.ApproxTopK,
        exp.Star,
        exp.Window,
        exp.Anonymous,
        exp.CountIf,
    )
    return any(isinstance(node, asking) for node in tree.walk())


def _count(tree: exp.Count, columns: Columns) -> Query:
    counted = tree.this
    if tree.expressions:
        raise UnsupportedQuery(
            "count takes one column, or *; rows that have several: count(*) FILTER (WHERE a IS NOT NULL ...)"
        )
    everything = isinstance(counted, exp.Star) and not any(counted.args.values())
    if counted is None or everything or number(counted) is not None:
        return count()
    if isinstance(counted, exp.Distinct):
        if len(counted.expressions) == 1 and columns.identifies(counted.expressions[0]):
            return count_people()
        raise UnsupportedQuery(
            f"count(DISTINCT ...) is not supported; {REFUSED[exp.ApproxDistinct]}; groups are counted by GROUP BY"
        )
    if isinstance(counted, exp.Case | exp.If):
        given, then, otherwise = _case(counted)
        if otherwise is None and constant(then) is not None:
            return count().where(condition(given, columns))
        raise UnsupportedQuery(
            "count(CASE ...) is supported as count(CASE WHEN age >= 65 THEN 1 END), or count(*) FILTER (WHERE ...)"
        )
    return count().where(Negated(Compare(_column(counted, columns, "count"), "null", True)))


def _sum(tree: exp.Sum, columns: Columns) -> Query:
    added = tree.this
    if isinstance(added, exp.Case | exp.If):
        given, then, otherwise = _case(added)
        if otherwise is None or number(otherwise) == 0:
            asked = count() if number(then) == 1 else sum(_column(then, columns, "sum"))
            return asked.where(condition(given, columns))
    if isinstance(added, exp.Cast) and added.to.is_type(*exp.DataType.NUMERIC_TYPES):  # of truths: those that are true
        return count().where(condition(added.this, columns))
    if isinstance(added, exp.Distinct):
        raise UnsupportedQuery("sum(DISTINCT ...) is not supported; every row counts")
    return sum(_column(added, columns, "sum"))


def _mean(tree: exp.Avg, columns: Columns) -> Query:
    averaged = tree.this
    if isinstance(averaged, exp.Case | exp.If):
        given, then, otherwise = _case(averaged)
        if otherwise is not None and number(then) == 1 and number(otherwise) == 0:
            return share(condition(given, columns))
        if otherwise is None and number(then) is None:
            return mean(_column(then, columns, "avg")).where(condition(given, columns))
        raise UnsupportedQuery(f"avg(CASE ...) is supported as the share {SHARE}, or avg(salary) FILTER (WHERE ...)")
    if isinstance(averaged, exp.Cast):
        raise UnsupportedQuery(
            f"avg of a truth value is not supported; of shares say what missing values count as: {SHARE}"
        )
    return mean(_column(averaged, columns, "avg"))


def _case(tree: exp.Case | exp.If) -> tuple[Tree, Tree, Tree | None]:
    """The condition of CASE WHEN ... THEN ... ELSE ... END, and its two values."""
    if isinstance(tree, exp.If):
        return tree.this, tree.args["true"], tree.args.get("false")
    if tree.this is not None or len(tree.args["ifs"]) != 1:
        raise UnsupportedQuery(f"CASE is supported with one condition: {SHARE}; {DERIVED}")
    (only,) = tree.args["ifs"]
    otherwise = tree.args.get("default")
    return only.this, only.args["true"], None if isinstance(otherwise, exp.Null) else otherwise


def _of_column(make: Callable[[str], Query], name: str) -> Callable[[Any, Columns], Query]:
    return lambda tree, columns: make(_column(tree.this, columns, name))


def _correlation(tree: exp.Corr, columns: Columns) -> Query:
    return correlation(_column(tree.this, columns, "corr"), _column(tree.expression, columns, "corr"))


def _median(tree: exp.Median, columns: Columns) -> Query:
    return quantiles(_column(tree.this, columns, "median"), [0.5])


def _quantiles(tree: Tree, columns: Columns) -> Query:
    at = tree.args.get("quantile") or tree.args.get("expression")
    if at is None:
        raise UnsupportedQuery("percentile_cont(0.9) is followed by WITHIN GROUP (ORDER BY salary)")
    return quantiles(_column(tree.this, columns, "quantile_cont"), _probabilities(at))


def _probabilities(tree: Tree) -> list[float]:
    listed = tree.expressions if isinstance(tree, exp.Array) else [tree]
    found = [number(one) for one in listed]
    if not found or any(one is None or not 0 < one < 1 for one in found):
        raise UnsupportedQuery(
            "quantiles are asked at numbers strictly between 0 and 1: quantile_cont(salary, [0.1, 0.5, 0.9])"
        )
    return sorted({float(one) for one in found if one is not None})


def _within_group(tree: exp.WithinGroup, columns: Columns) -> Query:
    asked, order = tree.this, tree.expression.expressions
    if len(order) != 1:
        raise UnsupportedQuery("WITHIN GROUP takes one column: percentile_cont(0.9) WITHIN GROUP (ORDER BY salary)")
    (ordered,) = order
    if isinstance(asked, exp.Mode) and asked.this is None:
        return most_popular(_column(ordered.this, columns, "mode"))
    if not isinstance(asked, exp.PercentileCont | exp.PercentileDisc) or asked.args.get("expression"):
        raise _unsupported(asked)
    at = _probabilities(asked.this)
    return quantiles(
        _column(ordered.this, columns, "percentile_cont"), sorted(1 - p for p in at) if ordered.args.get("desc") else at
    )


def _mode(tree: exp.Mode, columns: Columns) -> Query:
    if tree.this is None or tree.args.get("deterministic"):
        raise _unsupported(tree)
    return most_popular(_column(tree.this, columns, "mode"))


def _top(tree: exp.ApproxTopK, columns: Columns) -> Query:
    k = None if tree.expression is None or tree.args.get("counters") else number(tree.expression)
    if not isinstance(k, int):
        raise UnsupportedQuery("approx_top_k takes a column and a whole number: approx_top_k(hobby, 3)")
    return top(_column(tree.this, columns, "approx_top_k"), k)


def _count_if(tree: exp.CountIf, columns: Columns) -> Query:
    return count().where(condition(tree.this, columns))


def _filtered(tree: exp.Filter, columns: Columns) -> Query:
    asked = aggregate(tree.this, columns)
    return narrowed(asked, tree.expression.this, columns)


def narrowed(asked: Query, given: Tree, columns: Columns) -> Query:
    """A question about the rows where a condition holds, which stands before its own."""
    own, outer = asked.condition, condition(given, columns)
    first = replace(asked, condition=None).where(outer)
    return first if own is None else first.where(own)


def _called(tree: exp.Anonymous, columns: Columns) -> Query:
    if tree.name.lower() == "approx_percentile" and len(tree.expressions) == 2:
        column, at = tree.expressions
        return quantiles(_column(column, columns, "approx_percentile"), _probabilities(at))
    raise _unsupported(tree)


def _divided(tree: exp.Div, columns: Columns) -> Query:
    return quotient(tree, columns, aggregate)


def _subtracted(tree: exp.Sub, columns: Columns) -> Query:
    return difference_of(aggregate(tree.this, columns), aggregate(tree.expression, columns))


def _column(tree: Tree, columns: Columns, function: str) -> str:
    found = None if tree is None else columns.of(tree)
    if found is None:
        raise UnsupportedQuery(f"{function} takes a column; {DERIVED}")
    return found


def _unsupported(tree: Tree) -> UnsupportedQuery:
    """What to say of a function that is none of ours: its name, and what is near."""
    name = tree.name if isinstance(tree, exp.Anonymous) else type(tree).__name__
    near = [MEANT[name.lower()]] if name.lower() in MEANT else get_close_matches(name.lower()[:40], KNOWN, n=1)
    advice = REFUSED.get(type(tree)) or (f"did you mean {near[0]}?" if near else f"supported are {', '.join(KNOWN)}")
    said = repr(name.upper())[:SHOWN] if isinstance(tree, exp.Func) else written(tree)
    return UnsupportedQuery(f"{said} is not supported; {advice}")


READERS: dict[type[Tree], Callable[[Any, Columns], Query]] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Sum: _sum,
    exp.Avg: _mean,
    exp.Stddev: _of_column(std, "stddev"),
    exp.StddevSamp: _of_column(std, "stddev_samp"),
    exp.StddevPop: _of_column(std, "stddev_pop"),
    exp.Variance: _of_column(variance, "variance"),
    exp.VariancePop: _of_column(variance, "var_pop"),
    exp.Corr: _correlation,
    exp.Median: _median,
    exp.Quantile: _quantiles,
    exp.ApproxQuantile: _quantiles,
    exp.PercentileCont: _quantiles,
    exp.PercentileDisc: _quantiles,
    exp.WithinGroup: _within_group,
    exp.Mode: _mode,
    exp.ApproxTopK: _top,
    exp.Filter: _filtered,
    exp.Div: _divided,
    exp.Sub: _subtracted,
    exp.Anonymous: _called,
}
