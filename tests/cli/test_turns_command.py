"""An inquiry from the command line: answers in, `--turn`, the next question out."""

import json

import numpy as np
import pytest

from sfumato.local.client import encode_batch, randomized
from sfumato.local.interactive.finding import Finding
from sfumato.local.interactive.inquiry import Asked, Inquiry
from sfumato.randomness import seeded

HOURS = """
format = "sfumato-inquiry/1"
name = "hours"

[rule]
type = "quantile-search"
k = 8
probability = 0.5
epsilon = 4.0
users = 300
blocks = 3
"""


@pytest.fixture
def hours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hours.toml").write_text(HOURS)
    return tmp_path


def answered(place, name):
    """A file of a hundred answers to the question that lies there."""
    asked = Asked.read(place / "hours.question.json", Inquiry.read(place / "hours.toml"))
    reports = randomized(asked.collection.protocol, np.full(100, 2), seeded(asked.turn))
    (place / name).write_bytes(encode_batch(asked.collection, reports))


def test_turns_go_from_question_to_question_until_the_finding(hours, run):
    assert "hours.question.json holds the question" in run("collect", "hours.toml", "--turn").out
    for turn in range(3):
        answered(hours, f"{turn}.sfr")
        done = run("collect", "hours.toml", f"{turn}.sfr", "--turn")
        assert done.code == 0, done.err
        assert f"{turn}.sfr: 100 answers counted" in done.out
    assert "has ended after 3 turns" in done.out
    assert "hours.question.json holds the whole transcript" in done.out
    late = run("collect", "hours.toml", "0.sfr")
    assert (late.code, "refused 1 message: closed round" in late.out) == (0, True)
    shown = run("estimate", "hours.toml", "--out", "found.json")
    assert "a device answers one turn of a round" in shown.out
    found = Finding.read(hours / "found.json")
    assert found.columns()["low"][0] <= 2 <= found.columns()["high"][0] < 7
    assert json.loads(run("estimate", "hours.toml", "--json").out)["table"] == found.columns()
    record = json.loads(run("collect", "hours.toml", "--turn", "--json").out)
    assert record["rounds"] == [{"round": "1", "turn": 3, "ended": True, "answers": 0}]


def test_a_turn_goes_on_where_a_file_or_the_place_of_the_question_has_to_be_mended_first(hours, run):
    run("collect", "hours.toml", "--turn")
    answered(hours, "0.sfr")
    (hours / "cut.sfr").write_bytes((hours / "0.sfr").read_bytes()[:-1])
    done = run("collect", "hours.toml", "0.sfr", "--turn", "--question", "none/q.json")
    assert "--question: none is no folder" in done.err
    done = run("collect", "hours.toml", "0.sfr", "cut.sfr", "--turn")
    assert (done.code, "the turn is not ended" in done.err, "turn 0 holds 100 answers" in done.out) == (1, True, True)
    assert "turn 1 holds 0 answers" in run("collect", "hours.toml", "--turn").out


def test_what_does_not_go_with_an_inquiry_is_refused(hours, run):
    (hours / "junk").write_bytes(b"nothing")
    (hours / "empty").write_bytes(b"")
    (hours / "pets.toml").write_text(
        'format = "sfumato-collection/3"\nname = "p"\nlabels = ["a", "b"]\n[protocol]\ntype = "grr"\nepsilon = 1.0\n'
    )
    for words, said in (
        (("collect", "hours.toml"), "give --turn"),
        (("collect", "hours.toml", "none.sfr"), "there is no file"),
        (("collect", "hours.toml", "--turn", "--close"), "--close goes with collections"),
        (("collect", "hours.toml", "--turn", "--round", "may"), "round must name one of the 1 rounds"),
        (("collect", "pets.toml", "--turn"), "a collection without turns"),
        (("estimate", "hours.toml"), "nothing was collected yet"),
        (("collect", "hours.toml", "junk"), "are no answers to 'hours'"),
        (("collect", "hours.toml", "empty"), "is empty"),
        (("estimate", "hours.toml"), "no turn of round 1 has ended yet"),
        (("estimate", "hours.toml", "--plot", "x.svg"), "--plot goes with collections"),
        (("relay", "hours.toml", "--end", "1", "--out", "."), "an inquiry, which goes by turns"),
    ):
        done = run(*words)
        assert done.code != 0, words
        assert said in done.err, done.err
