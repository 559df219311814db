"""Nothing is an island: every module is reached from a door, by imports or by the names that lazy doors hold."""

from __future__ import annotations

import ast
from pathlib import Path

import sfumato

SOURCE = Path(__file__).parent.parent / "src" / "sfumato"
# The package's own names, the command line, and the facades that `sf.` shows.
DOORS = ("sfumato", "sfumato.cli.__main__", "sfumato.auditing.__main__")
# Modules that no door reaches yet, each with what will reach it.  The list may only shrink.
WAITING: dict[str, str] = {}


def module_of(path: Path) -> str:
    parts = ["sfumato", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCE.rglob("*.py")}


def named(text: str, package: str) -> set[str]:
    """The modules that a module names: in imports, and in the tables of lazy doors, relative or absolute."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isascii():
            place = node.value.split(":")[0]
            found |= {place, f"{package}.{place}"}
    return found


def reached(doors: tuple[str, ...]) -> set[str]:
    """Every module that the doors lead to; importing a module imports the packages around it, which lead nowhere."""
    seen: set[str] = set()
    waiting = list(doors)
    while waiting:
        name = waiting.pop()
        if name in MODULES and name not in seen:
            seen.add(name)
            path = MODULES[name]
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting += named(path.read_text(), package)
    return seen


def islands() -> set[str]:
    """Modules that no door leads to; a package is reached with any of its modules."""
    found = reached(DOORS)
    return {name for name in MODULES if not any(one == name or one.startswith(f"{name}.") for one in found)}


def test_every_module_is_reached_from_a_door() -> None:
    left = islands() - WAITING.keys()
    assert not left, f"no door leads to {sorted(left)}: give each a door, or delete it"


def test_what_waits_for_its_door_still_waits() -> None:
    assert WAITING.keys() <= islands(), "take what has a door off the list"


def test_an_island_is_noticed() -> None:
    assert "sfumato.ledger.rules" in named("from sfumato.ledger import rules", "sfumato.session")
    assert "sfumato.accounting.laws" in named("_HOMES = {'laws': ('pure',)}", "sfumato.accounting")
    assert "sfumato.session" not in reached(("sfumato.errors",))


def test_no_attribute_of_the_package_appears_by_accident() -> None:
    """What `sf.name` gives does not depend on what was imported before."""
    import importlib
    import subprocess
    import sys

    tops = sorted({name.split(".")[1] for name in MODULES if "." in name} - {"__main__"})
    code = f"import sfumato as sf; print([name for name in {tops!r} if getattr(sf, name, None) is None])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert all(getattr(sfumato, name) is not None for name in tops)
    assert set(dir(sfumato)) >= {"accounting", "local", "reference", "bounds", "mechanisms"}
    assert importlib.import_module("sfumato.reference") is sfumato.reference
