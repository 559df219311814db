"""Which heavy tests a run takes: as many as fit into some processor seconds, others for each seed.

`pytest --part SECONDS` takes a part.  The seed is the commit, or what `SFUMATO_PART` says; the header of the run names
it.  `heavy.txt` holds what each test took; `python tests/rotation.py RUN` writes it anew from what a run printed
with `--durations=0`.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

SEED = "SFUMATO_PART"
HELD = Path(__file__).with_name("heavy.txt")
UNKNOWN = 2.0  # seconds of a test that no run has measured
MARKED = 8.0  # of one that is marked as heavy where it stands
LINE = re.compile(r"([\d.]+)s (?:setup|call|teardown) +(\S.*?)\s*$")


def find_seed() -> str:
    """Return the seed that was asked for, or else the commit."""
    asked = os.environ.get(SEED)
    if asked:
        return asked
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(command, cwd=HELD.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no commit"


def read_seconds() -> dict[str, float]:
    """Return the processor seconds of each test that was measured."""
    pairs = [line.split(" ", 1) for line in HELD.read_text().splitlines()]
    return {name: float(seconds) for seconds, name in pairs}


def choose_part(names: Iterable[str], seconds: Mapping[str, float], budget: float, seed: str) -> set[str]:
    """Return names whose seconds fit into the budget, in an order that the seed draws.

    The first one is taken whatever it takes, so that each name has its turn.
    """
    left, chosen = budget, set()
    for name in sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest()):
        if seconds.get(name, UNKNOWN) <= left or not chosen:
            chosen.add(name)
            left -= seconds.get(name, UNKNOWN)
    return chosen


def read_durations(run: str) -> dict[str, float]:
    """Return the seconds of each test in what a run printed."""
    seconds: Counter[str] = Counter()
    for line in run.splitlines():
        if found := LINE.match(line):
            seconds[found[2]] += float(found[1])
    return dict(seconds)


def write_seconds(seconds: Mapping[str, float]) -> None:
    """Keep the seconds of each test, by name."""
    HELD.write_text("".join(f"{spent:.1f} {name}\n" for name, spent in sorted(seconds.items())))


if __name__ == "__main__":
    write_seconds(read_seconds() | read_durations(Path(sys.argv[1]).read_text()))
