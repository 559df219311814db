"""The service with its ledger on a server: two processes' worth of it share budgets, tokens, answers and jobs."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from houses import PLAN, House, people
from sfumato.ledger.server import CONNECTED
from sfumato.plans import read_plan
from sfumato.server.aside import Aside
from sfumato.server.hands import desks_of
from sfumato.server.jobs import Jobs
from sfumato.server.models import ReleaseAsk
from waiting import wait_until

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


def served_from(folder, connection, dataset):
    """A plan whose ledger is on the server of an environment variable."""
    folder.mkdir()
    named = PLAN.replace("[budget]", f'[ledger]\nconnection = "{connection}"\n\n[budget]')
    return people(folder, named.replace('dataset = "people"', f'dataset = "{dataset}"'))


def address(database="postgres"):
    return f"postgresql://postgres@/{database}?host={os.environ['SFUMATO_POSTGRES']}"


class Watch:
    """How many connections of ledgers the server has, looked at all the time."""

    def __init__(self):
        self.most, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self):
        while not self._over.is_set():
            self.most = max(self.most, self.count())
            self._over.wait(0.01)

    def count(self):
        asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sfumato ledger'"
        return self._con.execute(asked).fetchone()[0]

    def __enter__(self):
        import psycopg

        self._con = psycopg.connect(address(), autocommit=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self._con.close()


def test_fifty_questions_at_once_stay_within_the_bound_and_all_are_answered(tmp_path, monkeypatch):
    monkeypatch.setenv("PEOPLE_LEDGER", address())
    names = [f"one {tmp_path.name}", f"two {tmp_path.name}"]
    plans = [served_from(tmp_path / name[:3], "PEOPLE_LEDGER", name) for name in names]
    CONNECTED.close_idle()
    with Watch() as watch, House(*plans, hands=Aside([str(plan) for plan in plans])) as house:
        for desk in list(house.service.desks.values())[1:]:
            desk.roster.add("ana", None, house.tokens["ana"])

        def ask(number):
            query = {"query": "count", "where": f"age >= {number // 2}"}
            with house.client("ana") as ana:
                about = f"/api/v1/datasets/{names[number % 2]}"
                return ana.post(f"{about}/release", json={"query": query, "spend": {"epsilon": 0.01}}).status_code

        with ThreadPoolExecutor(50) as pool:
            assert list(pool.map(ask, range(50))) == [200] * 50
        assert watch.most <= 2 * CONNECTED.bound  # the process that serves, and the one that releases
        wait_until(lambda: watch.count() <= 4)  # what nobody uses is given back
        assert all(desk.ledger.verify().holds for desk in house.service.desks.values())


def test_a_server_that_is_away_takes_no_dataset_of_another_with_it(tmp_path, monkeypatch):
    import psycopg

    monkeypatch.setenv("PEOPLE_LEDGER", address("passing"))
    with psycopg.connect(address(), autocommit=True) as owner:
        owner.execute("CREATE DATABASE passing")
        try:
            (tmp_path / "file").mkdir()
            plans = [people(tmp_path / "file"), served_from(tmp_path / "away", "PEOPLE_LEDGER", "away")]
            count = {"query": {"query": "count"}, "spend": {"epsilon": 0.125}}
            with House(*plans, hands=Aside([str(plan) for plan in plans])) as house, house.client("ana") as ana:
                house.service.desks["away"].roster.add("ana", None, house.tokens["ana"])
                assert ana.get("/health").json() == {"status": "ok", "datasets": 2, "away": []}
                assert ana.post("/api/v1/datasets/away/release", json=count).status_code == 200
                owner.execute("ALTER DATABASE passing ALLOW_CONNECTIONS false")
                owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'passing'")
                wait_until(lambda: ana.get("/health").json()["away"] == ["away"])
                refused = ana.post("/api/v1/datasets/away/release", json=count)
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
                assert ana.post("/api/v1/datasets/people/release", json=count).status_code == 200
                assert ana.get("/api/v1/datasets/people/budget").status_code == 200
                desks = desks_of([read_plan(plan) for plan in plans], must_open=False)  # of a process that starts now
                assert [desk.is_ready() for desk in desks.values()] == [True, False]
                owner.execute("ALTER DATABASE passing ALLOW_CONNECTIONS true")
                wait_until(lambda: ana.get("/health").json()["away"] == [])
                assert ana.post("/api/v1/datasets/away/release", json=count).json()["charged"] is None
                assert [desk.is_ready() for desk in desks.values()] == [True, True]
        finally:
            CONNECTED.close_idle()
            owner.execute("DROP DATABASE passing WITH (FORCE)")
