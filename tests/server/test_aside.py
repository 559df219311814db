"""Releases in a process beside the one that serves: the same answers, nothing charged twice when it dies, no orphan."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading

import httpx
import pytest

from houses import House, people
from sfumato.plans import read_plan
from sfumato.server.aside import Aside
from sfumato.server.hands import Here, Reply, desks_of
from sfumato.server.models import ReleaseAsk
from waiting import LIMIT, let_pass, wait_until

ASKED = [
    {"query": {"query": "count", "by": ["state"]}, "spend": {"epsilon": 0.1}},
    {"sql": "SELECT state, avg(salary) FROM people GROUP BY state", "spend": {"epsilon": 0.2}},
    {"query": {"query": "count"}, "spend": {"epsilon": 3.0}},  # beyond the budget
    {"query": {"query": "mean", "column": "nowhere"}, "spend": {"epsilon": 0.1}},
    {"query": {"query": "count"}, "spend": {"epsilon": 0.1}, "request": "x" * 500},
]


@pytest.fixture
def house(tmp_path):
    path = people(tmp_path)
    with House(path, hands=Aside([str(path)])) as made:
        yield made


def children() -> list[int]:
    """The processes that release for this one."""
    found = pathlib.Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = {int(pid) for file in found for pid in file.read_text().split()}
    return [pid for pid in pids if b"sfumato.server.aside" in command(pid)]


def command(pid: int) -> bytes:
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def released(house: House, ask: dict) -> httpx.Response:
    with house.client("ana") as client:
        return client.post("/api/v1/datasets/people/release", json=ask)


def shape(answer) -> tuple:
    body = answer.json()
    told = body["message"] if "message" in body else (sorted(body), body["charged"], body["left"])
    return answer.status_code, told, {name: answer.headers.get(name) for name in ("content-type", "retry-after")}


def test_answers_are_those_of_threads(tmp_path, house):
    (tmp_path / "other").mkdir()
    with House(people(tmp_path / "other")) as here:
        for ask in ASKED:
            seen = [released(one, ask) for one in (house, here)]
            assert shape(seen[0]) == shape(seen[1]), ask
            again = [released(one, ask) for one in (house, here)]
            assert shape(again[0]) == shape(again[1]), ask
            if seen[0].status_code == 200:
                assert again[0].json()["release"] == seen[0].json()["release"]
                assert again[0].json()["charged"] is None


def test_jobs_are_carried_out_there(house):
    ask = {"query": {"query": "density", "columns": ["age"], "bandwidth": 8.0}, "spend": {"epsilon": 0.1}}
    job = released(house, ask).json()["job"]
    with house.client("ana") as client:

        def ended():
            found = client.get(f"/api/v1/jobs/{job}").json()
            return None if found["state"] in ("waiting", "running") else found

        state = wait_until(ended)
    assert state["state"] == "done"
    assert len(state["releases"]) == 1


def test_it_stands_behind_the_one_that_serves(house):
    released(house, ASKED[0])
    (pid,) = children()
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.heavy) for seed in (1, 2, 3))])
def test_requests_outlive_it_and_are_charged_once(house, seed):
    """Killed again and again while eight ask: every request is answered, and each answer has one charge."""
    rng, answers = random.Random(seed), []
    released(house, ASKED[0])

    def ask(number: int) -> None:
        query = {"query": "count", "where": f"age >= {number}"}
        answers.append(released(house, {"query": query, "spend": {"epsilon": 0.01}, "request": f"r{number}"}))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        let_pass(rng.uniform(0.0, 0.15))
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        wait_until(children)
    for thread in threads:
        thread.join(LIMIT)
    assert len(answers) == 8
    lost = [answer for answer in answers if answer.status_code != 200]
    assert all(answer.status_code == 409 and "lost before it was stored" in answer.text for answer in lost)
    lines = house.desk.index.refresh().lines
    charges = [line.digest for line in lines if line.kind == "charge" and line.guarantee is not None]
    assert len(charges) == len(set(charges)) <= 9
    assert {line.digest for line in house.desk.index.releases} >= {
        answer.json()["release"] for answer in answers if answer.status_code == 200
    }
    assert house.desk.ledger.verify().holds


def test_it_ends_when_the_one_that_serves_is_killed(tmp_path):
    path = people(tmp_path)
    serve = [sys.executable, "-m", "sfumato.cli", "serve", str(path), "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        serving.stdout.readline()

        def find_aside():
            listed = pathlib.Path(f"/proc/{serving.pid}/task/{serving.pid}/children").read_text().split()
            return [int(pid) for pid in listed if b"sfumato.server.aside" in command(int(pid))]

        found = wait_until(find_aside)
        assert len(found) == 1
        serving.kill()
    wait_until(lambda: not command(found[0]))


def test_modules_that_lie_in_the_folder_are_not_run(tmp_path, monkeypatch):
    """The process starts where the steward does; a file there with a library's name is not taken for it."""
    path = people(tmp_path)
    (tmp_path / "sqlite3.py").write_text("open('taken', 'w').close()\nraise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    with House(path, hands=Aside([path.name])) as house:
        assert released(house, ASKED[0]).status_code == 200
    assert not (tmp_path / "taken").exists()


def test_where_it_never_starts_the_answer_is_an_error_without_its_cause(tmp_path, capfd):
    path = people(tmp_path)
    hands = Aside([str(tmp_path / "missing.toml")])
    with House(path, hands=hands) as house:
        answer = released(house, ASKED[0])
        with house.client("ana") as client:
            assert client.post("/api/v1/datasets/people/preview", json=ASKED[0]).status_code == 200
    assert answer.status_code == 503
    assert "missing" not in answer.text
    said = capfd.readouterr().err
    assert said.count("the process that releases ended with exit code 1, SchemaError: there is no plan") == 1
    assert "Traceback" not in said


def test_an_analyst_whom_its_plan_does_not_know_is_refused(tmp_path):
    here = Here(desks_of([read_plan(people(tmp_path))]))
    reply = here.answered("people", "zoe", ReleaseAsk.model_validate(ASKED[0]))
    assert (reply.status, reply.outcome) == (403, "Forbidden")


def test_an_answer_that_json_does_not_know_is_an_error_and_no_silence(tmp_path, monkeypatch):
    import io

    from sfumato.server import aside

    here = Here(desks_of([read_plan(people(tmp_path))]))
    monkeypatch.setattr(here, "answered", lambda *_: Reply(200, {"value": float("nan")}))
    said = io.BytesIO()
    aside._answer(here, {"number": 4, "dataset": "people", "analyst": "ana", "ask": ASKED[0]}, said, threading.Lock())
    assert b'"number": 4' in said.getvalue()
    assert b'"status": 500' in said.getvalue()
