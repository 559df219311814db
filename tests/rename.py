"""Rename functions and methods of the package by a reviewed map, everywhere that they are used.

`python tests/rename.py MAP.tsv` reads lines `module path <tab> qualified name <tab> new last name`, asks mypy what each
name and attribute refers to, and rewrites source, tests, benchmarks, examples and experiments.  It refuses a new name
that is taken where it would be used, and prints the places that it could not decide.  Fingerprints of proof notes are
stamped anew only where the code is the same but for the map (`same_but_for`).
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mypy import build
from mypy.config_parser import parse_config_file
from mypy.find_sources import create_source_list
from mypy.modulefinder import BuildSource
from mypy.nodes import (
    CallExpr,
    Decorator,
    Expression,
    FuncDef,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OverloadedFuncDef,
    StrExpr,
    SuperExpr,
    SymbolNode,
    TypeInfo,
)
from mypy.options import Options
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    TupleType,
    Type,
    TypeType,
    TypeVarType,
    UnionType,
    get_proper_type,
)

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sfumato"
ROOTS = ("tests", "benchmarks", "examples", "experiments", "website", "distribution", "clients")
ASKING = {"setattr", "delattr", "getattr", "object"}  # calls that take a name as a text


class Target(NamedTuple):
    """A name, what it becomes, and whether it is a method's."""

    old: str
    new: str
    is_method: bool


Place = tuple[int, int]  # a line from 1, a byte from 0
Renames = dict[tuple[str, str], str]  # (module path, qualified name) -> the new last name


def read_map(path: Path) -> Renames:
    """Read a map, and refuse lines that say nothing new or no name."""
    renames: Renames = {}
    for line in path.read_text().splitlines():
        if not line.strip():
            continue
        module, qualified, new = line.split("\t")
        old = qualified.split(".")[-1]
        if not new.isidentifier():
            sys.exit(f"{new!r} is no name ({line})")
        if new != old:
            renames[module, qualified] = new
    return renames


def build_trees(files: list[str]) -> build.BuildResult:
    """Let mypy read files of one root, with the types of every expression."""
    options = Options()
    parse_config_file(options, lambda: None, str(ROOT / "pyproject.toml"), sys.stdout, sys.stderr)
    options.export_types = options.preserve_asts = options.check_untyped_defs = True
    options.incremental = False
    options.mypy_path = [str(ROOT / "src"), str(ROOT / "tests")]
    options.explicit_package_bases = options.namespace_packages = True
    sources: list[BuildSource] = []
    seen = set()
    for file in files:
        for source in create_source_list([file], options):
            if source.module not in seen:
                seen.add(source.module)
                sources.append(source)
    return build.build(sources, options)


def iterate_definitions(
    tree: ast.AST, prefix: str = "", in_class: bool = False
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Yield every function of a module with its qualified name, and whether it is a method."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child, in_class
            yield from iterate_definitions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from iterate_definitions(child, f"{prefix}{child.name}.", True)
        else:
            yield from iterate_definitions(child, prefix, in_class)


def find_targets(renames: Renames) -> dict[tuple[str, int], Target]:
    """Map (full name of a module, line of `def`) to what is renamed there; refuse what is not there."""
    targets: dict[tuple[str, int], Target] = {}
    unknown = set(renames)
    for module in sorted({module for module, _ in renames}):
        path = SOURCE / module
        tree = ast.parse(path.read_text())
        taken = {qualified for qualified, _, _ in iterate_definitions(tree)}
        for qualified, node, is_method in iterate_definitions(tree):
            new = renames.get((module, qualified))
            if new is None:
                continue
            unknown.discard((module, qualified))
            if is_method and f"{qualified.rpartition('.')[0]}.{new}" in taken:
                sys.exit(f"{module}: {qualified} -> {new}: the class has one already")
            targets[name_module(path), node.lineno] = Target(node.name, new, is_method)
    if unknown:
        sys.exit(f"the map names what is not there: {sorted(unknown)[:10]}")
    return targets


def name_module(path: Path) -> str:
    """Return the full name of a module of the package."""
    parts = ("sfumato", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Finder:
    """The places in one file that name a target, and those that may."""

    def __init__(
        self, targets: dict[tuple[str, int], Target], types: dict[Expression, Type], modules: dict[str, MypyFile]
    ) -> None:
        self.targets, self.types, self.modules = targets, types, modules
        self.names = {target.old for target in targets.values()}
        self.edits: dict[Place, Target] = {}
        self.undecided: list[tuple[int, str]] = []

    def find_target(self, node: SymbolNode | None) -> Target | None:
        """Return the old and new name of what a symbol stands for, if it is renamed."""
        if isinstance(node, OverloadedFuncDef):
            found = [self.find_target(item) for item in node.items]
            return next((each for each in found if each), None)
        function = node.func if isinstance(node, Decorator) else node
        if not isinstance(function, FuncDef) or function.name not in self.names:
            return None
        owner = function.info.module_name if function.info else ""
        for module in (owner, self.home_of(function)):
            if (module, function.line) in self.targets:
                target = self.targets[module, function.line]
                return target if target[0] == function.name else None
        return None

    def home_of(self, function: FuncDef) -> str:
        """Return the module that defines a function."""
        full = function.fullname
        while full and full not in self.modules:
            full = full.rpartition(".")[0]
        return full or self.here

    def read(self, name: str, tree: MypyFile) -> None:
        """Visit one file."""
        self.here = name
        for node in iterate_nodes(tree):
            if visit := VISITS.get(type(node).__name__):
                visit(self, node)

    def visit_name_expr(self, o: NameExpr) -> None:
        target = self.find_target(o.node)
        if target and o.name == target[0]:
            self.edits[o.line, o.column] = target

    def visit_member_expr(self, o: MemberExpr) -> None:
        if o.name not in self.names:
            return
        target = self.find_target(o.node)
        if target is None:
            decided, target = self.look_up(o.name, self.types.get(o.expr))
            if not decided:
                self.undecided.append((o.end_line or o.line, o.name))
        if target and o.end_column is not None:
            self.edits[o.end_line or o.line, o.end_column - len(o.name)] = target

    def visit_super_expr(self, o: SuperExpr) -> None:
        if o.name in self.names and o.info and o.end_column is not None:
            for base in o.info.mro[1:]:
                if o.name in base.names and (target := self.find_target(base.names[o.name].node)):
                    self.edits[o.end_line or o.line, o.end_column - len(o.name)] = target
                    return

    def visit_call_expr(self, o: CallExpr) -> None:
        callee = o.callee.name if isinstance(o.callee, MemberExpr | NameExpr) else ""
        if callee not in ASKING or len(o.args) < 2 or not isinstance(o.args[1], StrExpr):
            return
        owner, text = o.args[0], o.args[1]
        target = None
        if isinstance(owner, NameExpr | MemberExpr) and isinstance(owner.node, MypyFile):
            held = owner.node.names.get(text.value)
            target = self.find_target(held.node) if held else None
        elif text.value in self.names:
            decided, target = self.look_up(text.value, self.types.get(owner))
            if not decided:
                self.undecided.append((o.line, f'"{text.value}"'))
        if target:
            self.edits[text.line, text.column + 1] = target

    def look_up(self, name: str, kind: Type | None) -> tuple[bool, Target | None]:
        """Return whether the type says what an attribute is, and the renamed method that it is, if any."""
        if kind is None:
            return False, None
        kind = get_proper_type(kind)
        if isinstance(kind, AnyType):
            return False, None
        if isinstance(kind, UnionType):
            parts = [self.look_up(name, item) for item in kind.items]
            return all(decided for decided, _ in parts), next((target for _, target in parts if target), None)
        if isinstance(kind, TypeVarType):
            return self.look_up(name, kind.upper_bound)
        if isinstance(kind, TypeType):
            return self.look_up(name, kind.item)
        if isinstance(kind, TupleType):
            return self.look_up(name, kind.partial_fallback)
        if isinstance(kind, CallableType):
            return self.look_up(name, kind.ret_type) if kind.is_type_obj() else (True, None)
        if isinstance(kind, Instance):
            return True, self.look_in(kind.type, name)
        return True, None

    def look_in(self, info: TypeInfo, name: str) -> Target | None:
        """Return the renamed method that a class has under a name."""
        for base in info.mro:
            if name in base.names:
                return self.find_target(base.names[name].node)
        return None


# what a kind of node makes of itself; mypy's own visitors are compiled, and cannot be inherited from
VISITS: dict[str, Callable[[Finder, Any], None]] = {
    "NameExpr": Finder.visit_name_expr,
    "MemberExpr": Finder.visit_member_expr,
    "SuperExpr": Finder.visit_super_expr,
    "CallExpr": Finder.visit_call_expr,
}
REFERENCES = frozenset(
    ["node", "info", "type", "unanalyzed_type", "original_def", "expanded", "analyzed", "var", "names", "alias_deps"]
)


@cache
def list_fields(kind: type) -> tuple[str, ...]:
    """Return the attributes of a kind of node that hold other nodes."""
    found = {
        name: None
        for base in kind.__mro__
        for name, held in vars(base).items()
        if type(held).__name__ == "getset_descriptor" and name not in REFERENCES
    }
    return tuple(found)


def iterate_nodes(tree: Node) -> Iterator[Node]:
    """Yield every node of a tree once."""
    seen: set[int] = set()
    waiting: list[object] = [tree]
    while waiting:
        held = waiting.pop()
        if isinstance(held, list | tuple):
            waiting.extend(held)
        elif isinstance(held, Node) and id(held) not in seen:
            seen.add(id(held))
            yield held
            for name in list_fields(type(held)):
                try:
                    waiting.append(getattr(held, name))
                except (AttributeError, AssertionError):  # compiled attributes that were never set
                    continue


def edit_imports(tree: ast.Module, finder: Finder) -> None:
    """Note the imported names, and those of `__all__`, that are renamed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in finder.modules:
            for alias in node.names:
                held = finder.modules[node.module].names.get(alias.name)
                if held and (target := finder.find_target(held.node)) and target[0] == alias.name:
                    finder.edits[alias.lineno, alias.col_offset] = target
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            for item in ast.walk(node.value):
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    held = finder.modules[finder.here].names.get(item.value) if finder.here in finder.modules else None
                    if held and (target := finder.find_target(held.node)):
                        finder.edits[item.lineno, item.col_offset + 1] = target
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"sfumato(\.\w+)+", node.value)
        ):
            module, _, name = node.value.rpartition(".")
            held = finder.modules[module].names.get(name) if module in finder.modules else None
            if held and (target := finder.find_target(held.node)):
                finder.edits[node.lineno, node.col_offset + 1 + len(module) + 1] = target


def edit_definitions(path: Path, tree: ast.Module, finder: Finder) -> None:
    """Note the definitions themselves."""
    if not path.is_relative_to(SOURCE):
        return
    lines = path.read_bytes().split(b"\n")
    for _, node, _ in iterate_definitions(tree):
        target = finder.targets.get((name_module(path), node.lineno))
        if target:
            column = lines[node.lineno - 1].index(b"def ") + 4
            finder.edits[node.lineno, column] = target


def apply_edits(path: Path, edits: dict[Place, Target]) -> None:
    """Rewrite a file, and its own backticked mentions of what it defines."""
    lines = path.read_bytes().split(b"\n")
    for (line, column), (old, new, _) in sorted(edits.items(), reverse=True):
        text = lines[line - 1]
        if text[column : column + len(old)] != old.encode():
            print(f"left: {path.relative_to(ROOT)}:{line}: {old!r} is not at byte {column}")
            continue
        lines[line - 1] = text[:column] + new.encode() + text[column + len(old) :]
    path.write_bytes(b"\n".join(lines))


def find_taken(path: Path, tree: ast.Module, edits: Iterable[Target]) -> list[str]:
    """Return the new names that a file binds already."""
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {
        a.asname or a.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
        for a in node.names
    }
    bound |= {name.split(".")[-1] for name, _, _ in iterate_definitions(tree)}
    return [
        f"{path.relative_to(ROOT)}: {old} -> {new}, which is taken"
        for old, new, is_method in set(edits)
        if not is_method and new in bound
    ]


def same_but_for(pairs: set[tuple[str, str]], before: ast.AST, after: ast.AST) -> bool:
    """Return whether two trees are the same but for names that the map changes."""
    if type(before) is not type(after):
        return False
    for field in before._fields:
        one, other = getattr(before, field, None), getattr(after, field, None)
        ones = one if isinstance(one, list) else [one]
        others = other if isinstance(other, list) else [other]
        if len(ones) != len(others):
            return False
        for left, right in zip(ones, others, strict=True):
            if isinstance(left, ast.AST) and isinstance(right, ast.AST):
                if not same_but_for(pairs, left, right):
                    return False
            elif left != right and (left, right) not in pairs:
                return False
    return True


def rename(renames: Renames, write: bool) -> None:
    """Carry out a map; without `write`, only say what would be refused or stay undecided."""
    targets = find_targets(renames)
    print(f"{len(renames)} names of the map, {len(targets)} found")
    edits: dict[Path, dict[Place, Target]] = defaultdict(dict)
    problems: list[str] = []
    files = [str(path) for root in ROOTS for path in sorted((ROOT / root).rglob("*.py"))]
    wanted = {*files, *map(str, SOURCE.rglob("*.py"))}
    result = build_trees([str(SOURCE), *files])
    for name, state in result.graph.items():
        path = Path(state.path).resolve() if state.path else None
        if path is None or state.tree is None or not path.is_file() or str(path) not in wanted:
            continue
        finder = Finder(targets, result.types, result.files)
        finder.read(name, state.tree)
        tree = ast.parse(path.read_text())
        edit_imports(tree, finder)
        edit_definitions(path, tree, finder)
        edits[path] = finder.edits
        problems += [f"{path.relative_to(ROOT)}:{line}: undecided {text}" for line, text in finder.undecided]
        problems += find_taken(path, tree, finder.edits.values())
    problems += [f"{file}: not read" for file in files if Path(file) not in edits]
    print("\n".join(sorted(set(problems))))
    print(f"{sum(map(len, edits.values()))} places in {sum(map(bool, edits.values()))} files")
    if write:
        for path, found in edits.items():
            before = ast.parse(path.read_text())
            apply_edits(path, found)
            if not same_but_for({target[:2] for target in found.values()}, before, ast.parse(path.read_text())):
                sys.exit(f"{path} is not the same but for the map")


if __name__ == "__main__":
    merged: Renames = {}
    for argument in sys.argv[1:]:
        if not argument.startswith("--"):
            merged |= read_map(Path(argument))
    rename(merged, write="--write" in sys.argv)
