"""What a long step is doing is shown in terminals and notebooks, and leaves nothing behind."""

from __future__ import annotations

import sys
import types

import pytest

from sfumato import progress


class Handle:
    """A place below a cell that is drawn anew."""

    def __init__(self, first: str) -> None:
        self.drawn = [first]

    def update(self, html: str) -> None:
        self.drawn.append(html)


@pytest.fixture
def notebook(monkeypatch):
    """IPython with a kernel, as far as a bar needs it."""
    handles: list[Handle] = []

    def display(html: str, *, display_id: bool) -> Handle:
        assert display_id
        handles.append(Handle(html))
        return handles[-1]

    shown = types.ModuleType("IPython.display")
    shown.HTML, shown.display = str, display  # type: ignore[attr-defined]
    package = types.ModuleType("IPython")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    package.display = shown  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return handles


def test_a_notebook_shows_a_bar_after_a_while_and_clears_it(notebook, monkeypatch):
    clock = iter([0.0, 0.5, 1.5, 2.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.shown():
        progress.tell("reading <rows>", 0.1)  # half a second: not yet
        progress.tell("counting <pairs>", 0.25)
        progress.tell("fitting", 0.5)
    (bar,) = notebook
    assert "value='0.250'" in bar.drawn[0]
    assert "&lt;pairs&gt;" in bar.drawn[0]
    assert "fitting" in bar.drawn[1]
    assert bar.drawn[-1] == ""


def test_a_bar_is_cleared_when_the_step_fails(notebook, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)

    def fail() -> None:
        with progress.shown():
            progress.tell("counting", 0.5)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert notebook[0].drawn[-1] == ""


def test_short_steps_and_other_programs_show_nothing(notebook, monkeypatch):
    with progress.shown():
        progress.tell("counting", 0.5)
    assert notebook == []
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.shown():
        progress.tell("counting", 0.5)
    assert notebook == []


def test_stages_share_one_bar():
    told = []
    with progress.listening(lambda words, part: told.append((words, part))):
        for place, name in enumerate(["mean", "table"]):
            with progress.stage(name, place, 2), progress.shown():
                progress.tell("counting", 0.5)
    assert told == [("mean", 0.0), ("mean: counting", 0.25), ("table", 0.5), ("table: counting", 0.75)]
