"""Documentation that is not executed lies: every Python block of the README and the guide runs here."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs" / "guide").glob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the demo table, small."""
    import pyarrow.parquet as pq

    place = tmp_path_factory.mktemp("docs")
    pq.write_table(_example("people").people(3000), place / "people.parquet")
    return place


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_block_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(BLOCK.findall(page.read_text()), 1):
        if block.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block, names, page.name, None, number)
            assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
        else:
            exec(compile(block, f"{page.name} block {number}", "exec"), names)


def test_every_public_name_occurs_in_executed_code() -> None:
    """What can be asked is shown somewhere that runs."""
    import sfumato

    code = "\n".join(block for page in PAGES for block in BLOCK.findall(page.read_text()))
    shown = set(re.findall(r"\bsf\.(\w+)", code))
    left = set(sfumato.__all__) - shown - {"__version__", "Box", "Record"}  # the two that no question reads yet
    assert not left, f"no page shows {sorted(left)} in code"


def test_every_file_format_is_described() -> None:
    """A name such as sfumato-diary/1 in the source is explained in docs/formats."""
    pattern = re.compile(r"\bsfumato-[a-z]+/[0-9]+")
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    described = "\n".join(path.read_text() for path in (ROOT / "docs" / "formats").glob("*.md"))
    left = {name for name in pattern.findall(source) if name not in described}
    assert not left, f"docs/formats does not describe {sorted(left)}"


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")]), ids=lambda p: p.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
