"""Conditions written as text in plans, read with Python's own grammar and nothing evaluated."""

from __future__ import annotations

import ast

from sfumato.errors import SchemaError
from sfumato.queries.predicates import Both, Compare, Either, Negated, Predicate

__all__ = ["condition"]

OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def condition(text: str) -> Predicate:
    """The condition that `text` describes.

    >>> condition("age >= 18 and not (state == 'CA' or 'chess' in hobbies)").words()
    "(age >= 18 and not (state == 'CA' or 'chess' in hobbies))"
    """
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        raise SchemaError(
            f'cannot read the condition {text!r}; write comparisons such as "age >= 18", '
            "\"state in ['CA', 'NY']\" or \"'chess' in hobbies\", joined by and, or, not"
        ) from None


def _read(node: ast.expr) -> Predicate:
    if isinstance(node, ast.BoolOp):
        join = Both if isinstance(node.op, ast.And) else Either
        result = _read(node.values[0])
        for value in node.values[1:]:
            result = join(result, _read(value))
        return result
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Negated(_read(node.operand))
    if isinstance(node, ast.Compare):
        return _comparison(node)
    raise ValueError


def _comparison(node: ast.Compare) -> Predicate:
    conditions: list[Predicate] = []
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        conditions.append(_pair(left, operator, right))
    result = conditions[0]
    for other in conditions[1:]:
        result = Both(result, other)
    return result


def _pair(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Predicate:
    if isinstance(operator, ast.In | ast.NotIn):
        if isinstance(left, ast.Name):
            inside: Predicate = Compare(left.id, "in", tuple(ast.literal_eval(right)))
        elif isinstance(right, ast.Name):
            inside = Compare(right.id, "contains", ast.literal_eval(left))
        else:
            raise ValueError
        return inside if isinstance(operator, ast.In) else Negated(inside)
    sign = OPERATORS.get(type(operator))
    if sign is None:
        raise ValueError
    if isinstance(left, ast.Name):
        return Compare(left.id, sign, ast.literal_eval(right))
    if isinstance(right, ast.Name):
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        return Compare(right.id, mirrored, ast.literal_eval(left))
    raise ValueError
