"""Everything public about a whole plan is checked before its first charge, by `plan` and `publish` alike."""

import json
import shutil

import pytest

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.ledger import Ledger

FIRST = '[[release]]\nname = "first"\nquery = "count"\nspend = { epsilon = 0.25 }\n'
LATER = {
    "a name that cannot be printed": 'name = "bell \\u0007"\nquery = "count"',
    "a name that is too long": f'name = "{"n" * 2000}"\nquery = "count"',
    "an unknown column behind discovered keys": 'query = "count"\nby = { discovered = "city" }\nwhere = "nosuch > 3"',
    "more items than there are": 'query = "top"\ncolumn = "hobbies"\nk = 4',
    "a key that is a text": 'query = "count"\nby = "city"',
    "thresholds of a category": 'query = "thresholds"\ncolumn = "state"',
}


def head(place):
    """The plan's first parts, without its releases."""
    return (place / "plan.toml").read_text().split("[[release]]")[0]


def charges(place):
    ledger = place / "people.ledger"
    return sum(entry.kind == "charge" for entry in Ledger.existing(ledger).entries()) if ledger.exists() else 0


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_a_mistake_in_a_later_release_costs_nothing(place, run, later):
    spend = "spend = { epsilon = 0.25, delta = 1e-6 }"
    (place / "plan.toml").write_text(f"{head(place)}{FIRST}\n[[release]]\n{later}\n{spend}\n")
    planned, published = run("preview", "plan.toml"), run("publish", "plan.toml", "--out", "out")
    assert (planned.code, published.code) == (1, 1)
    assert planned.err == published.err
    assert "release 2" in published.err
    assert not (place / "people.ledger").exists()


def test_a_changed_question_under_an_old_name_is_found_by_plan_and_before_any_charge(place, run):
    old = '[[release]]\nname = "ages"\nquery = "mean"\ncolumn = "age"\nspend = { epsilon = 0.25 }\n'
    (place / "plan.toml").write_text(head(place) + old)
    assert run("publish", "plan.toml", "--out", "out").code == 0
    changed = old.replace("mean", "sum")
    (place / "plan.toml").write_text(head(place) + FIRST + changed)
    for command in (("preview", "plan.toml"), ("publish", "plan.toml", "--out", "out")):
        done = run(*command)
        assert done.code == 1
        assert 'release 2 ("ages")' in done.err
        assert "new name" in done.err
    assert charges(place) == 1


def test_a_dataset_that_no_ledger_can_keep_is_found_by_plan(place, run):
    text = (place / "plan.toml").read_text().replace("size = 300", 'size = 300\ndataset = "a\\u0007b"')
    (place / "plan.toml").write_text(text)
    for command in (("preview", "plan.toml"), ("publish", "plan.toml", "--out", "out")):
        assert "dataset must be printable" in run(*command).err


# a new ledger


def test_a_new_ledger_is_announced(place, run):
    planned = run("preview", "plan.toml")
    assert "no ledger" in planned.out
    assert "people.ledger" in planned.out
    published = run("publish", "plan.toml", "--out", "out")
    assert "is new" in published.out
    again = run("publish", "plan.toml", "--out", "out")
    assert "is new" not in again.out
    assert "no ledger" not in run("preview", "plan.toml").out


def test_a_lost_ledger_is_not_silently_replaced(place, run):
    first = json.loads(run("publish", "plan.toml", "--out", "out", "--json").out)
    before = (place / "out" / "releases" / "everyone.json").read_bytes()
    shutil.move(place / "people.ledger", place / "elsewhere")
    refused = run("publish", "plan.toml", "--out", "out")
    assert refused.code == 1
    assert "does not know" in refused.err or "does not exist" in refused.err
    assert "--new-ledger" in refused.err
    assert not (place / "people.ledger").exists()
    assert (place / "out" / "releases" / "everyone.json").read_bytes() == before
    assert run("publish", "plan.toml", "--out", "another").code == 0
    refused = run("publish", "plan.toml", "--out", "out")  # the new ledger exists, and still lacks the old releases
    assert refused.code == 1
    assert run("publish", "plan.toml", "--out", "out", "--new-ledger").code == 0
    shutil.move(place / "elsewhere", place / "people.ledger")
    assert run("publish", "plan.toml", "--out", "out").code == 1
    again = json.loads(run("publish", "plan.toml", "--out", "out", "--new-ledger", "--json").out)
    assert [r["table"] for r in again["releases"]] == [r["table"] for r in first["releases"]]


def test_other_files_in_the_output_folder_are_none_of_ours(place, run):
    (place / "out" / "releases").mkdir(parents=True)
    (place / "out" / "releases" / "notes.json").write_text("[" * 100_000)
    (place / "out" / "releases" / "other.json").write_text('{"provenance": {"dataset": "another", "head": "aa"}}')
    (place / "out" / "releases" / "list.json").write_text('{"provenance": [1]}')
    assert run("publish", "plan.toml", "--out", "out").code == 0


def test_other_terms_are_refused_without_inviting_a_second_ledger(place, run):
    assert run("publish", "plan.toml", "--out", "out").code == 0
    (place / "plan.toml").write_text((place / "plan.toml").read_text().replace("epsilon = 4.0", "epsilon = 8.0"))
    refused = run("publish", "plan.toml", "--out", "out")
    assert refused.code == 1
    assert "budget" in refused.err
    assert "add up" in refused.err
    assert "another ledger file" not in refused.err


def test_a_stored_answer_says_when_it_was_computed(place, run):
    first = json.loads(run("publish", "plan.toml", "--out", "out", "--json").out)
    day = first["releases"][0]["provenance"]["time"][:10]
    again = run("publish", "plan.toml", "--out", "out").out
    assert again.count(day) >= len(first["releases"])
    assert day in run("preview", "plan.toml").out
    assert first["releases"][0]["provenance"]["time"] in run("show", "out/releases/everyone.json").out


def test_a_lost_ledger_of_a_table_is_noticed_too(place, run):
    plan = (place / "plan.toml").read_text().replace('unit = { column = "id", rows = 1 }', 'unit = "row"')
    (place / "plan.toml").write_text(plan)
    asked = ("synthesize", "plan.toml", "--epsilon", "1", "--column", "age", "--column", "state", "--out", "t.parquet")
    assert "is new" in run(*asked).out
    assert run(*asked).code == 0
    (place / "people.ledger").unlink()
    refused = run(*asked)
    assert refused.code == 1
    assert "t.parquet" in refused.err
    assert not (place / "people.ledger").exists()


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".csv.gz"])
def test_files_of_two_years_are_not_taken_for_one_dataset(place, run, ending):
    """people.2020 and people.2021 would share a ledger, and the answers of one would be shown for the other."""
    plan = place / "plan.toml"
    plan.write_text(plan.read_text().replace("people.parquet", f"people.2020{ending}"))
    for command in ("preview", "publish", "check"):
        done = run(command, plan)
        assert done.code == 1
        assert "dataset = 'people.2020'" in done.err
        assert "'people'" in done.err
    with pytest.raises(SchemaError, match=r"dataset = 'people\.2020'"):
        sf.read(place / f"people.2020{ending}", schema={"age": sf.Integers(0, 120)})
    assert not list(place.glob("*.ledger"))


def test_a_draft_names_the_dataset_as_the_file(place, run):
    (place / "people.parquet").rename(place / "people.south.parquet")
    assert run("draft", "people.south.parquet", "--out", "draft.toml").code == 0
    drafted = (place / "draft.toml").read_text()
    assert 'dataset = "people.south"' in drafted
    assert 'path = "people.south.ledger"' in drafted


def test_another_separator_is_recognized(place, run):
    (place / "people.csv").write_text("id;age;state;hobbies;city\n" + "1;30;CA;chess;Big\n" * 30)
    (place / "plan.toml").write_text((place / "plan.toml").read_text().replace("people.parquet", "people.csv"))
    done = run("publish", place / "plan.toml")
    assert done.code == 1
    assert "separated by commas in .csv" in done.err
    assert not list(place.glob("*.ledger"))


def test_what_a_draft_says_of_a_first_line_does_not_depend_on_it(place, run):
    said = set()
    for first in ("33,33", "33,34", "age,sex"):
        (place / "t.csv").write_text(f"{first}\n1,2\n")
        said.add(run("draft", "t.csv").err)
    assert len(said) == 1


def test_a_ledger_without_a_directory_is_found_by_plan(place, run):
    plan = place / "plan.toml"
    plan.write_text(plan.read_text().replace("[budget]", '[ledger]\npath = "kept/here/people.ledger"\n\n[budget]'))
    said = {run(command, plan).err for command in ("preview", "publish")}
    assert len(said) == 1
    assert "its directory does not exist; create it first" in said.pop()
