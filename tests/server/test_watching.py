"""Whoever watches the service all the time learns no more of how long an answer took than its tick tells."""

import threading
import time

import pytest

from houses import PLAN, House, people
from sfumato.server.jobs import Jobs
from sfumato.server.models import ReleaseAsk
from sfumato.session import Session

TICK = 3.0
PATH = "/api/v1/datasets/people"
TWO = {"sql": "SELECT avg(salary), count(*) FROM people WHERE age >= 30", "spend": {"epsilon": 0.5}}
CURVE = {"query": {"query": "density", "column": "age"}, "spend": {"epsilon": 0.25}}


@pytest.fixture
def path(tmp_path):
    return people(tmp_path, PLAN.replace("tick = 0.05", f"tick = {TICK}"))


def after_a_tick():
    time.sleep(TICK - time.time() % TICK + 0.05)


def kinds(desk):
    return [entry.kind for entry in desk.ledger.entries()]


def until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_before_the_tick_nobody_sees_that_an_answer_is_stored_or_what_was_charged_for_its_next_part(path, monkeypatch):
    held, real = threading.Event(), Session._answer

    def answered(session, order, *rest):
        if order.question.query.kind == "count":
            held.wait(30)
        return real(session, order, *rest)

    monkeypatch.setattr(Session, "_answer", answered)
    with House(path) as house, house.client("ana") as ana, house.client("bob") as bob:
        asked = ana.post(f"{PATH}/preview", json=TWO).json()
        digests = [one["release"] for one in asked["questions"]]

        def seen():
            found = [bob.get(f"{PATH}/releases/{digest}").status_code == 200 for digest in digests]
            again = bob.post(f"{PATH}/preview", json=TWO).json()
            budget = bob.get(f"{PATH}/budget").json()["dataset"]["spent"]["epsilon"]
            return found, [one["stored"] for one in again["questions"]], again["more"] == asked["more"], budget

        after_a_tick()
        before, place = seen(), time.time() // TICK
        asking = threading.Thread(target=ana.post, args=(f"{PATH}/release",), kwargs={"json": TWO})
        asking.start()
        until(lambda: kinds(house.desk)[1:] == ["charge", "release", "charge"])
        assert seen() == before
        held.set()
        until(lambda: kinds(house.desk).count("release") == 2)
        assert seen() == before
        assert ana.get(f"{PATH}/releases").json() == []
        assert time.time() // TICK == place, "too slow to tell anything"
        asking.join()
        assert seen()[:2] == ([True, True], [True, True])
        assert bob.get(f"{PATH}/budget").json()["dataset"]["spent"]["epsilon"] == pytest.approx(0.5, abs=0.01)
        assert len(ana.get(f"{PATH}/releases").json()) == 2


@pytest.mark.heavy
def test_the_end_of_a_job_is_seen_in_no_other_way_before_its_step_of_the_ladder(path):
    desk = House(path).desk  # not started: jobs are carried out here
    ana = desk.plan.service.analysts["ana"]
    jobs = Jobs(desk)
    numbers = []
    for request in ("one", "two"):
        ask = ReleaseAsk(**CURVE, request=request)
        settled = desk.settled(ana, ask)
        begun = desk.begin(ana, ask, settled)
        numbers.append(jobs.submit(ana, ask, begun, [one.digests[0] for one in settled]))
    (digest,) = [one.digests[0] for one in settled]
    after_a_tick()
    working = threading.Thread(target=jobs.run_one)
    working.start()
    until(lambda: "release" in kinds(desk))
    until(lambda: time.time() % TICK > TICK - 0.2)
    time.sleep(0.4)  # over a tick, but not over the step that comes after it
    assert [jobs.status(number)["state"] for number in numbers] == ["running", "waiting"]
    assert jobs.waiting() == 2
    assert desk.seen((digest,)) is None
    assert desk.history(ana) == []
    working.join()
    assert jobs.status(numbers[0])["state"] == "done"
    assert desk.seen((digest,)) is not None
    assert [line["release"] for line in desk.history(ana)] == [digest]
