"""What is written about the repository is true of it: files that are named exist, commands are listed, and no program
reads our own sentences back.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sfumato"
NAMED = re.compile(r"(?<![\w/.-])((?:[\w-]+/)+[\w-]+\.(?:py|md|bib|json))\b")
PACKAGES = {path.name for path in SOURCE.rglob("*") if path.is_dir() and path.name != "__pycache__"}
FOLDERS = {"benchmarks", "docs", "examples", "experiments", "src", "tests", *PACKAGES}
SPLITS = {"split", "rsplit", "partition", "rpartition", "splitlines", "find", "index", "removeprefix", "removesuffix"}
SEARCHES = {"match", "search", "fullmatch", "findall", "finditer", "sub", "split"}


def written() -> dict[Path, str]:
    """The notes, the guide and the pages at the top, and the docstrings of the package."""
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    texts = {path: path.read_text() for path in pages}
    return texts | {path: "\n".join(docstrings(path)) for path in SOURCE.rglob("*.py")}


def docstrings(path: Path) -> list[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


@cache
def modules() -> list[str]:
    return [str(path) for path in SOURCE.rglob("*.py")]


def missing(text: str, beside: Path) -> set[str]:
    """The files that a text names and that are nowhere: in the repository, the package, or beside the text."""
    found = {name for name in NAMED.findall(text) if name.split("/")[0] in FOLDERS}
    here = {name for name in found if (ROOT / name).is_file() or (beside.parent / name).is_file()}
    return {name for name in found - here if not any(path.endswith(f"/{name}") for path in modules())}


def test_every_file_that_is_named_exists():
    assert {str(path): names for path, text in written().items() if (names := missing(text, path))} == {}


def test_a_missing_file_is_noticed():
    assert missing("see `bounds/none.py` and docs/proofs/none.md", ROOT) == {"bounds/none.py", "docs/proofs/none.md"}
    assert missing("see `bounds/volume.py`, docs/limits.md, demo/people.json", ROOT) == set()


def test_the_package_of_commands_lists_them_all():
    tree = ast.parse((SOURCE / "cli" / "app.py").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    commands = {node.name for node in functions for mark in node.decorator_list if "app.command" in ast.unparse(mark)}
    calls = [node.value for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    commands |= {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func).startswith("app.command(")}
    service = (SOURCE / "cli" / "serving.py").read_text()
    commands |= {
        *re.findall(r'add_typer\(\w+, name="(\w+)"\)', service),
        *re.findall(r"app\.command\(.*\)\((\w+)\)", service),
    }
    top = {name for name in commands if not name.startswith("ledger_")} | {"ledger"}
    listed = set(
        re.findall(r"[a-z]+", " ".join(re.findall(r"`([^`]+)`", docstrings(SOURCE / "cli" / "__init__.py")[0])))
    )
    assert top <= listed | {"main"}, top - listed
    assert listed - {"sfumato"} <= top, listed - top


# structure is data, prose is for people


def read_back(tree: ast.AST) -> list[int]:
    """The lines where the result of `words()`, or a text of an object, is taken apart again."""
    lines = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        searched = node.func.attr in SEARCHES and getattr(node.func.value, "id", "") == "re" and len(node.args) > 1
        about = [node.func.value] if node.func.attr in SPLITS else node.args[1:] if searched else []
        lines += [node.lineno for part in about if _is_sentence(part)]
    return lines


def _is_sentence(node: ast.AST) -> bool:
    """A call of `words` or `statement`, of itself or of what it returned."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"words", "statement"}
    )


def test_no_program_reads_our_own_sentences_back():
    places = {str(path.relative_to(SOURCE)): read_back(ast.parse(path.read_text())) for path in SOURCE.rglob("*.py")}
    assert len(places) > 100
    assert {place: lines for place, lines in places.items() if lines} == {}


def test_a_sentence_that_is_taken_apart_is_noticed():
    assert read_back(ast.parse("error.words().split()[3]")) == [1]
    assert read_back(ast.parse("re.search('x', claim.words(unit))")) == [1]
    assert read_back(ast.parse("name.split()")) == []


def test_every_test_that_is_listed_as_long_exists():
    listed = (ROOT / "tests" / "long.txt").read_text().splitlines()
    named = {tuple(name.split("[")[0].split("::")) for name in listed}
    gone = {name for file, name in named if not re.search(rf"def {name}\b", _text(ROOT / file))}
    assert listed == sorted(set(listed))
    assert gone == set()


@cache
def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""
