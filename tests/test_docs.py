"""Documentation that is not executed lies: every Python block of the README, the guide and the formats runs here."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("guide/*.md"), *(ROOT / "docs").glob("formats/*.md")])
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
    left = set(sfumato.__all__) - shown - {"__version__"}
    assert not left, f"no page shows {sorted(left)} in code"


FACADES = ("accounting", "auditing", "errors", "local", "reference")


def test_pages_and_examples_import_nothing_deeper_than_the_package_and_its_facades() -> None:
    code = {page.name: "\n".join(BLOCK.findall(page.read_text())) for page in PAGES}
    code |= {example.name: example.read_text() for example in (ROOT / "examples").glob("*.py")}
    taken = re.compile(r"^\s*(?:from|import) (sfumato[\w.]*)", re.MULTILINE)
    found = {(name, module) for name, text in code.items() for module in taken.findall(text)}
    assert len(found) > 10
    deep = sorted(
        (name, module) for name, module in found if module.split(".")[1:] not in [[], *([f] for f in FACADES)]
    )
    assert deep == []


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


def test_the_page_of_certificates_leads_from_every_bound_of_a_release_to_a_proof() -> None:
    from sfumato.bounds import curves, ratios, selection, tables

    page = (ROOT / "docs" / "guide" / "certificates.md").read_text().split("## Which proof", 1)[1]
    begun = [line.split("|")[1].strip().removesuffix(" ...") for line in page.splitlines() if "../proofs/" in line]
    for module in (curves, ratios, selection, tables):
        assert any(module.NAME.startswith(name) for name in begun), module.NAME
