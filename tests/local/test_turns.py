"""Inquiries deployed: turns over files and processes, and a device that no collector gets a second answer from."""

import json
import os
import signal

import numpy as np
import pytest

from sfumato.errors import BudgetExceeded, ParameterError, SchemaError
from sfumato.local.client import encode_batch, randomized
from sfumato.local.client.binding import Address
from sfumato.local.client.device import Device
from sfumato.local.client.wire import packed
from sfumato.local.collection.database import CollectionError
from sfumato.local.interactive.conductor import Conductor
from sfumato.local.interactive.finding import Finding
from sfumato.local.interactive.inquiry import Asked, Inquiry
from sfumato.local.interactive.interaction import Turn
from sfumato.local.interactive.participant import Participant
from sfumato.local.interactive.quantiles import QuantileSearch, Threshold
from sfumato.local.interactive.strings import FrequentStrings
from sfumato.local.protocols import GeneralizedResponse
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

TURNS = 6
SEARCH = QuantileSearch(16, 0.5, GeneralizedResponse.calibrate(2, Pure(4.0)), users=600, blocks=TURNS, beta=0.2)
INQUIRY = Inquiry("hours", SEARCH, rounds=("may", "june"))
WORDS = Inquiry("words", FrequentStrings("ab", 2, Pure(6.0), users=90, least=0.05, beta=0.1))


def block(asked, values, seed):
    """The answers of other owners, as a relay would join them."""
    return encode_batch(asked.collection, randomized(asked.collection.protocol, values, seeded(seed)))


def participant(tmp_path, name="device.db", inquiry=INQUIRY, seed=1, **terms):
    return Participant(inquiry, tmp_path / name, bits=seeded(seed), **terms)


def own_turn(user, value=5, round="may"):
    """The question that a participant answers, found by asking it everything."""
    found = [t for t in range(TURNS) if user.answer(value, invented(t, round))]
    assert len(found) == 1
    return found[0]


def invented(turn, round="may", yes=51):
    """The question of a turn after a transcript that somebody made up; always undecided, so that it never ends."""
    transcript = ()
    for _ in range(turn):
        transcript = (*transcript, Turn.of(SEARCH.channel_for(transcript), 100, np.array([yes, 100 - yes])))
    return INQUIRY.asked(round, transcript)


# deployed


@pytest.mark.heavy
def test_an_inquiry_runs_over_question_files_to_a_finding(tmp_path):
    """Everybody is shown every question and answers one; the cells that are left hold the median of 9..11."""
    rule = QuantileSearch(16, 0.5, GeneralizedResponse.calibrate(2, Pure(8.0)), users=24, blocks=2, beta=0.2)
    inquiry = Inquiry("hours", rule, rounds=INQUIRY.rounds)
    inquiry.save(tmp_path / "hours.json")
    values = [9 + i % 3 for i in range(24)]
    users = [participant(tmp_path, f"{i}.db", inquiry, 100 + i, budget=Pure(8.0)) for i in range(len(values))]
    conductor = Conductor.open(tmp_path / "hours.json")
    question = conductor.asked("may").save(tmp_path / "question.json")
    heard = 0
    while Asked.read(question, inquiry).collection is not None:
        for user, value in zip(users, values, strict=True):
            if user.answer(value, question):
                (message,) = user.pending()
                heard += conductor.add(message).accepted
                user.acknowledge(message)
        conductor = Conductor.open(tmp_path / "hours.json")  # anywhere, from the journals alone
        conductor.turn("may").save(question)
    finding = conductor.finding("may")
    assert finding.ended
    assert finding.reports == heard == len(values)
    assert finding.columns()["low"][0] <= 10 <= finding.columns()["high"][0]
    assert finding.columns()["low"][0] == 8  # the first turn leaves the upper half
    assert finding.history().epsilon == pytest.approx(16.0)
    assert "a device answers one turn of a round" in str(finding)
    assert finding.central(1e-6).epsilon <= 8.01
    again = Finding.from_record(json.loads(json.dumps(finding.to_record())))
    assert again.to_record() == finding.to_record()
    assert Finding.read(finding.save(tmp_path / "finding.json")).columns() == finding.columns()
    assert finding.to_pandas()["cell"].tolist() == finding.columns()["cell"]


def test_strings_are_found_over_turns(tmp_path):
    conductor = Conductor(WORDS, tmp_path / "words.turns")
    while (asked := conductor.asked()).collection is not None:
        assert conductor.add(block(asked, ["ab"] * 20 + ["b"] * 10, 30 + asked.turn)).accepted == 30
        conductor.turn()
    assert conductor.finding().columns()["string"] == ["ab", "b"]


def test_turns_of_devices_are_even_and_independent_of_values(tmp_path):
    """Of 120 rounds the first turn is one's own in Binomial(120, 1/6): beyond 3..44 with probability below 1e-6."""
    rounds = tuple(map(str, range(120)))
    many = Inquiry("hours", SEARCH, rounds=rounds)
    user = participant(tmp_path, inquiry=many)
    assert 3 <= sum(user.answer(i % 16, many.asked(round)) for i, round in enumerate(rounds)) <= 44
    assert own_turn(participant(tmp_path, "low", seed=7), 0) == own_turn(participant(tmp_path, "high", seed=7), 15)


def test_a_turn_is_ended_once_and_one_without_answers_never(tmp_path):
    conductor = Conductor(INQUIRY, tmp_path / "turns")
    first = conductor.asked("may")
    assert conductor.turn("may") == first
    late = block(first, [5] * 3, 1)
    conductor.add(block(first, [5] * 50, 2))
    second = conductor.turn("may")
    assert (first.turn, second.turn) == (0, 1)
    assert Conductor(INQUIRY, tmp_path / "turns").turn("may") == second  # killed before it was published: the same
    assert conductor.add(late).refused == {"closed round": 1}
    assert Conductor(INQUIRY, tmp_path / "turns").add(late).refused == {"closed round": 1}
    assert conductor.asked("may") == second
    assert conductor.asked("june").turn == 0  # rounds go on by themselves
    assert conductor.finding("may").refused == {"closed round": 2}


def test_a_conductor_learns_of_turns_that_another_process_ended(tmp_path):
    one, other = (Conductor(INQUIRY, tmp_path / "turns") for _ in range(2))
    one.add(block(one.asked("may"), [5] * 50, 1))
    message = block(other.turn("may"), [5] * 7, 2)
    assert one.add(message).accepted == 7
    assert one.waiting("may") == other.waiting("may") == 7


def test_junk_opens_no_journals_and_first_answers_count_without_any(tmp_path):
    conductor = Conductor(INQUIRY, tmp_path / "turns")
    junk = packed(Address(2, bytes(16)), bytes(16), 1, b"x")
    assert [one.refused for one in conductor.add_all([junk, b"", junk])] == [
        {"another collection": 1},
        {"not reports": 1},
        {"another collection": 1},
    ]
    assert [place.name for place in conductor.place.glob("*.journal")] == ["1-0.journal"]  # strangers are counted there
    (conductor.place / "99999-0.journal").touch()  # of nobody
    assert conductor.add(block(INQUIRY.asked("june"), [5] * 4, 1)).accepted == 4
    assert conductor.add(junk).refused == {"another collection": 1}


@pytest.mark.parametrize("moment", ["before", "closed"])
def test_a_conductor_killed_between_turns_goes_on_where_it_was(tmp_path, moment):
    """The process dies before the turn is ended, or after that and before the next question is published."""
    place, question = tmp_path / "turns", tmp_path / "question.json"
    first = Conductor(INQUIRY, place).asked("may")
    first.save(question)
    child = os.fork()
    if not child:
        conductor = Conductor(INQUIRY, place)
        conductor.add(block(first, [5] * 50, 3))
        if moment == "closed":
            conductor.turn("may")
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert Asked.read(question, INQUIRY) == first
    again = Conductor(INQUIRY, place)
    assert again.add(block(first, [5] * 50, 3)).accepted == (50 if moment == "before" else 0)  # another name: sent anew
    asked = again.turn("may")
    assert asked.turn == 1
    assert asked.transcript[0].reports == (100 if moment == "before" else 50)


# a collector that lies


def test_no_collector_gets_two_answers_of_a_round(tmp_path):
    """Every turn, twice, with different made-up transcripts, in any order: one answer, one charge."""
    user = participant(tmp_path, budget=Pure(40.0))
    shown = [invented(turn, yes=yes) for turn in range(TURNS) for yes in (49, 50, 51)]
    assert sum(user.answer(5, asked) for asked in [*shown, *reversed(shown)]) == 1
    assert len(user.pending()) == 1
    spent = 40.0 - user.remaining().epsilon
    assert spent == pytest.approx(SEARCH.guarantee().epsilon)
    assert sum(participant(tmp_path, budget=Pure(40.0), seed=9).answer(5, asked) for asked in shown) == 0  # restarted
    assert own_turn(user, round="june") in range(TURNS)  # another round is another answer
    assert 40.0 - user.remaining().epsilon == pytest.approx(2 * SEARCH.guarantee().epsilon)


def test_the_budget_is_that_of_all_collections_of_the_file(tmp_path):
    user = participant(tmp_path, budget=Pure(5.0))
    own_turn(user)
    before = user.remaining().epsilon
    assert before == pytest.approx(5.0 - SEARCH.guarantee().epsilon)
    assert not any(user.answer(5, invented(turn, "june")) for turn in range(TURNS))  # cannot be paid for: silence
    device = Device(INQUIRY.asked("june").collection, tmp_path / "device.db", Pure(5.0))
    assert not device.record(3)
    assert user.remaining().epsilon == before
    with pytest.raises(ParameterError, match="budget must pay for one report"):
        participant(tmp_path, "poor.db", budget=Pure(1.0))


def test_a_death_between_taking_the_turn_and_answering_costs_the_answer_not_the_promise(tmp_path, monkeypatch):
    turn = own_turn(participant(tmp_path, "twin.db"))
    user = participant(tmp_path)

    def die(self, value, round=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Device, "record", die)
        with pytest.raises(KeyboardInterrupt):
            user.answer(5, invented(turn))
    assert not user.answer(5, invented(turn))
    assert user.pending() == []


def test_a_question_that_does_not_follow_from_its_transcript_is_refused(tmp_path):
    user = participant(tmp_path)
    good = invented(2).to_record()
    assert Asked.from_record(json.loads(json.dumps(good)), INQUIRY) == invented(2)
    other = Inquiry("hours", SEARCH, version="2", rounds=INQUIRY.rounds).asked("may").to_record()
    wrong = [
        {**good, "turn": "1"},
        {**good, "round": "june"},
        {**good, "round": "july"},
        {**good, "collection": invented(1).to_record()["collection"]},
        {**good, "transcript": good["transcript"][:1]},
        {**good, "transcript": [{**good["transcript"][0], "reports": "90"}, good["transcript"][1]]},
        {**good, "transcript": good["transcript"] * 300},
        {**good, "transcript": "x"},
        {**good, "more": "1"},
        other,
        [],
    ]
    for record in wrong:
        (tmp_path / "question.json").write_text(json.dumps(record))
        with pytest.raises((SchemaError, ParameterError)):
            user.answer(5, tmp_path / "question.json")
    assert user.pending() == []


def test_a_rule_that_asks_more_than_it_promised_is_refused(tmp_path):
    class Greedy(QuantileSearch):
        __slots__ = ()

        def channel_for(self, transcript):
            return Threshold(self.k, 3, GeneralizedResponse.calibrate(2, Pure(9.0)))

    greedy = Inquiry("hours", Greedy(16, 0.5, SEARCH.response, 600, blocks=1))
    user = participant(tmp_path, inquiry=greedy, budget=Pure(20.0))
    with pytest.raises(BudgetExceeded, match="promised; nothing was sent"):
        user.answer(1, greedy.asked())
    assert user.remaining() == Pure(20.0)


@pytest.mark.parametrize("value", [None, float("nan"), "text", -7, 10**30, object(), [1, 2]])
def test_a_value_that_is_none_is_refused_unspent_and_unnamed(tmp_path, value):
    for inquiry in (INQUIRY, WORDS):
        user = participant(tmp_path, f"{inquiry.name}.db", inquiry, budget=Pure(8.0))
        asked = inquiry.asked(inquiry.rounds[0])
        if inquiry is WORDS and isinstance(value, str):
            user.answer(value, asked)  # any text is one: what begins with no candidate has its category
            continue
        with pytest.raises(ParameterError, match=r"a value must be.*nothing was spent and nothing sent") as caught:
            user.answer(value, asked)
        assert repr(value) not in str(caught.value)
        assert user.remaining() == Pure(8.0)


def test_answers_count_for_their_question_alone(tmp_path):
    """Of another transcript, another round, another version: refused by the binding."""
    conductor = Conductor(INQUIRY, tmp_path / "turns")
    later = Inquiry("hours", SEARCH, version="2", rounds=INQUIRY.rounds)
    for asked in (invented(1), later.asked("may")):
        assert conductor.add(block(asked, [5], 1)).refused == {"another collection": 1}
    assert conductor.add(b"junk").refused == {"not reports": 1}
    conductor.add(block(conductor.asked("june"), [5] * 4, 1))
    assert (conductor.waiting("may"), conductor.waiting("june")) == (0, 4)
    other = Conductor(Inquiry("other", SEARCH, rounds=INQUIRY.rounds), tmp_path / "turns")
    with pytest.raises(CollectionError, match="belongs to another collection"):
        other.asked("may")


# declarations


def test_declarations_return_and_changed_ones_are_refused(tmp_path):
    for inquiry in (INQUIRY, WORDS):
        assert Inquiry.read(inquiry.save(tmp_path / "x.json")) == inquiry
    changed = {**INQUIRY.to_record(), "version": "2"}
    with pytest.raises(SchemaError, match="digest"):
        Inquiry.from_record(changed)
    (tmp_path / "x.toml").write_text(
        'format = "sfumato-inquiry/1"\nname = "hours"\n[rule]\ntype = "quantile-search"\n'
        "k = 16\nprobability = 0.5\nepsilon = 4.0\nusers = 600\nblocks = 6\nbeta = 0.2\n"
    )
    assert Inquiry.read(tmp_path / "x.toml").rule == SEARCH


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"type": "nothing"}, "unknown rule"),
        ({"type": "quantile-search", "k": 4}, "is declared with"),
        ({"type": "quantile-search", "cells": 4}, "has no part cells"),
        ({"type": "frequent-strings", "alphabet": "ab", "longest": 2, "users": 90, "epsilon": "much"}, "declared with"),
        ({"type": "frequent-strings", "alphabet": "aa", "longest": 2, "users": 90, "epsilon": 1.0}, "alphabet"),
        ({"type": "frequent-strings", "alphabet": "a\ud800", "longest": 2, "users": 90, "epsilon": 1.0}, "surrogates"),
        ({"type": "quantile-search", "k": 10**30, "probability": 0.5, "users": 90, "epsilon": 1.0}, "from 2 to 2"),
    ],
)
def test_wrong_rules_are_refused_by_name(rule, said):
    with pytest.raises((SchemaError, ParameterError), match=said):
        Inquiry.from_record({"format": "sfumato-inquiry/1", "name": "x", "rule": rule})
    with pytest.raises(ParameterError, match="round must name one of the 2"):
        INQUIRY.asked()
    with pytest.raises(ParameterError, match="rule must be an interaction"):
        Inquiry("x", GeneralizedResponse.calibrate(2, Pure(1.0)))
