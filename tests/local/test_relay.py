"""The relay: drops addresses, limits, gathers, shuffles, sends on in batches that are never small, each report once."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager, suppress
from itertools import permutations
from urllib.parse import urlsplit

import numpy as np
import pytest

from hosting import hosted, posted
from sending import sent
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local import Client, Collector, Device, Limit, Relay, add_file, central, collect, new_key
from sfumato.local.client.binding import Address
from sfumato.local.client.wire import HEADER, header_of, packed
from sfumato.local.collection import declaration
from sfumato.local.collection.declaration import Collection
from sfumato.local.protocols import GeneralizedResponse
from sfumato.local.relay import delivering
from sfumato.local.relay import relay as relays
from sfumato.local.relay.store import RelayError
from sfumato.privacy.guarantees import Pure
from sfumato.server.connections import address_of, bound
from sfumato.server.local.alone import application
from sfumato.server.local.relaying import relaying
from sfumato.server.local.terms import Terms
from statistical import ALPHA
from waiting import wait_until

LABELS = ["cat", "dog", "fish"]


def declared(place, batch=3, **more):
    """A sealed collection whose reports are their values, and its key beside it."""
    pets = collect("pets", LABELS, spend=30.0, people=100, key=new_key(place / "pets.key"), batch=batch, **more)
    pets.save(place / "pets.json")
    return pets


def records(message):
    """The records of a message."""
    count = header_of(message).count
    width = (len(message) - HEADER.size) // count
    return [message[HEADER.size + i * width :][:width] for i in range(count)]


# at most once, at least once


def test_reports_reach_the_collector_once_each(tmp_path):
    pets = declared(tmp_path)
    relay = Relay(pets, tmp_path / "relay.db")
    messages = [Client(pets).report(label) for label in ("cat", "dog", "dog", "fish")]
    assert [receipt.before for receipt in relay.add_all([*messages, messages[0]])] == [False] * 4 + [True]
    assert relay.waiting() == 4
    assert relay.deliver(tmp_path) == []  # nothing leaves before it is full or the round ends
    assert relay.end() == 4
    (batch,) = relay.outgoing()
    assert relay.outgoing() == [batch]  # the same bytes until it is delivered
    (file,) = relay.deliver(tmp_path)
    assert file.read_bytes() == batch
    assert (file.stat().st_mtime, file.stat().st_mode & 0o777) == (0.0, 0o600)
    collector = Collector(pets, tmp_path / "j", key=tmp_path / "pets.key")
    assert [receipt.accepted for receipt in add_file(collector, file)] == [4]
    assert collector.add(batch).before
    assert collector.state.tally.tolist() == [1, 2, 1]


def test_a_report_that_has_left_is_known_until_its_round_ends_and_refused_after(tmp_path):
    pets = declared(tmp_path, rounds=["one", "two"])
    relay = Relay(pets, tmp_path / "relay.db", full=4)
    messages = [Client(pets).report("cat", round="one") for _ in range(7)]
    relay.add_all(messages)
    assert (relay.waiting("one"), len(relay.outgoing())) == (3, 1)
    assert all(receipt.before for receipt in relay.add_all(messages))
    assert (relay.waiting("one"), len(relay.outgoing())) == (3, 1)
    assert relay.end("one") == 3
    assert relay.end("one") == 0  # idle
    assert relay.add(messages[0]).refused == {"closed round": 1}
    assert relay.add(Client(pets).report("cat", round="two")).accepted == 1
    left = [record for batch in relay.outgoing() for record in records(batch)]
    assert Counter(left) == Counter(record for message in messages for record in records(message))


def test_no_batch_is_smaller_than_the_least(tmp_path):
    pets = declared(tmp_path, batch=3)
    relay = Relay(pets, tmp_path / "relay.db", least=4, full=5)
    sizes = []
    for _ in range(40):
        relay.add(Client(pets).report("dog"))
        sizes += [header_of(batch).count for batch in relay.outgoing()]
        for batch in relay.outgoing():
            relay.delivered(batch)
        assert relay.waiting() < 9
    assert set(sizes) == {5}
    assert 4 <= relay.end() < 9
    few = Relay(pets, tmp_path / "few.db")
    few.add_all([Client(pets).report("dog") for _ in range(2)])
    with pytest.raises(RelayError, match="never leave together"):
        few.end()
    assert few.outgoing() == []
    few.add(Client(pets).report("dog"))  # the round went on
    assert few.end() == 3
    lost = Relay(pets, tmp_path / "lost.db")
    lost.add(Client(pets).report("dog"))
    assert (lost.end(discard=True), lost.waiting(), lost.outgoing()) == (0, 0, [])
    empty = Relay(pets, tmp_path / "empty.db")
    with pytest.raises(RelayError, match="0 reports of round 1 waiting"):
        empty.end()  # of a round that is yet to come, by mistake
    assert empty.add(Client(pets).report("dog")).accepted == 1


def test_what_no_device_of_the_collection_sends_is_refused(tmp_path):
    pets = declared(tmp_path)
    relay = Relay(pets, tmp_path / "relay.db")
    good = Client(pets).report("cat")
    plain = Client(collect("pets", LABELS, spend=1.0, people=9)).report("cat")
    two = packed(pets.address(), os.urandom(16), 2, 2 * records(good)[0])
    for wrong in (b"", b"junk", good[:-1], good + b"x", plain, two):
        receipt = relay.add(wrong)
        assert (receipt.accepted, receipt.refused) == (0, {"not for this relay": 1})
    assert relay.waiting() == 0
    open_pets = collect("pets", LABELS, spend=1.0, people=9)
    other = Relay(open_pets, tmp_path / "open.db", least=2)
    impossible = bytearray(Client(open_pets).report("cat"))
    impossible[-1] = 99
    assert other.add(bytes(impossible)).accepted == 0


def test_a_relay_carries_reports_that_are_not_sealed(tmp_path):
    pets = collect("pets", LABELS, spend=30.0, people=100, batch=2)
    relay = Relay(pets, tmp_path / "relay.db")
    messages = [Client(pets).report(label) for label in ("cat", "dog", "dog")]
    relay.add_all(messages)
    relay.end()
    collector = Collector(pets, tmp_path / "j")
    assert collector.add(relay.outgoing()[0]).accepted == 3
    assert collector.state.tally.tolist() == [1, 2, 0]
    assert collector.add(messages[0]).refused == {"too few reports": 1}


def test_a_relay_is_told_how_much_hides_a_report(tmp_path):
    bare = collect("pets", LABELS, spend=1.0, people=9)
    for collection, least, full, words in (
        (bare, None, None, "least must say"),
        (bare, 1, None, "least must be"),
        (declared(tmp_path, batch=10), 9, None, "declared batch of 10"),
        (bare, 5, 4, "full must be"),
    ):
        with pytest.raises(ParameterError, match=words):
            Relay(collection, tmp_path / "relay.db", least, full)
    Relay(bare, tmp_path / "relay.db", least=2)
    with pytest.raises(RelayError, match="another collection"):
        Relay(Collection("other", bare.protocol), tmp_path / "relay.db", least=2)


def test_a_round_of_too_many_bytes_leaves_in_batches_none_of_them_small(tmp_path, monkeypatch):
    """SQLite holds no more than 1e9 bytes at once: a round beyond that would wait for ever."""
    pets = declared(tmp_path, batch=3)
    messages = [Client(pets).report("dog") for _ in range(11)]
    monkeypatch.setattr(relays, "LARGEST", 4 * len(records(messages[0])[0]))
    relay = Relay(pets, tmp_path / "relay.db")
    relay.add_all(messages)
    assert relay.end() == 11
    assert sorted(header_of(batch).count for batch in relay.outgoing()) == [3, 4, 4]
    sent_on = [record for batch in relay.outgoing() for record in records(batch)]
    assert sorted(sent_on) == sorted(records(message)[0] for message in messages)
    assert [relay._parts(count) for count in (0, 2, 3, 5, 8, 10)] == [[], [], [3], [5], [4, 4], [4, 3, 3]]
    with pytest.raises(ParameterError, match=r"can have at most 15,38\d,\d{3} reports"):
        Relay(pets, tmp_path / "other.db", least=20_000_000)


def test_a_message_for_somebody_else_is_refused_without_hashing_the_terms(tmp_path, monkeypatch):
    """Thousands of labels and rounds take milliseconds to hash: a few hundred strangers would stop the door."""
    pets = declared(tmp_path, batch=3)
    relay, collector = Relay(pets, tmp_path / "relay.db"), Collector(pets, tmp_path / "j", key=tmp_path / "pets.key")
    stranger = packed(Address(3, bytes(16)), bytes(16), 3, bytes(195))

    def never(record):
        raise AssertionError("the terms were hashed")

    monkeypatch.setattr(declaration, "declared_digest", never)
    assert "collection differs" in relay.add(stranger).words
    assert collector.add(stranger).refused == {"another collection": 1}


# nothing is kept that tells who or when


def test_nothing_of_a_report_or_its_arrival_stays_after_it_has_left(tmp_path):
    pets = declared(tmp_path)
    store = tmp_path / "relay.db"
    relay = Relay(pets, store)
    messages = [Client(pets).report("dog") for _ in range(50)]
    for message in messages:
        relay.add(message)
    with sqlite3.connect(store) as connection:
        marks = [mark for (mark,) in connection.execute("SELECT mark FROM waiting")]
    assert marks == sorted(marks)
    held = store.read_bytes()
    assert all(records(message)[0] in held for message in messages[:5])
    assert not any(header_of(message).name in held for message in messages)  # names that devices gave are dropped
    relay.end()
    relay.deliver(tmp_path)
    held = store.read_bytes()
    assert not any(records(message)[0][:16] in held for message in messages)


def test_the_order_of_a_batch_is_uniform(tmp_path):
    """24 orders of 4 reports, 2,400 batches: a chi-square test, which finds one that comes three times as often."""
    from scipy import stats

    pets = collect("pets", LABELS, spend=30.0, people=100, batch=2)
    relay = Relay(pets, tmp_path / "relay.db", least=2)
    rows = [(bytes([place]), bytes([place])) for place in range(4)]
    found = Counter()
    with sqlite3.connect(":memory:") as connection:
        for statement in (
            "CREATE TABLE waiting (round, mark, record)",
            "CREATE TABLE gone (round, mark)",
            "CREATE TABLE batches (name, message)",
        ):
            connection.execute(statement)
        for _ in range(2400):
            connection.executemany("INSERT INTO waiting VALUES ('1', ?, ?)", rows)
            relay._depart(connection, "1", 4)
            (message,) = connection.execute("DELETE FROM batches RETURNING message").fetchone()
            found[tuple(message[HEADER.size :])] += 1
    counts = [found[order] for order in permutations(range(4))]
    assert stats.chisquare(counts).pvalue > ALPHA
    assert sum(counts) == 2400
    assert stats.chisquare([counts[0] + 200, *counts[1:]]).pvalue < ALPHA  # the test has teeth


def test_a_limit_counts_senders_and_forgets_them():
    now = [0.0]
    limit = Limit(2, window=10, clock=lambda: now[0])
    assert [limit.admits("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [limit.admits(f"2001:db8::{i}") for i in range(3)] == [True, True, False]  # one household
    assert limit.admits("2001:db8:0:1::1")
    assert not limit.admits("::ffff:192.0.2.1")
    held = list(limit._counts)
    now[0] = 10.0
    assert limit.admits("192.0.2.1")
    assert not set(held) & set(limit._counts)  # another window, another key
    for wrong in (0, 1.5):
        with pytest.raises(ParameterError, match="limit must"):
            Limit(wrong)
    with pytest.raises(ParameterError, match="window must"):
        Limit(1, window=0)


# what a batch buys


def test_the_promise_after_shuffling_is_that_of_the_batch_not_of_the_round(tmp_path):
    protocol = GeneralizedResponse.calibrate(4, Pure(1.0))
    whole, parts = Collection("pets", protocol), Collection("pets", protocol, batch=500)
    reports = np.arange(4000, dtype=np.uint8) % 4
    found = {}
    for name, collection in (("whole", whole), ("parts", parts)):
        collector = Collector(collection, tmp_path / name)
        for start in range(0, 4000, 500):
            assert collector.add(sent(collection, reports[start : start + 500])).accepted == 500
        found[name] = collector.estimate()
    assert found["parts"].central(1e-6) == central(protocol, 500, 1e-6)
    assert found["whole"].central(1e-6) == central(protocol, 4000, 1e-6)
    assert found["parts"].central(1e-6).epsilon > 2 * found["whole"].central(1e-6).epsilon


def test_two_batches_cost_what_one_of_them_does_exactly():
    """The exact law of two batches of two against all four shuffled together: the round's total would be a lie."""
    own, lie = 0.6, 0.2
    law = [[own if y == x else lie for y in range(3)] for x in range(3)]

    def views(first, batches):
        """The law of what the collector sees: a multiset for each batch; all others hold the value 2."""
        found = Counter()
        for reports in np.ndindex(3, 3, 3, 3):
            weight = law[first][reports[0]] * np.prod([law[2][y] for y in reports[1:]])
            found[tuple(tuple(sorted(reports[a:b])) for a, b in batches)] += weight
        return found

    def delta(batches, epsilon):
        one, two = views(0, batches), views(1, batches)
        return sum(max(0.0, one[view] - np.exp(epsilon) * two[view]) for view in one)

    together, apart = [(0, 4)], [(0, 2), (2, 4)]
    alone = views(0, [(0, 2)]), views(1, [(0, 2)])
    for epsilon in (0.1, 0.3, 0.6):
        single = sum(max(0.0, alone[0][view] - np.exp(epsilon) * alone[1][view]) for view in alone[0])
        assert delta(apart, epsilon) == pytest.approx(single, rel=1e-12)
        assert delta(apart, epsilon) > 1.1 * delta(together, epsilon)


def test_a_batch_with_junk_in_it_is_counted_and_no_promise_is_made_of_it(tmp_path):
    pets = declared(tmp_path, batch=3)
    relay = Relay(pets, tmp_path / "relay.db")
    good = [Client(pets).report("dog") for _ in range(2)]
    junk = packed(pets.address(), bytes(16), 1, bytes(len(records(good[0])[0])))
    assert relay.add(junk).accepted == 1  # it cannot tell
    relay.add_all(good)
    relay.end()
    collector = Collector(pets, tmp_path / "j", key=tmp_path / "pets.key")
    receipt = collector.add(relay.outgoing()[0])
    assert (receipt.accepted, receipt.refused) == (2, {"unopened report": 1, "thin batch": 1})
    assert "fewer than are declared" in receipt.words
    with pytest.raises(UnsupportedQuery, match="1 batches had fewer good reports"):
        collector.estimate().central(1e-6)


# the process


def commanded(place, *options):
    """A relay as a process, and where it listens."""
    command = [sys.executable, "-W", "error", "-m", "sfumato.cli", "relay", "pets.json", *options]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().split()[-1]


def apart(place):
    """A collector's folder with the key, and a relay's with the declaration alone."""
    (place / "relay").mkdir()
    pets = declared(place, batch=3)
    pets.save(place / "relay" / "pets.json")
    return pets, place / "relay"


@pytest.mark.heavy
def test_the_command_runs_a_relay_that_survives_its_end(tmp_path):
    pets, place = apart(tmp_path)
    (place / "batches").mkdir()
    device = Device(tmp_path / "pets.json", tmp_path / "device.db")
    device.record("fish")
    messages = [*device.pending(), *(Client(pets).report("fish") for _ in range(3))]
    process, url = commanded(place, "--out", "batches", "--limit", "5")
    assert url.endswith("/local/pets")
    assert [posted(url, message)[0] for message in messages[:2]] == [200, 200]
    assert posted(url, b"junk") == (400, "message is truncated: 4 bytes, a header alone has 48")
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    process, url = commanded(place, "--out", "batches", "--limit", "5")
    assert [posted(url, message)[0] for message in messages] == [200] * 4
    device.acknowledge(messages[0])
    assert posted(url, bytes(100_000))[0] == 413
    assert [posted(url, messages[0])[0] for _ in range(2)] == [200, 429]
    process.send_signal(signal.SIGTERM)
    said, errors = process.communicate(timeout=300)
    assert (said, errors, process.returncode) == ("", "", 0)
    command = [sys.executable, "-m", "sfumato.cli"]
    ending = [*command, "relay", "pets.json", "--out", "batches", "--end", "1"]
    ended = subprocess.run(ending, cwd=place, capture_output=True, text=True, check=True)
    assert "4 reports left in the last batch" in ended.stdout
    again = subprocess.run(ending, cwd=place, capture_output=True, text=True, check=True)
    assert "had ended before, and nothing more leaves" in again.stdout
    (file,) = (place / "batches").iterdir()
    collecting = [*command, "collect", "pets.json", str(file), "--json"]
    done = subprocess.run(collecting, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["rounds"][0]["reports"] == 4


@pytest.mark.heavy
def test_a_relay_that_could_open_what_it_carries_does_not_start(tmp_path):
    _, place = apart(tmp_path)
    (place / "batches").mkdir()
    command = [sys.executable, "-m", "sfumato.cli", "relay", "pets.json", "--out"]
    for options in (["--listen", "127.0.0.1:0"], ["--end", "1"]):
        done = subprocess.run(
            [*command, str(place / "batches"), *options], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode != 0
        assert "opens what this relay would carry" in done.stderr
    assert not (tmp_path / "pets.relay").exists()


@contextmanager
def listening(place, relay, **terms):
    """A relay behind a socket that delivers into a folder."""
    with (
        relaying(relay, "pets", lambda: relay.deliver(place), Terms(**terms)) as router,
        hosted(application(router)) as url,
    ):
        yield f"{url}/local/pets", ("127.0.0.1", urlsplit(url).port)


def test_a_message_whose_length_can_be_read_two_ways_is_refused(tmp_path):
    """Whatever stands in front may read the other one, and take the answer to one message for that to another."""
    pets = declared(tmp_path)
    relay = Relay(pets, tmp_path / "relay.db")
    with listening(tmp_path, relay) as (_, address):
        for headers in (
            ("Content-Length: {0}", "Content-Length: 1"),
            ("Content-Length: {0}", "Transfer-Encoding: chunked"),
            ("Content-Length: " + 5_000 * "9",),
            ("Content-Length: +{0}",),
            ("Content-Length: {0}",),
        ):
            message = Client(pets).report("dog")
            head = "\r\n".join(("POST /local/pets HTTP/1.1", "Host: x", *headers, "Connection: close", "", ""))
            with socket.create_connection(address, timeout=300) as connection:
                connection.sendall(head.format(len(message)).encode() + message)
                answer = connection.recv(1 << 12)
            assert answer.startswith(b"HTTP/1.1 200" if headers == ("Content-Length: {0}",) else b"HTTP/1.1 4")
        assert relay.waiting() == 1


def test_connections_are_few_and_none_lives_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.server.connections.MOST", 3)
    monkeypatch.setattr("sfumato.server.connections.LIFETIME", 1.0)
    pets = declared(tmp_path)
    with listening(tmp_path, Relay(pets, tmp_path / "relay.db")) as (url, address):
        idle = [socket.create_connection(address, timeout=300) for _ in range(3)]
        idle[0].sendall(b"POST /local/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")  # and no more
        idle[1].sendall(b"POST /loc")
        ended = []
        for connection in (*idle, socket.create_connection(address, timeout=300)):  # the last is one too many
            with connection, suppress(ConnectionResetError):
                ended.append(connection.recv(1 << 12))
        assert b"".join(ended) == b""
        assert posted(url, Client(pets).report("dog"))[0] == 200


def test_batches_that_cannot_be_delivered_are_kept_and_delivered_later(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(delivering, "AGAIN", (0.02, 0.05))
    pets, place = declared(tmp_path), tmp_path / "batches"
    relay = Relay(pets, tmp_path / "relay.db", full=3)
    with listening(place, relay) as (url, _):
        assert {posted(url, Client(pets).report("dog"))[0] for _ in range(7)} == {200}
        assert len(relay.outgoing()) == 1
        place.mkdir()
        wait_until(lambda: not relay.outgoing())
    assert len(list(place.iterdir())) == 1
    assert capfd.readouterr().err.count("batches are kept") == 1  # said once, not at every attempt


def test_a_server_that_cannot_be_is_told():
    with pytest.raises(ParameterError, match="cannot listen"):
        bound(("192.0.2.1", 1))
    with pytest.raises(ParameterError, match="HOST:PORT"):
        address_of("8100")
