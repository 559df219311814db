"""Tokens from the command line: ended wherever they were given, and what is mistyped is told."""

import json
import pathlib

import pytest

from houses import PLAN, House, people
from sfumato.plans import read_plan
from sfumato.server.roster import Roster
from sfumato.server.store import opened_store
from waiting import wait_until


@pytest.fixture
def two(tmp_path):
    """Plans of two datasets, each in a folder of its own."""
    for name in ("people", "others"):
        (tmp_path / name).mkdir()
    other = people(tmp_path / "others", PLAN.replace('dataset = "people"', 'dataset = "others"'))
    return str(people(tmp_path / "people")), str(other)


def roster(path):
    plan = read_plan(path)
    return Roster(opened_store(plan), plan.schema.dataset)


def added(run, *arguments):
    return json.loads(run("analyst", "add", *arguments, "--json").out)["token"]


def test_a_token_for_several_plans_ends_for_all_of_them_whichever_is_said(two, run):
    for said in two:
        token = added(run, two[0], "ana", "--also", two[1])
        assert all(roster(path).find(token) for path in two)
        ended = json.loads(run("analyst", "revoke", said, "ana", "--json").out)
        assert (ended["revoked"], sorted(ended["datasets"])) == (1, ["others", "people"])
        assert not any(roster(path).find(token) for path in two)


def test_what_is_said_to_have_ended_is_what_ended(two, run):
    first, second = added(run, two[0], "ana"), added(run, two[0], "ana", "--also", two[1])
    bobs = added(run, two[0], "bob")
    held = [one.hash for one in roster(two[0]).tokens() if one.analyst == "ana"]
    assert run("analyst", "revoke", two[0], "ana", "--token", held[0][:12]).out.startswith(
        "1 token of ana ended, for people"
    )
    assert run("analyst", "revoke", two[0], "ana").out.startswith("1 token of ana ended, for people, others")
    assert run("analyst", "revoke", two[0], "ana").out.startswith("0 tokens of ana ended")
    assert not any(roster(path).find(token) for path in two for token in (first, second))
    assert roster(two[0]).find(bobs) is not None


def test_where_another_plan_is_gone_the_token_ends_here_and_that_is_told(two, run, tmp_path):
    token = added(run, two[0], "ana", "--also", two[1])
    (tmp_path / "others").rename(tmp_path / "elsewhere")
    found = run("analyst", "revoke", two[0], "ana")
    assert found.code != 0
    assert "could not be ended there" in " ".join(found.err.split())
    assert roster(two[0]).find(token) is None


def test_a_mistyped_name_or_token_ends_nothing_and_says_which_there_are(two, run):
    token = added(run, two[0], "ana")
    for arguments, said in ((["anna"], "known are ana, bob, sam"), (["ana", "--token", "ffff"], "theirs are ")):
        found = run("analyst", "revoke", two[0], *arguments)
        assert found.code != 0
        assert said in " ".join(found.err.split())
    assert roster(two[0]).find(token) is not None
    gone = PLAN.replace("[analysts.bob]\nbudget = { epsilon = 1.5 }\n", "")
    bobs = added(run, two[0], "bob")
    people(read_plan(two[0]).path.parent, gone)  # who left the plan can still be revoked
    assert run("analyst", "revoke", two[0], "bob").out.startswith("1 token of bob ended")
    assert roster(two[0]).find(bobs) is None


def test_a_service_lets_nobody_in_with_a_token_that_was_revoked_for_one_of_its_datasets(two):
    """Also where only one of several places could be told, or none knows of the others."""
    with House(*map(pathlib.Path, two)) as house, house.client("ana") as ana:
        roster(two[1]).add("ana", None, house.tokens["ana"])
        assert ana.get("/api/v1/me").json()["datasets"] == ["people", "others"]
        roster(two[0]).revoke("ana")
        wait_until(lambda: ana.get("/api/v1/me").status_code != 200)
        assert ana.get("/api/v1/datasets/others/budget").status_code == 401
