"""What is stored of the source documents' tables and figures is what comes out, and what the pages show."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
ELSEWHERE = {  # about tables that are not part of the repository: compared by `make experiments` alone
    "local-clicks", "local-words", "metric-curves", "metric-earnings", "metric-load", "smooth-figure-3-1",
    "smooth-figure-3-2", "smooth-public", "smooth-table-3-1", "smooth-table-3-2", "smooth-table-3-3",
}  # fmt: skip
QUICK = (
    "local-certificates", "local-pinsker", "local-shuffling", "local-warner", "metric-noise", "metric-table-2",
    "metric-table-4", "metric-table-5", "metric-table-7", "selection-scores", "smooth-composition", "smooth-table-2-1",
)  # fmt: skip
OTHERS = sorted({path.stem for path in (ROOT / "experiments" / "results").glob("*.json")} - ELSEWHERE - set(QUICK))


@pytest.fixture(scope="module")
def run() -> Iterator[ModuleType]:
    yield from _imported("experiments", "run")


@pytest.fixture(scope="module")
def results() -> Iterator[ModuleType]:
    yield from _imported("website", "results")


def _imported(folder: str, name: str) -> Iterator[ModuleType]:
    sys.path.append(str(ROOT / folder))
    yield importlib.import_module(name)
    sys.path.remove(str(ROOT / folder))


def test_every_figure_is_stored_and_holds(run: ModuleType) -> None:
    assert {path.stem for path in run.RESULTS.glob("*.json")} == set(run.FIGURES)
    for name in run.FIGURES:
        assert run.broken(run.stored(name)) == []
        assert (run.RESULTS / f"{name}.json").stat().st_size < 40_000


def test_figures_about_tables_from_elsewhere_are_known_by_name(run: ModuleType) -> None:
    assert {name for name, figure in run.FIGURES.items() if figure.files} == ELSEWHERE


@pytest.mark.parametrize("name", QUICK)
def test_a_figure_comes_out_as_it_is_stored(run: ModuleType, name: str) -> None:
    _compare(run, name)


@pytest.mark.heavy
@pytest.mark.parametrize("name", OTHERS)
def test_every_other_generated_figure_comes_out_as_it_is_stored(name: str) -> None:
    """By its own command, which says how matrices are multiplied: most random walks are the same on every processor."""
    command = [sys.executable, str(ROOT / "experiments" / "run.py"), "--only", name, "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{name}: as stored" in done.stdout


def _compare(run: ModuleType, name: str) -> None:
    lines = run.drawn(name, run.Setting())
    assert run.broken(lines) == []
    assert run.differences(lines, run.stored(name), run.FIGURES[name]) == []


def test_another_seed_gives_other_noise(run: ModuleType) -> None:
    lines = run.drawn("metric-table-7", run.Setting(seed=1))
    assert run.differences(lines, run.stored("metric-table-7"), run.FIGURES["metric-table-7"]) != []


def test_a_figure_that_does_not_hold_is_named(run: ModuleType) -> None:
    lines = run.stored("local-warner")
    kept = next(line for line in lines if "check" in line)
    assert run.broken([*lines, kept | {"holds": False}]) == [kept["check"]]
    assert run.differences([*lines[1:]], lines, run.FIGURES["local-warner"]) != []


def test_only_what_random_walks_give_may_scatter_and_only_so_far(run: ModuleType) -> None:
    figure, lines = run.FIGURES["geometry-table-3"], run.stored("geometry-table-3")
    place = next(place for place, line in enumerate(lines) if "row" in line)

    def differ(name: str, part: float) -> bool:
        row = lines[place]["row"]
        others = [*lines[:place], {"row": {**row, name: row[name] * (1 + part)}}, *lines[place + 1 :]]
        return bool(run.differences(others, lines, figure))

    assert not differ("K-norm", 0.08)
    assert differ("K-norm", 0.2)
    assert differ("cube", 0.001)
    assert differ("least possible (metric, 99.9 %)", 0.001)


def test_missing_tables_are_asked_for_before_anything_is_drawn(tmp_path: Path) -> None:
    asked = ["--only", "metric-load", "--data", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, ROOT / "experiments" / "run.py", *asked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "curves_household_load.csv.gz" in done.stderr
    assert "--data DIR" in done.stderr


def test_the_tables_of_the_pages_are_what_is_stored(results: ModuleType) -> None:
    shown = []
    for page in results.PAGES:
        text = page.read_text()
        assert results.filled(text) == text, f"python website/results.py writes the tables of {page.name} anew"
        shown += results.MARKED.findall(text)
    assert set(shown) - {"costs"} == {path.stem for path in results.RESULTS.glob("*.json")}


def test_sentences_of_the_pages_say_what_is_stored(run: ModuleType) -> None:
    """Figures that are told outside the tables: each is read from the page and from the stored results."""
    pages = {name: (ROOT / "docs" / "documents" / f"{name}.md").read_text() for name in ("index", "geometry")}
    lines = run.stored("geometry-table-3")
    cells = {(line["row"]["d"], line["row"]["epsilon"]): line["row"] for line in lines if "row" in line}
    many = [f"{line['value']:.1f}" for line in lines if line.get("check", "").startswith("K-norm's mean error")]
    few = [f"{cells[d, 1.0]['K-norm']:.1f}" for d in (20, 40)]
    assert f"give {' and '.join(many)} over 4,000 draws ({' and '.join(few)} over the 100" in pages["geometry"]
    gain = {d: f"{cells[d, 1.0]['Laplace'] / cells[d, 1.0]['K-norm']:.2f}" for d in (20, 40)}
    assert f"by a factor of {gain[40]} at d = 40 and {gain[20]} at d = 20" in pages["index"]
    scales = [line["row"] for line in run.stored("metric-table-2") if "row" in line]
    less = [f"{100 * (1 - each['least scale'] / each['scale by 4.9']):.0f} %" for each in scales]
    assert f"by {less[0]} at (.1, .1), {less[1]} at (2, .5), {less[2]} at (11, .7)" in pages["index"]
