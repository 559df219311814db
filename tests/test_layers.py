"""Imports point down the list of layers in CONTRIBUTING.md, and objects are not asked what they are."""

from __future__ import annotations

import ast

import sfumato
from dispatch import RULES, SOURCE, counted, found, layer_of, layers, listed

LAYERS = layers()  # from the bottom up; a module may import its own layer and those before it
# Plots, texts for readers and plans are imported inside the function that draws, shows or opens them.
LAZY = {(layer, "report") for layer in ("release", "local", "answers", "accounting")} | {("session", "plans")}


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


def test_every_module_has_a_layer():
    assert len(MODULES) > 100
    assert {layer_of(path) for path in MODULES} - set(LAYERS) == set(), "CONTRIBUTING.md lists no such layers"


def test_imports_point_down():
    upward = {
        str(path.relative_to(SOURCE)): names
        for path in MODULES
        if layer_of(path) in LAYERS and (names := crossings(layer_of(path), ast.parse(path.read_text())))
    }
    assert upward == {}


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


# dispatch: the list of exceptions may only shrink


def test_the_exceptions_to_the_rules_of_dispatch_are_those_listed():
    apart = {}
    for rule in RULES:
        now, before = found()[rule], listed()[rule]
        pairs = {f"{rule}: {home}": (now.get(home, 0), before.get(home, 0)) for home in now.keys() | before.keys()}
        apart |= {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    assert not apart, (
        f"the exceptions to the rules differ, rule: file: (now, listed): {apart}; for more use a protocol, "
        "a method or a table; for fewer run `python tests/dispatch.py --write`"
    )


def test_fewer_than_a_hundred_annotations_say_any():
    assert sum(found()["any"].values()) < 100


def test_asking_what_an_object_is_is_counted():
    text = """
from typing import Any
from sfumato.queries.mean import Mean
from sfumato.privacy.guarantees import Pure
KINDS = (Mean, int)
def f(x: Any, y: Any | None):
    if hasattr(x, "read") or isinstance(x, Mean | str) or isinstance(x, KINDS) or type(x) is Mean:
        return isinstance(y, Pure)
    match x:
        case Mean(): return 1
"""
    assert counted("session.py", text) == {"attributes": 1, "classes": 4, "guarantees": 1, "any": 2}
    assert counted("queries/other.py", text) == {"attributes": 1, "classes": 0, "guarantees": 1, "any": 2}
    assert counted("sampling/other.py", text)["attributes"] == 0
    assert counted("planner.py", text)["guarantees"] == 0
    assert counted("mechanisms/noise/other.py", text)["guarantees"] == 0


# names

PARTS = {  # whole packages that may be reached as `sf.part`, beside the documented facades
    "accounting", "auditing", "bounds", "engines", "errors", "local", "mechanisms", "privacy", "reference", "report",
    "sampling", "spaces", "sql",
}  # fmt: skip


def test_the_top_level_has_at_most_eighty_names():
    names = set(sfumato.__all__) - {"__version__"}
    assert len(names) <= 80
    assert all(getattr(sfumato, name) is not None for name in names)
    assert set(dir(sfumato)) - names - {"__version__"} <= PARTS
