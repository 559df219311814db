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
# check in `test_privacy_statements.py`) or into `answers/statements.py` (with one in `test_error_statements.py`);
# headings, reasons and descriptions may be added here.
STATEMENTS = {
    "privacy/statements.py": 5,
    "privacy/guarantees.py": 7,
    "answers/statements.py": 10,
    "answers/certificate.py": 7,  # in tests/bounds/test_certificates.py
    "report/explanation.py": 4,  # in tests/report/test_explanation.py
}
HEADINGS_AND_REASONS = {
    "accounting/lines.py": 1,  # what the caller listed; what it costs, in tests/accounting/test_accounting_lines.py
    "accuracy/division.py": 2,  # what a division reaches, and what it supposes: tests/accuracy/test_division.py
    "accuracy/least.py": 4,  # refusals
    "accuracy/meeting.py": 2,
    "accuracy/targets.py": 3,  # refusals
    "answers/targets.py": 1,  # what the caller asked for; that it is met, in tests/accuracy
    "answers/preview.py": 1,
    "answers/smooth_errors.py": 1,  # predicted, which benchmarks/smooth_queries.py measures
    "bounds/certificates.py": 3,
    "bounds/minimax/certificates.py": 6,
    "bounds/ratios.py": 2,
    "bounds/keys.py": 1,  # measures and names of bounds, and reasons why there is none; likewise below
    "bounds/line/__init__.py": 1,  # what to write
    "bounds/linear.py": 1,
    "bounds/local_means.py": 1,  # a measure; its error is drawn in tests/queries/test_local_means.py
    "bounds/numbers.py": 1,
    "bounds/selection.py": 3,
    "bounds/tables.py": 5,
    "bounds/workloads.py": 1,
    "cli/app.py": 4,  # help: what the commands show, what --response takes, and the level of `ask`
    "cli/draft.py": 1,
    "cli/explain.py": 4,  # headings, and of estimates what is counted in tests/local/test_local_contract.py
    "cli/preview.py": 1,
    "cli/relays.py": 1,  # help: what --people shows
    "cli/tables.py": 1,  # commands to run next
    "cli/questions.py": 1,  # help: the level that is asked for
    "cli/show.py": 1,  # a reason
    "bounds/volume.py": 1,
    "client.py": 1,  # a failure
    "ledger/verification.py": 1,
    "local/collection/preview.py": 2,  # foreseen, and compared with what is then stated in tests/local
    "local/interactive/strings.py": 1,  # its power, which tests/local/test_interactive.py counts
    "local/interactive/finding.py": 3,  # the rule's own promise, by every transcript in tests/local/test_interactive.py
    "local/collection/suspicions.py": 1,  # a p-value, whose rate is counted in tests/local/test_suspicions.py
    "mechanisms/synthetic/effort.py": 1,
    "mechanisms/synthetic/trigonometric.py": 1,
    "orders.py": 1,  # what a declaration would save, which tests/test_showing.py declares and compares
    "plans/mistakes.py": 2,  # a form to write, in tests/test_mistakes.py
    "plans/outlook.py": 2,  # advice in a refusal, in tests/accuracy/test_division.py
    "privacy/parameters.py": 1,
    "queries/quantiles.py": 1,
    "reference/citing.py": 1,  # the name of a bound
    "reference/calibrated.py": 2,  # the error that its mechanism states, in tests/reference
    "reference/databases.py": 2,
    "reference/geometry.py": 1,
    "reference/laboratory.py": 1,
    "report/curves.py": 1,
    "report/databases.py": 1,
    "report/html.py": 3,  # of the whole budget what report/explanation.py says, in tests/report
    "report/page.py": 1,
    "report/plots.py": 1,
    "release/synthetic.py": 1,
    "server/app.py": 1,  # a title; likewise below descriptions of what is asked for
    "server/models.py": 2,
    "server/playground/__init__.py": 1,
    "server/routes/looking.py": 1,
}
PREDICTIONS = {  # "about" and "typical": guesses, and marked as such
    "local/choosing.py": 2,
    "release/comparison.py": 2,
    "release/prediction.py": 3,  # a title, where all are, and what they rest on; checked in tests/mechanisms/synthetic
    "release/free_answers.py": 3,  # what an interval is, and why; tests/test_free_answers.py checks that
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
