"""The two ends of a collection in a line each."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SfumatoError

TEAMS = ["Sales", "Research", "none"]


def test_a_collection_is_declared_by_the_best_protocol_and_read_at_once():
    teams = sf.local.collect("team", TEAMS, spend={"epsilon": 2.0}, people=2000, other="none")
    assert teams.protocol == sf.local.choose(3, sf.Pure(2.0), 2000).protocol
    truth = np.random.default_rng(5).choice(3, 2000, p=[0.6, 0.3, 0.1])
    client = sf.local.Client(teams)
    messages = [client.report(TEAMS[one] if one < 2 else None) for one in truth]
    found = sf.local.estimate(teams, [*messages, messages[0], b"junk"])
    assert found.reports == 2000
    assert found.refused == {"repeated batch": 1, "not reports": 1}
    low, high = found.interval(0.999999, joint=True)
    assert (low <= np.bincount(truth) / 2000).all()
    assert (np.bincount(truth) / 2000 <= high).all()
    assert found.to_pandas().iloc[:, 0].tolist() == TEAMS


@pytest.mark.parametrize(
    ("labels", "spend", "words"),
    [
        ("yes", 1.0, "labels must be a list"),
        (["yes"], 1.0, "labels must be a list"),
        (["yes", "yes"], 1.0, "different"),
        (["yes", "no"], sf.Concentrated(1.0), "local"),
        (["yes", "no"], -1.0, "spend"),
        (["yes", "no"], None, "local"),
    ],
)
def test_what_is_no_collection_is_refused(labels, spend, words):
    with pytest.raises(SfumatoError, match=words):
        sf.local.collect("answer", labels, spend=spend, people=1000)


def test_numbers_are_collected_for_their_mean():
    ages = sf.local.collect("age", bounds=(0, 120), spend=4.0, people=2000)
    truth = np.random.default_rng(6).uniform(20, 60, 2000)
    client = sf.local.Client(ages)
    low, high = sf.local.estimate(ages, [client.report(age) for age in truth]).interval(0.999999)
    assert low[0] <= truth.mean() <= high[0]
    for wrong in [
        {},
        {"labels": ["a", "b"], "bounds": (0, 1)},
        {"bounds": (1, 0)},
        {"bounds": (0, 1, 2)},
        {"bounds": 3},
    ]:
        with pytest.raises(SfumatoError):
            sf.local.collect("age", spend=1.0, people=10, **wrong)


def test_rounds_version_and_kept_values_are_declared_too():
    days = ["mon", "tue", "wed"]
    ages = sf.local.collect("age", bounds=(0, 120), spend=1.0, people=500, rounds=days, most=2, version="7")
    assert (ages.rounds, ages.most, ages.version) == (("mon", "tue", "wed"), 2, "7")
    pets = sf.local.collect("pets", ["cat", "dog"], spend=1.0, people=500, rounds=days)
    found = sf.local.estimate(pets, [sf.local.Client(pets).report("dog", round="tue") for _ in range(9)])
    assert (found.round, found.reports) == ("tue", 9)
    with pytest.raises(ParameterError, match="rounds must be a list"):
        sf.local.collect("pets", ["cat", "dog"], spend=1.0, people=500, rounds="mon")


def test_no_messages_say_nothing():
    with pytest.raises(ParameterError, match="no reports"):
        sf.local.estimate(sf.local.collect("answer", ["yes", "no"], spend=1.0, people=9), [])
