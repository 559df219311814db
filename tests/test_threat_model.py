"""Every line of docs/threat-model.md names tests, and there are such tests that are run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "threat-model.md"
TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def lines() -> list[tuple[str, str, str, str]]:
    """Threat, what holds, what does not, and the tests: each row of each table."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|") and not line.startswith("|---")]
    found = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows]
    return [row for row in found if row[0] != "threat"]  # type: ignore[misc]


@pytest.mark.parametrize("line", lines(), ids=lambda line: line[0][:60])
def test_every_line_says_what_holds_and_names_tests_that_there_are(line: tuple[str, ...]) -> None:
    assert len(line) == 4, "a line has a threat, what holds, what does not, and tests"
    assert all(line), "nothing is left open; what has no limit says so"
    named = TEST.findall(line[3])
    assert named, "a line without a test is a wish"
    assert TEST.sub("", line[3]).strip(" ,") == "", "the last column holds tests and nothing else"
    for file, test in named:
        tree = ast.parse((ROOT / file).read_text())
        held = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert test in held, f"{file} has no {test}"
        marks = "".join(map(ast.unparse, held[test].decorator_list)) + "".join(
            ast.unparse(node) for node in tree.body if "pytestmark" in ast.unparse(node)[:20]
        )
        assert not re.search("skip|xfail", marks), f"{test} is not run"


def test_every_one_who_might_attack_has_a_table() -> None:
    """The list at the beginning of the page and its headings are one list."""
    text = PAGE.read_text()
    listed = re.findall(r"^- \*\*(.+?)\*\*", text.split("## ", 1)[0], re.MULTILINE)
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert listed == headings
    assert len(listed) >= 8
    for part in text.split("\n## ")[1:]:
        assert part.count("\n|") >= 3, part.splitlines()[0]
