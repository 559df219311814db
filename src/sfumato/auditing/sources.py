"""Source that brings a target back in a script of its own: an import where that works, otherwise its definition.

A function that no module offers (of a main program, of a notebook, inside another function, or a lambda) is
written out with the names that it uses, as far as those are modules, importable objects, plain values or functions
that can be written out in turn.  Where something else is needed, the script says what is missing.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import math
import textwrap
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["source_of"]

PLAIN = (bool, int, float, complex, str, bytes, type(None))
DEPTH = 5  # functions that use functions


class _Missing(Exception):
    """Why a script cannot hold the target."""


def source_of(target: Callable[..., Any], name: str = "target") -> str:
    """Lines after which `name` is the target, or that say why they cannot be written and what to put there."""
    given = getattr(target, "source", None)
    if isinstance(given, str):
        return given
    try:
        lines = _bound(target, name, DEPTH)
        compile("\n".join(lines), "script", "exec")
    except (_Missing, SyntaxError) as reason:
        try:
            text = textwrap.indent(textwrap.dedent(inspect.getsource(target)), "#     ")
        except (OSError, TypeError):
            text = ""
        why = str(reason) if isinstance(reason, _Missing) else "its source is part of another statement"
        shown = f"# Its source was:\n{text}" if text else ""
        return f"# This script does not run alone, because {why}.\n{shown}from your_module import {name}  # put it here"
    return "\n".join(lines)


def _bound(value: object, name: str, depth: int) -> list[str]:
    """Lines after which `name` is the value."""
    if isinstance(value, PLAIN) or _plain(value):
        return [f"{name} = {_literal(value)}"]
    if isinstance(value, types.ModuleType):
        return [f"import {value.__name__} as {name}"]
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module and module != "__main__" and _found(module, qualified) is value:
        head, *rest = qualified.split(".")
        line = f"from {module} import {head}" + (f" as {name}" if head != name or rest else "")
        return [line, f"{name} = {'.'.join([name, *rest])}"] if rest else [line]
    if isinstance(value, functools.partial):
        inner = _bound(value.func, f"_{name}", depth - 1)
        more = "".join(f", {_literal(a)}" for a in value.args)
        more += "".join(f", {k}={_literal(v)}" for k, v in value.keywords.items())
        return ["import functools", *inner, f"{name} = functools.partial(_{name}{more})"]
    if isinstance(value, types.FunctionType):
        return _written(value, name, depth)
    if is_dataclass(value) and not isinstance(value, type):
        made = _bound(type(value), type(value).__name__, depth - 1)
        parts = ", ".join(f"{part.name}={_literal(getattr(value, part.name))}" for part in fields(value) if part.init)
        return [*made, f"{name} = {type(value).__name__}({parts})"]
    raise _Missing(f"{name!r} is a {type(value).__name__}, which cannot be imported or written out")


def _plain(value: object) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return all(isinstance(item, PLAIN) or _plain(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(k, PLAIN) and (isinstance(v, PLAIN) or _plain(v)) for k, v in value.items())
    return False


def _literal(value: object) -> str:
    if not (isinstance(value, PLAIN) or _plain(value)):
        raise _Missing(f"it holds a {type(value).__name__}, which cannot be written out")
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _found(module: str, qualified: str) -> Any:
    """What importing would give; None if nothing."""
    try:
        return functools.reduce(getattr, qualified.split("."), importlib.import_module(module))
    except (ImportError, AttributeError, ValueError):
        return None


def _written(function: types.FunctionType, name: str, depth: int) -> list[str]:
    """A function's definition under a name, after everything that it uses."""
    if depth == 0:
        raise _Missing(f"{function.__name__!r} uses functions too deep to write out")
    definition = _definition(function)
    lines: list[str] = []
    for used, value in _used(function, definition).items():
        if value is not function:
            lines += _bound(value, used, depth - 1)
    if isinstance(definition, ast.Lambda):
        return [*lines, f"{name} = {ast.unparse(definition)}"]
    definition.decorator_list = []
    definition.returns = None
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    rename = [] if definition.name == name else [f"{name} = {definition.name}"]
    return [*lines, ast.unparse(definition), *rename]


def _used(function: types.FunctionType, definition: ast.AST) -> dict[str, Any]:
    """The names of its surroundings that a definition uses, with their values."""
    nodes = [node for node in ast.walk(definition) if isinstance(node, ast.Name)]
    own = {node.id for node in nodes if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in ast.walk(definition) if isinstance(node, ast.arg)}
    outside = dict(
        zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=True)
    )
    known = {**vars(builtins), **function.__globals__, **outside}
    wanted = dict.fromkeys(node.id for node in nodes if node.id not in own)
    missing = [name for name in wanted if name not in known]
    if missing:
        raise _Missing(f"{missing[0]!r} is not defined where it is used")
    return {name: known[name] for name in wanted if known[name] is not vars(builtins).get(name, wanted)}


def _definition(function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The syntax tree of a function, found by its line in its own file."""
    try:
        path = inspect.getsourcefile(function) or ""
        tree = ast.parse("".join(inspect.findsource(function)[0]), path)
    except (OSError, TypeError, SyntaxError):
        raise _Missing("its source is not in a file") from None
    line, name = function.__code__.co_firstlineno, function.__name__
    kinds = (ast.Lambda,) if name == "<lambda>" else (ast.FunctionDef,)
    at = [node for node in ast.walk(tree) if isinstance(node, kinds) and _line(node) == line]
    if len(at) > 1:
        at = [node for node in at if _compiled(node) == function.__code__.co_code]
    if len(at) != 1:
        raise _Missing("its source cannot be told from others on the same line")
    return at[0]


def _line(node: ast.FunctionDef | ast.Lambda) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _compiled(node: ast.AST) -> bytes:
    if not isinstance(node, ast.Lambda):
        return b""
    code = compile(ast.Expression(node), "script", "eval")
    return next((part.co_code for part in code.co_consts if isinstance(part, types.CodeType)), b"")
