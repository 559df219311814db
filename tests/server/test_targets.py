"""Errors that are asked for: what is stored and good enough is free, what nobody may see yet is not told."""

from dataclasses import replace

import pytest

from houses import PLAN, people
from sfumato.plans import read_plan
from sfumato.server.desk import Desk
from sfumato.server.models import ReleaseAsk
from sfumato.server.sight import Sight

COUNT = {"query": {"query": "count", "by": ["state"]}}
DELTAS = (
    PLAN.replace("epsilon = 2.0", "epsilon = 2.0\ndelta = 1e-6")
    .replace("budget = { epsilon = 1.0 }", "budget = { epsilon = 1.0, delta = 1e-7 }")
    .replace("budget = { epsilon = 1.5 }", "budget = { epsilon = 1.5, delta = 1e-6 }")
)


def test_a_wider_target_than_a_stored_release_meets_is_free_whoever_asks_and_a_narrower_one_is_charged(house, ana):
    first = ana.post("/api/v1/datasets/people/release", json={**COUNT, "within": 50, "request": "a"}).json()
    assert first["charged"]["epsilon"] < 0.07
    with house.client("bob") as bob:
        seen = bob.post("/api/v1/datasets/people/preview", json={**COUNT, "within": 90}).json()
        assert (seen["stored"], seen["release"]) == (True, first["release"])
        assert seen["error"]["half_width"] <= 50
        wider = bob.post("/api/v1/datasets/people/release", json={**COUNT, "within": 90, "request": "b"}).json()
        assert (wider["charged"], wider["rows"]) == (None, first["rows"])
        narrower = bob.post("/api/v1/datasets/people/release", json={**COUNT, "within": 30}).json()
        assert narrower["charged"]["epsilon"] > first["charged"]["epsilon"]
        again = bob.post("/api/v1/datasets/people/release", json={**COUNT, "within": 90, "request": "b"}).json()
        assert again["release"] == first["release"]
    likelier = {**COUNT, "within": 50, "level": 0.999, "spend": {"epsilon": 0.08}}
    refused = ana.post("/api/v1/datasets/people/preview", json=likelier)
    assert refused.status_code == 409, "what is stored is within 50 less often"


def test_a_target_takes_a_stored_release_that_was_asked_for_by_its_spend(ana):
    made = ana.post("/api/v1/datasets/people/release", json={**COUNT, "spend": {"epsilon": 0.5}}).json()
    found = ana.post("/api/v1/datasets/people/release", json={**COUNT, "within": "2%"}).json()
    assert (found["charged"], found["release"]) == (None, made["release"])
    other = {"query": {"query": "count", "by": ["state"], "where": "age >= 18"}, "within": "2%"}
    assert ana.post("/api/v1/datasets/people/preview", json=other).json()["stored"] is False


def test_a_release_that_nobody_may_see_yet_meets_no_target(tmp_path):
    desk = Desk(read_plan(people(tmp_path)))
    desk._opened = replace(desk.open(), sight=Sight(desk.ledger, 1e9))
    ana, bob = (desk.plan.service.analysts[name] for name in ("ana", "bob"))
    desk.sight.look()
    ask = ReleaseAsk(query=COUNT["query"], within=50, request="a")
    made = desk.released(ana, ask, desk.begin(ana, ask, desk.settled(ana, ask, "a")))
    assert made["charged"] is not None
    wider = ReleaseAsk(query=COUNT["query"], within=90)
    assert desk.preview(bob, wider)["cost"]["epsilon"] < made["charged"]["epsilon"]
    assert desk.preview(bob, wider)["release"] != made["release"]
    (same,) = desk.settled(ana, ask, "a")  # a request keeps what it stood for
    assert same.digests[0] == made["release"]


def test_a_target_takes_a_tenth_of_the_smaller_delta(tmp_path):
    desk = Desk(read_plan(people(tmp_path, DELTAS)))
    ask = ReleaseAsk(query={"query": "density", "columns": ["age"], "bandwidth": 8}, within=0.004)
    for name, delta in (("ana", 1e-8), ("bob", 1e-7)):
        (one,) = desk.settled(desk.plan.service.analysts[name], ask)
        assert one.order.claim.parts()["delta"] == pytest.approx(delta)
