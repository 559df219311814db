"""Kills and races of releases charged together: nothing computed unpaid, nothing begun twice, no overspending."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from thinned import thinned

DRILLS = Path(__file__).with_name("batching.py")


def drill(*arguments, seconds=600):
    command = [sys.executable, "-W", "error", str(DRILLS), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.heavy
def test_kills_at_random_moments_leave_nothing_computed_unpaid_or_shown_unstored(tmp_path):
    found = drill("kill", tmp_path, "--kills", 4)
    assert found["problems"] == []


@pytest.mark.parametrize("epsilon", thinned([0.8, 3.0], 1))  # one batch fits, or both do
def test_two_processes_with_the_same_batch_never_overspend_or_share_a_charge(tmp_path, epsilon):
    found = drill("race", tmp_path, "--rounds", 1, "--epsilon", epsilon)
    assert found["problems"] == []
    assert found["seen"]["finished"] == 1


@pytest.mark.heavy
def test_many_kills_land_between_charge_beginning_and_storing(tmp_path):
    found = drill("kill", tmp_path, "--kills", 120, "--seed", 2, seconds=3600)
    assert found["problems"] == []
    assert found["seen"]["charged, not begun"] >= 1
    assert found["seen"]["begun, not stored"] >= 1


@pytest.mark.heavy
def test_the_kills_catch_a_ledger_that_begins_a_lost_release_again_for_nothing(tmp_path):
    found = drill("kill", tmp_path, "--kills", 60, "--careless", seconds=3600)
    assert "a release of a batch was begun twice" in found["problems"]


@pytest.mark.heavy
def test_many_races_and_kills_under_a_tight_budget(tmp_path):
    for name, arguments in {
        "tight": ["kill", "--kills", 60, "--epsilon", 1.0, "--seed", 3],
        "race": ["race", "--rounds", 10, "--processes", 3, "--seed", 4],
    }.items():
        (tmp_path / name).mkdir()
        assert drill(arguments[0], tmp_path / name, *arguments[1:], seconds=3600)["problems"] == []
