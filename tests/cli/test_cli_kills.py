"""A publisher killed at random moments leaves no release without its charge and its stored bytes."""

import json
import subprocess
import sys
from pathlib import Path

DRILL = Path(__file__).with_name("publishing.py")


def test_twenty_kills_of_a_publisher_leave_nothing_unpaid(tmp_path):
    command = [sys.executable, "-W", "error", str(DRILL), str(tmp_path), "--kills", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["killed"] == 20
    assert found["partial"] >= 5  # the kills did land between releases
    assert found["repeated"] >= 10  # and later publishers met stored releases
    assert (found["code"], found["files"]) == (0, 16)  # the next run completes the plan ...
    assert 8 <= found["charges"] <= 10  # ... and pays again only for what was cut short
    assert found["forged"] == ["answer-0.json has no charge and stored release"]  # the examination can fail
