"""The gallery and the notebooks run as they stand, with warnings as errors, and the page shows what they are."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.stem for path in (ROOT / "examples" / "gallery").glob("*.py"))
NOTEBOOKS = sorted(path.stem for path in (ROOT / "examples" / "notebooks").glob("*.ipynb"))
SLOW = {
    "service_client",
    "analyst",
    "researcher",
    "telemetry",
    "classification",
}  # services, audits, thousands of seals


@pytest.fixture(scope="module")
def website() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "website"))
    yield importlib.import_module("gallery")
    sys.path.remove(str(ROOT / "website"))


@pytest.fixture(scope="module")
def notebooks(website: ModuleType) -> ModuleType:
    return importlib.import_module("notebooks")


def marked(names: list[str]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.heavy) if name in SLOW else name for name in names]


@pytest.mark.parametrize("name", marked(EXAMPLES))
def test_every_example_runs_and_draws_its_picture(name: str, website: ModuleType, tmp_path: Path) -> None:
    picture = website.run(name, tmp_path).read_text()
    assert picture.startswith("<svg")
    assert picture.count("<path") > 3
    assert len(list(tmp_path.glob("*.svg"))) == 1


def test_every_example_is_short_and_on_a_shelf_and_the_page_is_written_from_them(website: ModuleType) -> None:
    assert len(EXAMPLES) >= 20
    assert sorted(website.names()) == EXAMPLES
    assert (ROOT / "docs" / "gallery.md").read_text() == website.page(), "run python website/gallery.py"
    for name in EXAMPLES:
        assert 10 <= len((website.EXAMPLES / f"{name}.py").read_text().splitlines()) <= 45, name
        kept = (website.KEPT / f"{name}.svg").read_text()
        assert len(kept) < 60_000, name
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", kept), name
    assert sorted(path.stem for path in website.KEPT.iterdir()) == EXAMPLES


def test_every_kind_of_column_and_of_guarantee_is_in_the_gallery(website: ModuleType) -> None:
    from sfumato.spaces import SPACES

    code = "\n".join((website.EXAMPLES / f"{name}.py").read_text() for name in EXAMPLES)
    asked = {*(space.__name__ for space in SPACES.values()), "Pure", "Approximate", "Concentrated", "Replace"}
    assert {name for name in asked if f"sf.{name}(" not in code} <= {"Duration"}  # elapsed times are as numbers are


@pytest.mark.parametrize("name", marked(NOTEBOOKS))
def test_every_notebook_runs_and_shows_what_is_stored(name: str, notebooks: ModuleType, tmp_path: Path) -> None:
    stored = notebooks.read(name)
    run = notebooks.run(stored, tmp_path)
    assert [kinds(cell) for cell in run["cells"]] == [kinds(cell) for cell in stored["cells"]]


def kinds(cell: dict[str, object]) -> list[list[str]]:
    """What a cell's outputs are; the noise in them is drawn afresh."""
    outputs = cell.get("outputs", [])
    assert isinstance(outputs, list)
    return [sorted(output.get("data", {"stream": 0})) for output in outputs]


def test_notebooks_are_whole_and_lead_somewhere(notebooks: ModuleType) -> None:
    assert set(NOTEBOOKS) == {"steward", "analyst", "telemetry", "researcher"}
    for name in NOTEBOOKS:
        book = json.loads((notebooks.NOTEBOOKS / f"{name}.ipynb").read_text())
        assert (book["nbformat"], len({cell["id"] for cell in book["cells"]})) == (4, len(book["cells"]))
        text, drawn = notebooks.page(name)
        assert drawn
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert target in drawn or (ROOT / target).exists(), target


def test_a_cell_that_raises_is_not_passed_over(notebooks: ModuleType, tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ["print(1)\n", "1 / 0"], "outputs": []}
    with pytest.raises(ZeroDivisionError):
        notebooks.run({"cells": [cell]}, tmp_path)
