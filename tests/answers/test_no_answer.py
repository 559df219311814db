"""An answer whose interval is the whole public range holds no information, and carries no number anywhere."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.answers.answer import NOTHING
from sfumato.release.archive import load
from sfumato.report import answers as texts
from sfumato.server.answers import answer

COLUMNS = {
    "x": sf.Integers(0, 120),
    "y": sf.Interval(-1, 1, 0.01),
    "w": sf.Integers(1, 4),
    "day": sf.Dates("2013-01-01", "2013-12-31"),
    "array": sf.Box(0, 1, shape=(2,), step=0.1),
    "g": sf.Categories(["a", "b", "c"]),
    "half": sf.Categories(["u", "v"]),
}
FRAME = {
    "x": [30, 40] * 300, "y": [0.5] * 600, "w": [2] * 600, "day": ["2013-06-01"] * 600, "array": [[0.5, 0.5]] * 600,
    "g": ["a"] * 598 + ["b"] * 2, "half": ["u", "v"] * 300,
}  # fmt: skip
QUESTIONS = {
    "mean": sf.mean("x"),
    "weighted": sf.mean("x", weight="w"),
    "share": sf.share("x > 35"),
    "ratio": sf.ratio("y", "w"),
    "correlation": sf.correlation("x", "y"),
    "variance": sf.variance("x"),
    "std": sf.std("y"),
    "difference": sf.difference(sf.mean("x"), across="half", between=("u", "v")),
    "difference of shares": sf.difference(sf.share("x > 35"), across="half", between=("u", "v")),
    "dates": sf.mean("day"),
    "arrays": sf.mean("array"),
    "median": sf.median("x", bars=True),
    "median date": sf.median("day", bars=True),
}


@pytest.fixture(scope="module")
def session():
    return sf.reference.lab(sf.read(pa.table(FRAME), schema=COLUMNS, dataset="d"), budget=sf.Pure(1e9), seed=2)


@pytest.mark.parametrize("name", QUESTIONS)
def test_cells_that_print_flags_hold_no_number(name, session):
    """Groups of 598, of 2 and of no rows: what is said beside the interval, and what a program reads, agree."""
    release = session.release(QUESTIONS[name].by("g"), spend=sf.Pure(1.0), name=name)
    columns = release.answer.table()
    flagged = [told == NOTHING for told in release.answer.remarks(columns, 0.95)]
    assert any(flagged)
    table = release.table()
    assert table["no_answer"].to_pylist() == flagged
    assert [number is None for number in table["estimate"].to_pylist()] == flagged
    missing = [number is None or number != number for number in release.value]
    assert missing == flagged
    assert [row["value"] is None for row in answer(release, "digest")["rows"]] == flagged
    shown = texts.answers(release)
    place = shown.kinds.index("answer")
    assert [row[place] == texts.EMPTY for row in shown.rows] == flagged
    assert len(table["low"].drop_null()) == len(flagged), "the interval is said: it is the whole range"


def test_files_and_pictures_hold_no_number_either(session, tmp_path):
    release = session.release(sf.mean("x").by("g"), spend=sf.Pure(1.0), name="files")
    wanted = [False, True, True]
    for suffix in ("json", "parquet", "csv"):
        release.save(tmp_path / f"r.{suffix}") if suffix != "csv" else pyarrow.csv.write_csv(
            release.table(), tmp_path / "r.csv"
        )
    assert pq.read_table(tmp_path / "r.parquet")["estimate"].is_null().to_pylist() == wanted
    assert pyarrow.csv.read_csv(tmp_path / "r.csv")["estimate"].is_null().to_pylist() == wanted
    assert [held is None for held in json.loads((tmp_path / "r.json").read_text())["table"]["estimate"]] == wanted
    assert release.to_pandas()["estimate"].isna().tolist() == wanted
    drawn = json.dumps(release.plot().to_dict())
    assert '"cell": "a"' in drawn
    assert '"cell": "b"' not in drawn
    assert "2 without an answer at this spend" in drawn


def test_a_single_answer_without_information_is_no_number(session):
    release = session.release(sf.mean("x").where("g == 'c'"), spend=sf.Pure(0.1), name="none")
    assert math.isnan(release.value)
    assert math.isnan(float(release))
    assert release.table()["estimate"].type == pa.float64()
    assert "no answer at this spend" in json.dumps(release.plot().to_dict())
    assert f"{texts.EMPTY} (95% interval 0 to 120, the whole range: no answer at this spend)" in repr(release)


def test_the_level_decides(session):
    """At a lower level the interval is narrower, and the answer says something."""
    release = session.release(sf.mean("x").by("g"), spend=sf.Pure(1.0), name="levels")
    empty = [sum(release.table(level).to_pydict().get("no_answer", [])) for level in (0.01, 0.95, 0.999999)]
    assert empty == sorted(empty)
    assert empty[0] < empty[1]


def test_files_of_before_open_and_show_none(session, tmp_path):
    """Their bytes hold a number in `table`, which is computed from the other parts."""
    release = session.release(sf.mean("x").by("g"), spend=sf.Pure(1.0), name="before")
    record = json.loads(release.to_bytes())
    record["table"] = {name: held for name, held in record["table"].items() if name != "no_answer"}
    record["table"]["estimate"] = [number or 74.73 for number in record["table"]["estimate"]]
    (tmp_path / "old.json").write_text(json.dumps(record))
    old = load(tmp_path / "old.json")
    assert np.isnan(old.value).tolist() == [False, True, True]
    assert old.to_bytes() == release.to_bytes()


def test_answers_that_say_something_have_no_such_column(session):
    release = session.release(sf.mean("x"), spend=sf.Pure(1.0), name="plain")
    assert release.table().column_names == ["estimate", "low", "high"]
    counts = session.release(sf.count().by("g"), spend=sf.Pure(0.01), name="counts")
    assert counts.table().column_names == ["g", "estimate", "low", "high"]
