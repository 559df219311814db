"""Daily tasks run as a reader would run them, and are as short as the page about them says."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.app import app

ROOT = Path(__file__).parents[1]
TASKS = ROOT / "examples" / "tasks"
PAGE = (ROOT / "docs" / "guide" / "tasks.md").read_text()
ROW = re.compile(r"^\| \[([\w.]+)\]\S+ [^|]+\| (\d+) \| ([\w-]+) \| (\d*) ?\|", re.MULTILINE)
SAID = {
    "statistics.py": ["count", "mean of paid by shop", "median of paid", "95% interval"],
    "persons.py": ["totals of a person", "at most 3 rows a person", "extent of paid"],
    "cross_table.py": ["north", "total", "±"],
    "ranges.py": ["210 rows"],
    "density.py": ["["],
    "regression.py": ["["],
    "synthetic.py": [],
    "devices.py": ["north", "certificate"],
    "audit.py": ["epsilon"],
    "accounting.py": ["8.3062"],
    "popular.py": ["i1", "items of items"],
    "accuracy.py": ["± 30", "median of age", "releases stored"],
    "everyday.py": ["std", "2026-", "Ulm"],
    "sources.py": ["mean of paid, str", "mean of paid, LazyFrame", "mean of paid, DataFrame"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tasks")
    runpy.run_path(str(TASKS / "tables.py"))["write"](place, 3000)
    return place


def lines(path: Path) -> int:
    """Lines of code: without comments, docstrings and empty lines; a plan also counts the command that publishes it."""
    text = path.read_text()
    if path.suffix == ".toml":
        return 1 + sum(bool(line.strip()) and not line.startswith("#") for line in text.splitlines())
    first = ast.parse(text).body[0]
    assert ast.get_docstring(ast.parse(text))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") for line in text.splitlines()[first.end_lineno :]
    )


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[pytest.mark.heavy] * (task == "everyday.py")) for task in SAID]
)
def test_every_task_runs(task, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    runpy.run_path(str(TASKS / task))
    said = capsys.readouterr().out
    assert [words for words in SAID[task] if words not in said] == []


@pytest.mark.heavy
def test_the_plan_is_published(folder, monkeypatch, capsys):
    (folder / "plan.toml").write_text((TASKS / "plan.toml").read_text())
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["sfumato", "publish", "plan.toml"])
    with pytest.raises(SystemExit) as ended:
        app()
    assert ended.value.code == 0
    assert "share" in capsys.readouterr().out
    assert len(sf.Session.from_plan("plan.toml").releases) == 11


def test_every_task_is_as_short_as_the_page_says_and_no_longer_than_the_best_other():
    rows = ROW.findall(PAGE)
    held = {path.name for path in TASKS.glob("*.*")} - {"tables.py"}
    assert {name for name, *_ in rows} == {*SAID, "plan.toml"} == held
    for name, ours, other, theirs in rows:
        assert lines(TASKS / name) == int(ours), name
        assert (other == "none") == (theirs == ""), name
        assert not theirs or int(ours) <= int(theirs), name
