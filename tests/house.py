"""How plain the house is: names, docstrings, sizes, and the way of a question through the modules.

`python tests/house.py` prints the figures that `tests/test_plain_names.py` keeps from growing.
`python tests/house.py --trace mean` (or synthesize, publish, sql, local) prints the modules that one such job enters,
in the order in which they are entered, with a mark wherever the way turns from one layer to another.
`python tests/house.py --write` stores the counted figures in `tests/house.json`, and refuses where one has grown.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sfumato"
STORED = Path(__file__).with_name("house.json")
WINGS = ("local", "server", "audit", "auditing", "research", "reference")
SHORT, LONG = 100, 450

# Words that end in "ed" and are no participles.
NOT_PARTICIPLES = frozenset({"bed", "embed", "exceed", "feed", "need", "proceed", "red", "reseed", "seed", "speed"})
IRREGULAR_WORDS = """
bought bound broken brought built begun caught chosen done drawn driven fallen felt found given gone grown heard
held hidden kept known laid led left lent lost made meant met paid rebuilt said seen sent shown shrunk sold
sought spent spoken stood taken taught thought thrown told torn unknown unpaid unread unsent won woven written
"""
IRREGULAR = frozenset(IRREGULAR_WORDS.split())
ADVERB_WORDS = """
about above after again alone along already also among apart around as aside at away before below beneath beside
besides between beyond both by elsewhere else even everywhere for from hence here in inside into like near
nearby of off on once onto out outside over per since than there through thus till to together toward under
until up upon via with within without yet
"""
ADVERBS = frozenset(ADVERB_WORDS.split())
RIDDLES = frozenset({"What", "Who", "Whose", "Where", "How", "Of", "As", "One"})


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the package: its path, its lines and its syntax tree."""

    path: Path
    lines: int
    tree: ast.Module

    @property
    def is_core(self) -> bool:
        """Whether the module lies outside the wings."""
        return self.path.relative_to(SOURCE).parts[0].removesuffix(".py") not in WINGS


@cache
def read_modules() -> tuple[Module, ...]:
    """Read every module of the package."""
    texts = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    return tuple(Module(path, text.count("\n"), ast.parse(text)) for path, text in texts.items())


def is_participle(name: str) -> bool:
    """Whether a name is one past participle and nothing else."""
    word = name.strip("_")
    return word in IRREGULAR or (word.endswith("ed") and "_" not in word and word not in NOT_PARTICIPLES)


def is_adverb(name: str) -> bool:
    """Whether a name is one preposition or adverb and nothing else."""
    return name.strip("_") in ADVERBS


def iterate_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield functions and methods, but for those with two underscores on each side."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
            yield node


def iterate_docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def list_bare_names() -> dict[str, list[str]]:
    """Return, by module, the names of functions that are bare participles, prepositions or adverbs."""
    return {
        str(module.path.relative_to(SOURCE)): names
        for module in read_modules()
        if (names := [f.name for f in iterate_functions(module.tree) if is_participle(f.name) or is_adverb(f.name)])
    }


def count_importers() -> Counter[str]:
    """Count the modules of the package that import each module of it."""
    names = {".".join(("sfumato", *m.path.relative_to(SOURCE).with_suffix("").parts)) for m in read_modules()}
    counts: Counter[str] = Counter(dict.fromkeys(names, 0))
    for module in read_modules():
        imported: set[str] = set()
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        counts.update(imported & names)
    return counts


def count_words(paths: Iterator[Path]) -> int:
    """Count the words of text files."""
    return sum(len(path.read_text().split()) for path in paths)


def measure_house() -> dict[str, float]:
    """Return every figure of the table, by name; all but the median may only fall."""
    modules = read_modules()
    functions = [f.name for m in modules for f in iterate_functions(m.tree)]
    docstrings = [text for m in modules for text in iterate_docstrings(m.tree)]
    stems = Counter(m.path.stem for m in modules if not m.path.stem.startswith("__"))
    classes = Counter(
        node.name
        for m in modules
        for node in ast.walk(m.tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    lines = [m.lines for m in modules]
    importers = count_importers()
    return {
        "functions": len(functions),
        "bare participles": sum(map(is_participle, functions)),
        "bare prepositions and adverbs": sum(map(is_adverb, functions)),
        "docstrings": len(docstrings),
        "docstrings that begin as riddles": sum(text.split()[0] in RIDDLES for text in docstrings),
        "modules": len(modules),
        "median length": statistics.median(lines),
        f"modules under {SHORT} lines": sum(n < SHORT for n in lines),
        f"modules over {LONG} lines": sum(n > LONG for n in lines),
        "modules with one importer": sum(count == 1 for count in importers.values()),
        "basenames that occur twice": sum(count > 1 for count in stems.values()),
        "public class names that occur twice": sum(count > 1 for count in classes.values()),
        "lines of src": sum(lines),
        "lines of the core": sum(m.lines for m in modules if m.is_core),
        "words of docs": count_words((ROOT / "docs").rglob("*.md")),
        "words of the guide": count_words((ROOT / "docs" / "guide").rglob("*.md")),
        "words of CHANGELOG": count_words(iter([ROOT / "CHANGELOG.md"])),
    }


# figures that a change may not raise; the others are printed only
SHRINKING = (
    "bare participles",
    "bare prepositions and adverbs",
    "docstrings that begin as riddles",
    "basenames that occur twice",
    "public class names that occur twice",
)


def read_stored() -> dict[str, int]:
    """Return the figures that were stored last."""
    stored: dict[str, int] = json.loads(STORED.read_text())
    return stored


def store_figures() -> None:
    """Store the figures of today, unless one of them has grown."""
    now = {name: int(measure_house()[name]) for name in SHRINKING}
    before = read_stored() if STORED.exists() else now
    grown = {name: (before[name], now[name]) for name in SHRINKING if now[name] > before[name]}
    if grown:
        sys.exit(f"these may only shrink (stored, now): {grown}")
    STORED.write_text(json.dumps(now, indent=1) + "\n")


# the way of a job through the modules


def trace_modules(run: Callable[[], object]) -> list[str]:
    """Return the modules of the package whose functions a job enters, in the order of their first entry."""
    entered: dict[str, None] = {}
    root = str(SOURCE)

    def note_call(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(root):
            entered.setdefault(code.co_filename)

    threading.setprofile(note_call)  # a service answers in threads of its own
    sys.setprofile(note_call)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return [str(Path(name).relative_to(SOURCE)) for name in entered]


def layer_of(module: str) -> str:
    """Return the package that a module lies in; modules beside the packages are one layer."""
    return module.split("/")[0] if "/" in module else "top"


def count_turns(entered: list[str]) -> int:
    """Count how often two modules that follow each other lie in different layers."""
    layers = [layer_of(name) for name in entered]
    return sum(one != other for one, other in itertools.pairwise(layers))


def prepare_session(folder: Path):
    """Open a session about a small table of persons."""
    import numpy as np
    import pandas as pd

    import sfumato as sf

    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "salary": rng.integers(0, 100_000, 500),
            "age": rng.integers(18, 90, 500),
            "state": rng.choice(["CA", "TX"], 500),
        }
    )
    schema = sf.Schema(
        {
            "salary": sf.Integers(0, 100_000),
            "age": sf.Integers(18, 90),
            "state": sf.Categories(["CA", "TX"]),
        },
        dataset="people",
        size=500,
    )
    table = sf.read(frame, schema=schema)
    return sf.Session(table, budget=sf.Approximate(10, 1e-6), ledger=folder / "people.ledger")


def ask_mean(folder: Path) -> Callable[[], object]:
    """Return the job of one mean by group."""
    import sfumato as sf

    session = prepare_session(folder)
    return lambda: session.release(sf.mean("salary").by("state"), spend=sf.Pure(0.5))


def make_rows(folder: Path) -> Callable[[], object]:
    """Return the job of one synthetic table."""
    import sfumato as sf

    session = prepare_session(folder)
    return lambda: session.synthesize(spend=sf.Approximate(1, 1e-6))


def publish_plan(folder: Path) -> Callable[[], object]:
    """Return the job of one published plan on the command line."""
    from houses import PLAN, people
    from sfumato.cli import main

    release = (
        '[[release]]\nname = "pay"\nquery = "mean"\ncolumn = "salary"\nby = ["state"]\nspend = { epsilon = 0.5 }\n'
    )
    plan = people(folder, f"{PLAN}\n{release}")
    return lambda: run_quietly(main, ["publish", str(plan), "--out", str(folder / "report")])


def ask_sql(folder: Path) -> Callable[[], object]:
    """Return the job of one SQL question over HTTP."""
    from houses import House, people

    def ask() -> None:
        with House(people(folder)) as house, house.client("ana") as ana:
            body = {"sql": "SELECT avg(salary) FROM people", "spend": {"epsilon": 0.5}}
            assert ana.post("/api/v1/datasets/people/release", json=body).status_code == 200

    return ask


def collect_locally(folder: Path) -> Callable[[], object]:
    """Return the job of one local collection: randomize, count, estimate."""
    import sfumato as sf

    def collect() -> object:
        protocol = sf.local.GeneralizedResponse.calibrate(5, sf.Pure(1.0))
        reports = protocol.randomize([1, 2, 3] * 50, sf.randomness.secure())
        return protocol.estimate(protocol.tally(reports), 150)

    return collect


def run_quietly(command: Callable[[list[str]], object], arguments: list[str]) -> None:
    """Run a command without its output."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        try:
            command(arguments)
        except SystemExit as end:
            if end.code:
                raise


JOBS = {"mean": ask_mean, "synthesize": make_rows, "publish": publish_plan, "sql": ask_sql, "local": collect_locally}


def print_trace(job: str) -> None:
    """Print the way of a job through the modules."""
    with tempfile.TemporaryDirectory() as folder:
        entered = trace_modules(JOBS[job](Path(folder)))
    before = None
    for place, name in enumerate(entered, 1):
        layer = layer_of(name)
        print(f"{place:4} {'->' if layer != before else '  '} {name}")
        before = layer
    print(f"{len(entered)} modules, {count_turns(entered)} turns between layers")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", choices=sorted(JOBS))
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    if chosen.write:
        store_figures()
    elif chosen.trace:
        print_trace(chosen.trace)
    else:
        for name, figure in measure_house().items():
            print(f"{figure:>10,}  {name}")
