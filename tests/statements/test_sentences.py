"""Where sentences about privacy and error are made: a new one that no statement stands behind is noticed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "sfumato"

# What a text about a guarantee or an error holds.  Messages of exceptions, docstrings and single words do not count.
SPEAKS = re.compile(
    r"±|probabilit|error|accura|differential privacy|guarantee|best possible|no bound|confiden|times what it was"
    r"|epsilon =|a factor|at most .* apart|likel",
    re.IGNORECASE,
)

# The places that speak, and how many texts of theirs match.  A new text belongs into `privacy/statements.py` (with a
# check in `test_privacy_statements.py`) or into `statements.py` (with one in `test_error_statements.py`); headings,
# reasons and descriptions may be added here.
STATEMENTS = {
    "privacy/statements.py": 2,
    "privacy/guarantees.py": 7,
    "statements.py": 10,
    "certificate.py": 5,
}
HEADINGS_AND_REASONS = {
    "bounds/certificates.py": 3,
    "bounds/minimax/certificates.py": 6,
    "bounds/workloads/__init__.py": 2,
    "cli/answers.py": 1,
    "cli/app.py": 1,
    "cli/draft.py": 1,
    "cli/plan.py": 1,
    "bounds/volume.py": 1,
    "ledger/verification.py": 1,
    "local/collection/estimates.py": 1,
    "plans/mistakes.py": 1,
    "privacy/parameters.py": 1,
    "queries/query.py": 1,
    "report/curves.py": 1,
    "report/databases.py": 1,
    "report/html.py": 3,
    "report/page.py": 1,
    "report/plots.py": 1,
    "synthesis/table.py": 1,
    "synthesis/weighted.py": 1,
}
PREDICTIONS = {  # "about" and "typical": guesses, and marked as such
    "local/choosing.py": 1,
    "publishing/smooth.py": 1,
    "publishing/synthetic.py": 2,
    "synthesis/comparison.py": 2,
}
DESCRIPTIONS = ("local/protocols/", "auditing/")  # what a report holds, and what an auditor found


def texts(tree: ast.Module) -> list[str]:
    """The texts of a module that a user may see as prose."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            skipped |= {id(part) for part in ast.walk(node)}
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and node.body and isinstance(node.body[0], ast.Expr):
            skipped.add(id(node.body[0].value))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [node.value for node in found if id(node) not in skipped and " " in node.value.strip()]


def speaking(tree: ast.Module) -> list[str]:
    return [text for text in texts(tree) if SPEAKS.search(text)]


@cache
def places() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        name = str(path.relative_to(SOURCE))
        if not name.startswith(DESCRIPTIONS):
            found[name] += len(speaking(ast.parse(path.read_text())))
    return +found


def test_every_sentence_about_privacy_or_error_has_its_place():
    known = {**STATEMENTS, **HEADINGS_AND_REASONS, **PREDICTIONS}
    unknown = {name: count for name, count in places().items() if count > known.get(name, 0)}
    assert not unknown, f"new sentences: {unknown}; make them statements, or say in this file why they are none"


def test_the_list_of_places_holds_nothing_that_is_gone():
    known, found = {**STATEMENTS, **HEADINGS_AND_REASONS, **PREDICTIONS}, places()
    assert {name for name in known if found[name] == 0} == set()


@pytest.mark.parametrize(
    "line",
    [
        'note = f"± {half:.3g} with probability 0.95"',
        'words = f"changes by a factor of at most {factor}"',
        'def words():\n    return "pure differential privacy, whatever happens"',
    ],
)
def test_a_sentence_made_by_hand_is_noticed(line):
    assert len(speaking(ast.parse(line))) >= 1


def test_docstrings_and_exceptions_are_not_sentences():
    module = '"""The error of all."""\ndef f():\n    """An error."""\n    raise E("an error of x")'
    assert speaking(ast.parse(module)) == []


def test_nothing_reads_a_sentence_back():
    """Programs read values: `words()` is never split, searched or replaced."""
    reading = re.compile(r"(words\(.*?\)|accuracy(\(.*?\))?)\.(split|replace|partition|removeprefix|find|index)\b")
    for path in SOURCE.rglob("*.py"):
        assert not reading.search(path.read_text()), path
        assert not re.search(r"re\.\w+\([^)]*(words|accuracy)", path.read_text()), path
