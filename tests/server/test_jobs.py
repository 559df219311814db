"""Long work and retries: charged at most once, through restarts and kills."""

import json

import pytest

from conftest import House, people
from sfumato.server import models
from sfumato.server.jobs import Jobs
from sfumato.server.models import ReleaseAsk
from sfumato.server.statuses import Refused
from waiting import wait_until

CURVE = {"query": {"query": "density", "column": "age"}, "spend": {"epsilon": 0.5}, "request": "one"}
COUNT = {"query": {"query": "count"}, "spend": {"epsilon": 0.25}, "request": "two"}


def ended(client, job):
    def find_end():
        seen = models.Job.model_validate(client.get(f"/api/v1/jobs/{job}").json())
        return seen if seen.state in ("done", "failed", "canceled") else None

    return wait_until(find_end)


def submitted(desk, ask):
    """A job that waits, with nobody to carry it out."""
    ana = desk.plan.service.analysts["ana"]
    asked = ReleaseAsk(**ask)
    settled = desk.settled(ana, asked)
    begun = desk.begin(ana, asked, settled)
    return Jobs(desk), Jobs(desk).submit(ana, asked, begun, [one.digests[0] for one in settled])


def test_a_job_that_waits_is_canceled_and_nothing_is_charged(tmp_path):
    house = House(people(tmp_path))  # not started: nobody carries out jobs
    jobs, job = submitted(house.desk, CURVE)
    assert jobs.cancel(job)["words"] == "canceled: nothing was charged"
    assert not jobs.run_one()
    assert jobs.status(job)["state"] == "canceled"
    assert len(house.desk.ledger.entries()) == 1


def test_a_job_that_is_canceled_while_it_is_settled_is_not_charged(tmp_path, monkeypatch):
    house = House(people(tmp_path))
    jobs, job = submitted(house.desk, CURVE)
    settle = house.desk.settled

    def canceled_meanwhile(*given):
        jobs.cancel(job)
        return settle(*given)

    monkeypatch.setattr(house.desk, "settled", canceled_meanwhile)
    assert jobs.run_one()
    assert jobs.find(job)["state"] == "canceled"
    assert len(house.desk.ledger.entries()) == 1


def test_a_job_waits_for_the_next_process_and_is_charged_once(tmp_path):
    house = House(people(tmp_path))
    _, job = submitted(house.desk, CURVE)
    with House(tmp_path / "people.toml") as restarted, restarted.client("ana") as client:
        assert ended(client, job).state == "done"
        assert client.post("/api/v1/datasets/people/release", json=CURVE).json()["charged"] is None
        assert [entry.kind for entry in restarted.desk.ledger.entries()] == ["open", "charge", "release"]


def test_a_job_whose_process_died_before_its_charge_is_taken_up_again(tmp_path):
    house = House(people(tmp_path))
    jobs, job = submitted(house.desk, CURVE)
    jobs._set(job, "state = 'running', begun = 1, touched = 1", ())
    assert jobs.status(job)["state"] == "waiting"


def test_a_job_whose_process_died_after_its_charge_has_failed_and_is_not_charged_again(tmp_path):
    house = House(people(tmp_path))
    jobs, job = submitted(house.desk, CURVE)
    jobs._set(job, "state = 'running', begun = 1, touched = 1", ())
    ana = house.desk.plan.service.analysts["ana"]
    (one,) = house.desk.settled(ana, ReleaseAsk(**CURVE))
    house.desk.account(ana).charge(one.order.title, one.digests[0], one.order.claim, one.order.described)
    seen = jobs.status(job)
    assert (seen["state"], seen["problem"]["error"]) == ("failed", "Conflict")
    assert not jobs.run_one()
    assert house.desk.ledger.spent().epsilon == 0.5


def test_a_job_that_was_stored_before_its_process_died_is_done(tmp_path):
    house = House(people(tmp_path))
    jobs, job = submitted(house.desk, CURVE)
    assert jobs.run_one()
    jobs._set(job, "state = 'running', begun = 1, touched = 1, ended = NULL", ())
    assert jobs.status(job)["releases"] == json.loads(jobs.find(job)["digests"])


def test_a_request_that_was_charged_and_lost_is_told_and_not_charged_again(house, ana):
    analyst = house.desk.plan.service.analysts["ana"]
    ask = ReleaseAsk(**COUNT)
    (one,) = house.desk.settled(analyst, ask)
    house.desk.begin(analyst, ask, (one,))
    house.desk.account(analyst).charge(one.order.title, one.digests[0], one.order.claim, one.order.described)
    lost = ana.post("/api/v1/datasets/people/release", json=COUNT)
    assert lost.status_code == 409
    assert "the charge stands" in lost.json()["message"]
    assert house.desk.ledger.spent().epsilon == 0.25
    again = ana.post("/api/v1/datasets/people/release", json={**COUNT, "request": "three"})
    assert again.status_code == 200
    assert house.desk.ledger.spent().epsilon == 0.5
    assert ana.post("/api/v1/datasets/people/release", json=COUNT).json()["charged"] is None  # stored by now


def test_an_id_stands_for_one_question_of_one_analyst(house, ana):
    assert ana.post("/api/v1/datasets/people/release", json=COUNT).status_code == 200
    other = {**COUNT, "spend": {"epsilon": 0.5}}
    assert ana.post("/api/v1/datasets/people/release", json=other).status_code == 422
    with house.client("bob") as bob:
        assert bob.post("/api/v1/datasets/people/release", json=other).status_code == 200


def test_jobs_of_others_are_not_there_and_stewards_see_them(house, ana):
    job = ana.post("/api/v1/datasets/people/release", json=CURVE).json()["job"]
    with house.client("bob") as bob, house.client("sam") as sam:
        assert bob.get(f"/api/v1/jobs/{job}").status_code == 404
        assert bob.delete(f"/api/v1/jobs/{job}").status_code == 404
        assert ended(sam, job).state == "done"


def test_one_analyst_has_few_jobs_at_a_time(tmp_path):
    house = House(people(tmp_path))
    for number in range(4):
        submitted(house.desk, {**CURVE, "spend": {"epsilon": 0.1 + number / 100}, "request": str(number)})
    with pytest.raises(Refused, match="wait for one to end"):
        submitted(house.desk, {**CURVE, "spend": {"epsilon": 0.2}, "request": "last"})


def test_a_budget_that_ended_while_a_job_waited_is_its_problem(tmp_path):
    house = House(people(tmp_path))
    jobs, job = submitted(house.desk, {**CURVE, "spend": {"epsilon": 1.5}})
    assert jobs.run_one()
    kept = jobs.find(job)
    assert (kept["state"], json.loads(kept["problem"])["error"]) == ("failed", "BudgetExceeded")
    assert len(house.desk.ledger.entries()) == 1
