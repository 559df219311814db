"""A device: one report a round, the same bytes until taken, one budget for all collections, one rule beyond it."""

import os
import random
import signal
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import LedgerError, ParameterError
from sfumato.local.client import Device, header_of
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import Collection
from sfumato.local.protocols import Duchi, GeneralizedResponse, Rappor
from sfumato.privacy.guarantees import Approximate, Pure
from waiting import let_pass

PETS = ("cat", "dog", "fish", "other")
GRR = GeneralizedResponse.calibrate(4, Pure(1.0))
DAYS = tuple(f"day {i}" for i in range(12))
DAILY = Collection("pets", GRR, PETS, "other", rounds=DAYS)
KEPT = Collection("kept pets", GRR, PETS, "other", rounds=DAYS, most=2)
CERTAIN = GeneralizedResponse.calibrate(4, Pure(30.0))


def reported(message, protocol=CERTAIN):
    return int(protocol.decode(message[48:])[0])


def flushed(device):
    """The messages that wait, taken."""
    found = device.pending()
    for message in found:
        device.acknowledge(message)
    return found


def test_a_round_is_answered_once_with_the_same_bytes_until_they_are_taken(tmp_path):
    device = Device(DAILY, tmp_path / "d")
    assert device.record("cat", DAYS[0])
    (first,) = device.pending()
    assert not device.record("dog", DAYS[0])
    assert Device(DAILY, tmp_path / "d").pending() == [first]
    assert device.record("dog", DAYS[1])
    assert len(device.pending()) == 2
    device.acknowledge(first)
    assert first not in device.pending()
    assert not device.record("cat", DAYS[0])
    assert len(device.pending()) == 1
    assert header_of(first).name not in (tmp_path / "d").read_bytes()


def test_what_it_sends_counts_once_however_often_it_is_sent(tmp_path):
    collector = Collector(DAILY, tmp_path / "j", most=1)
    for person in range(20):
        device = Device(DAILY, tmp_path / f"{person}.db")
        device.record("fish", DAYS[person % 3])
        for _ in range(3):
            collector.add_all(device.pending())
    assert sum(state.reports for state in collector.journal.rounds()) == 20


def test_a_file_declares_the_collection_and_the_state_is_the_owners_alone(tmp_path):
    DAILY.save(tmp_path / "pets.json")
    device = Device(tmp_path / "pets.json", tmp_path / "d", Pure(3.0))
    assert device.collection == DAILY
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o600
    assert "spend at most epsilon 3; epsilon 3 is left" in device.describe()
    assert "Each of 12 rounds is answered afresh" in device.describe()
    assert "Now it pays for 3 more rounds here" in device.describe()
    for day in DAYS[:3]:
        device.record("cat", round=day)
    assert "Now it pays for 0 more rounds here" in device.describe()
    assert "At most 2 different values" in Device(KEPT, tmp_path / "e").describe()


# budgets


def test_collections_that_share_a_file_share_its_budget_and_silence_does_not_tell(tmp_path):
    """Three reports fit; the fourth is left out, whatever its value is."""
    one = GRR.guarantee().epsilon
    other = Collection("more pets", GRR, PETS, rounds=DAYS)
    for value in PETS:
        devices = [Device(c, tmp_path / value, Pure(3.5)) for c in (DAILY, other)]
        sent = [device.record(value, day) for day in DAYS[:2] for device in devices]
        assert sent == [True, True, True, False]
        assert devices[0].remaining().epsilon == pytest.approx(3.5 - 3 * one, abs=1e-9)


def test_a_budget_of_a_period_comes_back_and_no_such_time_has_more(tmp_path):
    now = [1_000_000.0]
    device = Device(DAILY, tmp_path / "d", Pure(2.1), period=7, clock=lambda: now[0])
    sent = []
    for day in DAYS:
        sent.append(device.record("cat", day))
        now[0] += 86_400
    assert sent == [True, True, False, False, False, False, False, False, True, True, False, False]


def test_no_time_of_a_period_has_more_even_over_midnight(tmp_path):
    now = [86_400.0 * 20 - 60]
    device = Device(DAILY, tmp_path / "d", Pure(1.1), period=1, clock=lambda: now[0])
    assert device.record("cat", DAYS[0])
    now[0] += 120
    assert not device.record("cat", DAYS[1])
    old = Device(DAILY, tmp_path / "e", Pure(1.1), clock=lambda: -1e9)  # a clock before its time
    assert [old.record("cat", day) for day in DAYS[:2]] == [True, False]


def test_what_is_kept_needs_a_budget_for_all_time(tmp_path):
    with pytest.raises(ParameterError, match="keeps values for all time: give it a budget without a period"):
        Device(KEPT, tmp_path / "d", Pure(9.0), period=7)


def test_the_values_of_one_collection_decide_nothing_in_another(tmp_path):
    """Two rounds of a collection that keeps two values cost the same, whether the value changed or not."""
    found = []
    for history in (("cat", "cat"), ("cat", "dog")):
        place = tmp_path / "".join(history)
        kept, other = (Device(c, place, Pure(2.5)) for c in (KEPT, DAILY))
        for day, value in zip(DAYS, history, strict=False):
            kept.record(value, day)
        found.append((other.record("cat", DAYS[0]), other.remaining(), len(kept.pending()), len(other.pending())))
    assert found[0] == found[1]
    assert found[0][0] is False


@pytest.mark.parametrize("budget", [Pure(1.0), Approximate(5.0, 1e-9), None])
def test_the_file_keeps_its_terms(tmp_path, budget):
    Device(DAILY, tmp_path / "d", Pure(2.0))
    with pytest.raises(LedgerError, match="keeps another budget, epsilon"):
        Device(DAILY, tmp_path / "d", budget)
    with pytest.raises(LedgerError, match="keeps another budget, epsilon"):
        Device(DAILY, tmp_path / "d", Pure(2.0), period=3)


def test_an_approximate_report_needs_a_budget_with_room_for_its_delta(tmp_path):
    loose = Collection("x", GeneralizedResponse.calibrate(4, Approximate(1.0, 1e-3)), PETS, rounds=DAYS)
    with pytest.raises(ParameterError, match="budget must pay for one report"):
        Device(loose, tmp_path / "pure", Pure(50.0))
    assert not (tmp_path / "pure").exists()
    device = Device(loose, tmp_path / "approximate", Approximate(50.0, 2.5e-3))
    assert [device.record("cat", day) for day in DAYS[:4]] == [True, True, False, False]


def test_a_device_says_how_far_its_budget_reaches(tmp_path):
    with pytest.raises(ParameterError, match="could never send to 'pets'"):
        Device(DAILY, tmp_path / "none", Pure(0.9))
    assert "pays for 4 of 12 rounds;" in Device(DAILY, tmp_path / "some", Pure(4.5)).describe()
    assert "pays for 4 of 12 rounds in any 7 days;" in Device(DAILY, tmp_path / "week", Pure(4.5), period=7).describe()
    assert "pays for 1 of 2 different values;" in Device(KEPT, tmp_path / "kept", Pure(1.5)).describe()
    assert "pays for" not in Device(DAILY, tmp_path / "all", Pure(12.0)).describe()
    assert "pays for" not in Device(KEPT, tmp_path / "both", Pure(2.0)).describe()
    shared = Device(DAILY, tmp_path / "counted", Pure(4.5))
    assert sum(shared.record("cat", day) for day in DAYS) == 4


# memory


@pytest.mark.heavy
@settings(max_examples=25, deadline=None)
@given(history=st.lists(st.sampled_from(PETS), min_size=1, max_size=12), most=st.integers(1, 4), room=st.integers(1, 5))
def test_kept_answers_follow_one_rule_and_every_round_is_answered_alike(tmp_path_factory, history, most, room):
    """By a model of the rule: a randomization is paid for at each of the first rounds, and new values are kept while
    one is left; others are answered as the last.
    """
    place = tmp_path_factory.mktemp("device")
    kept = Collection("x", CERTAIN, PETS, rounds=DAYS, most=most)
    one = CERTAIN.guarantee().epsilon
    device = Device(kept, place / "d", Pure((room + 0.5) * one))
    known, last, said, paid = [], None, [], 0
    for day, value in zip(DAYS, history, strict=False):
        paid += paid < min(most, room)
        if value not in known and len(known) < paid:
            known.append(value)
        expected = value if value in known else last
        assert device.record(value, day) is (expected is not None)
        said.append(expected)
        last = expected
    found = [PETS[reported(message)] for message in _by_round(kept, device)]
    assert found == [value for value in said if value is not None]
    assert device.remaining().epsilon == pytest.approx((room + 0.5 - paid) * one, abs=1e-9)


def _by_round(collection, device):
    held = {header_of(message).address: message for message in device.pending()}
    return [held[collection.address(day)] for day in DAYS if collection.address(day) in held]


def test_the_same_value_has_the_same_report_and_rappor_fresh_noise_on_what_it_keeps(tmp_path):
    device = Device(KEPT, tmp_path / "d")
    for day in DAYS:
        device.record("cat", day)
    assert len({message[48:] for message in flushed(device)}) == 1
    rappor = Collection("r", Rappor.calibrate(40, Pure(2.0)), rounds=DAYS, most=1)
    other = Device(rappor, tmp_path / "r", Pure(100.0))
    for day in DAYS:
        other.record(3, day)
    assert len({message[48:] for message in flushed(other)}) > 6
    assert other.remaining().epsilon == pytest.approx(100 - rappor.protocol.forever().epsilon, abs=1e-9)


def test_numbers_are_kept_too(tmp_path):
    pay = Collection("pay", Duchi.calibrate(0, 100, Pure(1.0)), rounds=DAYS, most=1)
    device = Device(pay, tmp_path / "d")
    for day, value in zip(DAYS, np.linspace(10, 90, 12), strict=True):
        assert device.record(float(value), day)
    assert len({message[48:] for message in flushed(device)}) == 1


# refusals


def test_what_is_no_value_or_no_round_changes_nothing(tmp_path):
    plain = Collection("pets", GRR, PETS, rounds=DAYS)
    device = Device(plain, tmp_path / "d", Pure(2.0))
    before = (tmp_path / "d").read_bytes()
    for value, day in (("unheard of", DAYS[0]), (2, DAYS[0]), ("cat", "never"), ("cat", None)):
        with pytest.raises(ParameterError):
            device.record(value, day)
    assert (tmp_path / "d").read_bytes() == before
    assert Device(DAILY, tmp_path / "e").record("unheard of", DAYS[0])
    for wrong in (7, None, GRR):
        with pytest.raises(ParameterError, match="collection must be a declared collection"):
            Device(wrong, tmp_path / "f")
    for wrong in (0, 1.5, True):
        with pytest.raises(ParameterError, match="period must be a whole number of days"):
            Device(plain, tmp_path / "f", Pure(1.0), period=wrong)
    with pytest.raises(ParameterError, match="budget must be"):
        Device(plain, tmp_path / "f", 1.0)
    (tmp_path / "junk").write_bytes(b"junk" * 100)
    with pytest.raises(LedgerError, match="junk"):
        Device(plain, tmp_path / "junk")


# kills


@pytest.mark.heavy
def test_a_killed_device_spends_and_sends_together_or_not_at_all(tmp_path):
    """Children record and are killed; afterwards every charge has its message, and every message its charge."""
    chance = random.Random(11)
    many = Collection("pets", GRR, PETS, rounds=tuple(map(str, range(400))))
    Device(many, tmp_path / "d", Pure(10_000.0))
    for _ in range(12):
        child = os.fork()
        if not child:
            try:
                device = Device(many, tmp_path / "d", Pure(10_000.0))
                for name in many.rounds:
                    device.record("cat", name)
            finally:
                os._exit(0)
        let_pass(chance.uniform(0.01, 0.08))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        device = Device(many, tmp_path / "d", Pure(10_000.0))
        spent = 10_000 - device.remaining().epsilon
        assert len(device.pending()) == round(spent / GRR.guarantee().epsilon)
