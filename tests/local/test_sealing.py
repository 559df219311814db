"""Sealed reports: only the collector reads them, in their own round, and their length says nothing."""

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from cases import CASES, NAMES

from sending import sent
from sfumato.errors import ParameterError, ReportError
from sfumato.local import Client, Collector, Device, Key, collect, decode_batch, join, new_key, randomized
from sfumato.local.client.binding import BOUND, Address
from sfumato.local.client.sealing import SEAL, context, sealed, unsealed
from sfumato.local.client.wire import HEADER, NAME, packed
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection
from sfumato.local.protocols import GeneralizedResponse
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

LABELS = ["cat", "dog", "fish"]


@pytest.fixture
def pets(tmp_path):
    return collect("pets", LABELS, spend=30.0, people=1000, rounds=["one", "two"], key=new_key(tmp_path / "pets.key"))


def test_only_the_holder_of_the_key_reads_a_report(tmp_path, pets):
    message = Client(pets).report("dog", round="one")
    with pytest.raises(ReportError, match="sealed"):
        decode_batch(pets, message, "one")
    with pytest.raises(CollectionError, match="private key"):
        Collector(pets, tmp_path / "blind").add(message)
    with pytest.raises(ReportError, match="sealed"):
        join(pets, [message], "one")
    collector = Collector(pets, tmp_path / "j", key=tmp_path / "pets.key")
    assert collector.add(message).accepted == 1
    assert collector.add(message).before
    assert collector.state.tally.tolist() == [0, 1, 0]  # at epsilon 30 a report is its value


def test_a_report_cannot_be_moved_to_another_round_collection_or_key(tmp_path, pets):
    record = Client(pets).report("dog", round="one")[HEADER.size :]
    moved = packed(pets.address("two"), bytes(16), 1, record)
    collector = Collector(pets, tmp_path / "j", key=tmp_path / "pets.key")
    receipt = collector.add(moved)
    assert (receipt.accepted, receipt.refused) == (0, {"unopened report": 1})
    later = replace(pets, version="2")
    other = Collector(later, tmp_path / "later", key=tmp_path / "pets.key")
    assert other.add(packed(later.address("one"), bytes(16), 1, record)).refused == {"unopened report": 1}
    assert other.add(Client(pets).report("dog", round="one")).refused == {"another collection": 1}
    new_key(tmp_path / "foreign.key")
    with pytest.raises(CollectionError, match="declares the key"):
        Collector(pets, tmp_path / "j", key=tmp_path / "foreign.key")
    assert unsealed(record, Key.read(tmp_path / "foreign.key")._private, context(pets.digest, "one")) is None


def test_every_changed_bit_is_noticed(tmp_path, pets):
    key, info = Key.read(tmp_path / "pets.key"), context(pets.digest, "one")
    record = sealed(b"token and report", pets.key, info)
    assert key.open(record, info) == b"token and report"
    for bit in range(8 * len(record)):
        wrong = bytearray(record)
        wrong[bit // 8] ^= 1 << bit % 8
        if bit != 255:  # the top bit of an encoded point is ignored (RFC 7748), and then the tag is wrong all the same
            assert key.open(bytes(wrong), info) is None
    assert key.open(b"", info) is None
    assert key.open(bytes(len(record)), info) is None


@pytest.mark.parametrize(("protocol", "values"), CASES, ids=NAMES)
def test_all_sealed_reports_of_a_protocol_are_equally_long(tmp_path, protocol, values):
    public = new_key(tmp_path / "k")
    collection = Collection("any", protocol, key=public)
    drawn = randomized(protocol, values, seeded(3))
    lengths = {len(sent(collection, drawn.reports[place : place + 1])) for place in range(len(drawn))}
    assert lengths == {HEADER.size + SEAL + NAME + protocol.report_bytes}


def test_sealing_is_fresh_and_the_outbox_keeps_the_same_bytes(tmp_path, pets):
    reports = np.array([1], dtype=np.uint8)
    tokens = np.zeros((1, 16), dtype=np.uint8)
    assert sent(pets, reports, bytes(16), tokens, "one") != sent(pets, reports, bytes(16), tokens, "one")
    device = Device(pets, tmp_path / "device.db", budget=Pure(60.0))
    device.record("dog", "one")
    (message,) = device.pending()
    assert device.pending() == [message] == Device(pets, tmp_path / "device.db", budget=Pure(60.0)).pending()
    assert "sealed" in device.describe()
    device.acknowledge(message)
    assert device.pending() == []


def test_junk_in_a_batch_does_not_sink_the_others(tmp_path, pets):
    good = [Client(pets).report("fish", round="one")[HEADER.size :] for _ in range(3)]
    key, info = pets.key, context(pets.digest, "one")
    impossible = sealed(os.urandom(16) + b"\xff", key, info)
    rows = [*good, bytes(len(good[0])), impossible, good[0]]
    collector = Collector(pets, tmp_path / "j", key=tmp_path / "pets.key")
    receipt = collector.add(packed(pets.address("one"), os.urandom(16), len(rows), b"".join(rows)))
    assert receipt.accepted == 3
    assert receipt.refused == {"unopened report": 1, "no report": 1, "repeated report": 1}
    assert collector.journal.round("one").tally.tolist() == [0, 0, 3]


def test_a_report_that_is_not_sealed_is_refused(tmp_path, pets):
    plain = packed(
        Address(BOUND, pets.address("one").binding),
        os.urandom(16), 1, b"\x00", tokens=False,
    )  # fmt: skip
    receipt = Collector(pets, tmp_path / "j", key=tmp_path / "pets.key").add(plain)
    assert receipt.refused == {"another collection": 1}
    assert "not sealed" in receipt.words
    with pytest.raises(CollectionError, match="sealed"):
        Collector(pets, tmp_path / "j").add_counts("table", [], "one")


def test_a_key_is_its_owners_alone_and_is_never_written_over_or_shown(tmp_path):
    place = tmp_path / "pets.key"
    public = new_key(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with pytest.raises(ParameterError, match="never written over"):
        new_key(place)
    key = Key.read(place)
    assert key.public == public
    assert repr(key) == f"Key of {public[:12]}"
    for rights in (0o640, 0o604, 0o660):
        place.chmod(rights)
        with pytest.raises(CollectionError, match="chmod 600"):
            Key.read(place)
    place.chmod(0o600)
    place.write_text("nothing")
    with pytest.raises(CollectionError, match="no key"):
        Key.read(place)
    with pytest.raises(CollectionError, match="cannot be read"):
        Key.read(tmp_path / "missing")


def test_the_declaration_holds_the_key_and_the_batch_and_earlier_ones_are_unchanged():
    protocol, key = GeneralizedResponse.calibrate(3, Pure(1.0)), "ab" * 32
    plain, whole = Collection("pets", protocol), Collection("pets", protocol, key=key, batch=1000)
    assert plain.to_record()["format"] == "sfumato-collection/3"
    record = whole.to_record()
    assert (record["format"], record["key"], record["batch"]) == ("sfumato-collection/4", key, "1000")
    assert Collection.from_record(record) == whole
    assert len({plain.digest, whole.digest, Collection("pets", protocol, key=key).digest}) == 3
    for wrong in ({"key": "ab"}, {"key": "AB" * 32}, {"key": 7}, {"batch": 1}, {"batch": 2.5}, {"batch": True}):
        with pytest.raises(ParameterError, match=r"key must|batch must"):
            Collection("pets", protocol, **wrong)
    with pytest.raises(ParameterError, match="key and batch"):
        Collection("pets", protocol, bound=False, batch=10)
    with pytest.raises(ParameterError, match="no public key"):
        Client(Collection("pets", protocol, key="00" * 32)).report(1)


def test_a_client_loads_what_seals_only_for_a_collection_that_is_sealed(tmp_path):
    code = """
import sys
from sfumato.local import Client, Device
from sfumato.local.collection.declaration import Collection
for path in sys.argv[1:]:
    Client(Collection.read(path)).report("cat")
    print("cryptography.hazmat.primitives.hpke" in sys.modules)
"""
    collect("pets", LABELS, spend=1.0, people=10).save(tmp_path / "plain.json")
    collect("pets", LABELS, spend=1.0, people=10, key=new_key(tmp_path / "k")).save(tmp_path / "sealed.json")
    command = [sys.executable, "-c", code, str(tmp_path / "plain.json"), str(tmp_path / "sealed.json")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["False", "True"]


def test_of_two_who_make_a_key_at_once_one_makes_it(tmp_path):
    """The other is refused, so that no key that somebody declared is written over."""
    place = tmp_path / "at once.key"
    gate = threading.Barrier(8)

    def made(_: int) -> str | None:
        gate.wait(300)
        try:
            return new_key(place)
        except ParameterError:
            return None

    with ThreadPoolExecutor(8) as pool:
        (public,) = [found for found in pool.map(made, range(8)) if found is not None]
    assert Key.read(place).public == public
