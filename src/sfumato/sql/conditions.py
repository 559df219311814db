"""Conditions of SQL as those of questions, with SQL's meaning where values are missing.

In SQL a comparison with a missing value is neither true nor false, and `NOT` leaves it so; in a condition of ours it is
false, and `not` makes it true.  So NOT is moved inward, to comparisons that are false themselves where a value is
missing: `NOT age >= 18` is read as `age < 18`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from sqlglot import exp

from sfumato.errors import UnsupportedQuery
from sfumato.queries.predicates import Both, Compare, Either, Negated, Predicate
from sfumato.sql.columns import Columns
from sfumato.sql.reading import Tree, written

__all__ = ["condition", "constant", "number"]

Test = tuple[str, str, Any]  # a column, an operator and a constant, as `Compare` takes them, or "is" a truth value

SIGNS: dict[type[Tree], str] = {
    exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.EQ: "==", exp.NEQ: "!=",
}  # fmt: skip
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
DATED = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIME)
LONGEST = 40  # characters of a number
EXAMPLES = (
    "a condition compares a column with constants: {examples}, joined by AND, OR, NOT; for a number that is computed "
    "the steward can declare a derived column"
)


def condition(tree: Tree, columns: Columns, negated: bool = False) -> Predicate:
    """The condition that a tree is, or its opposite; both are false where SQL knows neither."""
    if isinstance(tree, exp.Paren):
        return condition(tree.this, columns, negated)
    if isinstance(tree, exp.Not):
        return condition(tree.this, columns, not negated)
    if isinstance(tree, exp.And | exp.Or):
        join = Both if isinstance(tree, exp.And) != negated else Either
        return join(condition(tree.this, columns, negated), condition(tree.expression, columns, negated))
    column = columns.of(tree)
    tests = _tests(tree, columns) if column is None else [(column, "==", True)]
    if tests is None:
        raise UnsupportedQuery(f"{written(tree)} is no condition that is supported; {_advice(columns)}")
    for asked in tests:
        _must_be_truths(asked, columns)
    if negated:
        return _all_or_any(Either, [_opposite(test, columns) for test in tests])
    return _all_or_any(Both, [_compare(test) for test in tests])


def _must_be_truths(asked: Test, columns: Columns) -> None:
    """Refuse to take other values for truths: in SQL every number but 0 is true, here True would be 1."""
    column, sign, given = asked
    truths = sign != "null" and any(isinstance(one, bool) for one in (given if sign == "in" else [given]))
    labels = columns.schema.space(column).labels if truths else ()
    if labels is None or not all(isinstance(label, bool) for label in labels):
        raise UnsupportedQuery(f"{column!r} holds no truth values; {_advice(columns)}")


def _advice(columns: Columns) -> str:
    return EXAMPLES.format(examples=", ".join(columns.examples()))


def _all_or_any(join: type[Both] | type[Either], parts: list[Predicate]) -> Predicate:
    return reduce(join, parts)


def constant(tree: Tree) -> Any:
    """The constant that a tree is: a number, a text or a truth value; None if it is something else."""
    if isinstance(tree, exp.Paren):
        return constant(tree.this)
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if isinstance(tree, exp.Literal) and tree.is_string:
        return str(tree.this)
    if isinstance(tree, exp.Cast) and tree.to.this in DATED:
        inner = constant(tree.this)
        return inner if isinstance(inner, str) else None
    return number(tree)


def number(tree: Tree) -> int | float | None:
    """The number that a tree is."""
    if isinstance(tree, exp.Neg):
        inner = number(tree.this)
        return None if inner is None else -inner
    if not isinstance(tree, exp.Literal) or tree.is_string:
        return None
    text = str(tree.this)
    if len(text) > LONGEST:
        raise UnsupportedQuery(f"a number has more than {LONGEST} characters; write it shorter")
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return None


def _tests(tree: Tree, columns: Columns) -> list[Test] | None:
    """The tests of one column by constants that a tree is, all of which hold; None if it is something else."""
    if type(tree) in SIGNS:
        return _compared(tree, SIGNS[type(tree)], columns)
    if isinstance(tree, exp.In):
        return _listed(tree, columns)
    if not isinstance(tree, exp.Between | exp.Like | exp.StartsWith | exp.Is | exp.ArrayContains):
        return None
    column = columns.of(tree.this)
    if column is None:
        return None
    if isinstance(tree, exp.Between):
        low, high = constant(tree.args["low"]), constant(tree.args["high"])
        if low is None or high is None or tree.args.get("symmetric"):
            return None
        return [(column, ">=", low), (column, "<=", high)]
    if isinstance(tree, exp.Is):
        if isinstance(tree.expression, exp.Null):
            return [(column, "null", True)]
        return [(column, "is", bool(tree.expression.this))] if isinstance(tree.expression, exp.Boolean) else None
    given = constant(tree.expression)
    if isinstance(tree, exp.ArrayContains):
        return None if given is None else [(column, "contains", given)]
    if not isinstance(given, str):
        return None
    return [(column, "startswith", given)] if isinstance(tree, exp.StartsWith) else [_like(column, given)]


def _compared(tree: Tree, sign: str, columns: Columns) -> list[Test] | None:
    left, right = tree.this, tree.expression
    if isinstance(right, exp.Any) and sign == "==":  # 'chess' = ANY(hobbies)
        inner = right.this.this if isinstance(right.this, exp.Paren) else right.this
        return _held(left, inner, columns)
    column, given = columns.of(left), constant(right)
    if column is not None and given is not None:
        return [(column, sign, given)]
    column, given = columns.of(right), constant(left)
    return None if column is None or given is None else [(column, MIRRORED.get(sign, sign), given)]


def _listed(tree: exp.In, columns: Columns) -> list[Test] | None:
    if any(held for name, held in tree.args.items() if name not in ("this", "expressions", "field")):
        return None
    if tree.args.get("field") is not None:  # 'chess' IN hobbies
        return _held(tree.this, tree.args["field"], columns)
    column, listed = columns.of(tree.this), [constant(one) for one in tree.expressions]
    return None if column is None or not listed or None in listed else [(column, "in", listed)]


def _held(item: Tree, held: Tree, columns: Columns) -> list[Test] | None:
    """The test whether a set holds an item."""
    given, column = constant(item), columns.of(held)
    return None if given is None or column is None else [(column, "contains", given)]


def _like(column: str, pattern: str) -> Test:
    """A pattern that is the beginning of a text, or all of it."""
    start = pattern.removesuffix("%")
    if start == "" or any(sign in start for sign in "%_\\"):
        raise UnsupportedQuery("LIKE is supported for the beginning of a text alone: city LIKE 'U%'")
    return column, "==" if start == pattern else "startswith", start


def _compare(asked: Test) -> Compare:
    column, sign, given = asked
    return Compare(column, "==" if sign == "is" else sign, given)


def _opposite(asked: Test, columns: Columns) -> Predicate:
    """What holds where a test is false, and does not where SQL knows neither."""
    column, sign, given = asked
    if sign in OPPOSITE:
        return Compare(column, OPPOSITE[sign], given)
    test = _compare(asked)
    if sign == "in":
        first = Compare(column, "!=", given[0])  # false where the value is missing
        return first if len(given) == 1 else Both(first, Negated(test))
    if sign == "startswith":
        labels = columns.schema.space(column).labels
        if labels is not None:
            return Compare(column, "in", [label for label in labels if not str(label).startswith(given)])
        return Both(Compare(column, "!=", given), Negated(test))
    return Negated(test)  # IS NULL and IS TRUE are true or false, also of what is missing
