"""A part of the heavy tests: the same for the same seed, within its seconds, and each test has its turn."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rotation import choose_part, read_durations, read_seconds, write_seconds

SECONDS = {f"test_{place}": 0.5 + place % 7 for place in range(300)} | {"test_long": 90.0, "test_longest": 500.0}


def test_a_part_fits_into_its_seconds_and_repeats():
    for seed in map(str, range(50)):
        part = choose_part(SECONDS, SECONDS, 100.0, seed)
        assert part == choose_part(reversed(SECONDS), SECONDS, 100.0, seed)
        if "test_longest" not in part:
            assert 95 < sum(SECONDS[name] for name in part) <= 100
    assert choose_part(SECONDS, SECONDS, 100.0, "1") != choose_part(SECONDS, SECONDS, 100.0, "2")


def test_each_test_has_its_turn():
    parts = [choose_part(SECONDS, SECONDS, 100.0, f"{seed}") for seed in range(2000)]
    assert set.union(*parts) == set(SECONDS)


def test_tests_that_nobody_measured_count_as_some_seconds():
    assert len(choose_part([f"new_{place}" for place in range(100)], {}, 20.0, "1")) == 10


def test_measured_seconds_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("rotation.HELD", tmp_path / "heavy.txt")
    run = "1.25s call     tests/a.py::test_x[two words]\n0.50s setup    tests/a.py::test_x[two words]\n3.00s call b\n"
    write_seconds(read_durations(run))
    assert read_seconds() == {"tests/a.py::test_x[two words]": pytest.approx(1.8, abs=0.06), "b": 3.0}


@pytest.mark.heavy
def test_a_run_says_how_it_is_repeated():
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--part", "60", "tests/test_looping.py"]
    moved = os.environ | {"SFUMATO_FRESH_SEEDS": "5", "SFUMATO_PART": "seven"}
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, env=moved, capture_output=True, text=True, check=True)
    assert "repeat with SFUMATO_FRESH_SEEDS=5\n" in done.stdout
    assert "repeat with SFUMATO_PART=seven\n" in done.stdout
