"""The door for devices: many at once are counted together, each once, durably; failures and floods are told."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sending import sent
from sfumato.errors import ParameterError
from sfumato.local.client import Client
from sfumato.local.collection import door as doors
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.door import Door
from sfumato.local.protocols import GeneralizedResponse
from sfumato.privacy.guarantees import Pure

PETS = Collection("pets", GeneralizedResponse.calibrate(4, Pure(1.0)), ("cat", "dog", "fish", "other"))


def test_many_who_wait_are_counted_together_and_each_once(tmp_path, monkeypatch):
    commits = []
    folding = doors.Collector.add_all
    monkeypatch.setattr(doors.Collector, "add_all", lambda self, held: commits.append(len(held)) or folding(self, held))
    messages = [Client(PETS).report("cat") for _ in range(400)]
    with Door(PETS, tmp_path / "j") as door, ThreadPoolExecutor(16) as pool:
        receipts = list(pool.map(door.add, [*messages, *messages[:50]]))
        assert Collector(PETS, tmp_path / "j").state.reports == 400  # durable when the last was acknowledged
    assert sum(receipt.accepted for receipt in receipts if not receipt.before) == 400
    assert sum(receipt.before for receipt in receipts) == 50
    assert sum(commits) == 450
    assert len(commits) < 450


def test_a_message_has_one_report_unless_told_otherwise(tmp_path):
    two = sent(PETS, np.array([1, 2], dtype=np.uint8))
    with Door(PETS, tmp_path / "one") as door:
        assert door.add(two).refused == {"too many reports": 1}
        assert door.add(b"junk").refused == {"not reports": 1}
    with Door(PETS, tmp_path / "two", most=2) as door:
        assert door.add(two).accepted == 2
    with pytest.raises(ParameterError, match="most must be at least 1"):
        Door(PETS, tmp_path / "none", most=0)


def test_a_failure_is_told_to_whoever_waits_and_the_next_are_counted(tmp_path, monkeypatch):
    folding = doors.Collector.add_all
    failing = [True]

    def fold(self, held):
        if failing.pop() if failing else False:
            raise CollectionError("the disk is full")
        return folding(self, held)

    monkeypatch.setattr(doors.Collector, "add_all", fold)
    message = Client(PETS).report("cat")
    with Door(PETS, tmp_path / "j") as door:
        with pytest.raises(CollectionError, match="the disk is full"):
            door.add(message)
        assert door.add(message).accepted == 1


def test_a_closed_door_counts_who_waits_and_lets_nobody_in(tmp_path):
    door = Door(PETS, tmp_path / "j")
    promised = [door.send(Client(PETS).report("dog")) for _ in range(100)]
    assert not promised[0].cancel()  # what was taken in cannot be called back
    door.close()
    assert sum(one.result(timeout=0).accepted for one in promised) == 100
    with pytest.raises(CollectionError, match="the door is closed"):
        door.add(Client(PETS).report("dog"))
    door.close()


def test_a_crowd_is_turned_away_and_not_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(doors, "WAITING", 0)
    with Door(PETS, tmp_path / "j") as door, pytest.raises(CollectionError, match="wait at the door"):
        door.send(Client(PETS).report("dog"))


@pytest.mark.parametrize("rounds", [("1",), ("one", "two")])
def test_messages_that_are_read_together_are_judged_as_each_by_itself(tmp_path, rounds):
    pets = Collection("pets", PETS.protocol, PETS.labels, rounds=rounds)
    good = [Client(pets).report(label, round=name) for name in rounds for label in 3 * pets.labels]
    out_of_range = good[0][:24] + bytes(16) + good[0][40:48] + b"\x09"
    two = sent(pets, np.array([1, 2], dtype=np.uint8), round=rounds[0])
    tokened = sent(pets, np.array([3], dtype=np.uint8), tokens=np.ones((1, 16), dtype=np.uint8), round=rounds[0])
    junk = [b"", b"junk", good[0][:-1], good[0] + b"x", out_of_range, bytearray(good[1]), Client(PETS).report("cat")]
    messages = [*good, *junk, two, tokened, *good[::-1]]
    assert len(messages) > 30
    together = Collector(pets, tmp_path / "together", most=1)
    apart = Collector(pets, tmp_path / "apart", most=1)
    receipts = together.add_all(messages)
    assert receipts == [apart.add(message) for message in messages]
    assert sum(receipt.accepted for receipt in receipts if not receipt.before) == len(good) + 1 + (rounds == ("1",))
    for one, other in zip(together.journal.rounds(), apart.journal.rounds(), strict=True):
        assert (one.reports, one.tally.tolist(), one.refused) == (other.reports, other.tally.tolist(), other.refused)
    assert together.journal.elsewhere() == apart.journal.elsewhere()
