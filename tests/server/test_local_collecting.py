"""Collectors and inquiries behind the server: bounded, durable, and nothing kept that links reports."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import FastAPI

from hosting import asked, hosted, posted
from houses import people
from sfumato.errors import ParameterError
from sfumato.local import (
    Client,
    Collection,
    Collector,
    Conductor,
    Inquiry,
    Limit,
    Participant,
    Pure,
    QuantileSearch,
    Relay,
    collect,
    new_key,
)
from sfumato.local.collection import door
from sfumato.local.interactive.inquiry import Asked
from sfumato.local.relay import delivering
from sfumato.local.relay.tokens import token_of
from sfumato.server.local.alone import application
from sfumato.server.local.collecting import collecting
from sfumato.server.local.terms import Terms
from waiting import wait_until

LABELS = ["cat", "dog", "fish"]


def declared(place, name="pets", **more):
    """A collection whose reports are their values."""
    pets = collect(name, LABELS, spend=30.0, people=100, **more)
    pets.save(place / f"{name}.json")
    return pets


# sealed reports in, one voice each


def test_reports_of_devices_are_counted_once_each_and_durable_when_answered(tmp_path):
    pets = declared(tmp_path, key=new_key(tmp_path / "pets.key"))
    messages = [Client(pets).report(LABELS[place % 3]) for place in range(60)]
    with collecting([tmp_path / "pets.json"], Terms()) as router, hosted(application(router)) as url:
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda message: posted(f"{url}/local/pets", message), [*messages, *messages]))
        assert {status for status, _ in found} == {200}
        copy = Collector(pets, tmp_path / "pets.journal")  # what another process sees at once
        assert copy.state.tally.tolist() == [20, 20, 20]
    assert copy.estimate().reports == 60


@pytest.mark.parametrize("wrong", [b"", b"junk", bytes(48), "two", "another"], ids=str)
def test_what_no_device_sends_is_refused_and_counts_nothing(tmp_path, wrong):
    pets = declared(tmp_path)
    one = Client(pets).report("cat")
    if wrong == "two":  # a message is one voice
        from sfumato.local import join

        wrong = join(pets, [one, Client(pets).report("dog")])
    elif wrong == "another":
        wrong = Client(collect("pets", LABELS, spend=30.0, people=100, rounds=["x"])).report("cat")
    with collecting([tmp_path / "pets.json"], Terms()) as router, hosted(application(router)) as url:
        assert posted(f"{url}/local/pets", wrong)[0] == 400
        assert Collector(pets, tmp_path / "pets.journal").state.reports == 0
        assert posted(f"{url}/local/pets", one)[0] == 200
        assert asked(f"{url}/local/other", "POST", one)[0] == 404
        assert asked(f"{url}/local/pets")[0] == 405


def test_bodies_are_bounded_and_their_length_is_stated_once(tmp_path):
    pets = declared(tmp_path)
    message = Client(pets).report("dog")
    with collecting([tmp_path / "pets.json"], Terms()) as router, hosted(application(router)) as url:
        assert posted(f"{url}/local/pets", bytes(100_000))[0] == 413
        assert posted(f"{url}/local/pets", iter([message]))[0] == 400  # chunks
        assert posted(f"{url}/local/pets", message)[0] == 200


def test_a_collector_that_cannot_keep_a_message_says_that_it_is_to_be_sent_again(tmp_path, monkeypatch):
    pets = declared(tmp_path)
    message = Client(pets).report("dog")
    with collecting([tmp_path / "pets.json"], Terms()) as router, hosted(application(router)) as url:
        monkeypatch.setattr(door, "WAITING", 0)
        assert posted(f"{url}/local/pets", message) == (503, "not taken; send it again later")
        monkeypatch.setattr(door, "WAITING", 10)
        assert posted(f"{url}/local/pets", message)[0] == 200
    assert Collector(pets, tmp_path / "pets.journal").state.reports == 1


def test_what_fails_inside_is_told_in_one_sentence_and_logged_nowhere(tmp_path, monkeypatch, capfd):
    pets = declared(tmp_path)
    message = Client(pets).report("dog")

    def broken(self, messages):
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr(Collector, "add_all", broken)
    with collecting([tmp_path / "pets.json"], Terms()) as router, hosted(application(router)) as url:
        assert posted(f"{url}/local/pets", message) == (503, "not taken; send it again later")
    assert capfd.readouterr() == ("", "")


# nothing that links


def test_nothing_of_a_request_is_kept_or_said(tmp_path, capfd):
    """Addresses, browsers, cookies, referrers: in no file, in no line, in no header of an answer."""
    pets = declared(tmp_path, key=new_key(tmp_path / "pets.key"))
    telling = {"User-Agent": "telltale-browser", "Cookie": "id=telltale-cookie", "Referer": "http://telltale.example/",
               "X-Forwarded-For": "192.0.2.77", "If-None-Match": '"telltale-tag"'}  # fmt: skip
    messages = [Client(pets).report("dog") for _ in range(5)]
    with collecting([tmp_path / "pets.json"], Terms(Limit(100))) as router, hosted(application(router)) as url:
        for message in messages:
            status, headers, _ = asked(f"{url}/local/pets", "POST", message, telling)
            assert status == 200
            assert not headers.keys() & {"set-cookie", "etag", "last-modified", "server", "date"}
        for path in ("/local/pets/", "/local/pets/collection.json", "/local/sfumato.mjs", "/health", "/nothing"):
            _, headers, _ = asked(url + path, headers=telling)
            assert not headers.keys() & {"set-cookie", "etag", "last-modified", "server", "date"}
    assert capfd.readouterr() == ("", "")
    for path in tmp_path.rglob("*"):
        held = path.read_bytes()
        assert not [word for word in (b"telltale", b"192.0.2.77", b"127.0.0.1") if word in held], path.name
    with sqlite3.connect(tmp_path / "pets.journal") as journal:
        tables = journal.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall()
        assert not [word for word in ("time", "address", "sender", "agent", "date") if word in str(tables).lower()]
    held = (tmp_path / "pets.journal").read_bytes()
    assert not any(message[24:40] in held or message[48:80] in held for message in messages)  # names, sealed reports


def test_senders_are_limited_by_where_they_come_from_and_not_by_what_they_say(tmp_path):
    pets = declared(tmp_path)

    def sent(url, number):
        return posted(f"{url}/local/pets", Client(pets).report("dog"), **{"X-Forwarded-For": f"192.0.2.{number}"})[0]

    with collecting([tmp_path / "pets.json"], Terms(Limit(2))) as router, hosted(application(router)) as url:
        assert [sent(url, number) for number in range(4)] == [200, 200, 429, 429]
    with (
        collecting([tmp_path / "pets.json"], Terms(Limit(2))) as router,
        hosted(application(router), proxy="127.0.0.1") as url,
    ):
        assert [sent(url, number) for number in (1, 1, 1, 2)] == [200, 200, 429, 200]
    with (
        collecting([tmp_path / "pets.json"], Terms(Limit(2))) as router,
        hosted(application(router), proxy="192.0.2.9") as url,  # somebody else's proxy
    ):
        assert [sent(url, number) for number in range(3)] == [200, 200, 429]


def test_pages_of_other_sites_cannot_send_unless_they_are_named(tmp_path):
    pets = declared(tmp_path)
    terms = Terms(origins=frozenset(["https://survey.example"]))
    with collecting([tmp_path / "pets.json"], terms) as router, hosted(application(router)) as url:

        def sent(origin):
            return asked(f"{url}/local/pets", "POST", Client(pets).report("dog"), {"Origin": origin})

        for origin in ("https://evil.example", "null", "https://survey.example.evil.example", ""):
            status, headers, _ = sent(origin)
            assert (status, headers.get("access-control-allow-origin")) == (403, None)
        for origin in (url, "https://survey.example"):
            status, headers, _ = sent(origin)
            assert (status, headers["access-control-allow-origin"]) == (200, origin)
            assert "access-control-allow-credentials" not in headers
    assert Collector(pets, tmp_path / "pets.journal").state.reports == 2


# a relay in front


def test_a_collection_of_batches_takes_them_from_its_relay_alone(tmp_path):
    pets = declared(tmp_path, key=new_key(tmp_path / "pets.key"), batch=3)
    relay = Relay(pets, tmp_path / "relay.db")
    messages = [Client(pets).report("dog") for _ in range(4)]
    relay.add_all(messages)
    relay.end()
    with (
        collecting([tmp_path / "pets.json"], Terms(relay="https://relay.example")) as router,
        hosted(application(router)) as url,
    ):
        where = f"{url}/local/pets/batches"
        assert posted(f"{url}/local/pets", messages[0]) == (400, "reports of this collection go to its relay, not here")
        (batch,) = relay.outgoing()
        for wrong in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer guess"}):
            assert posted(where, batch, **wrong)[0] == 401
        token = token_of(tmp_path / "pets.token")
        assert (tmp_path / "pets.token").stat().st_mode & 0o777 == 0o600
        assert posted(where, messages[0], Authorization=f"Bearer {token}")[0] == 400  # too few
        assert delivering.posted(relay, where, token) == 1
        assert relay.outgoing() == []
        assert posted(where, batch, Authorization=f"Bearer {token}")[0] == 200  # known
        assert "connect-src 'self' https://relay.example" in asked(f"{url}/local/pets/")[1]["content-security-policy"]
    assert Collector(pets, tmp_path / "pets.journal").state.reports == 4


def test_a_token_is_made_once_and_refused_when_others_may_read_it(tmp_path):
    made = token_of(tmp_path / "t", made=True)
    assert (token_of(tmp_path / "t", made=True), token_of(tmp_path / "t"), len(made)) == (made, made, 43)
    os.chmod(tmp_path / "t", 0o644)
    with pytest.raises(ParameterError, match="may be read by others"):
        token_of(tmp_path / "t")
    with pytest.raises(ParameterError, match="there is no token"):
        token_of(tmp_path / "missing")
    (tmp_path / "short").write_text("x")
    os.chmod(tmp_path / "short", 0o600)
    with pytest.raises(ParameterError, match="holds no token"):
        token_of(tmp_path / "short")


@pytest.mark.parametrize(
    ("more", "terms", "words"),
    [
        ({"key": True}, {}, "there is no key"),
        ({"batch": 3}, {}, "which a relay makes"),
        ({}, {"relay": "relay.example"}, "a site has an address"),
        ({}, {"origins": frozenset(["https://x.example; script-src *"])}, "a site has an address"),
    ],
)
def test_mistakes_are_told_at_the_start(tmp_path, more, terms, words):
    if "key" in more:
        more = {"key": new_key(tmp_path / "elsewhere.key")}
    declared(tmp_path, **more)
    with pytest.raises(ParameterError, match=words), collecting([tmp_path / "pets.json"], Terms(**terms)):
        pass


def test_two_files_of_one_name_and_names_that_are_no_part_of_a_path_are_refused(tmp_path):
    (tmp_path / "other").mkdir()
    for place in (tmp_path, tmp_path / "other"):
        declared(place)
    both = [tmp_path / "pets.json", tmp_path / "other" / "pets.json"]
    with pytest.raises(ParameterError, match="two files"), collecting(both, Terms()):
        pass
    os.rename(tmp_path / "pets.json", tmp_path / "my pets.json")
    with pytest.raises(ParameterError, match="letters, digits"), collecting([tmp_path / "my pets.json"], Terms()):
        pass


# turns


def test_a_device_fetches_the_question_of_a_turn_and_answers_once(tmp_path):
    search = QuantileSearch.calibrate(100, 0.5, Pure(1.0), users=200, blocks=2)
    Inquiry("age", search).save(tmp_path / "age.json")
    answered = 0
    with collecting([tmp_path / "age.json"], Terms()) as router, hosted(application(router)) as url:
        inquiry = Inquiry.from_record(json.loads(asked(f"{url}/local/age/inquiry.json")[2]))
        users = [Participant(inquiry, tmp_path / f"{place}.db") for place in range(20)]
        for turn in range(2):
            question = Asked.from_record(json.loads(asked(f"{url}/local/age/question.json")[2]), inquiry)
            assert question.turn == turn
            for user in users:
                if user.answer(40, question):
                    (message,) = user.pending()
                    assert [posted(f"{url}/local/age", message)[0] for _ in range(2)] == [200, 200]  # counted once
                    user.acknowledge(message)
                    answered += 1
                assert not user.answer(7, question)
            assert Conductor.open(tmp_path / "age.json").turn().turn == turn + 1  # by the shell, meanwhile
        assert posted(f"{url}/local/age", message)[0] == 400  # the turn has ended
        assert json.loads(asked(f"{url}/local/age/question.json")[2])["collection"] is None
        assert asked(f"{url}/local/age/question.json?round=never")[0] == 422
    assert answered == 20  # each in the turn that it drew
    assert Conductor.open(tmp_path / "age.json").finding().reports == 20


def test_questions_and_answers_at_once_do_not_disturb_each_other(tmp_path):
    search = QuantileSearch.calibrate(100, 0.5, Pure(1.0), users=200, blocks=1)
    inquiry = Inquiry("age", search)
    inquiry.save(tmp_path / "age.json")
    held = inquiry.asked().collection
    assert held is not None
    messages = [Client(held).report(3) for _ in range(40)]
    with collecting([tmp_path / "age.json"], Terms()) as router, hosted(application(router)) as url:
        seen = []
        reading = threading.Thread(
            target=lambda: seen.extend(asked(f"{url}/local/age/question.json")[0] for _ in range(20))
        )
        reading.start()
        with ThreadPoolExecutor(8) as pool:
            found = set(pool.map(lambda message: posted(f"{url}/local/age", message)[0], messages))
        reading.join()
    assert (found, set(seen)) == ({200}, {200})
    assert Conductor.open(tmp_path / "age.json").waiting() == 40


# the page


def test_the_page_allows_no_foreign_program_frame_or_form(tmp_path):
    declared(tmp_path)
    with collecting([tmp_path / "pets.json"], Terms()) as router, hosted(application(router)) as url:
        status, headers, text = asked(f"{url}/local/pets/")
        policy = headers["content-security-policy"]
        assert status == 200
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in text.replace('lang="en"', "")  # nothing from elsewhere
        for name in ("sfumato.mjs", "seal.mjs", "page.mjs", "page.css"):
            status, headers, _ = asked(f"{url}/local/{name}")
            assert (status, headers["x-content-type-options"]) == (200, "nosniff")
        assert Collection.from_record(json.loads(asked(f"{url}/local/pets/collection.json")[2])).labels == tuple(LABELS)


def test_the_paths_can_stand_beside_those_of_another_application(tmp_path):
    declared(tmp_path)
    with collecting([tmp_path / "pets.json"], Terms()) as router:
        beside = FastAPI()
        beside.include_router(router)
        assert "/local/pets" in beside.openapi()["paths"]


# the command


def commanded(place, *options):
    """The service as a process, and where it listens."""
    command = [sys.executable, "-W", "error", "-m", "sfumato.cli", "serve", *options, "--port", "0"]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[-1]


def stopped(process):
    process.send_signal(signal.SIGTERM)
    said, errors = process.communicate(timeout=300)
    assert (said, errors, process.returncode) == ("", "", 0)


@pytest.mark.heavy
def test_reports_go_by_commands_from_device_to_relay_to_collector(tmp_path):
    """As the guide shows it: two processes, a token from one to the other, no key with the relay."""
    (tmp_path / "relay").mkdir()
    pets = declared(tmp_path, key=new_key(tmp_path / "pets.key"), batch=3)
    pets.save(tmp_path / "relay" / "pets.json")
    collecting, url = commanded(tmp_path, "--collect", "pets.json", "--relay", "https://relay.example")
    through = "reports of pets.json go to the relay, https://relay.example/local/pets; the relay sends batches to"
    assert collecting.stdout.readline() == f"{through} {url}/local/pets/batches\n"
    shutil.copy(tmp_path / "pets.token", tmp_path / "relay" / "pets.token")
    relay = [sys.executable, "-W", "error", "-m", "sfumato.cli", "relay", "pets.json", "--to", url]
    process = subprocess.Popen(
        [*relay, "--listen", "127.0.0.1:0"], cwd=tmp_path / "relay", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    there = process.stdout.readline().split()[-1]
    assert {posted(there, Client(pets).report("dog"))[0] for _ in range(5)} == {200}
    stopped(process)
    done = subprocess.run([*relay, "--end", "1"], cwd=tmp_path / "relay", capture_output=True, text=True, check=True)
    assert "5 reports left" in done.stdout
    stopped(collecting)
    assert Collector(pets, tmp_path / "pets.journal").state.reports == 5


@pytest.mark.heavy
def test_datasets_and_collections_stand_beside_each_other_in_several_processes(tmp_path):
    plan, pets = people(tmp_path), declared(tmp_path)
    process, url = commanded(tmp_path, plan.name, "--collect", "pets.json", "--workers", "2", "--limit", "100")

    def answers() -> bool:
        with contextlib.suppress(OSError):
            return asked(f"{url}/health")[0] == 200
        return False

    wait_until(answers)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: posted(f"{url}/local/pets", Client(pets).report("cat"))[0], range(40)))
    assert found == {200}
    status, headers, _ = asked(f"{url}/local/pets/")
    assert (status, headers["x-frame-options"]) == (200, "DENY")
    assert "connect-src 'self'" in headers["content-security-policy"]
    assert asked(f"{url}/api/v1/me")[0] == 401
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    assert Collector(pets, tmp_path / "pets.journal").state.reports == 40


@pytest.mark.parametrize(
    "options", [[], ["--collect", "pets.json", "--host", "0.0.0.0"], ["--collect", "missing.json"]]
)
def test_a_service_that_cannot_be_is_told(tmp_path, options):
    declared(tmp_path)
    command = [sys.executable, "-m", "sfumato.cli", "serve", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert "Traceback" not in done.stderr
