"""Hostile labels, names, columns and paths through every command: everything is paid, written, drawn and shown."""

import csv
import json
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from clocks import count_calls
from hostile_text import LABELS, NAMES, PATHS, escapes_in
from sfumato.plans.execution import file_names
from sfumato.visible import visible

TEXTS = list(dict.fromkeys(LABELS.values()))
EVIL = "]<script>\x1b[2J\n=1+1"  # a column's name
PURE = {"epsilon": 1.0}


def plan(place, dataset="<b>&'\"{x}[/red]"):
    """A plan whose every text is hostile."""
    count = 60 * len(TEXTS)
    held = {
        EVIL: np.array(TEXTS, dtype=object)[np.arange(count) % len(TEXTS)], "[/key]": ["a", "b"] * (count // 2),
        "free": np.array(TEXTS, dtype=object)[np.arange(count) % len(TEXTS)],
        "sets": [[text] for text in np.array(TEXTS, dtype=object)[np.arange(count) % len(TEXTS)]],
        "age": np.arange(count) % 100 * 1.0,
    }  # fmt: skip
    pq.write_table(pa.table(held), place / "t.parquet")
    asked = [{"query": "count", "where": "age >= 1", "name": name} for name in list(NAMES.values())[:10]]
    asked += [
        {"query": "count", "by": EVIL, "name": "counts"},
        {"query": "count", "by": [EVIL, "[/key]"], "name": "grid"},
        {"query": "mean", "column": "age", "by": EVIL, "name": "means"},
        {"query": "median", "column": "age", "by": EVIL, "name": "medians"},
        {"query": "top", "column": "sets", "k": 40, "name": "sets"},
        {"query": "top", "column": "sets", "k": 2, "by": "[/key]", "name": "sets by key"},
        {"query": "count", "by": {"discovered": "free"}, "name": "found", "spend": {"epsilon": 20, "delta": 1e-6}},
    ]
    columns = {
        EVIL: {"type": "categories", "values": TEXTS}, "[/key]": {"type": "categories", "values": ["a", "b"]},
        "free": {"type": "texts", "longest": 1000}, "sets": {"type": "subsets", "of": TEXTS, "cap": 1},
        "age": {"type": "interval", "low": 0, "high": 100, "step": 1},
    }  # fmt: skip
    record = {
        "format": "sfumato-plan/1", "table": {"path": "t.parquet", "unit": "row", "dataset": dataset},
        "columns": columns, "budget": {"epsilon": 1000, "delta": 1e-3}, "ledger": {"path": "x.ledger"},
        "release": [{"spend": PURE, **one} for one in asked],
    }  # fmt: skip
    (place / "plan.json").write_text(json.dumps(record))
    return len(asked)


class Tags(HTMLParser):
    """Which tags and attributes a page has."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A plan published by a process of its own, since a renderer that chokes takes the process with it."""
    place = tmp_path_factory.mktemp("hostile")
    count = plan(place)
    done = subprocess.run(
        [sys.executable, "-m", "sfumato.cli", "publish", "plan.json", "--out", "out"],
        cwd=place, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    return place, count, done


def test_publishing_hostile_texts_ends_well(published):
    place, count, done = published
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    shown = (done.stdout + done.stderr).decode()
    assert escapes_in(shown) == []
    assert "[/bold]" in shown  # shown as it is, not read as markup
    assert len(list((place / "out/releases").glob("*.json"))) == count


def test_the_page_holds_no_more_than_our_own_markup(published):
    place, _, _ = published
    page = (place / "out/report.html").read_text()
    assert escapes_in(page) == []
    tags = Tags()
    tags.feed(page)
    assert not tags.tags & {"script", "img", "iframe", "object", "link"}
    assert not {name for name in tags.attributes if name.startswith("on")}
    pictures = page.split("<svg ")[1:]
    assert len(pictures) > 5
    for picture in pictures:
        ElementTree.fromstring("<svg " + picture.split("</svg>")[0] + "</svg>")
    for text in TEXTS:
        assert visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")[:40].split('"')[0] in page


def test_every_release_loads_back_and_is_shown(published, run, monkeypatch):
    place, _, _ = published
    monkeypatch.chdir(place)
    for file in sorted((place / "out/releases").glob("*.json")):
        release = sf.load(file)
        assert sf.load(file.with_suffix(".parquet")).to_bytes() == release.to_bytes()
        if file.stem in ("means", "grid", "found", "sets-by-key"):
            done = run("show", file)
            assert done.code == 0, done.err
            assert escapes_in(done.out) == []
            assert escapes_in(run("show", file, "--json").out) == []
    means = sf.load(place / "out/releases/means.json").table().to_pydict()
    assert means[EVIL] == TEXTS
    found = sf.load(place / "out/releases/found.json").keys
    assert set(found) <= {text[:1000] for text in TEXTS}
    assert len(found) > len(TEXTS) // 2


@pytest.mark.parametrize("command", [("preview", "plan.json"), ("ledger", "show", "x.ledger"),
                                     ("ledger", "verify", "x.ledger"), ("ledger", "export", "x.ledger")])  # fmt: skip
def test_other_commands_show_them_too(published, run, monkeypatch, command):
    monkeypatch.chdir(published[0])
    for options in ((), ("--json",)):
        done = run(*command, *options)
        assert done.code == 0, done.err
        assert escapes_in(done.out + done.err) == []


def test_a_crafted_release_steers_nothing(published, run, tmp_path):
    """A file that somebody sent: its texts were never checked."""
    record = json.loads((published[0] / "out/releases/means.json").read_text())
    record["name"] = "\x1b[2J[/red]"
    record["provenance"] |= {"head": "<script>\x1b]0;x\x07", "time": "\x9b", "unit": "<img src=x>\x1b"}
    (tmp_path / "sent.json").write_text(json.dumps(record))
    done = run("show", tmp_path / "sent.json")
    assert escapes_in(done.out + done.err) == []
    if done.code == 0:
        from sfumato.ledger import Ledger
        from sfumato.report import write_report

        page = write_report([sf.load(tmp_path / "sent.json")], Ledger.existing(published[0] / "x.ledger"),
                            tmp_path / "page.html").read_text()  # fmt: skip
        tags = Tags()
        tags.feed(page)
        assert not tags.tags & {"script", "img"}
        assert escapes_in(page) == []


def test_a_terminal_without_our_letters_ends_no_command(published):
    done = subprocess.run(
        [sys.executable, "-m", "sfumato.cli", "show", "out/releases/means.json"], cwd=published[0],
        capture_output=True, timeout=300, check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.isascii()


# tables


def test_a_spreadsheet_runs_nothing(tmp_path):
    labels = [text for text in TEXTS if len(text) < 200 and "\x00" not in text]
    rows = pa.table({"=bad()": labels * 20, "n": list(range(-50, -50 + 20 * len(labels)))})
    schema = {"=bad()": sf.Categories(labels), "n": sf.Integers(-50, 10_000)}
    session = sf.Session(sf.read(rows, schema=schema, dataset="d"), budget=sf.Pure(1000), ledger=tmp_path / "ledger")
    made = session.synthesize(spend=sf.Pure(100))
    made.save(tmp_path / "made.csv")
    with (tmp_path / "made.csv").open(newline="", encoding="utf-8") as file:
        written = list(csv.reader(file))
    assert written[0] == ["'=bad()", "n"]
    texts = [row[0] for row in written[1:]]
    assert not [text for text in texts if text[:1] in "=+-@\t\r" and text]
    assert any(text.startswith("'=") for text in texts)
    kept = made.rows.column("=bad()").to_pylist()
    assert [text.removeprefix("'") if text[1:2] in "=+-@" else text for text in texts] == [str(k or "") for k in kept]
    assert any(int(row[1]) < 0 for row in written[1:] if row[1])  # numbers stay numbers


def test_arrays_and_sets_are_read_back_from_a_csv_as_they_were_made(tmp_path, run):
    """An apostrophe before `-9.0;1.0` would put its first entry in the middle of the bounds."""
    rows = pa.table({"place": [[-9.0, 1.0]] * 300, "codes": [[-1, 2]] * 300, "likes": [["a;b", "c"]] * 300})
    columns = {
        "place": sf.Box(-10, 10, shape=(2,)), "codes": sf.Subsets([-1, 2], cap=2),
        "likes": sf.Subsets(["a;b", "c"], cap=2, separator="|"),
    }  # fmt: skip
    table = sf.read(rows, schema=columns, dataset="made")
    made = sf.Session(table, budget=sf.Pure(1000), ledger=tmp_path / "ledger").synthesize(spend=sf.Pure(100))
    made.save(tmp_path / "made.csv")
    made.save(tmp_path / "made.parquet")
    assert run("more", tmp_path / "made.parquet", "--rows", 50, "--out", tmp_path / "more.csv").code == 0
    places = []
    for source in (tmp_path / "made.csv", made.rows):
        (batch,) = sf.read(source, schema=columns, dataset="any").rows(list(columns))
        places.append(sorted(zip(*(np.asarray(batch[name]).tolist() for name in columns), strict=True)))
    assert places[0] == places[1]
    with (tmp_path / "more.csv").open(newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert {row["codes"] for row in written} == {"-1;2"}
    assert {row["likes"] for row in written} == {"a;b|c"}


# paths and names of files


@pytest.mark.parametrize("name", PATHS.values(), ids=PATHS)
def test_odd_paths_are_published_and_named(place, run, name):
    here = place / f"d{name}"
    here.mkdir()
    for file in ("people.parquet", "plan.toml"):
        (place / file).rename(here / file)
    text = (here / "plan.toml").read_text().split("[[release]]")
    (here / "plan.toml").write_text(text[0] + "[[release]]" + text[1])
    done = run("publish", here / "plan.toml", "--out", here / f"o{name}")
    assert done.code == 0, done.err
    assert escapes_in(done.out + done.err) == []
    assert (here / f"o{name}" / "report.html").exists()
    assert run("ledger", "verify", here / "people.ledger").code == 0


def test_file_names_are_plain_and_distinct():
    names = file_names([*LABELS.values(), "..", "../../etc/passwd", "/abs", "a" * 500, "CON", ".hidden", "-rf"])
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isascii()
        assert Path(name).name == name
        assert name[0].isalnum()
        assert len(name) < 100


@pytest.mark.parametrize("column", [*[text for text in TEXTS if len(text) < 200], EVIL], ids=ascii)
def test_a_draft_of_any_column_is_toml(tmp_path, monkeypatch, run, column):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({column or "x": [1.0]}), "t.parquet")
    done = run("draft", "t.parquet")
    assert done.code == 0, done.err
    assert escapes_in(done.out) == []
    assert list(tomllib.loads(done.out)["columns"]) == [column or "x"]


def test_thousands_of_names_without_latin_letters_get_files_at_once():
    names = file_names(["率" * count for count in range(1, 5001)] + ["release 7", "release-5001"])
    assert names[:3] == ["release", "release-2", "release-3"]
    assert len(set(names)) == len(names)
    calls = [count_calls(lambda n=n: file_names(["率" * count for count in range(1, n)])) for n in (500, 2000)]
    assert calls[1] < 8 * calls[0]  # four times as many names
