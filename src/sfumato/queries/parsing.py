"""Conditions written as text, in Python's spelling or that of SQL: `age >= 18 and state = 'CA'`.

A column whose name is not a plain word stands between backticks: `first name` == 'Jo'.  The grammar is that of
`sfumato.spaces.grammar`; here its trees become conditions, and what is none is refused with a caret.
"""

from __future__ import annotations

from functools import reduce

from sfumato.errors import ParameterError, SchemaError
from sfumato.queries.constants import Constant
from sfumato.queries.predicates import Both, Compare, Either, Negated, Predicate
from sfumato.spaces.derived import PARTS, part_name
from sfumato.spaces.grammar import Call, Literal, Name, Tree, parsed, refusal

__all__ = ["condition", "simple"]

EXAMPLES = "write comparisons such as age >= 18, state in ['CA', 'NY'], joined by and, or, not"
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARISONS = (*MIRRORED, "==", "!=")
TRUTHS = {"true": True, "false": False}
NOTHING = ("null", "none")


def condition(text: str) -> Predicate:
    """The condition that `text` describes.

    >>> condition("age >= 18 AND NOT (state = 'CA' or 'chess' in hobbies)").words()
    "(age >= 18 and not (state == 'CA' or 'chess' in hobbies))"
    """
    tree = parsed(text, "condition")
    try:
        return _read(tree, text)
    except ParameterError as wrong:
        raise SchemaError(f"cannot read the condition {text!r:.200}: {wrong}") from None
    except RecursionError:
        raise SchemaError(f"cannot read the condition {text!r:.200}: it nests too deeply") from None


def _read(tree: Tree, text: str) -> Predicate:
    if isinstance(tree, Call) and tree.function in ("and", "or"):
        join = Both if tree.function == "and" else Either
        return reduce(join, (_read(part, text) for part in tree.parts))
    if isinstance(tree, Call) and tree.function == "not":
        return Negated(_read(tree.parts[0], text))
    column = _column(tree)
    found = simple(tree) if column is None else _truth(column, _constant(tree))
    if found is None:
        raise refusal("condition", text, tree.place, _reason(tree))
    return found


def _truth(column: str, constant: Constant | None) -> Predicate | None:
    """The test that a column of truth values is, standing by itself; None if its name is that of a constant."""
    return None if constant is not None or column.lower() in NOTHING else Compare(column, "==", True)


def simple(tree: Tree) -> Predicate | None:
    """The test of one column by public constants that a tree is; None if it is something else."""
    if not isinstance(tree, Call):
        return None
    columns = [_column(part) for part in tree.parts]
    constants = [_constant(part) for part in tree.parts]
    match tree.function, columns, constants:
        case "null", [str(column)], _:
            return Compare(column, "null", True)
        case "startswith", [str(column), _], [_, str(prefix)]:
            return Compare(column, "startswith", prefix)
        case "between", [str(column), _, _], [_, low, high] if low is not None and high is not None:
            return Both(Compare(column, ">=", low), Compare(column, "<=", high))
        case "in", [str(column), _], _ if (listed := _listed(tree.parts[1])) is not None:
            return Compare(column, "in", listed)
        case "in", [_, str(column)], [item, _] if item is not None and not isinstance(tree.parts[0], Name):
            return Compare(column, "contains", item)
        case sign, [str(column), _], [_, constant] if sign in COMPARISONS and constant is not None:
            return Compare(column, sign, constant)
        case sign, [_, str(column)], [constant, _] if sign in COMPARISONS and constant is not None:
            return Compare(column, MIRRORED.get(sign, sign), constant)
    return None


def _column(tree: Tree) -> str | None:
    """The column that a tree names, or the part of a date."""
    if isinstance(tree, Name):
        return tree.text
    if isinstance(tree, Call) and tree.function in PARTS and len(tree.parts) == 1:
        (inner,) = tree.parts
        return part_name(tree.function, inner.text) if isinstance(inner, Name) else None
    return None


def _constant(tree: Tree) -> Constant | None:
    """The constant that a tree is; true and false in any capitals are such beside a column."""
    if isinstance(tree, Name) and not tree.quoted:
        return TRUTHS.get(tree.text.lower())
    return tree.value if isinstance(tree, Literal) else None


def _listed(tree: Tree) -> list[Constant] | None:
    if not (isinstance(tree, Call) and tree.function == "list"):
        return None
    constants = [_constant(part) for part in tree.parts]
    return None if any(constant is None for constant in constants) else [one for one in constants if one is not None]


def _reason(tree: Tree) -> str:
    """Why a tree is no condition."""
    if isinstance(tree, Name):
        return f"a column is compared with something, or is one of truth values; {EXAMPLES}"
    if isinstance(tree, Call) and tree.function in COMPARISONS:
        bare = [part for part in tree.parts if isinstance(part, Name)]
        if any(part.text.lower() in NOTHING for part in bare):
            return f"missing values are found by: {bare[0].text} is null"
        if len(bare) == 2:
            return f"a text that is compared stands between quotes: {bare[0].text} == '{bare[1].text}'"
        return (
            "a condition compares a column with a constant; a name that is no plain word stands between backticks, as "
            "in `first name`; for a number that is computed, declare a derived column (`derived=`, in a plan `from`)"
        )
    if isinstance(tree, Call) and tree.function == "in":
        return "in takes a list of constants such as ['CA', 'NY'], or a column of sets: 'chess' in hobbies"
    return EXAMPLES
