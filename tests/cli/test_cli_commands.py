"""Each command does what its help says, for people and for programs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato import spaces
from sfumato.cli.audit import Released
from sfumato.cli.neighbors import neighbors
from sfumato.errors import SchemaError
from sfumato.plans import read_plan
from sfumato.session import Session

RELEASES = ["everyone", "mean age by state", "hobbies", "median age", "cities"]


# draft


def test_a_draft_comes_from_names_and_types_and_holds_no_value(place, run):
    done = run("draft", "people.parquet", "--out", "draft.toml")
    assert done.code == 0
    text = (place / "draft.toml").read_text()
    for name in ("id", "age", "state", "hobbies", "city"):
        assert f"[columns.{name}]" in text
    for value in ("CA", "chess", "Zanzibar", "69"):
        assert value not in text
    with pytest.raises(SchemaError, match=r"table.unit[\s\S]*columns.id.low"):
        read_plan(place / "draft.toml")


def test_a_draft_of_a_csv_knows_names_only(place, run):
    (place / "people.csv").write_text("age,home town\n17,Zanzibar\n")
    done = run("draft", "people.csv", "--header")
    assert done.code == 0
    assert '[columns."home town"]' in done.out
    assert 'type = "FILL IN"' in done.out
    assert "Zanzibar" not in done.out
    assert json.loads(run("draft", "people.csv", "--header", "--json").out)["columns"] == {
        "age": None,
        "home town": None,
    }


def test_a_first_line_that_may_be_data_is_not_shown(place, run):
    for content in ("Alice Smith,34,HIV+\n", "Alice,female,none\nBob,male,flu\n"):
        (place / "people.csv").write_text(content)
        shown = [run("draft", "people.csv"), run("draft", "people.csv", "--json")]
        (place / "csv.toml").write_text((place / "plan.toml").read_text().replace("people.parquet", "people.csv"))
        shown.append(run("publish", "csv.toml", "--out", "out"))
        for done in shown:
            assert done.code == 1
            assert not [
                word for word in ("Alice", "Smith", "34", "HIV", "female", "flu") if word in done.out + done.err
            ]
        assert "--header" in shown[0].err


def test_times_and_truths_are_drafted_as_spaces_that_read_them(place, run):
    held = {
        "joined": pa.array([0], pa.timestamp("ms")), "born": pa.array([0], pa.date32()), "ill": [True],
        "seen": pa.array([0], pa.time64("us")), "lasted": pa.array([0], pa.duration("s")),
    }  # fmt: skip
    pq.write_table(pa.table(held), place / "kinds.parquet")
    text = run("draft", "kinds.parquet").out
    assert text.count('\ntype = "dates"') == 2
    assert "values = [false, true]" in text
    assert (text.count('\ntype = "time-of-day"'), text.count('\ntype = "duration"')) == (1, 1)
    assert "no space fits" not in text


def test_a_draft_says_what_types_tell_and_nothing_that_values_do(place, run):
    held = {
        "price": pa.array([None], pa.decimal128(10, 2)), "marks": pa.array([None], pa.list_(pa.float64(), 3)),
        "curve": pa.array([[0.5]]), "bought": pa.array([[7]]), "small": pa.array([200], pa.uint8()),
        "town": pa.array(["Ulm"]).dictionary_encode(),
    }  # fmt: skip
    pq.write_table(pa.table(held), place / "types.parquet")
    parts = tomllib.loads(run("draft", "types.parquet").out)["columns"]
    assert parts["price"]["step"] == 0.01
    assert parts["marks"] == {"type": "box", "shape": [3], "low": "FILL IN", "high": "FILL IN"}
    assert parts["curve"]["shape"] == ["FILL IN"]
    assert parts["bought"]["type"] == "subsets"
    assert parts["small"]["high"] == "FILL IN"  # a type's width is no bound
    assert parts["town"]["values"] == ["FILL IN"]  # a dictionary is made of values


def test_a_filled_in_draft_is_a_plan(place, run):
    text = run("draft", "people.parquet").out
    start, end = text.index("[columns.id]"), text.index("[columns.age]")
    text = text[:start] + text[end:]  # the identifier is the unit, not a column
    fill = [
        ('unit = "FILL IN"', 'unit = { column = "id", rows = 1 }'), ('low = "FILL IN"', "low = 0"),
        ('high = "FILL IN"', "high = 120"), ('step = "FILL IN"', "step = 1"), ('cap = "FILL IN"', "cap = 1"),
        ('"FILL IN"]', '"CA", "NY"]'), ('epsilon = "FILL IN"', "epsilon = 1"),
    ]  # fmt: skip
    for old, new in fill:
        assert old in text
        text = text.replace(old, new)
    (place / "filled.toml").write_text(text)
    assert run("preview", "filled.toml").code == 0


def test_a_draft_does_not_overwrite(place, run):
    done = run("draft", "people.parquet", "--out", "plan.toml")
    assert done.code == 1
    assert "exists already" in done.err


# plan


def test_a_plan_spends_nothing_and_needs_no_data(place, run):
    (place / "people.parquet").unlink()
    done = run("preview", "plan.toml")
    assert done.code == 0
    for name in RELEASES:
        assert name in done.out
    assert "within 1.00 x best" in done.out
    assert done.out.count("x best") == 5  # all of them
    assert "after this plan ε 3.5 of ε 4, both at delta 1e-5" in done.out  # which is not used up
    assert not (place / "people.ledger").exists()


def test_a_plan_as_json_holds_the_same(place, run):
    record = json.loads(run("preview", "plan.toml", "--json").out)
    assert [release["name"] for release in record["releases"]] == RELEASES
    assert record["fits"] is True
    assert record["releases"][0]["certificate"]["factor"] == pytest.approx(1.0)


def test_a_plan_beyond_its_budget_is_code_3_and_says_where(place, run):
    text = (place / "plan.toml").read_text().replace("epsilon = 4.0", "epsilon = 1.2")
    (place / "plan.toml").write_text(text)
    done = run("preview", "plan.toml")
    assert done.code == 3
    assert "release 'mean age by state' is the first that does not fit" in done.err
    assert "Lower the spends" in done.err


# publish


def test_publish_writes_releases_report_and_ledger(place, run):
    done = run("publish", "plan.toml", "--out", "out")
    assert done.code == 0, done.err
    for name in RELEASES:
        assert name in done.out
    ledger = sf.Ledger.existing(place / "people.ledger")
    assert ledger.head in done.out
    assert ledger.verify([ledger.head]).holds
    names = {"everyone", "mean-age-by-state", "hobbies", "median-age", "cities"}
    assert {path.stem for path in (place / "out/releases").glob("*.json")} == names
    assert {path.stem for path in (place / "out/releases").glob("*.parquet")} == names
    for path in (place / "out/releases").iterdir():
        release = sf.load(path)
        assert ledger.find(release.name, release.provenance.digest).content == release.to_bytes()
    assert (place / "out/report.html").stat().st_size > 10_000


def test_publish_again_is_free_and_the_same(place, run):
    first = json.loads(run("publish", "plan.toml", "--out", "out", "--json").out)
    again = json.loads(run("publish", "plan.toml", "--out", "out", "--json").out)
    assert again == first | {"new_ledger": False, "batch": again["batch"]}
    assert "not two releases to pay for" in again["batch"]["words"]
    assert "stored: free" in run("publish", "plan.toml", "--out", "out").out
    assert sum(entry.kind == "charge" for entry in sf.Ledger.existing(place / "people.ledger").entries()) == 5


def test_an_interrupt_finishes_the_release_under_way_and_loses_nothing(place, run, monkeypatch):
    original = Session.fulfill
    calls = []

    def interrupted(self, settled):
        calls.append(settled.title)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, settled)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "fulfill", interrupted)
        done = run("publish", "plan.toml", "--out", "out")
    assert done.code == 130
    assert "after 2 of 5 releases" in done.err
    assert "run the same command again" in done.err
    entries = sf.Ledger.existing(place / "people.ledger").entries()
    assert [entry.kind for entry in entries] == ["open", "charge", "release", "charge", "release"]
    assert len(list((place / "out/releases").glob("*.json"))) == 2
    assert run("publish", "plan.toml", "--out", "out").code == 0
    entries = sf.Ledger.existing(place / "people.ledger").entries()
    assert sum(entry.kind == "charge" for entry in entries) == 5


def test_releases_of_one_person_show_no_secret(place, run):
    done = run("publish", "plan.toml", "--out", "out", "--json")
    seen = done.out + done.err + (place / "out/report.html").read_text()
    seen += "".join(path.read_text() for path in (place / "out/releases").glob("*.json"))
    assert "Big" in seen
    assert "Zanzibar" not in seen


# show, ledger


def test_show_prints_a_saved_release(place, run):
    run("publish", "plan.toml", "--out", "out")
    for suffix in ("json", "parquet"):
        done = run("show", f"out/releases/mean-age-by-state.{suffix}")
        assert done.code == 0
        for word in ("guarantee", "certificate", "95% interval", "CA", "NY", "TX", "head"):
            assert word in done.out
    record = json.loads(run("show", "out/releases/everyone.json", "--json").out)
    assert record["format"] == "sfumato-release/2"


def test_ledger_show_verify_and_export(place, run):
    run("publish", "plan.toml", "--out", "out")
    head = sf.Ledger.existing(place / "people.ledger").head
    shown = run("ledger", "show", "people.ledger")
    assert "spent ε 3.5" in shown.out
    assert head in shown.out
    assert json.loads(run("ledger", "show", "people.ledger", "--json").out)["head"] == head
    verified = run("ledger", "verify", "people.ledger", "--head", head)
    assert (verified.code, "the ledger holds: 11 entries" in verified.out) == (0, True)
    assert json.loads(run("ledger", "verify", "people.ledger", "--json").out)["holds"] is True
    assert len(json.loads(run("ledger", "export", "people.ledger").out)) == 11
    assert run("ledger", "export", "people.ledger", "--out", "entries.json").code == 0
    assert json.loads((place / "entries.json").read_text())[-1]["hash"] == head


def test_a_rolled_back_or_damaged_ledger_is_code_4(place, run):
    run("publish", "plan.toml", "--out", "out")
    done = run("ledger", "verify", "people.ledger", "--head", "0" * 64)
    assert done.code == 4
    assert "does NOT hold" in done.err
    record = run("ledger", "verify", "people.ledger", "--head", "0" * 64, "--json")
    assert (record.code, json.loads(record.out)["holds"]) == (4, False)
    (place / "people.ledger").write_bytes(b"SQLite format 3\0" + bytes(4000))
    assert run("ledger", "verify", "people.ledger").code == 4


# audit

LEAKY = """
import numpy as np

def total(data, rng):
    return float(np.sum(np.clip(data, 0, 1))) + rng.laplace(scale=0.1)
"""


def test_audit_refutes_a_wrong_claim_and_says_so_in_its_code(place, run):
    (place / "leaky_total.py").write_text(LEAKY)
    done = run("audit", "leaky_total:total", "--epsilon", 1, "--seconds", 4, "--stop", "--json")
    assert done.code == 1
    assert json.loads(done.out)["refuted"] is True
    assert "ClaimRefuted" in done.err


def test_audit_prints_a_script_that_reproduces_the_evidence(place, run):
    (place / "leaky_total.py").write_text(LEAKY)
    options = ["--inputs", "[0.5, 1.0]", "--bounds", 0, 1, "--adjacency", "replace", "--real-arithmetic", "--cores", 1]
    done = run("audit", "leaky_total:total", "--epsilon", 1, "--seconds", 4, "--stop", *options)
    assert done.code == 1
    assert "replaced: " in done.err
    (place / "evidence.py").write_text(done.out)
    again = subprocess.run([sys.executable, "evidence.py"], cwd=place, capture_output=True, text=True, check=False)
    assert float(again.stdout.split("epsilon >= ")[1].split(" ")[0]) > 1.0, again.stderr


def test_audit_without_a_claim_shows_the_largest_epsilon(place, run):
    (place / "leaky_total.py").write_text(LEAKY)
    options = ["--inputs", "[0.5, 1.0]", "--bounds", 0, 1, "--real-arithmetic"]
    done = run("audit", "leaky_total:total", "--seconds", 3, "--json", *options)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["claim"], found["refuted"]) == (None, False)
    assert 1.0 < found["epsilon"] <= 10.0


SPACES = {
    "interval": {"low": 0, "high": 4, "step": 1},
    "integers": {"low": 0, "high": 4},
    "categories": {"values": [False, True]},
    "subsets": {"of": ["x", "y", "z"], "cap": 2},
    "box": {"low": 0, "high": 1, "shape": [2, 2]},
    "curves": {"points": [0, 1, 2], "low": 0, "high": 10, "step": 0.5},
    "dates": {"low": "2020-01-01", "high": "2020-12-31"},
    "duration": {"low": 0, "high": 240, "unit": "minutes", "step": 5},
    "time-of-day": {"low": "06:00", "step": 900},
    "record": {"parts": {"a": {"type": "interval", "low": 0, "high": 1}, "b": {"type": "texts"}}},
    "texts": {},
}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("space", SPACES)
def test_audit_makes_neighbors_of_every_space(place, space, adjacency):
    assert set(SPACES) == set(spaces.SPACES)
    record = {
        "format": "sfumato-plan/1", "budget": {"epsilon": 5},
        "table": {"path": "t.parquet", "unit": "row", "adjacency": adjacency, "size": 8},
        "columns": {"x": {"type": space, **SPACES[space]}},
        "release": [{"name": "everyone", "query": "count", "spend": {"epsilon": 1}}],
    }  # fmt: skip
    (place / "spaces.json").write_text(json.dumps(record))
    target = Released(place / "spaces.json", "everyone")
    pairs = neighbors(target.plan.schema)
    assert len(pairs) > 10
    for one, other in pairs:
        assert one.schema == other.schema
        (a,), (b,) = target.answer(one), target.answer(other)
        assert abs(a - b) <= 1
        assert len(one) - len(other) == (adjacency == "add-remove")


def test_audit_of_a_plan_with_curves_runs(place, run):
    record = {
        "format": "sfumato-plan/1", "budget": {"epsilon": 5, "delta": 1e-3},
        "table": {"path": "t.parquet", "unit": "row", "size": 8},
        "columns": {"day": {"type": "curves", **SPACES["curves"]}},
        "release": [{
            "name": "day", "query": "mean_curve", "columns": ["day"], "points": [0, 1, 2], "radius": 2, "waves": 1,
            "spend": {"epsilon": 1, "delta": 1e-6},
        }],
    }  # fmt: skip
    (place / "curves.json").write_text(json.dumps(record))
    done = run("audit", "curves.json", "--release", "day", "--seconds", 1)
    assert done.code == 0, done.err


@pytest.mark.heavy
def test_audit_of_a_planned_release_finds_no_evidence_but_does_against_a_tenth(place, run):
    text = (place / "plan.toml").read_text().replace("epsilon = 4.0", "epsilon = 9.0")
    (place / "plan.toml").write_text(text.replace("spend = { epsilon = 0.5 }", "spend = { epsilon = 3 }", 1))
    done = run("audit", "plan.toml", "--release", "everyone", "--seconds", 1)
    assert done.code == 0, done.err
    assert "no evidence found, which proves nothing" in done.out
    done = run("audit", "plan.toml", "--release", "everyone", "--epsilon", 0.3, "--seconds", 3, "--stop")
    assert done.code == 1
    assert "refuted" in done.err


# check


def test_check_shows_the_steward_what_coercion_does_and_spends_nothing(place, run):
    before = set(place.iterdir())
    done = run("check", "plan.toml")
    assert done.code == 0
    assert "NOT RELEASABLE: exact and secret" in done.out
    assert "300 rows, 300 people; declared size 300" in done.out
    assert json.loads(run("check", "plan.toml", "--json").out)["releasable"] is False
    assert set(place.iterdir()) == before


def test_check_shows_names_as_they_are(place, run):
    (place / "odd.csv").write_text("[/bold]x\n1\n77\n")
    text = (place / "plan.toml").read_text()
    head = text[: text.index("[table]")] + '[table]\npath = "odd.csv"\nunit = "row"\n[columns."[/bold]x"]\n'
    tail = 'type = "integers"\nlow = 0\nhigh = 9\n[budget]\nepsilon = 1.0\n[[release]]\nquery = "count"\n'
    (place / "odd.toml").write_text(head + tail + "spend = { epsilon = 1.0 }\n")
    done = run("check", "odd.toml")
    assert done.code == 0
    assert "[/bold]x" in done.out
    assert "1 (50.0%)" in done.out


def test_ledger_verify_states_the_true_total_of_a_ledger_with_a_disputed_release(place, run):
    shutil.copy(Path(__file__).parents[1] / "fixtures/v0_2_0/ledgers/replaced.sqlite", place / "old.ledger")
    done = run("ledger", "verify", "old.ledger")
    assert done.code == 4
    for word in ("does NOT hold", "'contrasts'", "true total"):
        assert word in done.err
    found = json.loads(run("ledger", "verify", "old.ledger", "--json").out)
    assert found["problems"] == []
    assert len(found["disputes"]) == 1
    assert found["true"]["epsilon"] > found["spent"]["epsilon"]


TEXT_PLAN = """
format = "sfumato-plan/2"

[table]
path = "notes.csv"
unit = "row"

[columns]
age = { type = "interval", low = 0, high = 120, step = 1 }
note = { type = "texts", longest = 30 }

[budget]
epsilon = 4.0
delta = 1e-6

[[release]]
name = "everyone"
query = "count"
spend = { epsilon = 0.5 }
"""


def test_check_tells_of_lines_that_no_row_can_be_read_from(place, run):
    """Told to the steward alone: no other command says how many there are."""
    (place / "notes.csv").write_bytes(b'age,note\n30,"two\nlines"\n40,one\n50,caf\xe9\n' * 7)
    (place / "notes.toml").write_text(TEXT_PLAN)
    told = " ".join(run("check", "notes.toml").out.split())
    assert "rows are missing as a whole" in told
    assert "14 have a quote that is not closed" in told
    assert "say quoted_lines = true under [table]" in told
    assert "7 are not UTF-8" in told
    told = json.loads(run("check", "notes.toml", "--json").out)["lines"]
    assert told == {"rows": 21, "quotes": 14, "encoding": 7, "empty": 0}
    for command in (["preview", "notes.toml"], ["publish", "notes.toml"]):
        done = run(*command)
        assert done.code == 0
        assert "have a quote" not in done.out + done.err, "the same words whatever the file holds"
    (place / "notes.csv").write_text('age,note\n30,"two\nlines"\n40,one\n')
    (place / "notes.toml").write_text(TEXT_PLAN.replace('unit = "row"', 'unit = "row"\nquoted_lines = true'))
    assert "missing as a whole" not in run("check", "notes.toml").out
    assert "lines" not in json.loads(run("check", "plan.toml", "--json").out)


def test_a_draft_of_a_text_file_says_how_lines_are_read(place, run):
    (place / "notes.csv").write_text("age,note\n30,x\n")
    assert "# quoted_lines = true" in run("draft", "notes.csv", "--header").out
    assert "quoted_lines" not in run("draft", "people.parquet").out
