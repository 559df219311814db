"""Copies of a ledger: taken while others spend, noticed when they are older, and what they forgot is written off."""

import threading

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger import Ledger, contents
from sfumato.ledger.copying import copied, written_off

CLAIM, DIGEST = sf.Pure(0.1), "0" * 64


def opened(path, budget=1.0):
    return Ledger.open(path, dataset="people", adjacency=sf.AddRemove(), unit=sf.Row(), budget=sf.Pure(budget))


def spent(ledger, name, content=b"{}"):
    return ledger.store(ledger.charge(name, DIGEST, CLAIM, {}), content)


def run(*arguments):
    return CliRunner().invoke(app, ["ledger", *map(str, arguments)])


def test_a_copy_is_whole_private_and_verified(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "INSIDE_BYTES", 100)
    ledger, safe = opened(tmp_path / "people.ledger"), tmp_path / "safe"
    safe.mkdir()
    spent(ledger, "small")
    head = spent(ledger, "large", bytes(1000))
    found = copied(tmp_path / "people.ledger", safe / "people.ledger")
    assert (found.holds, found.entries, found.head) == (True, 5, head)
    copy = Ledger.existing(safe / "people.ledger")
    assert copy.verify([head]).holds
    assert copy.spent() == ledger.spent()
    assert {path.stat().st_mode & 0o777 for path in safe.iterdir()} == {0o600}
    assert len(list(safe.iterdir())) == 2  # the large release lies beside
    assert copy.content(copy.entries()[-1]) == bytes(1000)


def test_a_copy_never_takes_the_place_of_another_file_and_of_a_damaged_ledger_none_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "INSIDE_BYTES", 100)
    ledger = opened(tmp_path / "people.ledger")
    spent(ledger, "large", bytes(1000))
    (tmp_path / "there").write_bytes(b"mine")
    with pytest.raises(ParameterError, match="never written over"):
        copied(tmp_path / "people.ledger", tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == b"mine"
    with pytest.raises(ParameterError, match="no folder"):
        copied(tmp_path / "people.ledger", tmp_path / "missing" / "copy")
    next(tmp_path.glob("*.release")).unlink()
    with pytest.raises(LedgerError, match="is missing"):
        copied(tmp_path / "people.ledger", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_copies_are_taken_while_others_spend(tmp_path):
    ledger = opened(tmp_path / "people.ledger", budget=100.0)
    ended = threading.Event()

    def spend():
        for number in range(1000):  # all that the budget holds: on a busy machine copies take longer than that
            if ended.is_set():
                return
            spent(ledger, f"question {number}")

    spending = threading.Thread(target=spend)
    spending.start()
    try:
        found = [copied(tmp_path / "people.ledger", tmp_path / f"copy{number}") for number in range(5)]
    finally:
        ended.set()
        spending.join()
    assert all(one.holds for one in found)
    assert ledger.verify([one.head for one in found]).holds  # each is the ledger as it was at one moment
    assert [one.entries for one in found] == sorted(one.entries for one in found)


def test_an_older_copy_is_noticed_by_a_later_head_and_what_it_forgot_is_written_off(tmp_path):
    """The way back: verify with a kept head, write off what was spent since, and go on."""
    path, copy = tmp_path / "people.ledger", tmp_path / "copy.ledger"
    ages = pa.table({"age": [30, 40, 50]})
    table = sf.read(ages, schema={"age": sf.Integers(0, 100)}, dataset="people")

    def session():
        return sf.Session(table, budget=sf.Pure(1.0), ledger=path)

    session().release(sf.count(), spend=0.1)
    done = run("backup", path, copy)
    assert done.exit_code == 0
    earlier = done.stdout.split()[-1]
    session().release(sf.count(), spend=0.2, name="tuesday")
    later = Ledger.existing(path).head
    path.unlink()
    copy.rename(path)  # the disk failed, and Monday's copy takes its place
    assert run("verify", path, "--head", earlier).exit_code == 0
    assert run("verify", path, "--head", later).exit_code != 0
    assert session().remaining == sf.Pure(0.9)  # too much: an answer for 0.2 is out
    done = run("writeoff", path, "--epsilon", "0.2")
    assert done.exit_code == 0
    assert session().remaining == sf.Pure(0.7)
    assert run("verify", path, "--head", earlier).exit_code == 0
    assert run("verify", path, "--head", later).exit_code != 0  # for good: it is another history


def test_nothing_is_written_off_beyond_the_budget_and_twice_is_told_apart(tmp_path):
    ledger = opened(tmp_path / "people.ledger")
    written_off(ledger, sf.Pure(0.6))
    with pytest.raises(BudgetExceeded):
        written_off(ledger, sf.Pure(0.6))
    written_off(ledger, sf.Pure(0.4))
    assert ledger.remaining() == sf.Pure(0.0)
    assert ledger.verify().holds
    assert run("writeoff", tmp_path / "people.ledger").exit_code != 0  # how much is said


PLAN = """format = "sfumato-plan/2"
[table]
path = "people.parquet"
dataset = "people"
unit = "row"
[columns.age]
type = "integers"
low = 0
high = 100
[budget]
epsilon = 1.0
[ledger]
{ledger}
"""


def test_a_plan_stands_for_its_ledger(tmp_path, monkeypatch):
    plan = tmp_path / "people.toml"
    plan.write_text(PLAN.format(ledger='path = "people.ledger"'))
    opened(tmp_path / "people.ledger")
    assert run("backup", plan, tmp_path / "copy.ledger").exit_code == 0
    assert run("writeoff", plan, "--epsilon", "0.25").exit_code == 0
    assert opened(tmp_path / "people.ledger").remaining() == sf.Pure(0.75)
    assert opened(tmp_path / "copy.ledger").remaining() == sf.Pure(1.0)
