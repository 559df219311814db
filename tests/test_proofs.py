"""Every mechanism has a proof, every proof fits its code, every citation exists.

After reading a proof again: `python tests/test_proofs.py --print` prints the fingerprints of the code as it is.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from functools import cache
from pathlib import Path

from check_repository import CONFLICT

ROOT = Path(__file__).parent.parent
SOURCE, DOCS = ROOT / "src" / "sfumato", ROOT / "docs"
METHODS = {"guarantee", "calibrate", "release", "claim", "loss"}
DRAWS = {"release", "randomize", "run", "publish"}  # what a class that states a guarantee may call its random step
HANDED_ON = {  # classes that state the guarantee of another
    "local/collection/declaration.py": "that of the protocol that it declares",
    "local/collection/estimates.py": "that of the reports that it was made of",
    "local/interactive/finding.py": "that of the answers that it was made of",
    "local/interactive/inquiry.py": "that of the rule that it declares",
    "local/protocols/protocol.py": "what every protocol shares; each states its own",
    "plans/document.py": "the amount that a plan asks for",
    "reference/databases.py": "that of a smooth synthesis, which it runs",
    "reference/calibrated.py": "states and runs the mechanism that it wraps",
}
MOVES = {"sensitivity", "norms", "spread", "alone", "apart"}  # how far one unit moves what noise is added to, or scores
NOTES = {  # of modules whose docstring names none
    "bounds/minimax": "bounds-minimax.md",
    "local/protocols/numbers.py": "local-numbers.md",
    "mechanisms/sanitized": "sanitization.md",
    "queries/linear/measurements": "strategy.md",
    "queries/linear": "workloads.md",
    "queries/functions": "functions.md",
    "queries/popular.py": "selection.md",
    "queries": "contributions.md",
}
WATCHED = re.compile(r"^- `(?P<path>[\w/]+\.py)` \(fingerprint (?P<print>[0-9a-f]{16})\)$", re.MULTILINE)
FIRST_LINE = re.compile(r"^# (?P<what>.+) \(fingerprint (?P<print>[0-9a-f]{16})\)$")
CITATION = re.compile(r"\b((?:[A-Z][a-z]+){1,5}?(?:EtAl)?(?:19|20)\d\d)\b")


def fingerprint(path: Path, claims: frozenset[str] = frozenset(METHODS)) -> str:
    """A hash of what a proof is about: those methods, also inherited ones, the module's functions and constants."""
    tree = ast.parse(path.read_text())
    parts: list[ast.AST] = [method for base in bases(tree) for method in base.body if _is_claim(method)]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.Assign):
            parts.append(node)
        elif isinstance(node, ast.ClassDef):
            methods = [child for child in node.body if isinstance(child, ast.FunctionDef)]
            private = node.name.startswith("_")
            parts += [method for method in methods if private or method.name in claims]
    text = "\n".join(ast.dump(_bare(part)) for part in parts if not _is_all(part))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def bases(tree: ast.Module) -> list[ast.ClassDef]:
    """The classes of this layer that a module's classes inherit from, in the order they are named."""
    homes = {
        alias.name: SOURCE.parent / f"{node.module.replace('.', '/')}.py"
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato.mechanisms.")
        for alias in node.names
    }
    named = [base.id for node in tree.body if isinstance(node, ast.ClassDef) for base in node.bases
             if isinstance(base, ast.Name) and base.id in homes]  # fmt: skip
    return [node for name in named for node in ast.parse(homes[name].read_text()).body
            if isinstance(node, ast.ClassDef) and node.name == name]  # fmt: skip


def _is_claim(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in METHODS


def _bare(node: ast.AST) -> ast.AST:
    """The same syntax without docstrings."""
    for child in ast.walk(node):
        if isinstance(child, ast.FunctionDef) and ast.get_docstring(child) is not None:
            child.body = child.body[1:] or [ast.Pass()]
    return node


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"


@cache
def modules() -> dict[Path, ast.Module]:
    """Every module of the package, read once."""
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


@cache
def proven() -> dict[Path, Path]:
    """Each module that has a note of its own: of its name, with its fingerprint in the first line."""
    found = {}
    for note in sorted(DOCS.glob("proofs/*.md")):
        stem = note.stem.removeprefix("bounds-")
        homes = [path for path, tree in modules().items() if path.stem == stem and note.name in named_notes(tree)]
        if FIRST_LINE.match(note.read_text().splitlines()[0]):
            assert len(homes) == 1, f"{note.name} begins with a fingerprint; one module {stem}.py must name it: {homes}"
            found[homes[0]] = note
    return found


@cache
def claiming() -> dict[Path, Path]:
    """Every other module with a class that states a guarantee, wherever it lives, and its note."""
    states = set(stating(tuple(modules().values())))
    every = {path: tree for path, tree in modules().items() if path not in proven() and is_own(path)}
    return {path: note_of(path) for path, tree in every.items() if states & set(real_classes(tree).values())}


@cache
def moving() -> dict[Path, Path]:
    """Every other module that says how far one unit moves a vector or a score, or what no mechanism can beat."""
    found = {}
    for path, tree in modules().items():
        if path in proven() or path in claiming() or not is_own(path):
            continue
        bound = path.is_relative_to(SOURCE / "bounds" / "minimax") and path.stem != "__init__"
        if bound or states_a_move(tree):
            found[path] = note_of(path)
    return found


def is_own(path: Path) -> bool:
    return str(path.relative_to(SOURCE)) not in HANDED_ON


def named_notes(tree: ast.Module) -> list[str]:
    """The notes that a module's docstring names."""
    return re.findall(r"docs/proofs/([\w-]+\.md)", ast.get_docstring(tree) or "")


def real_classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    """The classes of a module that are not protocols of types."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {node.name: node for node in classes if "Protocol" not in [getattr(base, "id", "") for base in node.bases]}


def stating(trees: tuple[ast.Module, ...]) -> list[ast.ClassDef]:
    """The classes that state a guarantee, their own or that of a class that they inherit from."""
    classes = [node for tree in trees for node in real_classes(tree).values()]
    found = [node for node in classes if "guarantee" in methods_of(node)]
    while True:
        names = {node.name for node in found}
        heirs = [
            node for node in classes if node not in found and names & {getattr(base, "id", "") for base in node.bases}
        ]
        if not heirs:
            return found
        found += heirs


def methods_of(node: ast.ClassDef) -> set[str]:
    return {child.name for child in node.body if isinstance(child, ast.FunctionDef)}


def note_of(path: Path) -> Path:
    """The note that a module's docstring names, or the one of its folder."""
    home = path.relative_to(SOURCE)
    named = named_notes(modules()[path])
    folders = [str(place) for place in (home, *home.parents)]
    held = [NOTES[folder] for folder in folders if folder in NOTES]
    return DOCS / "proofs" / ([*named, *held, f"{path.stem}.md"][0])


def states_a_move(tree: ast.Module) -> bool:
    """Whether a function or a class, not a protocol of types, computes how far one unit moves something."""
    own = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "sensitivity"]
    return bool(own) or any(methods_of(node) & MOVES for node in real_classes(tree).values())


def watched_print(path: Path) -> str:
    return fingerprint(path, frozenset(METHODS | DRAWS | MOVES))


def keys_in(text: str) -> set[str]:
    return set(CITATION.findall(text))


def known_keys() -> set[str]:
    files = [DOCS / "references.bib"]
    return {key for path in files for key in re.findall(r"^@\w+\{(\w+),", path.read_text(), re.MULTILINE)}


def differ_from_proof(module: Path, proof: Path) -> str | None:
    """Say what to do where a module's own note is missing or older than its code."""
    now = fingerprint(module)
    first = FIRST_LINE.match(proof.read_text().splitlines()[0])
    if first is None:
        return f"the first line of {proof.name} must be `# what it proves (fingerprint {now})`"
    if first["print"] != now:
        return f"{module.name} changed since {proof.name} was read; read it again, then write {now}"
    return None


def test_a_claim_has_a_proof_that_fits_its_code():
    assert len(proven()) > 20
    wrong = [line for module, proof in proven().items() if (line := differ_from_proof(module, proof))]
    assert not wrong, "\n".join(wrong)


def differ_from_note(module: Path, note: Path) -> str | None:
    """Say what to do where the note that watches a module is missing or older than its code."""
    home, now = str(module.relative_to(SOURCE)), watched_print(module)
    if not note.is_file():
        return f"{home} states a guarantee or a move; name its proof in its docstring, and write it"
    prints = {found["path"]: found["print"] for found in WATCHED.finditer(note.read_text())}
    if prints.get(home) != now:
        return (
            f"{home} changed since {note.name} was read; read the note again, then write "
            f"`- `{home}` (fingerprint {now})` under its heading Watched"
        )
    return None


def test_whatever_states_a_guarantee_or_a_move_is_watched_by_a_note():
    watched = claiming() | moving()
    wrong = [line for module, note in watched.items() if (line := differ_from_note(module, note))]
    assert not wrong, "\n".join(wrong)


def test_a_note_that_is_older_than_its_code_is_noticed(tmp_path):
    module, proof = next(iter(proven().items()))
    old = tmp_path / "old.md"
    old.write_text(f"# What it proves (fingerprint {'0' * 16})\n")
    assert "read it again" in (differ_from_proof(module, old) or "")
    assert "must be" in (differ_from_proof(module, DOCS / "limits.md") or "")
    assert differ_from_proof(module, proof) is None
    module, note = next(iter(claiming().items()))
    assert "read the note again" in (differ_from_note(module, old) or "")
    assert "write it" in (differ_from_note(module, tmp_path / "none.md") or "")
    assert differ_from_note(module, note) is None


def test_no_note_watches_what_is_gone():
    known = {str(path.relative_to(SOURCE)) for path in claiming() | moving()}
    for note in DOCS.glob("proofs/*.md"):
        assert {found["path"] for found in WATCHED.finditer(note.read_text())} <= known, note.name
    assert all((SOURCE / path).is_file() for path in HANDED_ON)


def test_a_new_class_with_a_guarantee_is_found_wherever_it_lives():
    text = """
class New:
    def guarantee(self): ...
class Heir(New): ...
class Other:
    def words(self): ...
class Form(Protocol):
    def guarantee(self): ...
"""
    assert [node.name for node in stating((ast.parse(text),))] == ["New", "Heir"]
    assert len(claiming()) > 20
    assert states_a_move(ast.parse("class New:\n    def norms(self, norm): ...\n"))
    assert len(moving()) > 12


def test_a_proof_states_its_hypotheses_and_argument():
    headings = ("## Hypotheses the code checks", "## Hypotheses the caller brings", "## Claim", "## Argument")
    proofs = proven().values()
    lacking = [(proof.name, heading) for proof in proofs for heading in headings if heading not in proof.read_text()]
    assert lacking == []


def headline(text: str) -> str | None:
    """The heading that a note must begin with; nothing where it does not, or where a merge left both sides."""
    first = text.splitlines()[0] if text else ""
    return first if first.startswith("# ") and not CONFLICT.search(text) else None


def test_every_note_begins_with_its_heading_and_is_wholly_merged():
    assert [note.name for note in DOCS.glob("proofs/*.md") if headline(note.read_text()) is None] == []
    note = (DOCS / "proofs" / "laplace.md").read_text()
    first, rest = note.split("\n", 1)
    ours, theirs = "<" * 7 + " HEAD", ">" * 7 + " theirs"
    conflicts = [f"{ours}\n{first}\n=======\n{first}\n{theirs}\n{rest}", f"{note}\n{ours}\n=======\nx\n{theirs}\n"]
    assert [headline(text) for text in conflicts] == [None, None]


def test_every_citation_exists():
    known = known_keys()
    texts = {path: path.read_text() for path in DOCS.glob("proofs/*.md")}
    for path in SOURCE.rglob("*.py"):
        texts[path] = ast.get_docstring(ast.parse(path.read_text())) or ""
    missing = {f"{path.name}: {key}" for path, text in texts.items() for key in keys_in(text) - known}
    assert not missing, f"no entry in docs/references.bib for {sorted(missing)}"


def test_no_work_stands_twice_and_addresses_have_their_form():
    whole = (DOCS / "references.bib").read_text()
    works = [
        re.sub(r"[^a-z0-9=]", "", entry.lower())
        for entry in re.findall(r"\btitle\s*=.*?\},.*?year\s*=\s*\{\d+\}", whole, re.DOTALL)
    ]
    assert len(works) == whole.count("\n@")
    titled = [(entry.split("booktitle=")[0].split("journal=")[0], entry[-4:]) for entry in works]
    assert len(set(titled)) == len(titled)
    assert all(re.fullmatch(r"10\.\d{4,5}/\S+", doi) for doi in re.findall(r"\bdoi\s*=\s*\{(.*?)\}", whole))
    assert all(re.fullmatch(r"\d{4}\.\d{4,5}", number) for number in re.findall(r"eprint\s*=\s*\{(.*?)\}", whole))


def test_every_proof_a_docstring_names_exists():
    for path in SOURCE.rglob("*.py"):
        for name in re.findall(r"docs/proofs/[\w-]+\.md", path.read_text()):
            assert (ROOT / name).is_file(), f"{path.name} names {name}, which does not exist"


def test_a_changed_claim_changes_the_fingerprint(tmp_path):
    original = (SOURCE / "mechanisms" / "noise" / "laplace.py").read_text()
    changed = original.replace("self.epsilon, distance)", "self.epsilon, distance - 1)")
    reworded = original.replace("Add the noise.", "Adds noise.").replace("# ", "#  ")
    prints = []
    for i, text in enumerate((original, changed, reworded)):
        (tmp_path / f"{i}.py").write_text(text)
        prints.append(fingerprint(tmp_path / f"{i}.py"))
    assert changed != original != reworded
    assert prints[0] != prints[1]
    assert prints[0] == prints[2]


def test_citation_keys_are_recognized():
    assert keys_in("see [GengViswanath2014, 3] and DingEtAl2021; not in 2014") == {"GengViswanath2014", "DingEtAl2021"}


if __name__ == "__main__" and "--print" in sys.argv:
    for module, proof in sorted(proven().items()):
        print(f"{proof.relative_to(ROOT)}: {fingerprint(module)}")
    for module, note in claiming().items():
        print(f"{note.relative_to(ROOT)}: - `{module.relative_to(SOURCE)}` (fingerprint {watched_print(module)})")
