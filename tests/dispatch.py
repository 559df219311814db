"""What the design forbids, counted file by file: asking objects what they are instead of telling them what to do.

`exceptions.json` lists what is left.  Its numbers may only fall: `python tests/dispatch.py --write` writes them anew
after some were mended, and refuses where there are more of a kind than before.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sfumato"
LISTED = Path(__file__).parent / "exceptions.json"
NOUNS = {"queries", "mechanisms", "spaces", "engines", "ledger"}  # only their own package may ask for their classes
CLAIMS = "sfumato.privacy.guarantees"
CLAIM_HOMES = ("privacy", "accounting", "mechanisms/noise", "planner")  # who may ask for the kind of a guarantee
RULES = ("attributes", "classes", "guarantees", "any")


@cache
def layers() -> tuple[str, ...]:
    """The layers from the bottom up, as CONTRIBUTING.md lists them."""
    block = re.search(r"```layers\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert block, "CONTRIBUTING.md must list the layers in a block that begins with ```layers"
    return tuple(block[1].split())


def layer_of(path: Path) -> str:
    """The part of the package that a module belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def origins(tree: ast.AST) -> dict[str, str]:
    """The module of the package that each imported name comes from."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato")
        for alias in node.names
    }


def asked(tree: ast.AST) -> Iterator[str]:
    """The names that a module asks objects for: `isinstance`, `issubclass`, `type(x) is`, and class patterns."""
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        kinds: list[ast.AST] = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            kinds = [node.args[1]]
        elif isinstance(node, ast.Compare) and getattr(getattr(node.left, "func", None), "id", "") == "type":
            kinds = list(node.comparators)
        elif isinstance(node, ast.MatchClass):
            kinds = [node.cls]
        for kind in kinds:
            for part in ast.walk(kind):
                if isinstance(part, ast.Name):
                    yield part.id
                    yield from (one.id for one in ast.walk(named.get(part.id, part)) if isinstance(one, ast.Name)
                                and one is not part)  # fmt: skip


def attributes(tree: ast.AST) -> int:
    """How often an object is asked whether it has an attribute."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(getattr(call.func, "id", "") == "hasattr" for call in calls)


def counted(home: str, text: str) -> dict[str, int]:
    """How often a module breaks each rule; `home` is its path in the package."""
    tree = ast.parse(text)
    layer = home.split("/")[0].removesuffix(".py")
    sources = origins(tree)
    names = [sources.get(name, "") for name in asked(tree)]
    classes = [module for module in names if module.split(".")[1:2] and module.split(".")[1] in NOUNS - {layer}]
    claims = [] if home.startswith(CLAIM_HOMES) else [module for module in names if module == CLAIMS]
    above = layer not in layers() or layers().index(layer) > layers().index("sampling")
    return {
        "attributes": attributes(tree) if above else 0,
        "classes": len(classes),
        "guarantees": len(claims),
        "any": len(re.findall(r": Any\b", text)),
    }


@cache
def found() -> dict[str, dict[str, int]]:
    """For each rule the files that break it, and how often."""
    every = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    counts = {home: counted(home, text) for home, text in every.items()}
    return {rule: {home: count[rule] for home, count in counts.items() if count[rule]} for rule in RULES}


def listed() -> dict[str, dict[str, int]]:
    """The exceptions as they are listed."""
    return dict(json.loads(LISTED.read_text()))


def write() -> str:
    """List what there is now; what has grown in all, rule by rule, is refused."""
    now, before = found(), listed() if LISTED.exists() else {}
    totals = {rule: (sum(now[rule].values()), sum(before.get(rule, {}).values())) for rule in RULES}
    grown = {rule: pair for rule, pair in totals.items() if before and pair[0] > pair[1]}
    if grown:
        more = {rule: Counter(now[rule]) - Counter(before[rule]) for rule in grown}
        return f"not written, there is more of {', '.join(grown)} than before: {more}"
    LISTED.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n")
    return "\n".join(f"{rule}: {new}, was {old}" for rule, (new, old) in totals.items())


if __name__ == "__main__" and "--write" in sys.argv:
    print(write())
