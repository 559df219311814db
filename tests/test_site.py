"""The check of the built site finds what it is for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

CHECK = Path(__file__).parent.parent / "website" / "check.py"
WHOLE = '<h1 id="top">Noise</h1><a href="other.html#there">on</a><script src="own.js"></script>'


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check", CHECK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "own.js").touch()
    (tmp_path / "own.css").write_text("a { background: url('own.js') }")
    (tmp_path / "other.html").write_text('<p id="there">here</p>')
    (tmp_path / "index.html").write_text(WHOLE)
    return tmp_path


def test_a_whole_site_has_no_problems(check: ModuleType, site: Path) -> None:
    assert check.problems(site) == []


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("own.js", "https://elsewhere.example/own.js", "loads https"),
        ("own.js", "//elsewhere.example/own.js", "loads //"),
        ("own.js", "lost.js", "not there"),
        ("other.html", "another.html", "not there"),
        ("#there", "#nowhere", "no such place"),
        ("<script", '<link rel="stylesheet" href="https://elsewhere.example/font.css"><script', "loads https"),
        ("<script", '<img src="https://elsewhere.example/picture.png"><script', "loads https"),
    ],
)
def test_what_is_wrong_is_named(check: ModuleType, site: Path, was: str, becomes: str, said: str) -> None:
    (site / "index.html").write_text(WHOLE.replace(was, becomes))
    (problem,) = check.problems(site)
    assert "index.html" in problem
    assert said in problem


def test_styles_are_read_too(check: ModuleType, site: Path) -> None:
    (site / "own.css").write_text("@import 'https://elsewhere.example/font.css';")
    assert check.problems(site) == ["own.css loads https://elsewhere.example/font.css"]


def test_words_that_were_taken_for_markup_are_missed(check: ModuleType, site: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Noise\n\n[on](other.md)")
    assert check.lost(site, docs) == []
    (docs / "index.md").write_text("# Noise <t, phi>\n\n[on](other.md)")
    assert check.lost(site, docs) == ["the page of index.md lacks the words ['phi', 't']"]
