"""What commands write never replaces what Sfumato did not write; what is stored comes without the table."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.ledger import Ledger

ASKED = ["--epsilon", 1, "--column", "age", "--column", "state"]


def said(done) -> str:
    """What a command complained of, on one line."""
    return " ".join(done.err.split())


@pytest.mark.parametrize("command", ["synthesize", "sanitize"])
def test_a_file_of_somebody_else_is_not_replaced_by_a_table(command, place, run):
    (place / "mine.csv").write_text("age,state\n30,CA\n")
    pq.write_table(pa.table({"age": [30]}), place / "mine.parquet")
    (place / "broken.parquet").write_bytes(b"PAR1 is no file")
    (place / "linked.csv").symlink_to(place / "mine.csv")
    held = {file: file.read_bytes() for file in place.iterdir()}
    for out in ("mine.csv", "mine.parquet", "broken.parquet", "linked.csv"):
        done = run(command, "plan.toml", "--epsilon", 1, "--column", "state", "--out", out)
        assert done.code == 1, out
        assert f"{out} is there already" in said(done)
        assert "remove it first; nothing was charged" in said(done)
    assert {file: file.read_bytes() for file in place.iterdir()} == held


def test_what_sfumato_wrote_is_replaced_and_an_empty_file_is_filled(place, run):
    (place / "made.parquet").touch()
    assert run("synthesize", "plan.toml", *ASKED, "--out", "made.parquet").code == 0
    for _ in range(2):  # the very same rows again
        assert run("synthesize", "plan.toml", *ASKED, "--out", "made.csv").code == 0
    assert run("synthesize", "plan.toml", "--epsilon", 1, "--column", "age", "--out", "made.parquet").code == 0
    assert sf.load(place / "made.parquet").rows.column_names == ["age"]
    edited = (place / "made.csv").read_text() + "\n"
    (place / "made.csv").write_text(edited)
    refused = run("synthesize", "plan.toml", *ASKED, "--out", "made.csv")
    assert refused.code == 1
    assert (place / "made.csv").read_text() == edited


def test_a_pipe_is_neither_waited_for_nor_replaced(place, run):
    os.mkfifo(place / "made.parquet")
    done = run("synthesize", "plan.toml", *ASKED, "--out", "made.parquet")
    assert done.code == 1
    assert "cannot be written" in said(done)
    assert (place / "made.parquet").is_fifo()


@pytest.mark.parametrize("name", ["everyone.json", "everyone.parquet"])
def test_publishing_replaces_no_file_of_somebody_else(name, place, run):
    releases = place / "report" / "releases"
    releases.mkdir(parents=True)
    (releases / name).write_text('{"mine": true}')
    (releases / "everyone.csv").write_text("not written by a count\n")
    done = run("publish", "plan.toml", "--out", "report")
    assert done.code == 1
    assert f"{name} is there already" in said(done)
    assert (releases / name).read_text() == '{"mine": true}'
    assert not list(place.glob("*.ledger"))
    (releases / name).unlink()
    for _ in range(2):
        assert run("publish", "plan.toml", "--out", "report").code == 0
    assert (releases / "everyone.csv").read_text() == "not written by a count\n"


def test_publishing_goes_on_after_a_kill_between_the_two_files_of_a_table(place, run):
    head = (place / "plan.toml").read_text().split("[[release]]")[0]
    entry = '[[release]]\nname = "made"\nquery = "synthetic"\ncolumns = ["age"]\nspend = { epsilon = 1.0 }\n'
    (place / "plan.toml").write_text(head + entry)
    assert run("publish", "plan.toml", "--out", "report").code == 0
    (place / "report" / "releases" / "made.parquet").unlink()  # the rows are written before the record
    assert run("publish", "plan.toml", "--out", "report").code == 0
    assert sf.load(place / "report" / "releases" / "made.parquet").name == "made"


def test_an_export_replaces_exports_alone(place, run):
    assert run("publish", "plan.toml", "--out", "report").code == 0
    ledger = next(place.glob("*.ledger"))
    (place / "mine.json").write_text('{"mine": true}')
    for out, words in [
        (ledger, "what is read here"),
        (place / "mine.json", "no export"),
        (place / "people.parquet", "no export"),
    ]:
        before = out.read_bytes()
        done = run("ledger", "export", ledger, "--out", out)
        assert done.code == 1
        assert words in said(done)
        assert out.read_bytes() == before
    assert Ledger.existing(ledger).verify().holds
    for _ in range(2):
        assert run("ledger", "export", ledger, "--out", "entries.json").code == 0
    assert json.loads((place / "entries.json").read_text())[0]["kind"] == "open"


# stored: what was published comes again from the ledger alone


def test_a_stored_table_is_written_again_without_the_data(place, run):
    assert run("synthesize", "plan.toml", *ASKED, "--out", "made.parquet").code == 0
    before = (place / "made.parquet").read_bytes()
    head = Ledger.existing(next(place.glob("*.ledger"))).head
    (place / "people.parquet").unlink()
    (place / "made.parquet").unlink()
    done = run("synthesize", "plan.toml", *ASKED, "--out", "made.parquet")
    assert done.code == 0, done.err
    assert "nothing now: it was stored" in done.out
    assert (place / "made.parquet").read_bytes() == before
    told = json.loads(run("synthesize", "plan.toml", *ASKED, "--out", "made.csv", "--json").out)
    assert (told["stored"], told["new_ledger"]) == (True, False)
    assert Ledger.existing(next(place.glob("*.ledger"))).head == head
    other = run("synthesize", "plan.toml", "--epsilon", 1, "--column", "age", "--out", "other.parquet")
    assert other.code == 1  # which needs the data, and is not charged
    assert "people.parquet" in other.err
    assert Ledger.existing(next(place.glob("*.ledger"))).head == head


def test_a_stored_statement_is_answered_again_without_the_data(place, run):
    asked = ["sql", "plan.toml", "SELECT state, COUNT(*) AS n FROM people GROUP BY state", "--epsilon", 1, "--release"]
    first = json.loads(run(*asked, "--json").out)
    (place / "people.parquet").unlink()
    again = run(*asked, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out) == first
