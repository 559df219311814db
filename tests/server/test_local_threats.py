"""Lines of the threat model that no other test of local collection holds."""

import os
import signal
import socket
import stat
import subprocess
import sys

import pytest

from hosting import asked, hosted, posted
from sfumato.local import Client, Collector, Relay, collect, new_key
from sfumato.local.relay.tokens import token_of
from sfumato.server.connections import Guarded
from sfumato.server.local.alone import application
from sfumato.server.local.collecting import collecting
from sfumato.server.local.relaying import relaying
from sfumato.server.local.terms import Terms

LABELS = ["cat", "dog", "fish"]
MANY = 5000  # messages, of which a stopped service takes a few


def declared(place, **more):
    pets = collect("pets", LABELS, spend=2.0, people=100, **more)
    pets.save(place / "pets.json")
    return pets


def test_a_relay_gives_out_no_declaration_page_or_program(tmp_path):
    """Whoever gave out the key could read what is sealed to it."""
    pets = declared(tmp_path, key=new_key(tmp_path / "pets.key"), batch=3)
    relay = Relay(pets, tmp_path / "relay.db")
    with relaying(relay, "pets", lambda: None, Terms()) as router, hosted(application(router)) as url:
        for path in (
            "/",
            "/local/pets/",
            "/local/pets/collection.json",
            "/local/sfumato.mjs",
            "/openapi.json",
            "/docs",
        ):
            assert asked(url + path)[0] == 404
        assert asked(f"{url}/local/pets")[0] == 405
        assert asked(f"{url}/health")[2] == "ok"
        assert posted(f"{url}/local/pets/batches", b"")[0] == 404


def test_what_is_kept_on_the_machine_is_its_owners_alone(tmp_path):
    """Journal, relay file, key and token: whatever the umask is."""
    before = os.umask(0)
    try:
        pets = declared(tmp_path, key=new_key(tmp_path / "pets.key"), batch=2)
        relay = Relay(pets, tmp_path / "pets.relay")
        relay.add_all([Client(pets).report("dog") for _ in range(3)])
        relay.end()
        (batch,) = relay.deliver(tmp_path)
        terms = Terms(relay="https://relay.example")
        with collecting([tmp_path / "pets.json"], terms) as router, hosted(application(router)) as url:
            token = token_of(tmp_path / "pets.token")
            where = f"{url}/local/pets/batches"
            assert posted(where, batch.read_bytes(), Authorization=f"Bearer {token}")[0] == 200
    finally:
        os.umask(before)
    kept = [path for path in tmp_path.iterdir() if path.suffix != ".json"]  # the declaration is public
    assert len(kept) >= 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


def test_the_local_promise_does_not_depend_on_relay_or_collector(tmp_path):
    """If both work together, what is left is what the device did by itself."""
    bare, relayed = declared(tmp_path), declared(tmp_path, key=new_key(tmp_path / "k"), batch=50)
    assert bare.protocol == relayed.protocol
    assert bare.protocol.guarantee().implies(relayed.protocol.guarantee())
    relay = Relay(relayed, tmp_path / "relay.db")
    relay.add_all([Client(relayed).report("dog") for _ in range(60)])
    relay.end()
    collector = Collector(relayed, tmp_path / "j", key=tmp_path / "k")
    collector.add(relay.outgoing()[0])
    estimate = collector.estimate()
    assert estimate.guarantee().epsilon == pytest.approx(2.0, rel=1e-9)
    assert estimate.central(1e-6).epsilon < estimate.guarantee().epsilon  # only this rests on the two being apart


def test_a_relay_that_is_told_to_stop_finishes_what_it_was_given(tmp_path):
    """SIGTERM in the middle of messages: every one that was answered with 200 is there."""
    (tmp_path / "batches").mkdir()
    pets = declared(tmp_path, batch=2)
    command = [sys.executable, "-W", "error", "-m", "sfumato.cli", "relay", "pets.json", "--out", "batches"]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    url, taken = process.stdout.readline().split()[-1], 0
    for number in range(MANY):  # a busy machine tells it late
        if number == 20:
            process.send_signal(signal.SIGTERM)
        try:
            taken += posted(url, Client(pets).report("dog"))[0] == 200
        except OSError:
            break
    _, errors = process.communicate(timeout=300)
    assert (errors, process.returncode) == ("", 0)
    assert 20 <= taken < MANY
    assert taken <= Relay(pets, tmp_path / "pets.relay").waiting() <= taken + 1


def test_answers_leave_at_once(tmp_path, monkeypatch):
    """Small packets that wait for each other cost forty milliseconds an answer: the option that forbids it is set."""
    told, made = [], Guarded.connection_made

    def noted(connection, transport):
        told.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(connection, transport)

    monkeypatch.setattr(Guarded, "connection_made", noted)
    pets = declared(tmp_path)
    with collecting([tmp_path / "pets.json"], Terms()) as router, hosted(application(router)) as url:
        assert asked(f"{url}/local/pets/collection.json")[0] == 200
    assert pets.labels
    assert told == [1]
