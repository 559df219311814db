"""Imports point one way: down the list of layers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "sfumato"

# From the bottom up; a module may import its own layer and those before it.
LAYERS = (
    "errors", "deferred", "arguments", "numeric", "elimination", "version", "visible",
    "disk", "randomness", "privacy", "spaces", "schema", "sampling", "curves",
    "statements", "certificate", "release", "queries", "mechanisms", "bounds", "planner", "sanitization", "synthesis",
    "archive", "local", "auditing", "engines", "ledger", "verification", "publishing", "orders", "session",
    "plans", "report", "cli",
)  # fmt: skip
# Plots are imported inside the function that draws them.
LAZY = {("release", "report"), ("local", "report"), ("curves", "report"), ("synthesis", "report")}


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> list[tuple[str, bool]]:
    """The layers that a module imports, and whether inside a function."""
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "sfumato" else [module]
        found += [(name.split(".")[1], id(node) in inside) for name in names if name.startswith("sfumato.")]
    return found


def crossings(layer: str, tree: ast.AST) -> list[str]:
    """The imports of a module that point up."""
    height = LAYERS.index(layer)
    return [
        name for name, inside in imports(tree) if LAYERS.index(name) > height and not (inside and (layer, name) in LAZY)
    ]


MODULES = sorted(path for path in SOURCE.rglob("*.py") if layer_of(path) not in ("__init__", "__main__"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    assert layer_of(path) in LAYERS, f"{layer_of(path)} has no place in the list of layers"
    assert crossings(layer_of(path), ast.parse(path.read_text())) == []


def test_an_import_that_points_up_is_noticed():
    assert crossings("privacy", ast.parse("from sfumato.session import Session")) == ["session"]
    assert crossings("privacy", ast.parse("from sfumato import session")) == ["session"]
    assert crossings("release", ast.parse("import sfumato.report.plots")) == ["report"]
    assert crossings("release", ast.parse("def plot():\n    from sfumato.report import plots")) == []
    assert crossings("release", ast.parse("def plot():\n    from sfumato.session import Session")) == ["session"]


def test_sampling_does_not_know_the_word_privacy():
    """The design's rule: noise is tested as a distribution, the claim as arithmetic."""
    for path in (SOURCE / "sampling").rglob("*.py"):
        assert all(name != "privacy" for name, _ in imports(ast.parse(path.read_text()))), path.name
