"""A steward's months: one plan and one ledger, a new file each month, pages that follow one another."""

import json
import os
import re
import signal
import tomllib

import pandas as pd
import pytest

import sfumato as sf
from sfumato.cli.audit import Released
from sfumato.plans import execution, read_plan, write_plan
from sfumato.server import answers as service_answers

PLAN = """
format = "sfumato-plan/2"

[table]
path = "people-{version}.csv"
dataset = "people"
version = "2026-10"
unit = { column = "id", rows = 1 }
size = 400

[columns]
income = { type = "interval", low = 0, high = 1000, step = 10 }

[budget]
rho = 2.0

[[release]]
name = "curve of incomes"
query = "density"
columns = ["income"]
bandwidth = BANDWIDTH
spend = { rho = 0.5 }
"""


@pytest.fixture
def months(tmp_path, monkeypatch):
    for month, least in (("2026-10", 100), ("2026-11", 200)):
        held = pd.DataFrame({"id": range(400), "income": [float(least + 3 * i % 500) for i in range(400)]})
        held.to_csv(tmp_path / f"people-{month}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(months, bandwidth='"private"', **changed):
    text = PLAN.replace("BANDWIDTH", bandwidth)
    for old, new in changed.values():
        text = text.replace(old, new)
    (months / "people.toml").write_text(text)


def spaced(text):
    return " ".join(text.replace("│", " ").split())


def test_a_bandwidth_that_is_chosen_anew_each_month_is_warned_of(months, run):
    written(months)
    told = json.loads(run("preview", "people.toml", "--json").out)["releases"][0]["hint"]
    assert "not comparable from version to version" in told
    done = run("publish", "people.toml")
    assert "not comparable from version to version" in spaced(done.out)
    page = (months / "people-report" / "report-2026-10.html").read_text()
    assert "<dt>Over time</dt><dd>Not comparable from version to version" in page
    assert "chosen privately" in page.split("<figure>")[2].split("</figure>")[0]  # below the title of the picture


def test_a_fixed_bandwidth_is_comparable_and_said(months, run):
    written(months, "40")
    shown = json.loads(run("preview", "people.toml", "--json").out)["releases"][0]
    assert "hint" not in shown
    assert "bandwidth 40" in shown["error_in_words"]
    done = run("publish", "people.toml")
    assert "comparable" not in done.out
    assert "bandwidth 40" in (months / "people-report" / "report-2026-10.html").read_text()


@pytest.mark.parametrize(
    ("file", "path", "dataset", "version"),
    [
        ("people-2026-11.csv", "people-{version}.csv", "people", "2026-11"),
        ("people-2026-11-30.csv", "people-{version}.csv", "people", "2026-11-30"),
        ("visits_202611.csv", "visits_{version}.csv", "visits", "202611"),
        ("2026 visits.csv", "{version} visits.csv", "visits", "2026"),
        ("visits-2026-11-final.csv", "visits-{version}-final.csv", "visits-final", "2026-11"),
        ("2026-11.csv", "{version}.csv", "FILL IN", "2026-11"),
        ("people.csv", "people.csv", "people", None),
        ("sample-3000-20269.csv", "sample-3000-20269.csv", "sample-3000-20269", None),
    ],
)
def test_the_date_in_a_files_name_is_drafted_as_its_version(months, run, file, path, dataset, version):
    """So that the next month spends from the same ledger, not from a new one with a whole budget."""
    (months / file).write_text("id,income\n1,100\n")
    drafted = tomllib.loads(run("draft", file, "--header").out)
    assert drafted["table"]["path"] == path
    assert drafted["table"]["dataset"] == dataset
    assert drafted["table"].get("version") == version
    assert drafted["ledger"]["path"] == (dataset if dataset == "FILL IN" else f"{dataset}.ledger")


def test_a_draft_of_a_month_is_the_plan_of_the_next_one(months, run):
    run("draft", months / "people-2026-10.csv", "--header", "--out", months / "plan.toml")
    text = (months / "plan.toml").read_text()
    for blank, said in (
        ('unit = "FILL IN"', 'unit = "row"'),
        ('epsilon = "FILL IN"', "epsilon = 1"),
        ('type = "FILL IN"', 'type = "integers"\nlow = 0\nhigh = 1000'),
    ):
        text = text.replace(blank, said)
    (months / "plan.toml").write_text(text)
    assert [run("publish", "plan.toml", *more).code for more in ((), ("--version", "2026-11"))] == [0, 3]


def test_no_page_of_another_version_or_plan_is_written_over(months, run):
    written(months, "40")
    (months / "others.toml").write_text((months / "people.toml").read_text().replace("curve of", "shape of"))
    pages = {}
    for plan, version, name in (
        ("people.toml", "2026-10", "report-2026-10.html"),
        ("people.toml", "2026-11", "report-2026-11.html"),
        ("others.toml", "2026-10", "report-others-2026-10.html"),
    ):
        done = run("publish", plan, "--version", version, "--out", "out")
        assert f"out/{name}" in done.out
        pages[name] = (months / "out" / name).read_text()
    for name, page in pages.items():
        assert (months / "out" / name).read_text() == page
    assert "out/report-2026-10.html" in run("publish", "people.toml", "--out", "out").out  # its own, again
    assert len(list((months / "out").glob("*.html"))) == 3


def test_a_plan_speaks_to_the_readers_of_its_page(months, run):
    """A title, a note and descriptions, whatever they hold, are texts and no markup."""
    said = 'title = "Incomes <in> our city"\nnote = "For the board.\\n\\n<script>x</script>"\nformat ='
    described = 'description = "How <b>incomes</b> spread."\nbandwidth ='
    declared = "[columns]\nstate = { type = 'categories', values = ['<a>', 'b'], other = 'b', na = ['?'] }\n"
    changes = {"a": ("format =", said), "b": ("bandwidth =", described), "c": ("[columns]\n", declared)}
    written(months, "40", **changes)
    for month in ("2026-10", "2026-11"):
        pd.read_csv(months / f"people-{month}.csv").assign(state="b").to_csv(months / f"people-{month}.csv")
        assert run("publish", "people.toml", "--version", month, "--out", "out").code == 0
    page = (months / "out" / "report-2026-11.html").read_text()
    for wanted in (
        "<h1>Incomes &lt;in&gt; our city</h1>",
        "<p>For the board.</p><p>&lt;script&gt;x&lt;/script&gt;</p>",
        "<p>How &lt;b&gt;incomes&lt;/b&gt; spread.</p>",
        "<td>income</td><td>interval</td><td>0 to 1000; in steps of 10</td><td>moved to the nearer bound</td>"
        "<td>left out where the column is used</td>",
        "<td>&lt;a&gt;, b</td><td>counted as b</td><td>left out where the column is used (codes of it: ?)</td>",
        "at a delta of 1e-06",
        "This ledger pays for 2 versions",
        '<th class="n">Believed before</th>',
    ):
        assert wanted in page, wanted
    assert "<script" not in page
    open_text = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert "Ledger head" not in open_text
    assert "Certificate</dt>" not in open_text
    plan = read_plan(months / "people.toml")
    again = read_plan(write_plan(plan, months / "again.json"))
    assert (again.title, again.note, again.releases) == (plan.title, plan.note, plan.releases)


def test_an_interrupt_names_the_whole_command_and_no_charge_that_there_is_not(months, run, monkeypatch):
    written(months, "40")
    opening = execution.opened_table

    def interrupted(plan):
        os.kill(os.getpid(), signal.SIGINT)
        return opening(plan)

    with monkeypatch.context() as patch:
        patch.setattr(execution, "opened_table", interrupted)
        done = run("publish", "people.toml", "--version", "2026-11", "--out", "my jan")
    assert done.code == 130
    assert "stopped before the first of 1 releases" in done.err
    assert "sfumato publish people.toml --version 2026-11 --out 'my jan'" in done.err
    assert "charge" not in done.err
    assert sf.Ledger.existing(months / "people.ledger").spent() == sf.Concentrated(0.0)


def test_every_command_that_reads_the_table_takes_a_version(months, run):
    written(months, "40")
    asked = ["--rho", "0.1", "--column", "income", "--version", "2026-11"]
    by_rows = (
        (months / "people.toml").read_text().replace('{ column = "id", rows = 1 }', '"row"\nadjacency = "replace"')
    )
    (months / "rows.toml").write_text(by_rows + '[ledger]\npath = "rows.ledger"\n')
    assert "400" in run("check", "people.toml", "--version", "2026-11").out
    for command in (
        ["synthesize", "people.toml", *asked, "--out", "made.parquet"],
        ["sanitize", "rows.toml", *asked],
        ["extent", "people.toml", *asked],
        ["sql", "people.toml", "SELECT count(*) FROM people", "--rho", "0.1", "--version", "2026-11"],
    ):
        done = run(*command)
        assert (done.code, done.err) == (0, ""), command
        assert "2026-11" in done.out
    assert run("check", "people.toml", "--version", "2026-12").code == 1  # no such file
    assert sf.Session.from_plan("people.toml", "2026-11").schema.version == "2026-11"


def test_versions_of_one_file_are_said_to_be_one_file(months, run):
    written(months, "40", a=("people-{version}.csv", "people-2026-10.csv"))
    for command in ("preview", "publish", "check"):
        told = spaced(run(command, "people.toml", "--version", "2026-11").out)
        assert "the path has no {version}, so that every version of this plan reads" in told, command
    written(months, "40")
    assert "has no {version}" not in run("preview", "people.toml", "--version", "2026-11").out


def test_another_number_of_rows_a_person_is_for_the_releases_to_say(months, run):
    written(months, "40")
    assert run("publish", "people.toml").code == 0
    written(months, "40", a=("rows = 1", "rows = 5"))
    done = run("preview", "people.toml", "--version", "2026-11")
    assert done.code == 1
    assert "per_person = { rows = 5 }" in done.err
    written(months, "40", a=("spend =", "per_person = { rows = 5 }\nspend ="))
    assert run("publish", "people.toml", "--version", "2026-11").code == 0
    assert run("ledger", "verify", "people.ledger").code == 0


def test_a_budget_that_is_too_small_is_told_in_words(months, run):
    written(months, "40", a=("spend = { rho = 0.5 }", "spend = { rho = 2.123456789 }"))
    done = run("preview", "people.toml")
    assert done.code == 3
    assert "its new releases cost rho 2.124 one by one; nothing is spent; in all that would be rho 2.124 of rho 2" in (
        spaced(done.err)
    )
    assert "Concentrated(" not in done.err
    assert "To release" not in done.out
    assert "nothing was saved" not in done.out


MEAN = 'query = "mean"\ncolumn = "income"\n'


def test_an_error_as_wide_as_what_there_is_to_tell_is_said_to_tell_nothing(months, run):
    asked = {"a": ('query = "density"\ncolumns = ["income"]\nbandwidth = 40\n', MEAN), "b": ("0.5 }", "0.0000001 }")}
    written(months, "40", **asked)
    assert "says nothing at this spend" in spaced(run("preview", "people.toml").out)
    assert run("publish", "people.toml").code == 0
    words = "0 to 1,000, the whole range: no answer at this spend"
    assert words in str(sf.load("people-report/releases/curve-of-incomes-2026-10.json"))
    written(months, "40", a=asked["a"])
    assert "says nothing" not in spaced(run("preview", "people.toml", "--version", "2026-11").out)
    assert run("publish", "people.toml", "--version", "2026-11").code == 0
    assert "no answer" not in str(sf.load("people-report/releases/curve-of-incomes-2026-11.json"))


MEDIAN = 'query = "median"\ncolumn = "income"\nbars = true\n'


def test_an_interval_of_a_quantile_as_wide_as_the_range_is_said_to_tell_nothing_wherever_it_is_read(months, run):
    asked = {"a": ('query = "density"\ncolumns = ["income"]\nbandwidth = 40\n', MEDIAN), "b": ("0.5 }", "0.0000001 }")}
    written(months, "40", **asked)
    done = run("publish", "people.toml")
    words = "0 to 1,000, the whole range: no answer at this spend"
    assert "whole" in done.out  # folded in a narrow terminal
    found = sf.load("people-report/releases/curve-of-incomes-2026-10.json")
    assert words in str(found)
    assert words in (months / "people-report" / "report-2026-10.html").read_text()
    [row] = service_answers.answer(found, "d")["rows"]
    assert row["remark"] == "the whole range: no answer at this spend"
    [beyond] = service_answers.answer(found, "d", 0.99)["rows"]
    assert beyond["remark"] == "the whole range: the interval was released at 95%"
    written(months, "40", a=asked["a"])
    assert run("publish", "people.toml", "--version", "2026-11").code == 0
    found = sf.load("people-report/releases/curve-of-incomes-2026-11.json")
    assert "no answer" not in str(found)
    assert "remark" not in service_answers.answer(found, "d")["rows"][0]


def test_audit_takes_the_version_that_other_commands_take(months, run):
    written(
        months,
        "40",
        a=('version = "2026-10"\n', ""),
        b=('query = "density"\ncolumns = ["income"]\nbandwidth = 40\n', MEAN),
    )
    assert "--version" in run("audit", "people.toml").err
    assert "It has 'curve of incomes, 2026-11'" in spaced(run("audit", "people.toml", "--version", "2026-11").err)
    assert Released("people.toml", "curve of incomes, 2026-11", "2026-11").source.endswith(", '2026-11')")
    assert "--version is for a plan" in run("audit", "os:getcwd", "--version", "2026-11").err


def test_check_cuts_as_the_releases_do(months, run):
    for month in ("2026-10", "2026-11"):
        frame = pd.read_csv(months / f"people-{month}.csv")
        frame.assign(id=frame["id"] // 4).to_csv(months / f"people-{month}.csv", index=False)
    written(months, "40", a=("spend =", "per_person = { rows = 3 }\nspend ="))
    told = spaced(run("check", "people.toml").out)
    assert "100 people have more rows than count, and 300 rows of theirs do not count" in told
    assert (
        "with at most 3 rows a person, as 'curve of incomes, 2026-10' say: 100 people have more, and 100 rows" in told
    )


def test_a_changed_bound_says_why_it_is_another_question_and_where_the_name_is(months, run):
    written(months, "40", a=("[columns]\n", "[columns]\nstate = { type = 'categories', values = ['a', 'b'] }\n"))
    pd.read_csv("people-2026-10.csv").assign(state="b").to_csv("people-2026-10.csv", index=False)
    assert run("publish", "people.toml").code == 0
    written(months, "40", a=("[columns]\n", "[columns]\nstate = { type = 'categories', values = ['a', 'c'] }\n"))
    done = run("publish", "people.toml")
    assert "with persons as units all declared columns decide which of their rows count" in spaced(done.err)
    assert "in a plan name = ..." in done.err


def test_a_table_in_place_of_a_plan_is_drafted_with_its_header(months, run):
    assert "sfumato draft people-2026-10.csv --header --out PLAN.toml" in run("preview", "people-2026-10.csv").err
