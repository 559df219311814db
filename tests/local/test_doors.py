"""The two ends of a collection in a line each."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from cases import CASES
from scipy import stats

import sfumato as sf
from sfumato.errors import ParameterError, SfumatoError
from sfumato.local import Difference, Estimate
from sfumato.local.choosing import KNOWN
from sfumato.local.collection.intervals import limits_of
from sfumato.local.protocols.owned import Names
from sfumato.local.questions.reading import Reading
from statistical import ALPHA

ROOT = Path(__file__).parents[2]

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


@pytest.mark.heavy
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


def test_many_questions_of_yes_or_no_are_asked_by_the_best_protocol_and_read_one_row_each():
    names = [f"s{i}" for i in range(12)]
    settings = sf.local.collect("settings", yes_no=names, spend=2.0, people=4000)
    assert settings.protocol.yes_no
    chance = np.random.default_rng(7)
    held = chance.random((4000, 12)) < np.linspace(0.1, 0.9, 12)
    client = sf.local.Client(settings)
    messages = [client.report({names[i] for i in np.flatnonzero(row)}) for row in held]
    found = sf.local.estimate(settings, messages)
    columns = found.columns(1 - 1e-6, joint=True)
    assert columns["label"] == names
    truth = np.linspace(0.1, 0.9, 12)
    assert (np.array(columns["low"]) <= truth).all()
    assert (np.array(columns["high"]) >= truth).all()
    low, high = found.interval(1 - 1e-6, joint=True)  # the shares of no are what is left
    assert np.allclose(low[::2], 1 - high[1::2], atol=1e-7)
    assert np.allclose(found.values[::2], 1 - found.values[1::2])
    for same in ([True] + [False] * 11, [1] + [0] * 11, ["s0"]):
        assert settings.protocol.owned(same, Names(settings.labels)) == [1] + [0] * 11
    with pytest.raises(ParameterError, match="one of the 12 labels"):
        client.report(["elsewhere"])


@pytest.mark.parametrize(("k", "size"), [(40, None), (40, 3), (40, 20), (100, 5), (5, 5)])
def test_no_existing_protocol_is_better_for_yes_and_no(k, size):
    """Worst standard errors: coordinates are of given people, so that what drawing them adds is added."""
    people, promise = 20_000, sf.Pure(1.0)
    chosen = sf.local.choose_yes_no(k, promise, people, size)
    others = [
        sf.local.Marginals.calibrate([2] * k, promise, order=1),
        sf.local.SampledCoordinates.calibrate(k, 0, 1, promise),
        sf.local.Hypercube.calibrate(k, 0, 1, promise),
        sf.local.Sets.calibrate(k, promise, size=size or k),
    ]
    least = min(float(np.max(one.variance(people))) for one in others)
    assert chosen.typical_error**2 <= 1.001 * least
    assert chosen.protocol in others


def test_javascript_clients_get_what_they_know_and_are_told_the_price():
    ages = sf.local.collect("age", bounds=(0, 120), spend=2.0, people=1000, clients="javascript")
    assert ages.protocol.name == "duchi"
    told = str(sf.local.choose(200, sf.Pure(4.0), 20_000, clients="javascript"))
    assert "times the error of 'subset', which javascript clients do not know" in told
    for wrong in ({"yes_no": ["a", "b"]}, {"bounds": (0, 1), "most": 1}, {"labels": ["a", "b"], "most": 1}):
        with pytest.raises(SfumatoError, match="javascript clients"):
            sf.local.collect("age", spend=1.0, people=10, clients="javascript", **wrong)
    with pytest.raises(ParameterError, match="python, javascript"):
        sf.local.collect("age", bounds=(0, 1), spend=1.0, people=10, clients="cobol")


def test_what_clients_know_is_what_their_programs_hold_and_the_guide_shows():
    program = (ROOT / "src/sfumato/server/local/page/sfumato.mjs").read_text(encoding="utf-8")
    samplers = program[program.index("const SAMPLERS = {") :]
    assert tuple(re.findall(r"^  (\w+): \(terms\)", samplers, re.MULTILINE)) == KNOWN["javascript"]
    assert set(KNOWN["python"]) == set(sf.local.QUESTIONS)
    guide = (ROOT / "docs/guide/local.md").read_text(encoding="utf-8")
    assert f"| javascript | {', '.join(f'`{name}`' for name in KNOWN['javascript'])} |" in guide


@pytest.mark.parametrize(
    "collection",
    [
        sf.local.collect("team", ["a", "b", "c", "d"], spend=1.0, people=4000),
        sf.local.collect("settings", yes_no=["a", "b", "c", "d"], spend=1.0, people=4000),
        sf.local.collect("apps", yes_no=[str(i) for i in range(40)], size=2, spend=1.0, people=4000),
        sf.local.collect("age", bounds=(0, 120), spend=1.0, people=4000),
        sf.local.Collection("word", sf.local.HadamardResponse.calibrate(16, sf.Pure(1.0))),
    ],
    ids=lambda one: one.protocol.name,
)
def test_what_is_foreseen_is_what_comes(collection):
    """Half a share each, or none: half widths and standard errors within 5 % of those that are then stated."""
    n, protocol = 100_000, collection.protocol
    value = {"sets": [0], "marginals": [1, 0, 0, 0]}.get(protocol.name, 0)
    none = {"sets": [1], "marginals": [0, 0, 0, 0]}.get(protocol.name, 1)
    mixed = [value, none] * (n // 2) if protocol.name == "sets" else np.array([value, none] * (n // 2))
    tally = protocol.tally(protocol.randomize(mixed, sf.local.seeded(3)))
    columns = sf.local.Estimate(collection, "1", n, tally, {}).columns()
    foreseen = sf.local.preview(collection, people=n).columns()
    width = (columns["high"][0] - columns["low"][0]) / 2
    assert foreseen["half_width"][-1] == pytest.approx(width, rel=0.05)
    error = foreseen["standard_error"][-1]
    assert columns["standard_error"][0] <= error * 1.01
    assert len(foreseen["of"]) == (3 if protocol.name in ("grr", "marginals", "sets") else 1)
    if len(foreseen["of"]) == 3:
        assert columns["standard_error"][0] == pytest.approx(error, rel=0.02)


def stated_widths(protocol, tally, n):
    """The half widths that an estimate states, by kind of value; limits are not cut, since shares are in the middle."""
    if isinstance(protocol, sf.local.Ranges):
        reading, k = Reading(protocol, tally), protocol.k
        yield reading.radius(np.eye(k), 0.05).max()
        yield reading.radius(np.tri(k), 0.05).max()
        yield max(reading.radius(np.tri(k - low, k, low) - np.tri(1, k, low - 1), 0.05).max() for low in range(k))
    else:
        low, high = limits_of(protocol, tally, n, 0.05)
        yield ((high - low) / 2).max()


def test_every_kind_of_question_foresees_the_width_it_will_state():
    """Ranges foresaw that of their first cell, and tables of several sizes that of the first table."""
    claim, n, several = sf.Pure(1.0), 40_000, []
    several += [sf.local.Ranges.calibrate(20, claim), sf.local.Ranges.calibrate(100, claim)]
    several += [sf.local.Marginals.calibrate([2, 30], claim, order=1), sf.local.Sets.calibrate(9, claim, size=3)]
    for protocol in [one for one, _ in CASES] + several:
        foreseen = sf.local.preview(sf.local.Collection("x", protocol), people=n).columns()
        half, count = np.arange(n) % 2, getattr(protocol, "dimension", 0)
        values = {"sets": [[place] for place in half.tolist()], "marginals": np.stack([half, half], axis=1)}
        held = values.get(protocol.name, np.repeat(half[:, None], count, axis=1) / 2 if count else half)
        tally = protocol.tally(protocol.randomize(held, sf.local.seeded(5)))
        if not foreseen["of"]:
            with pytest.raises(SfumatoError):
                limits_of(protocol, tally, n, 0.05)
            continue
        widths = list(stated_widths(protocol, tally, n))
        for width, expected in zip(widths, foreseen["half_width"][-len(widths) :], strict=True):
            assert width <= expected * 1.05, protocol.name
            assert expected <= width * (2.1 if getattr(protocol, "k", 0) == 100 else 1.1), protocol.name


def test_a_range_is_foreseen_with_the_error_that_it_has():
    """Owners drawn from one population: the deviation over collections is at most the one foreseen, and not far off."""
    protocol, n = sf.local.Ranges.calibrate(16, sf.Pure(1.0)), 4000
    shares, found = np.zeros(16), []
    shares[[3, 12]] = 0.5
    for seed in range(60):
        bits = sf.local.seeded(seed)
        held = np.random.default_rng(seed).choice(16, n, p=shares)
        found.append(protocol.estimate(protocol.tally(protocol.randomize(held, bits)), n)[3:12].sum())
    error = sf.local.preview(sf.local.Collection("x", protocol), people=n).columns()["standard_error"][-1]
    assert 0.5 * error < np.std(found) < 1.3 * error


def test_a_search_for_strings_foresees_what_it_finds():
    rule = sf.local.FrequentStrings("abcd", 2, sf.Pure(3.0), users=10, least=0.01)
    found = sf.local.preview(sf.local.Inquiry("word", rule), people=60_000).columns()
    for chance, share in zip(*found.values(), strict=True):
        assert rule.among(60_000).power(share) >= chance > rule.among(60_000).power(0.99 * share)
    with pytest.raises(SfumatoError, match="people"):
        sf.local.preview(sf.local.Inquiry("word", rule), people=0)


def foreseen_rows():
    """The rows of the guide's table: for each epsilon and number of people the half widths of three collections."""
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        for people in (1_000, 10_000, 100_000, 1_000_000):
            asked = (
                {"labels": [str(i) for i in range(10)]},
                {"bounds": (0, 1)},
                {"yes_no": [str(i) for i in range(20)]},
            )
            made = [sf.local.collect("x", spend=epsilon, people=people, **one) for one in asked]
            found = [sf.local.preview(one, people=people).columns()["half_width"] for one in made]
            share, mean, yes = found[0][1], found[1][0], found[2][1]
            yield f"| {epsilon:g} | {people:,} | ±{share:.2g} | ±{mean:.2g} | ±{yes:.2g} |"


def test_the_table_of_errors_in_the_guide_is_what_is_foreseen():
    guide = (ROOT / "docs/guide/local.md").read_text(encoding="utf-8")
    missing = [row for row in foreseen_rows() if row not in guide]
    assert not missing


def test_one_meaning_of_standard_errors_and_limits_that_say_what_they_claim(tmp_path):
    """Among given people, over coins alone: 300 collections of 400, chi-square at ALPHA / 4, which refuses 40 % off."""
    settings = sf.local.collect("s", yes_no=["a", "b"], spend=6.0, people=400, rounds=["mon", "tue"])
    protocol, runs, n = settings.protocol, 300, 400
    held = np.tile([[1, 0], [0, 0]], (n // 2, 1))
    reports = [protocol.tally(protocol.randomize(held, sf.local.seeded(i))) for i in range(2 * runs)]
    days = [Estimate(settings, "mon" if i % 2 else "tue", n, tally, {}) for i, tally in enumerate(reports)]
    scores = [(one.values[1] - 0.5) / one.columns()["standard_error"][0] for one in days]
    pairs = [Difference(two, one) for one, two in zip(days[::2], days[1::2], strict=True)]
    moved = [one.columns()["difference"][0] / one.columns()["standard_error"][0] for one in pairs]
    for found in (scores, moved):
        assert stats.chi2.ppf(ALPHA / 4, len(found)) < np.square(found).sum() < stats.chi2.isf(ALPHA / 4, len(found))
    frame = pairs[0].to_pandas(0.9, joint=True)
    assert frame["level"].tolist() == [0.9, 0.9]
    assert frame["joint"].tolist() == [True, True]
    assert "level 0.9, jointly over 2 values" in str(pairs[0].card(0.9, joint=True))
    assert "level 0.95, each value by itself" in str(days[0])


def test_values_beyond_those_kept_are_said_to_lag():
    days = ["mon", "tue", "wed"]
    hours = sf.local.collect("hours", bounds=(0, 24), spend=1.0, people=500, rounds=days, most=2)
    assert "numbers hardly ever repeat" in hours.caution()
    tally = hours.protocol.tally(hours.protocol.randomize(np.ones(9), sf.local.seeded(1)))
    assert "later rounds lag behind" in str(Estimate(hours, "wed", 9, tally, {}))
    assert not sf.local.collect("hours", bounds=(0, 24), spend=1.0, people=500, rounds=days).caution()


@pytest.mark.parametrize("value", [True, 1, 2.0])
def test_what_is_no_label_is_told_what_labels_are(value):
    with pytest.raises(ParameterError, match="labels are texts, not positions or booleans"):
        sf.local.Client(sf.local.collect("x", ["a", "b"], spend=1.0, people=10)).report(value)


def test_labels_in_place_of_their_number_are_told_so():
    with pytest.raises(ParameterError, match=r"choose\(len\(labels\)"):
        sf.local.choose(("a", "b"), sf.Pure(1.0), 100)


def test_what_a_search_for_strings_leaves_out_is_told():
    rule = sf.local.FrequentStrings("ab", 2, sf.Pure(4.0), users=30_000, least=0.01)
    words = ["ab"] * 15_000 + ["ba"] * 9_000 + ["AB", "a b", "zz"] * 2_000
    np.random.default_rng(9).shuffle(words)
    transcript = sf.local.conducted(rule, words, sf.local.seeded(9))
    notes = rule.notes(transcript)
    rest, low, high = map(float, re.findall(r"[0-9.]+", notes["unlisted"]))
    assert low <= 0.2 <= high
    assert rest == pytest.approx(0.2, abs=0.03)
    sure = rule.surely(0.95)
    assert f"a share of {sure:.3g}" in notes["surely found"]
    inquiry = sf.local.Inquiry("word", rule)
    assert notes["unlisted"] in sf.local.Finding(inquiry, "1", transcript, {}).words()
    assert "about 1 of all people" in rule.notes(())["unlisted"]
