"""Killed midway: the charge stands, nothing is released that is not stored, nothing stays behind, a retry is safe."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from killing import QUERIES


@pytest.mark.parametrize(("seed", "points"), [(1, 4), pytest.param(2, 60, marks=pytest.mark.heavy)])
def test_a_process_killed_at_random_points_has_paid_and_shown_nothing_else(tmp_path, seed, points):
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, str(Path(__file__).parent / "killing.py"), str(tmp_path), str(seed), str(points)]
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [json.loads(line) for line in printed.splitlines()]
    assert len(found) == points
    assert max(one["left"] for one in found) > 0  # a killed process leaves its folder,
    assert [one["remains"] for one in found] == [0] * points  # and the next one removes it
    assert any(len(one["before"]["charged"]) > len(one["before"]["stored"]) for one in found)
    for one in found:
        before, after = one["before"], one["after"]
        assert (one["ended"], one["again"]) == (signal.SIGKILL, 0)
        assert [name for name, _ in before["shown"]] == before["stored"][: len(before["shown"])]
        assert set(before["stored"]) <= set(before["charged"])
        assert len(after["charged"]) == len(before["charged"]) + len(QUERIES) - len(before["stored"])
        assert len(set(after["stored"])) == len(after["stored"]) == len(QUERIES)
        assert {tuple(pair) for pair in before["shown"]} <= {tuple(pair) for pair in after["shown"]}
        assert len({tuple(pair) for pair in after["shown"]}) == len(QUERIES)
