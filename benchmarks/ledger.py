"""What a durable charge costs, and whether races and kills can break the ledger.

Run `python benchmarks/ledger.py --json [--quick | --full]`: one JSON object per line with the figure,
its value, the target and whether it holds.  Speeds are ratios within this run, since a disk's own
speed is not ours: the floor is appending a line to a plain file and syncing it.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.ledger import Ledger, rules
from sfumato.ledger.database import LEDGER, insert
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.privacy.guarantees import Pure

DRILLS = Path(__file__).parents[1] / "tests" / "ledger" / "drills.py"
DIGEST = "0" * 64
ABOUT = {"mechanism": "laplace", "parameters": {"scale": 4.0}, "query": {"type": "count"}}
SYNCS = 4  # journal twice, main file, emptied journal: what a rollback-journal commit syncs


@dataclass(frozen=True)
class Size:
    """How much to measure."""

    charges: int
    entries: int
    race: int
    kills: int


SIZES = {
    "quick": Size(charges=200, entries=2_000, race=50, kills=40),
    "usual": Size(charges=1_000, entries=20_000, race=200, kills=200),
    "full": Size(charges=3_000, entries=100_000, race=1_000, kills=2_000),
}


@dataclass(frozen=True)
class Figure:
    """One measured figure and its verdict."""

    figure: str
    value: object
    target: str
    holds: bool


def opened(path: Path) -> Ledger:
    """A ledger whose budget outlasts the measurements."""
    return Ledger.open(path, dataset="benchmark", adjacency=AddRemove(), unit=Row(), budget=Pure(1e6))


def median_seconds(work: Callable[[int], object], times: range) -> float:
    """The median time of one call."""
    spent = []
    for turn in times:
        start = time.perf_counter()
        work(turn)
        spent.append(time.perf_counter() - start)
    return statistics.median(spent)


def speed(directory: Path, size: Size) -> Iterator[Figure]:
    """A charge against bare synced appends and against a bare SQLite commit with the same settings."""
    ledger = opened(directory / "speed.ledger")
    plain = os.open(directory / "plain", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    bare = sqlite3.connect(directory / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = TRUNCATE")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE entries (body TEXT)")

    def append(_: int) -> None:
        os.write(plain, b"x" * 500)
        os.fsync(plain)

    def commit(_: int) -> None:
        bare.execute("BEGIN IMMEDIATE")
        bare.execute("INSERT INTO entries VALUES (?)", ("x" * 500,))
        bare.execute("COMMIT")

    def charge(turn: int) -> None:
        ledger.charge(f"speed {turn}", DIGEST, Pure(1e-3), ABOUT)

    appended = median_seconds(append, range(size.charges))
    committed = median_seconds(commit, range(size.charges))
    charged = median_seconds(charge, range(size.charges))
    os.close(plain)
    bare.close()
    floor = charged / appended
    syncs = f"<= 20 (a commit alone syncs {SYNCS} times)"
    yield Figure("time of a charge / a bare synced append", round(floor, 2), syncs, floor <= 20)
    ratio = charged / committed
    yield Figure("time of a charge / a bare SQLite commit", round(ratio, 2), "<= 3", ratio <= 3)


def growth(directory: Path, size: Size) -> Iterator[Figure]:
    """The time of a charge in a long ledger against a short one, both measured at the end."""
    short, long = opened(directory / "short.ledger"), opened(directory / "long.ledger")
    fill(long, size.entries)

    def charge(ledger: Ledger) -> Callable[[int], object]:
        return lambda turn: ledger.charge(f"growth {turn}", DIGEST, Pure(1e-3), ABOUT)

    rounds = [
        (median_seconds(charge(long), turns), median_seconds(charge(short), turns))
        for turns in (range(start, start + 50) for start in range(0, 250, 50))
    ]
    ratio = statistics.median(a for a, _ in rounds) / statistics.median(b for _, b in rounds)
    name = f"time of a charge after {size.entries} entries / after none"
    yield Figure(name, round(ratio, 2), "<= 1.5", ratio <= 1.5)
    start = time.perf_counter()
    found = long.verify()
    seconds = (time.perf_counter() - start) / found.entries
    yield Figure("verified entries per second", round(1 / seconds), "chain holds", found.holds)


def fill(ledger: Ledger, entries: int) -> None:
    """Charges by the ledger's own rules in one transaction, since only the end is measured."""
    last, first = ledger.entries()[-1], rules.first_of(ledger.entries())
    with LEDGER.writing(ledger.path) as connection:
        for turn in range(entries):
            last = rules.charging(ledger.terms, last, first, f"fill {turn}", DIGEST, Pure(1e-3), ABOUT)
            insert(connection, last)


def drill(name: str, directory: Path, **options: int) -> dict[str, object]:
    """Run a drill of the tests in a process of its own."""
    place = directory / name
    place.mkdir(parents=True)
    arguments = [text for key, value in options.items() for text in (f"--{key}", str(value))]
    command = [sys.executable, str(DRILLS), name, str(place), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def races(directory: Path, size: Size) -> Iterator[Figure]:
    """Eight processes on one ledger whose budget takes five eighths of what they ask."""
    budget = 8 * size.race * 5 // 8
    found = drill("race", directory, processes=8, charges=size.race, steps=budget)
    exact = found["admitted"] == found["recorded"] == budget and found["total"] == found["budget"]
    holds = exact and found["failed"] == 0 and found["problems"] == []
    name = f"8 processes x {size.race} charges: admitted of a budget of {budget}"
    yield Figure(name, found["admitted"], f"{budget} exactly, no deadlock", holds)
    alone = drill("race", directory / "alone", processes=1, charges=size.race, steps=size.race)
    ratio = float(str(found["per_second"])) / float(str(alone["per_second"]))
    name = "charges per second of 8 processes together / of one alone"
    yield Figure(name, round(ratio, 2), ">= 0.25", ratio >= 0.25)


def kills(directory: Path, size: Size) -> Iterator[Figure]:
    """A publishing process killed at random moments."""
    found = drill("kill", directory, kills=size.kills)
    problems = found["problems"]
    count = len(problems) if isinstance(problems, list) else -1
    name = f"{size.kills} kills: answers shown without charge and stored release, or broken ledgers"
    yield Figure(name, count, "0", count == 0)
    seen = found["seen"]
    spread = isinstance(seen, dict) and min(seen.values()) >= 1
    yield Figure("where the kills fell", seen, "at least once in each phase", spread)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", dest="size", action="store_const", const="quick", default="usual")
    how.add_argument("--full", dest="size", action="store_const", const="full")
    options = parser.parse_args()
    held = True
    with tempfile.TemporaryDirectory() as directory:
        for part in (speed, growth, races, kills):
            for figure in part(Path(directory), SIZES[options.size]):
                held = held and figure.holds
                plain = f"{figure.figure}: {figure.value} (target {figure.target})"
                print(json.dumps(vars(figure)) if options.json else plain, flush=True)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
