"""The examples run as a reader would run them, on smaller tables, with warnings as errors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.plans import read_plan

EXAMPLES = Path(__file__).parents[1] / "examples"


def python(*arguments, cwd):
    command = [sys.executable, "-W", "error", *map(str, arguments)]
    environment = os.environ | {"TMPDIR": str(cwd)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.heavy
def test_the_demo_table_is_the_same_every_time_and_hostile(tmp_path):
    said = python(EXAMPLES / "people.py", "one", "--people", 3000, cwd=tmp_path)
    python(EXAMPLES / "people.py", "two", "--people", 3000, cwd=tmp_path)
    assert "3,000 invented people" in said
    for name in ("people.parquet", "people.csv", "people.toml"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert read_plan(tmp_path / "one/people.toml").schema.size == 3000
    table = pq.read_table(tmp_path / "one/people.parquet")
    rows = table.to_pandas()
    assert table.num_rows > 3000
    assert rows["person_id"].value_counts().max() > 2
    assert (rows["age"] < 0).any()
    assert rows["salary"].isna().any()
    assert (~rows["state"].isin(read_plan(EXAMPLES / "people.toml").schema.space("state").values)).any()
    assert pyarrow.csv.read_csv(tmp_path / "one/people.csv").column_names == table.column_names


@pytest.mark.heavy
def test_the_demo_plans_publishes_and_verifies(tmp_path):
    python(EXAMPLES / "people.py", "demo", "--people", 4000, cwd=tmp_path)
    planned = python("-m", "sfumato.cli", "preview", "demo/people.toml", cwd=tmp_path)
    assert "Nothing was spent" in planned
    published = python("-m", "sfumato.cli", "publish", "demo/people.toml", "--out", "demo/report", cwd=tmp_path)
    assert "mean salary by state" in published
    assert published.count("no bound known") <= 1
    head = sf.Ledger.existing(tmp_path / "demo/people.ledger").head
    assert head in published
    assert head in python("-m", "sfumato.cli", "ledger", "show", "demo/people.ledger", cwd=tmp_path)
    assert "Atlantis" not in (tmp_path / "demo/report/report.html").read_text()
    reading = json.loads((tmp_path / "demo/report/releases/favorite-hobbies.json").read_text())
    assert reading["table"]["rank"] == [1, 2, 3]
    spend = ("--epsilon", 1, "--delta", 1e-7, "--column", "age", "--column", "state")
    python(
        "-m", "sfumato.cli", "synthesize", "demo/people.toml", *spend, "--out", "demo/synthetic.parquet", cwd=tmp_path
    )
    assert "refuted" in python(EXAMPLES / "demo.py", "demo", cwd=tmp_path)
    page = (tmp_path / "demo/index.html").read_text()
    assert page.count("<figure><svg") == len(list((tmp_path / "demo/report/releases").glob("*.json"))) + 3
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)


@pytest.mark.heavy
def test_the_plan_reads_the_csv_as_well(tmp_path):
    python(EXAMPLES / "people.py", "demo", "--people", 2000, cwd=tmp_path)
    plan = tmp_path / "demo/csv.toml"
    head, *asked = (tmp_path / "demo/people.toml").read_text().split("[[release]]")
    kinds = ("count", "mean", "top")  # a number, a set and a text are read
    text = "[[release]]".join([head, *(one for one in asked if re.search(r'query = "(\w+)"', one)[1] in kinds)])
    plan.write_text(text.replace("people.parquet", "people.csv").replace("people.ledger", "csv.ledger"))
    assert "records" in python("-m", "sfumato.cli", "publish", "demo/csv.toml", cwd=tmp_path)


def test_months_are_charged_once(tmp_path):
    said = python(EXAMPLES / "months.py", "--months", 2, cwd=tmp_path)
    assert said.count("spent Concentrated(rho=0.5)") == 2
    assert "running count by day by shop, 2026-02" in said
    assert list(tmp_path.rglob("months.png"))


def test_the_quickstart_runs(tmp_path):
    said = python(EXAMPLES / "quickstart.py", "--people", 3000, cwd=tmp_path)
    assert "would cost   pure differential privacy with epsilon = 0.5" in said
    assert "within a factor 1.0" in said
    assert "left to spend Pure(epsilon=1.4)" in said


@pytest.mark.heavy
def test_the_curves_run(tmp_path):
    said = python(EXAMPLES / "curves.py", "--people", 3000, "--homes", 400, cwd=tmp_path)
    assert "everywhere at once" in said
    assert "of working age" in said
    assert "19:00" in said


def test_six_jobs_take_one_import_and_forty_lines(tmp_path):
    source = (EXAMPLES / "six_jobs.py").read_text()
    assert len(source.splitlines()) <= 40
    assert re.findall(r"^.*import.*sfumato.*|^.*from sfumato.*", source, re.MULTILINE) == ["import sfumato.local as sl"]
    said = python(EXAMPLES / "six_jobs.py", cwd=tmp_path)
    titles = ("start page, round 1", "age, round 1", "apps, round 1", "plans, round 1", "mood: from", "words, round 1")
    assert all(title in said for title in titles)
    assert "SUSPICIOUS" not in said
    assert all(word in said for word in ("bat ", "tab ", "free, phone"))
