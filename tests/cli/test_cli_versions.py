"""A plan that is published every month from a new file, and joins events with people."""

import json

import pandas as pd
import pytest

import sfumato as sf
from sfumato.ledger.names import kept_title, version_words
from sfumato.plans import read_plan, write_plan

PLAN = """
format = "sfumato-plan/2"

[table]
path = "events-{version}.csv"
dataset = "sales"
unit = { column = "id", rows = 3 }

[columns]
paid = { type = "interval", low = 0, high = 100, step = 1 }

[people]
path = "people.csv"

[attributes]
sex = { type = "categories", values = ["f", "m"] }

[budget]
epsilon = 25000.0

[[release]]
name = "sales by sex"
query = "sum"
column = "paid"
by = "sex"
per_person = { total = [0, 150] }
spend = { epsilon = 9000.0 }

[[release]]
query = "count"
spend = { epsilon = 1000.0 }
"""


@pytest.fixture
def monthly(tmp_path):
    for month, paid in (("2026-10", 10.0), ("2026-11", 90.0)):
        held = pd.DataFrame({"id": [i // 2 for i in range(40)], "paid": [paid] * 40})
        held.to_csv(tmp_path / f"events-{month}.csv", index=False)
    people = pd.DataFrame({"id": range(20), "sex": ["f", "m"] * 10})
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


def test_each_version_is_published_under_its_own_names_and_charges_add_up(monthly, run):
    out = monthly.parent / "out"
    first = json.loads(run("publish", monthly, "--out", out, "--version", "2026-10", "--json").out)
    assert [release["name"] for release in first["releases"]] == ["sales by sex, 2026-10", "count, 2026-10"]
    second = run("publish", monthly, "--out", out, "--version", "2026-11")
    assert "this ledger pays for 2 versions (2026-10, 2026-11)" in " ".join(second.out.split())
    assert sf.load(out / "releases" / "sales-by-sex-2026-10.json").to_pandas()["estimate"].round().tolist() == [
        200,
        200,
    ]
    assert (
        sf.load(out / "releases" / "sales-by-sex-2026-11.json").to_pandas()["estimate"].round().tolist() == [1500] * 2
    )
    ledger = sf.Ledger.existing(monthly.with_name("sales.ledger"))
    assert ledger.spent() == sf.Pure(20000.0)
    again = run("publish", monthly, "--out", out, "--version", "2026-10")
    assert "nothing was charged" in again.out
    assert ledger.spent() == sf.Pure(20000.0)
    refused = run("preview", monthly, "--version", "2026-12")
    assert refused.code == 3


def test_a_plan_with_people_and_a_version_is_written_and_read_again(monthly):
    plan = read_plan(monthly, "2026-10")
    again = read_plan(write_plan(plan, monthly.with_name("again.json")))
    assert (again.schema, again.releases, again.people, again.table) == (
        plan.schema, plan.releases, plan.people, plan.table,
    )  # fmt: skip
    assert plan.schema.people == ("sex",)
    assert plan.release("count").name == "count, 2026-10"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "say which with version"),
        ('dataset = "sales"\n', "", "say dataset"),
        ('[people]\npath = "people.csv"\n', "", "where the table of people is"),
        ("sex = {", "paid = {", "declared of events and of people"),
    ],
)
def test_what_is_left_open_is_refused_in_words(monthly, old, new, said):
    monthly.write_text(PLAN.replace(old, new))
    with pytest.raises(sf.errors.SchemaError, match=said):
        read_plan(monthly, None if old == "" else "2026-10")


def test_sessions_name_releases_by_version_and_find_those_kept_without(tmp_path):
    held = pd.DataFrame({"id": ["p", "q"], "x": [1, 2]})

    def session(version):
        given = {"x": sf.Integers(0, 9)}
        table = sf.read(held, schema=given, unit="id", rows=1, dataset="d", version=version)
        return sf.Session(table, budget=sf.Pure(10.0), ledger=tmp_path / "d.ledger")

    named = [session(version).release(sf.count(), spend=sf.Pure(1.0)).name for version in ("a", "b", "b", None)]
    assert named == ["count, a", "count, b", "count, b", "count"]
    assert session("a").spent == sf.Pure(3.0)
    with_target = session("a").release(sf.count(), within=50.0)
    assert with_target.name == "count, a"
    assert session("a").spent == sf.Pure(3.0)
    ledger = session("c").ledger
    settled = session("c").order(sf.sum("x"), sf.Pure(1.0))
    ledger.charge("sum of x", settled.identity.digest, settled.claim, settled.described)  # as 0.5.0 named it
    assert kept_title(ledger, "sum of x, c", "c") == "sum of x"
    assert session("c").order(sf.sum("x"), sf.Pure(1.0)).title == "sum of x"
    assert session("d").order(sf.sum("x"), sf.Pure(1.0)).title == "sum of x, d"
    assert "3 versions (a, b, c)" in version_words(ledger.entries(), "c")
    assert version_words(ledger.entries(), None) is None


# names that become paths: none leads out of its folder


@pytest.mark.parametrize("version", ["../x", "..", ".", "/etc", "a/../../x", "a//b", "*", "..\\x", "C:/x", "s3://x"])
@pytest.mark.parametrize("path", ["events-{version}.csv", "{version}/events.csv", "months/{version}.csv"])
def test_a_version_leads_out_of_no_folder(path, version, monthly, run):
    monthly.write_text(PLAN.replace("events-{version}.csv", path))
    for command in (["preview"], ["check"], ["publish"], ["synthesize", "--epsilon", 1]):
        done = run(command[0], monthly, *command[1:], "--version", version)
        assert done.code == 1
        assert "would lead out of its folder" in " ".join(done.err.split())
    assert not list(monthly.parent.glob("**/*.ledger"))


def test_a_version_may_name_folders_within(monthly):
    monthly.write_text(PLAN.replace("events-{version}.csv", "{version}/events.csv"))
    assert read_plan(monthly, "2026/10").table.path == monthly.parent / "2026" / "10" / "events.csv"


def test_a_version_that_no_path_holds_makes_safe_names_of_files(monthly, run):
    monthly.write_text(PLAN.replace("events-{version}.csv", "events-2026-10.csv"))
    out = monthly.parent / "out"
    for version in ("../x", "月" * 120):
        done = run("publish", monthly, "--out", out, "--version", version)
        assert done.code == 0, done.err
    assert {file.parent for file in monthly.parent.glob("**/*") if file.is_file()} == {
        monthly.parent, out, out / "releases"
    }  # fmt: skip


def test_a_dataset_leads_its_ledger_and_its_log_out_of_no_folder(monthly, run):
    text = PLAN.replace('dataset = "sales"', 'dataset = "../sales"')
    monthly.write_text(text)
    done = run("preview", monthly, "--version", "2026-10")
    assert done.code == 1
    assert 'say path = "FILE" under [ledger]' in " ".join(done.err.split())
    monthly.write_text(text + '\n[ledger]\npath = "sales.ledger"\n')
    assert run("publish", monthly, "--version", "2026-10").code == 0
    analyst = "\n[analysts.ann]\nbudget = { epsilon = 1.0 }\n"
    monthly.write_text(text + '\n[ledger]\npath = "sales.ledger"\n' + analyst)
    done = run("preview", monthly, "--version", "2026-10")
    assert 'say audit = "FILE" under [service]' in " ".join(done.err.split())
