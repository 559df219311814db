"""The service with its ledger on a server: two processes' worth of it share budgets, tokens, answers and jobs."""

import os

import pytest

from houses import PLAN, House, people
from sfumato.server.jobs import Jobs
from sfumato.server.models import ReleaseAsk

pytestmark = pytest.mark.postgres

COUNT = {"query": {"query": "count"}, "spend": {"epsilon": 0.75}, "request": "one"}
CURVE = {"query": {"query": "density", "column": "age"}, "spend": {"epsilon": 0.25}, "request": "two"}


@pytest.fixture
def plan(tmp_path, monkeypatch):
    folder = os.environ["SFUMATO_POSTGRES"]
    monkeypatch.setenv("PEOPLE_LEDGER", f"postgresql://postgres@/postgres?host={folder}")
    named = PLAN.replace("[budget]", '[ledger]\nconnection = "PEOPLE_LEDGER"\n\n[budget]')
    return people(tmp_path, named.replace('dataset = "people"', f'dataset = "people {tmp_path.name}"'))


def test_two_services_on_one_server_share_budgets_tokens_answers_and_jobs(plan):
    with House(plan) as one, House(plan) as other:
        about = f"/api/v1/datasets/{one.desk.dataset}"
        with one.client("ana") as here, other.client("ana") as there:
            assert here.post(f"{about}/release", json=COUNT).json()["charged"]["epsilon"] == 0.75
            assert there.post(f"{about}/release", json=COUNT).json()["charged"] is None
            assert there.post(f"{about}/release", json={**COUNT, "spend": {"epsilon": 0.5}}).status_code == 422
            refused = there.post(f"{about}/release", json={**COUNT, "spend": {"epsilon": 0.5}, "request": "other"})
            assert refused.status_code == 409
            job = here.post(f"{about}/release", json=CURVE).json()["job"]
            assert there.get(f"/api/v1/jobs/{job}").status_code == 200
        assert other.desk.roster.revoke("ana") == 2
        assert one.desk.roster.find(other.tokens["ana"]) is None
        assert one.desk.ledger.verify().holds


def test_a_job_on_a_server_is_taken_up_by_the_next_process(plan):
    house = House(plan)
    ana, ask = house.desk.plan.service.analysts["ana"], ReleaseAsk(**CURVE)
    settled = house.desk.settled(ana, ask)
    digests = [one.digests[0] for one in settled]
    job = Jobs(house.desk).submit(ana, ask, house.desk.begin(ana, ask, settled), digests)
    Jobs(house.desk)._set(job, "state = 'running', begun = 1, touched = 1", ())
    again = Jobs(House(plan).desk)
    assert not again.run_one()  # it is taken for dead, and waits
    assert again.run_one()
    assert again.find(job)["state"] == "done"
    assert [entry.kind for entry in house.desk.ledger.entries()] == ["open", "charge", "release"]
