"""A dataset whose ledger cannot be read for a moment: the others go on, and whoever runs the service is told which."""

from __future__ import annotations

import os
import signal

import pytest

from houses import PLAN, House, people
from sfumato.errors import LedgerError, SchemaError
from sfumato.ledger.pool import CONNECTIONS, Unreachable
from sfumato.ledger.server import CONNECTED
from sfumato.plans import read_plan
from sfumato.server import ticks
from sfumato.server.aside import Aside
from sfumato.server.hands import desks_of
from sfumato.server.index import Index
from sfumato.server.statuses import described
from waiting import wait_until

COUNT = {"query": {"query": "count"}, "spend": {"epsilon": 0.125}}
CURVE = {"query": {"query": "density", "column": "age", "bandwidth": 20}, "spend": {"epsilon": 0.125}}


@pytest.fixture
def two(tmp_path):
    """Plans of two datasets, each in a folder of its own."""
    for name in ("people", "others"):
        (tmp_path / name).mkdir()
    return people(tmp_path / "people"), people(
        tmp_path / "others", PLAN.replace('dataset = "people"', 'dataset = "others"')
    )


def test_a_ledger_that_is_away_takes_no_other_dataset_with_it(two, tmp_path):
    away, back = tmp_path / "others", tmp_path / "elsewhere"
    with House(*two) as house, house.client("ana") as ana, house.client("sam") as sam:
        for name in ("ana", "sam"):
            house.service.desks["others"].roster.add(name, None, house.tokens[name])
        assert ana.get("/health").json() == {"status": "ok", "datasets": 2, "away": []}
        assert ana.get("/api/v1/me").json()["datasets"] == ["people", "others"]
        job = ana.post("/api/v1/datasets/people/release", json=CURVE).json()["job"]
        away.rename(back)
        wait_until(lambda: ana.get("/health").json() == {"status": "degraded", "datasets": 2, "away": ["others"]})
        wait_until(lambda: ana.get("/api/v1/datasets/others/budget").status_code == 503)
        assert ana.get("/api/v1/datasets/others/budget").headers["retry-after"]
        assert ana.post("/api/v1/datasets/people/release", json=COUNT).status_code == 200
        assert ana.get("/api/v1/datasets/people/budget").status_code == 200
        assert ana.get(f"/api/v1/jobs/{job}").status_code == 200
        wait_until(
            lambda: ana.get("/api/v1/jobs/unknown").status_code == 503
        )  # it may be one of the dataset that is away
        assert sam.get("/metrics").status_code == 200
        back.rename(away)
        wait_until(lambda: ana.get("/health").json()["status"] == "ok")
        wait_until(lambda: ana.post("/api/v1/datasets/others/release", json=COUNT).status_code == 200)


def test_where_no_dataset_is_ready_health_says_so_and_which(tmp_path, monkeypatch):
    with House(people(tmp_path)) as house, house.client() as client:
        assert client.get("/health").status_code == 200
        monkeypatch.setattr(Index, "refresh", lambda _: (_ for _ in ()).throw(LedgerError("gone")))
        wait_until(lambda: client.get("/health").status_code == 503)
        answer = client.get("/health")
        assert answer.json()["message"] == "no dataset is ready: people"
        assert answer.headers["retry-after"]


def test_a_token_that_nobody_can_look_up_is_not_called_wrong(tmp_path):
    with House(people(tmp_path)) as house, house.client("ana") as ana:
        (tmp_path / "people.ledger.service").rename(tmp_path / "elsewhere")
        assert ana.get("/api/v1/me").status_code == 503


def test_a_process_that_takes_anothers_place_opens_what_it_can(two, tmp_path):
    plans = [read_plan(plan) for plan in two]
    (tmp_path / "others" / "others.ledger").write_bytes(b"no ledger")
    with pytest.raises(LedgerError):
        desks_of(plans)  # at the start all is told
    desks = desks_of(plans, must_open=False)
    assert {name: desk.is_ready() for name, desk in desks.items()} == {"people": True, "others": False}
    (tmp_path / "others" / "others.ledger").unlink()
    assert desks["others"].is_ready()


def test_after_a_look_that_failed_nothing_is_seen_until_the_next_tick(tmp_path, monkeypatch):
    """A later look would tell what happened within the tick."""
    count = [0]
    monkeypatch.setattr(ticks, "count_ticks", lambda tick: count[0])
    desk = desks_of([read_plan(people(tmp_path))])["people"]
    seen = len(desk.sight.look().lines)
    real, failing = Index.refresh, [True]

    def refreshed(index):
        if failing[0]:
            raise LedgerError("gone")
        return real(index)

    monkeypatch.setattr(Index, "refresh", refreshed)
    count[0] = 1
    with pytest.raises(LedgerError):
        desk.sight.look()
    failing[0] = False
    with pytest.raises(Unreachable):
        desk.sight.look()
    count[0] = 2
    assert len(desk.sight.look().lines) == seen


def test_who_finds_no_connection_is_told_to_come_again():
    status, body, headers = described(Unreachable("all are in use"))
    assert (status, body["error"], headers) == (503, "Unavailable", {"Retry-After": "2"})
    assert described(LedgerError("broken"))[2] == {}


def test_the_bound_of_connections_is_a_setting(tmp_path):
    with pytest.raises(SchemaError, match=r"service\.connections must be between 4 and 100"):
        read_plan(people(tmp_path, PLAN.replace("tick = 0.05", "tick = 0.05\nconnections = 2")))
    plan = read_plan(people(tmp_path, PLAN.replace("tick = 0.05", "tick = 0.05\nconnections = 5")))
    assert plan.service.to_record(tmp_path)["service"]["connections"] == 5
    try:
        desks_of([plan])
        assert CONNECTED.bound == 5
    finally:
        CONNECTED.set_bound(CONNECTIONS)


def test_the_same_end_of_a_process_is_told_once_a_minute(tmp_path, capfd):
    aside = Aside([])
    for code, reason in ((-9, ""), (-9, ""), (1, "SchemaError: there is no plan")):
        aside._tell(code, reason)
    assert capfd.readouterr().err.splitlines() == [
        "sfumato: the process that releases ended by signal 9; it is started again",
        "sfumato: the process that releases ended with exit code 1, SchemaError: there is no plan; it is started again",
    ]


@pytest.mark.heavy
def test_the_end_of_the_process_that_releases_is_told(tmp_path, capfd):
    path = people(tmp_path)
    aside = Aside([str(path)])
    with House(path, hands=aside) as house, house.client("ana") as ana:
        assert ana.post("/api/v1/datasets/people/release", json=COUNT).status_code == 200
        os.kill(aside._process.result().pid, signal.SIGKILL)
        wait_until(lambda: aside._line)
    assert "ended by signal 9; it is started again" in capfd.readouterr().err
