"""Documentation that is not executed lies: every Python block of the README, the guide and the formats runs here."""

from __future__ import annotations

import doctest
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs").glob("guide/*.md"),
        *(ROOT / "docs").glob("formats/*.md"),
        *(ROOT / "docs").glob("documents/*.md"),
        *(ROOT / "docs").glob("research/*.md"),
    ]
)
LONG = {"questions.md", "curves.md", "local.md", "plans.md", "synthesis.md", "own.md", "persons.md"}
LENGTHY = [pytest.param(page, marks=[pytest.mark.heavy] * (page.name in LONG)) for page in PAGES]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


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


@pytest.mark.parametrize("page", LENGTHY, ids=lambda page: f"{page.parent.name}/{page.name}")
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


UNSHOWN = {  # what the parts of the library say to one another
    "Session": {"card"},
    "Release": {"FILES", "card", "loss", "of", "output", "stated"},
}
FACADES = ("accounting", "auditing", "errors", "local", "reference", "samples")


def test_pages_and_examples_import_nothing_deeper_than_the_package_and_its_facades() -> None:
    code = {page.name: "\n".join(BLOCK.findall(page.read_text())) for page in PAGES}
    code |= {example.name: example.read_text() for example in (ROOT / "examples").rglob("*.py")}
    code |= {book.name: _cells(book) for book in (ROOT / "examples" / "notebooks").glob("*.ipynb")}
    taken = re.compile(r"^\s*(?:from|import) (sfumato[\w.]*)", re.MULTILINE)
    found = {(name, module) for name, text in code.items() for module in taken.findall(text)}
    assert len(found) > 10
    deep = sorted(
        (name, module) for name, module in found if module.split(".")[1:] not in [[], *([f] for f in FACADES)]
    )
    assert deep == []


def _cells(book: Path) -> str:
    cells = json.loads(book.read_text())["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def test_every_file_format_is_described() -> None:
    """A name such as sfumato-diary/1 in the source is explained in docs/formats."""
    pattern = re.compile(r"\bsfumato-[a-z]+/[0-9]+")
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    described = "\n".join(path.read_text() for path in (ROOT / "docs" / "formats").glob("*.md"))
    left = {name for name in pattern.findall(source) if name not in described}
    assert not left, f"docs/formats does not describe {sorted(left)}"


def _anchors(text: str) -> set[str]:
    """The places of a page that links can name: its headings as generators of sites spell them, and its own marks."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)]
    spelled = {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", line).strip().lower()) for line in headings}
    return spelled | set(re.findall(r'<a id="([^"]+)"', prose))


def find_broken_links(page: Path, text: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    broken = []
    for target, anchor in LINK.findall(text):
        led = (page.parent / target).resolve() if target else page
        if led.parent == ROOT / "docs" / "reference":  # pages written from docstrings, when the site is made
            continue
        if not led.exists():
            broken.append(f"{page.name} links to {target}")
        elif anchor and anchor not in _anchors(text if led == page else led.read_text()):
            broken.append(f"{page.name}: no #{anchor} in {led.name}")
    return broken


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    assert len(pages) > 50
    assert [line for page in pages for line in find_broken_links(page, page.read_text())] == []


def test_a_broken_link_is_noticed() -> None:
    page = ROOT / "docs" / "limits.md"
    assert find_broken_links(page, "# Here\n[a](#here) [b](glossary.md) [c](https://x.y)") == []
    assert len(find_broken_links(page, "# Here\n[a](#there) [b](none.md) [c](glossary.md#none)")) == 3


# the site: `make docs` builds it, and follows what only generated pages hold
def test_every_page_has_a_place_in_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text()
    placed = re.findall(r"^ +- (?:[\w. ]+: )?(\S+\.md)$", site.split("\nnav:")[1], re.MULTILINE)
    pages = {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")}
    left = {
        page for page in pages if not page.startswith("proofs/") and not any(fnmatch(page, each) for each in placed)
    }
    assert not left, f"name {sorted(left)} in the navigation of mkdocs.yml"
    made = {"proofs/index.md", "benchmarks.md", "programs/index.md"}
    absent = {p for p in placed if "*" not in p and not p.startswith(("reference/", "repository/"))} - pages - made
    assert not absent


def test_the_page_of_benchmarks_names_those_that_the_makefile_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "website"))
    lines = importlib.import_module("measured").page().splitlines()
    assert {"noise", "synthesis"} <= {line.split("`")[1] for line in lines if line.startswith("| `")}


def test_every_picture_is_drawn_by_a_program_small_and_shown(pictures: ModuleType) -> None:
    text = "\n".join(page.read_text() for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
    kept = {path.stem for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    assert kept == {*pictures.FIGURES, *pictures.CERTIFICATES}
    for path in (ROOT / "docs" / "pictures").glob("*.svg"):
        assert path.stat().st_size < (90_000 if path.stem == "certificates-over-epsilon" else 60_000), path.name
        assert f"pictures/{path.name}" in text, f"no page shows {path.name}"
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", path.read_text())


def test_pictures_of_pages_are_taken_by_their_tests_small_and_shown() -> None:
    text = "\n".join(page.read_text() for page in ROOT.glob("docs/**/*.md"))
    tests = "\n".join(test.read_text() for test in (ROOT / "tests" / "browser").glob("*.py"))
    kept = {path for path in (ROOT / "docs" / "pictures").iterdir() if path.suffix != ".svg"}
    assert len(kept) == 3
    for path in kept:
        assert f'pictured(page, "{path.stem.removeprefix("page-")}")' in tests
        assert (path.suffix, path.stat().st_size < 150_000) == (".png", True)
        assert f"pictures/{path.name}" in text, f"no page shows {path.name}"


QUICK = ("two-laws", "guesses", "anatomy", "twenty-intervals", "ledger", "coercion")


@pytest.mark.parametrize("name", QUICK)
def test_pictures_come_out_the_same_again(pictures: ModuleType, name: str) -> None:
    _same_picture(pictures, name)


@pytest.mark.heavy
def test_all_pictures_come_out_the_same_again(pictures: ModuleType) -> None:
    for name in pictures.FIGURES:
        _same_picture(pictures, name)


def _same_picture(pictures: ModuleType, name: str) -> None:
    number = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
    kept, drawn = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(), pictures.drawn(name)
    assert number.sub("#", kept) == number.sub("#", drawn)
    assert [float(x) for x in number.findall(kept)] == pytest.approx([float(x) for x in number.findall(drawn)], abs=0.1)


@pytest.fixture(scope="module")
def pictures() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "website"))
    yield importlib.import_module("pictures")
    sys.path.remove(str(ROOT / "website"))


def test_the_page_of_epsilons_says_what_the_calculus_says() -> None:
    import sfumato as sf
    from sfumato.numeric import shown_up

    page = (ROOT / "docs" / "guide" / "choosing.md").read_text()
    rows = re.findall(r"^\| ([\d.]+) \| (.+) \|$", page, re.MULTILINE)
    assert len(rows) == 9
    budgets = [
        *(sf.Pure(float(epsilon)) for epsilon, _ in rows[:5]),
        *(sf.Concentrated(float(rho)) for rho, _ in rows[5:]),
    ]
    for budget, (_, cells) in zip(budgets, rows, strict=True):
        found = sf.accounting.beliefs(budget, priors=[0.01, 0.1, 0.5])
        said = [shown_up(found[0].factor, 3), *(f"{shown_up(100 * belief.most, 3)} %" for belief in found)]
        assert cells.split(" | ") == [str(each) for each in said]


@pytest.mark.parametrize("name", ["Session", "Release"])
def test_every_public_method_occurs_in_executed_code(name: str) -> None:
    """What a session and a release can do is shown somewhere that runs."""
    import sfumato as sf

    code = "\n".join(block for page in PAGES for block in BLOCK.findall(page.read_text()))
    methods = {each for each in dir(getattr(sf, name)) if not each.startswith("_")}
    left = {each for each in methods if not re.search(rf"\.{each}\b", code)}
    assert left <= UNSHOWN[name], f"no page shows {sorted(left)} of {name}"


def test_what_a_steward_does_with_a_ledger_occurs_in_executed_code() -> None:
    import sfumato as sf

    code = "\n".join(block for page in PAGES for block in BLOCK.findall(page.read_text()))
    for method in ("open", "existing", "entries", "find", "verify", "export", "head", "remaining", "place"):
        assert hasattr(sf.Ledger, method)
        assert re.search(rf"edger(?:\.existing\(.*\))?\.{method}\b", code), method


def test_the_page_of_certificates_leads_from_every_bound_of_a_release_to_a_proof() -> None:
    from sfumato.bounds import curves, ratios, selection, tables

    page = (ROOT / "docs" / "guide" / "certificates.md").read_text().split("## Which proof", 1)[1]
    begun = [line.split("|")[1].strip().removesuffix(" ...") for line in page.splitlines() if "../proofs/" in line]
    for module in (curves, ratios, selection, tables):
        assert any(module.NAME.startswith(name) for name in begun), module.NAME
