"""Whoever watches the service all the time learns no more of how long an answer took than its tick tells."""

import threading

import pytest

from houses import PLAN, House, people
from sfumato.server import jobs, sight, ticks
from sfumato.server.jobs import Jobs
from sfumato.server.models import ReleaseAsk
from sfumato.session import Session
from waiting import LIMIT, HandClock, wait_until

TICK, BEGUN = 3.0, 1_749_999_999.5
PATH = "/api/v1/datasets/people"
TWO = {"sql": "SELECT avg(salary), count(*) FROM people WHERE age >= 30", "spend": {"epsilon": 0.5}}
CURVE = {"query": {"query": "density", "column": "age"}, "spend": {"epsilon": 0.25}}


@pytest.fixture
def path(tmp_path):
    return people(tmp_path, PLAN.replace("tick = 0.05", f"tick = {TICK}"))


@pytest.fixture
def clock(monkeypatch):
    """The clock of the service, which stands half a second after a tick until a test moves it."""
    held = HandClock(BEGUN)
    assert BEGUN % TICK < 1.0
    for module in (ticks, sight, jobs):
        monkeypatch.setattr(module, "time", held)
    monkeypatch.setattr(ticks, "asyncio", held)
    return held


def kinds(desk):
    return [entry.kind for entry in desk.ledger.entries()]


def test_before_the_tick_nobody_sees_that_an_answer_is_stored_or_what_was_charged_for_its_next_part(
    path, clock, monkeypatch
):
    held, real = threading.Event(), Session._answer

    def answered(session, order, *rest):
        if order.question.query.kind == "count":
            held.wait(LIMIT)
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

        before = seen()
        asking = threading.Thread(target=ana.post, args=(f"{PATH}/release",), kwargs={"json": TWO})
        asking.start()
        wait_until(lambda: kinds(house.desk)[1:] == ["charge", "release", "charge"])
        assert seen() == before
        held.set()
        wait_until(lambda: kinds(house.desk).count("release") == 2)
        assert seen() == before
        assert ana.get(f"{PATH}/releases").json() == []
        wait_until(lambda: clock.advance(TICK / 3) or not asking.is_alive())
        asking.join()
        assert seen()[:2] == ([True, True], [True, True])
        assert bob.get(f"{PATH}/budget").json()["dataset"]["spent"]["epsilon"] == pytest.approx(0.5, abs=0.01)
        assert len(ana.get(f"{PATH}/releases").json()) == 2


@pytest.mark.heavy
def test_the_end_of_a_job_is_seen_in_no_other_way_before_its_step_of_the_ladder(path, clock):
    desk = House(path).desk  # not started: jobs are carried out here
    ana = desk.plan.service.analysts["ana"]
    work = Jobs(desk)
    work.over = clock
    numbers = []
    for request in ("one", "two"):
        ask = ReleaseAsk(**CURVE, request=request)
        settled = desk.settled(ana, ask)
        begun = desk.begin(ana, ask, settled)
        numbers.append(work.submit(ana, ask, begun, [one.digests[0] for one in settled]))
    (digest,) = [one.digests[0] for one in settled]
    working = threading.Thread(target=work.run_one)
    working.start()
    wait_until(lambda: "release" in kinds(desk) and clock.sleepers)
    clock.advance(TICK - 0.1)  # over a tick, but not over the step that comes after it
    assert [work.status(number)["state"] for number in numbers] == ["running", "waiting"]
    assert work.waiting() == 2
    assert desk.seen((digest,)) is None
    assert desk.history(ana) == []
    clock.advance(TICK)
    working.join()
    assert work.status(numbers[0])["state"] == "done"
    assert desk.seen((digest,)) is not None
    assert [line["release"] for line in desk.history(ana)] == [digest]
