"""Kills of real collectors: nothing acknowledged is lost, nothing counts twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DRILL = Path(__file__).with_name("collecting.py")
SECONDS = 300  # a drill takes a few seconds; reaching this means a deadlock


def drill(*arguments, script=DRILL):
    command = [sys.executable, "-W", "error", str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.heavy
def test_kills_lose_no_acknowledged_report_and_count_none_twice(tmp_path):
    found = drill(tmp_path, "--kills", 18, "--every", 6)
    assert found["problems"] == []
    assert found["acknowledged"] > 6


@pytest.mark.heavy
def test_sixty_kills_lose_no_acknowledged_report_and_count_none_twice(tmp_path):
    found = drill(tmp_path, "--kills", 60, "--every", 6)
    assert found["problems"] == []
    assert found["acknowledged"] > 30
    # the kills did land before the journal, inside commits, and between commit and acknowledgment
    assert all(count >= 2 for count in found["seen"].values()), found["seen"]


@pytest.mark.heavy
def test_the_kills_catch_a_collector_that_acknowledges_before_it_is_durable(tmp_path):
    assert "an acknowledged message is lost" in drill(tmp_path, "--kills", 20, "--careless")["problems"]


RELAY = Path(__file__).with_name("relaying.py")


@pytest.mark.heavy
def test_kills_of_devices_relay_and_collector_lose_nothing_and_count_nothing_twice(tmp_path):
    found = drill(tmp_path, "--kills", 8, script=RELAY)
    assert found["problems"] == []
    assert found["reports"] > 5


@pytest.mark.heavy
def test_two_hundred_kills_of_devices_relay_and_collector(tmp_path):
    found = drill(tmp_path, "--kills", 200, script=RELAY)
    assert found["problems"] == []
    assert found["reports"] > 100
    assert all(count > 30 for count in found["kills"].values())


@pytest.mark.heavy
def test_the_kills_catch_a_relay_that_acknowledges_before_it_is_durable(tmp_path):
    assert "an acknowledged report is lost" in drill(tmp_path, "--kills", 2, "--careless", script=RELAY)["problems"]
