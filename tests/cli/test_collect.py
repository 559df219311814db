"""Collecting and estimating from the command line: what a telemetry engineer sees."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sending import sent
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import load_estimate
from sfumato.local.protocols import Duchi, HadamardResponse, SquareWave
from sfumato.local.questions import Ranges
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from sfumato.report.local import plot_estimate

MANY = HadamardResponse.calibrate(200, Pure(1.0))
PETS = """
format = "sfumato-collection/1"
name = "pets"
labels = ["cat", "dog", "fish", "other"]

[protocol]
type = "grr"
epsilon = 1.0
"""


@pytest.fixture
def pets(tmp_path, monkeypatch):
    """A directory with a collection, its reports, and the reports of another one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pets.toml").write_text(PETS)
    protocol = Collection.read("pets.toml").protocol
    values = np.arange(4000) % 4
    for name, part in (("one", values[:3000]), ("two", values[3000:])):
        message = sent(Collection.read("pets.toml"), protocol.randomize(part, seeded(len(part))))
        (tmp_path / f"{name}.sfr").write_bytes(message)
    ages = Collection("ages", Ranges.calibrate(16, Pure(1.0)))
    ages.save("ages.json")
    (tmp_path / "ages.sfr").write_bytes(sent(ages, ages.protocol.randomize(np.arange(500) % 16, seeded(9))))
    return tmp_path


# collect


def test_collect_counts_each_message_once(pets, run):
    done = run("collect", "pets.toml", "one.sfr", "two.sfr")
    assert done.code == 0, done.err
    assert "one.sfr: 3,000 reports counted" in done.out
    assert "round 1 of 'pets' holds 4,000 reports" in done.out
    again = run("collect", "pets.toml", "one.sfr")
    assert (again.code, "1 message known already" in again.out) == (0, True)
    twice = run("collect", "pets.toml", "one.sfr", "one.sfr", "--journal", "twice.journal")
    assert "one.sfr: 3,000 reports counted; 1 message known already" in twice.out
    record = json.loads(run("collect", "pets.toml", "two.sfr", "--json").out)
    assert (record["reports"], record["files"][0]["accepted"], record["files"][0]["known"]) == (4000, 0, 1)
    assert record["refused"] == {"repeated batch": 2}


def test_reports_of_another_collection_are_named(pets, run):
    done = run("collect", "pets.toml", "ages.sfr")
    assert done.code == 1
    assert "ages.sfr was made by protocol 'ranges' of the collection 'ages'" in done.err
    (pets / "ages.json").unlink()
    assert "which no collection file nearby declares" in run("collect", "pets.toml", "ages.sfr").err
    done = run("estimate", "one.sfr")
    assert done.code == 1
    assert (
        "one.sfr holds reports, not a collection: they were made by protocol 'grr' of the collection 'pets'" in done.err
    )


def test_a_collection_of_the_same_name_is_told_apart_by_its_terms(pets, run):
    (pets / "other.toml").write_text(PETS.replace("1.0", "2.0"))
    run("collect", "other.toml", "one.sfr")
    done = run("collect", "other.toml", "one.sfr")
    mine, theirs = (Collection.read(name).digest[:12] for name in ("other.toml", "pets.toml"))
    assert f"same name, other terms (digest {theirs}, this one has {mine})" in done.err


def test_a_damaged_file_is_refused_with_its_reason_and_counted(pets, run):
    (pets / "cut.sfr").write_bytes((pets / "one.sfr").read_bytes()[:-7])
    done = run("collect", "pets.toml", "cut.sfr")
    assert done.code == 1
    assert "truncated" in done.err
    assert json.loads(run("collect", "pets.toml", "one.sfr", "--json").out)["refused"] == {"wrong length": 1}


def test_tables_need_a_column_and_are_counted_once(pets, run):
    protocol = Collection.read("pets.toml").protocol
    reports = protocol.randomize(np.arange(2000) % 4, seeded(5))
    pq.write_table(pa.table({"answer": pa.array(reports)}), "t.parquet")
    (pets / "t.csv").write_text("answer\n" + "\n".join(map(str, reports)) + "\nx\n2.5y\n")
    assert "name the column" in run("collect", "pets.toml", "t.parquet").err
    done = run("collect", "pets.toml", "t.parquet", "--column", "answer")
    assert (done.code, "2,000 reports counted" in done.out) == (0, True)
    assert "known already" in run("collect", "pets.toml", "t.parquet", "--column", "answer").out
    text = run("collect", "pets.toml", "t.csv", "--column", "answer")
    assert (text.code, "2,000 reports counted; refused 2 reports: no report" in text.out) == (0, True)


def test_a_table_of_which_no_row_is_a_report_is_an_error(pets, run):
    message = (pets / "one.sfr").read_bytes()
    pq.write_table(pa.table({"answer": pa.array([message] * 5)}), "messages.parquet")
    done = run("collect", "pets.toml", "messages.parquet", "--column", "answer")
    assert done.code == 1
    assert "none of its 5 rows holds a report; the column must hold bare reports, not messages" in done.err


def test_a_round_can_be_closed_and_forgotten(pets, run):
    assert run("collect", "pets.toml", "one.sfr", "--close").code == 0
    assert "nothing" not in run("estimate", "pets.toml", "--round", "1").err
    assert "no reports yet" in run("estimate", "pets.toml").err
    assert "--forget goes with --close" in run("collect", "pets.toml", "two.sfr", "--forget").err
    assert run("collect", "pets.toml", "two.sfr", "--close", "--forget").code == 0
    assert run("estimate", "pets.toml", "--round", "2").code == 0


# rounds, pieces and damaged files

DAILY = """
format = "sfumato-collection/3"
name = "daily pets"
rounds = ["mon", "tue"]
labels = ["cat", "dog", "fish", "other"]

[protocol]
type = "grr"
epsilon = 1.0
"""


@pytest.fixture
def daily(tmp_path, monkeypatch):
    """A directory with a collection of two rounds, and a file of reports for each."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "daily.toml").write_text(DAILY)
    declared = Collection.read("daily.toml")
    for name, size in (("mon", 300), ("tue", 200)):
        reports = declared.protocol.randomize(np.arange(size) % 4, seeded(size))
        (tmp_path / f"{name}.sfr").write_bytes(sent(declared, reports, round=name))
    return declared


def test_reports_count_in_their_own_round_whenever_they_come(daily, run):
    done = run("collect", "daily.toml", "tue.sfr", "--round", "tue", "--close")
    assert "round tue of 'daily pets' holds 200 reports, closed" in done.out
    done = run("collect", "daily.toml", "mon.sfr")
    assert "round mon of 'daily pets' holds 300 reports\n" in done.out
    assert run("collect", "daily.toml", "mon.sfr", "--close", "--round", "mon").code == 0
    late = run("collect", "daily.toml", "mon.sfr")
    assert (late.code, "refused 1 message: closed round" in late.out) == (0, True)
    assert "round must name one of the 2 rounds" in run("collect", "daily.toml", "mon.sfr", "--close").err
    assert "300 reports" in run("estimate", "daily.toml", "--round", "mon").out
    assert run("estimate", "daily.toml", "--round", "mon", "--level", "95").out == ""
    assert "no round sun; its rounds are 'mon', 'tue'" in run("estimate", "daily.toml", "--round", "sun").err


def test_a_round_is_closed_without_a_file(daily, run, tmp_path):
    assert "nothing was collected yet" in run("collect", "daily.toml", "--round", "tue", "--close").err
    run("collect", "daily.toml", "tue.sfr")
    done = run("collect", "daily.toml", "--round", "tue", "--close")
    assert (done.code, "round tue of 'daily pets' holds 200 reports, closed" in done.out) == (0, True)
    none = run("collect", "daily.toml")
    assert (none.code, "name files to collect from, or give --close" in none.err) == (1, True)


def test_a_mistyped_file_leaves_no_journal(daily, run, tmp_path):
    assert run("collect", "daily.toml", "mon.sfr", "nowhere.sfr").code == 1
    assert run("collect", "daily.toml", "tue.parquet").code == 1
    assert not (tmp_path / "daily.journal").exists()


def test_pieces_are_merged_by_round_once(daily, run):
    for piece, file in (("eu", "mon.sfr"), ("us", "tue.sfr")):
        assert run("collect", "daily.toml", file, "--journal", f"{piece}.journal").code == 0
    done = run("merge", "daily.toml", "all.journal", "eu.journal", "us.journal")
    assert done.code == 0, done.err
    assert "round mon of 'daily pets' holds 300 reports" in done.out
    assert "round tue of 'daily pets' holds 200 reports" in done.out
    assert "1 message known already" in run("merge", "daily.toml", "all.journal", "eu.journal").out
    assert "cannot be merged with itself" in run("merge", "daily.toml", "all.journal", "all.journal").err
    assert "no journal none" in run("merge", "daily.toml", "all.journal", "none").err
    assert "is frozen" in run("collect", "daily.toml", "mon.sfr", "--journal", "eu.journal").err


def test_what_is_damaged_is_counted_named_and_an_error_and_the_rest_is_counted(daily, run, tmp_path):
    (tmp_path / "empty.sfr").touch()
    single = [sent(daily, daily.protocol.randomize([1], seeded(i)), round="mon") for i in range(200)]
    single[100] = b"SFLX" + single[100][4:]
    (tmp_path / "damaged.sfr").write_bytes(b"".join(single))
    done = run("collect", "daily.toml", "empty.sfr", "damaged.sfr", "tue.sfr")
    assert done.code == 1
    assert "empty.sfr: the file is empty" in done.out
    assert "damaged.sfr: 199 reports counted; refused 1 message: not reports" in done.out
    assert "tue.sfr: 200 reports counted" in done.out
    assert "empty.sfr is empty" in done.err
    assert "1 of 200 messages of damaged.sfr" in done.err
    assert "what could be read is counted" in done.err


def test_a_round_stays_open_where_a_file_has_to_be_mended_first(daily, run, tmp_path):
    whole = (tmp_path / "mon.sfr").read_bytes()
    (tmp_path / "mon.sfr").write_bytes(whole[:-1])
    done = run("collect", "daily.toml", "mon.sfr", "--round", "mon", "--close")
    assert (done.code, "the round is not closed" in done.err, "closed" in done.out) == (1, True, False)
    (tmp_path / "mon.sfr").write_bytes(whole)
    done = run("collect", "daily.toml", "mon.sfr", "--round", "mon", "--close")
    assert (done.code, "holds 300 reports, closed" in done.out) == (0, True)


def test_an_interrupt_says_that_nothing_is_lost(daily, run, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.cli.collect.add_file", stopped)
    done = run("collect", "daily.toml", "mon.sfr", "--round", "mon", "--close")
    assert (done.code, "run it again, and each message counts once" in done.err) == (130, True)


def test_a_refused_merge_says_what_was_merged_before_it(daily, run, tmp_path):
    run("collect", "daily.toml", "mon.sfr", "--journal", "eu.journal")
    run("collect", "daily.toml", "mon.sfr", "--journal", "us.journal")
    done = run("merge", "daily.toml", "all.journal", "eu.journal", "us.journal")
    assert (done.code, "us.journal: " in done.err, "eu.journal was merged before that" in done.err) == (1, True, True)
    assert run("merge", "daily.toml", "none.journal", "daily.toml").code == 1
    assert not (tmp_path / "none.journal").exists()


def test_a_key_that_cannot_be_written_is_refused_by_its_place(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    assert "key none/a.key cannot be written (No such file or directory)" in run("key", "none/a.key").err


def test_a_table_is_known_by_what_it_holds_not_by_its_name(daily, run, tmp_path):
    for day in (1, 2):
        (tmp_path / f"day{day}").mkdir()
        reports = daily.protocol.randomize(np.arange(50) % 4, seeded(day))
        pq.write_table(pa.table({"answer": pa.array(reports)}), tmp_path / f"day{day}/reports.parquet")
    (tmp_path / "copy.parquet").write_bytes((tmp_path / "day1/reports.parquet").read_bytes())
    for file, counted in (("day1/reports.parquet", 50), ("day2/reports.parquet", 50), ("copy.parquet", 0)):
        done = run("collect", "daily.toml", file, "--column", "answer", "--round", "mon", "--json")
        assert json.loads(done.out)["files"][0]["accepted"] == counted
    assert "round must name" in run("collect", "daily.toml", "copy.parquet", "--column", "answer").err


def test_every_output_honours_its_options(daily, run):
    run("collect", "daily.toml", "mon.sfr")
    asked = ("estimate", "daily.toml", "--joint", "--level", "0.5", "--consistent")
    record = json.loads(run(*asked, "--json", "--out", "e.json").out)
    assert json.loads(Path("e.json").read_text()) == record
    assert (record["table_level"], record["table_joint"], record["table_consistent"]) == (0.5, True, True)
    assert record["table"] == Collector.open("daily.toml").estimate().columns(0.5, joint=True, consistent=True)


# estimate


def test_estimate_shows_saves_and_draws(pets, run):
    run("collect", "pets.toml", "one.sfr", "two.sfr")
    done = run("estimate", "pets.toml", "--out", "e.json", "--plot", "p.svg", "--joint")
    assert done.code == 0, done.err
    for word in ("pets, round 1: 4,000 reports", "guarantee", "certificate", "cat", "joint 0.95 interval"):
        assert word in done.out
    saved = load_estimate("e.json")
    assert saved.reports == 4000
    assert "<svg" in (pets / "p.svg").read_text()
    record = json.loads(run("estimate", "pets.toml", "--joint", "--json").out)
    assert record == json.loads((pets / "e.json").read_text())
    consistent = run("estimate", "pets.toml", "--consistent")
    assert "consistent" in consistent.out


def test_a_suspicious_estimate_says_so_first_and_is_an_error(pets, run):
    declared = Collection.read("pets.toml")
    (pets / "lies.sfr").write_bytes(sent(declared, np.full(9000, 2, dtype=np.uint8)))
    run("collect", "pets.toml", "one.sfr", "lies.sfr", "one.sfr")
    done = run("estimate", "pets.toml", "--plot", "p.html")
    assert done.code == 1
    assert done.out.splitlines()[0] == "SUSPICIOUS: this tally can hardly come from honest reports"
    assert "this tally can hardly come from honest reports" in done.err
    assert "fish" in done.out
    assert "1 message known already" in done.out
    assert not any(word in done.out for word in ("0.95 interval", "certificate", "shuffled", "repeated batch"))
    record = run("estimate", "pets.toml", "--json")
    assert (record.code, json.loads(record.out)["table"].keys()) == (1, {"label", "estimate"})


def test_a_broken_declaration_is_named_before_a_missing_journal(pets, run):
    (pets / "pets.toml").write_text(PETS.replace("epsilon = 1.0", ""))
    done = run("estimate", "pets.toml")
    assert (done.code, "epsilon" in done.err, "journal" in done.err) == (1, True, False)


def test_ranges_are_drawn_too(pets, run):
    run("collect", "ages.json", "ages.sfr")
    assert run("estimate", "ages.json", "--plot", "ages.html").code == 0
    assert (pets / "ages.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("collect", "none.toml", "one.sfr"), "no collection file none.toml"),
        (("collect", "pets.toml", "none.sfr"), "no file none.sfr"),
        (("estimate", "pets.toml"), "nothing was collected yet"),
        (("collect", "one.sfr", "pets.toml"), "holds reports, not a collection"),
    ],
)
def test_mistakes_are_explained(pets, run, arguments, said):
    done = run(*arguments)
    assert done.code == 1
    assert said in done.err


def test_wrong_options_are_explained(pets, run):
    run("collect", "pets.toml", "one.sfr")
    assert "saved as .svg" in run("estimate", "pets.toml", "--plot", "p.bmp").err
    assert "level must lie" in run("estimate", "pets.toml", "--level", "2").err
    assert "saved as .json" in run("estimate", "pets.toml", "--out", "e.txt").err
    assert "no round 7" in run("estimate", "pets.toml", "--round", "7").err


# the example


@pytest.mark.heavy
def test_the_telemetry_example_runs(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "telemetry.py"
    command = [sys.executable, "-W", "error", str(example), "demo", "--people", "600"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "600 reports taken" in done.stdout
    assert done.stdout.count("600 reports counted") == 1
    assert "a replay     this message is known already" in done.stdout
    assert "shuffled" in done.stdout
    assert (tmp_path / "demo/browser.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("protocol", "mark"),
    [(Duchi.calibrate(0, 10, Pure(1.0)), "rule"), (SquareWave.calibrate(0, 1, Pure(1.0)), "line"), (MANY, "bar")],
    ids=["mean", "distribution", "many categories"],
)
def test_pictures_fit_what_is_estimated(tmp_path, protocol, mark):
    collector = Collector(Collection("x", protocol), tmp_path / "j")
    collector.add(sent(collector.collection, protocol.randomize(np.full(300, 0.5), seeded(1))))
    drawn = json.dumps(plot_estimate(collector.estimate()).to_dict())
    assert f'"type": "{mark}"' in drawn
    assert ("60 largest of 200" in drawn) == (protocol is MANY)
    assert ("joint 95% intervals" in drawn) == (protocol is MANY)  # sorted and cut by size
