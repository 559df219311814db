"""A publisher killed at random moments leaves no release without its charge and its stored bytes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DRILL = Path(__file__).with_name("publishing.py")


def drilled(folder, kills, releases):
    command = [sys.executable, "-W", "error", str(DRILL), str(folder), f"--kills={kills}", f"--releases={releases}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["killed"] == kills
    return found


def test_kills_of_a_publisher_leave_nothing_unpaid(tmp_path):
    assert drilled(tmp_path, 2, 3)["code"] == 0


@pytest.mark.heavy
def test_twenty_kills_of_a_publisher_leave_nothing_unpaid(tmp_path):
    found = drilled(tmp_path, 20, 8)
    assert found["partial"] >= 5  # the kills did land between releases
    assert found["repeated"] >= 10  # and later publishers met stored releases
    assert (found["code"], found["files"]) == (0, 16)  # the next run completes the plan ...
    assert 8 <= found["charges"] <= 10  # ... and pays again only for what was cut short
    assert found["forged"] == ["answer-0.json has no charge and stored release"]  # the examination can fail
