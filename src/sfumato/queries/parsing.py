"""Conditions written as text in plans, read with Python's own grammar and nothing evaluated.

A column whose name is not a plain word stands between backticks: `first name` == 'Jo'.
"""

from __future__ import annotations

import ast
import re

from sfumato.errors import ParameterError, SchemaError
from sfumato.queries.predicates import Both, Compare, Either, Negated, Predicate

__all__ = ["condition"]

LONGEST = 100_000  # characters of a text condition
TOKENS = re.compile(
    r"""'(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*" | `((?:[^`]|``)+)`""", re.VERBOSE
)  # texts are left alone, what stands between backticks is a column
OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def condition(text: str) -> Predicate:
    """The condition that `text` describes.

    >>> condition("age >= 18 and not (state == 'CA' or 'chess' in hobbies)").words()
    "(age >= 18 and not (state == 'CA' or 'chess' in hobbies))"
    """
    columns: dict[str, str] = {}

    def placeheld(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        place = f"_backtick_{len(columns)}"
        columns[place] = found[1].replace("``", "`")
        return f" {place} "

    try:
        if not isinstance(text, str) or len(text) > LONGEST or "_backtick_" in text:
            raise ValueError
        return _Reader(columns).read(ast.parse(TOKENS.sub(placeheld, text).strip(), mode="eval").body)
    except ParameterError as refusal:
        raise SchemaError(f"cannot read the condition {text!r:.200}: {refusal}") from None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise SchemaError(
            f'cannot read the condition {text!r:.200}; {_hint(text)}write comparisons such as "age >= 18", '
            "\"state in ['CA', 'NY']\" or \"'chess' in hobbies\", joined by and, or, not; "
            "a column whose name is not a plain word stands between backticks: `first name`"
        ) from None


def _hint(text: object) -> str:
    """What most likely is meant by what Python's grammar does not know as a comparison."""
    bare = TOKENS.sub(" ", text) if isinstance(text, str) else ""
    if re.search(r"[^<>=!]=[^=]", bare):
        return "is equal to is written ==; "
    if re.search(r"\b(AND|OR|NOT|IN)\b", bare):
        return "and, or, not and in are written in small letters; "
    if re.search(r"[&|~]", bare):
        return "inside a text, conditions are joined by and, or, not instead of &, |, ~; "
    if re.search(r"\b(true|false|TRUE|FALSE)\b", bare):
        return "truth values are written True and False; "
    if re.fullmatch(r"\s*(not\s+)?\w+\s*", bare):
        return "a column is compared with something, one of truth values with True or False; "
    if re.search(r"[!=]=\s*[^\W\d]", re.sub(r"\b(True|False)\b", "", bare)):
        return "a text that is compared stands between quotes: state == 'CA'; "
    if re.search(r"<>", bare):
        return "is not equal to is written !=; "
    return ""


class _Reader:
    """From Python's grammar to conditions; anything else is no condition."""

    def __init__(self, columns: dict[str, str]) -> None:
        self.columns = columns

    def read(self, node: ast.expr) -> Predicate:
        """The condition of a node."""
        if isinstance(node, ast.BoolOp):
            join = Both if isinstance(node.op, ast.And) else Either
            result = self.read(node.values[0])
            for value in node.values[1:]:
                result = join(result, self.read(value))
            return result
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Negated(self.read(node.operand))
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        raise ValueError

    def _comparison(self, node: ast.Compare) -> Predicate:
        sides = [node.left, *node.comparators]
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        conditions = [self._pair(left, operator, right) for left, operator, right in pairs]
        result = conditions[0]
        for other in conditions[1:]:
            result = Both(result, other)
        return result

    def _pair(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Predicate:
        one, other = self._column(left), self._column(right)
        if isinstance(operator, ast.In | ast.NotIn):
            if one is not None:
                inside: Predicate = Compare(one, "in", ast.literal_eval(right))
            elif other is not None:
                inside = Compare(other, "contains", ast.literal_eval(left))
            else:
                raise ValueError
            return inside if isinstance(operator, ast.In) else Negated(inside)
        sign = OPERATORS.get(type(operator))
        if sign is None:
            raise ValueError
        if one is not None:
            return Compare(one, sign, ast.literal_eval(right))
        if other is not None:
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
            return Compare(other, mirrored, ast.literal_eval(left))
        raise ValueError

    def _column(self, node: ast.expr) -> str | None:
        return self.columns.get(node.id, node.id) if isinstance(node, ast.Name) else None
