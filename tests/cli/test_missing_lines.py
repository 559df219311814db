"""Lines that cannot be read: what counts of them is said beforehand, in the same words whatever a file holds."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.plans.plan import MISSING_LINES

PLAN = """
format = "sfumato-plan/2"
[table]
path = "t{ending}"
unit = "row"
dataset = "pay"
size = 1000
[columns.pay]
type = "integers"
low = 0
high = 10
[budget]
epsilon = 1.0
[[release]]
query = "mean"
column = "pay"
spend = {{ epsilon = 0.5 }}
"""
CLEAN = "region,pay\nSouth,3\nNorth,4\n"
LATIN = "region,pay\nSüden,3\nNorth,4\n"


def said(folder, content, encoding):
    """What preview and publish print, and what the page holds, as one line each."""
    (folder / "t.csv").write_bytes(content.encode(encoding))
    (folder / "p.toml").write_text(PLAN.format(ending=".csv"))
    shown = []
    for command in ("preview", "publish"):
        result = CliRunner().invoke(app, [command, str(folder / "p.toml")])
        assert result.exit_code == 0, result.output
        shown.append(result.output)
    shown.append((folder / "p-report" / "report.html").read_text())
    return [re.sub(r"\s+", " ", one) for one in shown]


@pytest.mark.parametrize(("content", "encoding"), [(CLEAN, "utf-8"), (LATIN, "latin-1")])
def test_the_same_sentence_stands_at_every_place_whatever_the_file_holds(content, encoding, tmp_path):
    for text in said(tmp_path, content, encoding):
        assert text.lower().count(MISSING_LINES.lower()) == 1


def test_tables_of_other_files_have_no_lines(tmp_path):
    (tmp_path / "p.toml").write_text(PLAN.format(ending=".parquet"))
    result = CliRunner().invoke(app, ["preview", str(tmp_path / "p.toml"), "--json"])
    assert "missing_lines" not in json.loads(result.output)
    (tmp_path / "p.toml").write_text(PLAN.format(ending=".csv.gz"))
    result = CliRunner().invoke(app, ["preview", str(tmp_path / "p.toml"), "--json"])
    assert json.loads(result.output)["missing_lines"] == MISSING_LINES
