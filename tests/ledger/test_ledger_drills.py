"""Races and kills of real processes: no overspending, no deadlock, nothing shown unpaid."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from thinned import thinned

DRILLS = Path(__file__).with_name("drills.py")
SECONDS = 300  # a drill takes a few seconds; reaching this means a deadlock


def drill(*arguments):
    command = [sys.executable, "-W", "error", str(DRILLS), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("charges", thinned([40, 200], 1))
def test_eight_processes_never_exceed_the_budget_by_one_unit(tmp_path, charges):
    found = drill("race", tmp_path, "--processes", 8, "--charges", charges, "--steps", 5 * charges)
    assert found["failed"] == 0
    assert found["problems"] == []
    assert found["attempts"] == 8 * charges
    # the budget is a whole number of charges, so a correct ledger hits it exactly
    assert found["admitted"] == found["recorded"] == 5 * charges
    assert found["total"] == found["budget"]


@pytest.mark.heavy
def test_two_hundred_kills_leave_nothing_shown_without_its_charge_and_release(tmp_path):
    found = drill("kill", tmp_path, "--kills", 200)
    assert found["problems"] == []
    assert found["shown"] > 100
    # the kills did land between the steps, inside commits, and with contents beside the file
    assert all(count >= 3 for count in found["seen"].values()), found["seen"]


def test_kills_leave_nothing_shown_without_its_charge_and_release(tmp_path):
    assert drill("kill", tmp_path, "--kills", 30)["problems"] == []


def test_the_kills_catch_a_publisher_that_shows_before_it_stores(tmp_path):
    found = drill("kill", tmp_path, "--kills", 60, "--careless")
    assert "shown without its charge and stored release" in found["problems"]
