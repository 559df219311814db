"""Tests that judge by a clock, or that sleep: both fail where a machine is busy.

`check_repository.py` refuses them.  Whoever waits uses `waiting.py`; whoever asks how much work something is counts
calls (`count_calls`), which are the same on every machine.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

CLOCKS = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
             "process_time_ns", "thread_time", "thread_time_ns"},
    "os": {"times"}, "resource": {"getrusage"}, "datetime": {"now", "utcnow", "today"}, "date": {"today"},
    "timeit": {"timeit", "repeat", "default_timer"}, "waiting": {"measure_seconds", "read_clock"},
}  # fmt: skip
SLEEPS = {"time": {"sleep"}, "asyncio": {"sleep"}, "anyio": {"sleep"}, "gevent": {"sleep"}}
GROWING = {"append", "add", "extend", "insert", "update", "setdefault"}


def find_clocks(text: str) -> list[tuple[int, str]]:
    """Return the lines of a module of tests that sleep, or that judge or wait by what a clock says."""
    tree = ast.parse(text)
    imported = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    told = _spread(tree, imported)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (_names(node.func, SLEEPS, imported) or _is_pause(node.func)):
            found.append((node.lineno, "sleeps"))
        elif isinstance(node, ast.Assert | ast.While) and _tells(node.test, told, imported):
            found.append((node.lineno, "judges by a clock" if isinstance(node, ast.Assert) else "waits by a clock"))
    return sorted(found)


def _is_pause(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "wait_for_timeout"


def _names(node: ast.AST, wanted: dict[str, set[str]], imported: dict[str, tuple[str, str]]) -> bool:
    """Whether an expression is one of those functions, called by its module or imported from it."""
    if isinstance(node, ast.Attribute):
        home = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        return node.attr in wanted.get(home, ())
    module, name = imported.get(getattr(node, "id", ""), ("", ""))
    return name in wanted.get(module, ())


def _tells(node: ast.AST, told: set[str], imported: dict[str, tuple[str, str]]) -> bool:
    """Whether an expression reads a clock, or a name that holds what one said."""
    return any(
        _names(part, CLOCKS, imported) or (isinstance(part, ast.Name) and part.id in told) for part in ast.walk(node)
    )


def _spread(tree: ast.Module, imported: dict[str, tuple[str, str]]) -> set[str]:
    """Return the names that hold, hand out or collect what a clock said, wherever in the module."""
    told: set[str] = set()
    while True:
        before = len(told)
        for node in ast.walk(tree):
            targets: list[ast.AST] = []
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
                if _tells(node.value, told, imported):
                    targets = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
            elif isinstance(node, ast.For | ast.comprehension) and _tells(node.iter, told, imported):
                targets = [node.target]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWING:
                if any(_tells(part, told, imported) for part in node.args):
                    targets = [node.func.value]
            elif isinstance(node, ast.FunctionDef) and any(
                isinstance(part, ast.Return) and part.value is not None and _tells(part.value, told, imported)
                for part in ast.walk(node)
            ):
                told.add(node.name)
            told |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        if len(told) == before:
            return told


def count_calls(work: Callable[[], object]) -> int:
    """Return how many functions some work calls, in Python or beneath: the same on every machine."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
