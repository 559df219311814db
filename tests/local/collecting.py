"""Kills of a collector, run in a process of their own: `python collecting.py DIRECTORY [options]`.

The process has one thread and everything imported, so forking children is safe and fast.  A child plays a sender and
its collector: it adds message after message, some of them again, and writes down each acknowledgment, durably.  It is
killed at any moment; the parent then checks the journal against the acknowledgments.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import sys
from pathlib import Path

import numpy as np

from sfumato.local.client import Randomized, encode_batch
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import Collection
from sfumato.local.protocols import GeneralizedResponse
from sfumato.privacy.guarantees import Pure

sys.path.append(str(Path(__file__).parents[1]))

from waiting import let_pass, measure_seconds, wait_for_kill

SIZE, CELLS, ACKNOWLEDGED = 5, 4, "acknowledged"
PROTOCOL = GeneralizedResponse.calibrate(CELLS, Pure(1.0))
COLLECTION = Collection("drill", PROTOCOL)


def message(number: int) -> bytes:
    """The sender's message of that number, the same each time: five reports, with tokens."""
    reports = (np.arange(SIZE) + number).astype(np.uint8) % CELLS
    tokens = np.zeros((SIZE, 16), dtype=np.uint8)
    tokens[:, :8] = np.frombuffer(number.to_bytes(8, "little"), dtype=np.uint8)
    tokens[:, 8] = np.arange(SIZE)
    return encode_batch(COLLECTION, Randomized(PROTOCOL, reports), number.to_bytes(16, "little"), tokens)


def acknowledged(place: Path) -> list[int]:
    """The numbers of the messages that the sender need not send again."""
    path = place / ACKNOWLEDGED
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def work(place: Path, careless: bool, step) -> None:
    """Send on from the last acknowledgment, each third message twice, for ever.

    A careless collector acknowledges before it adds: the planted bug that the drill must catch.
    """
    step()
    collector = Collector(COLLECTION, place / "drill.journal")
    screen = os.open(place / ACKNOWLEDGED, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def acknowledge(number: int) -> None:
        os.write(screen, f"{number}\n".encode())
        os.fsync(screen)

    for number in itertools.count(len(acknowledged(place))):
        if careless:
            acknowledge(number)
            step()
        else:
            step()
        collector.add(message(number))
        if number % 3 == 0:
            step()
            collector.add(message(number))
        step()
        if not careless:
            acknowledge(number)


def examine(place: Path, seen: dict[str, int]) -> list[str]:
    """Everything that contradicts the promise, after a kill."""
    numbers = acknowledged(place)
    journal = place / "drill.journal-journal"
    seen["open journal"] += journal.exists() and journal.stat().st_size > 0
    if not (place / "drill.journal").exists():
        seen["no journal yet"] += 1
        return ["acknowledged without a journal"] if numbers else []
    state = Collector(COLLECTION, place / "drill.journal").state
    for count in (len(numbers), len(numbers) + 1):  # the last message may be folded but not acknowledged
        expected = sum((PROTOCOL.tally((np.arange(SIZE) + i).astype(np.uint8) % CELLS) for i in range(count)), start=0)
        if state.reports == SIZE * count and np.array_equal(state.tally, np.zeros(CELLS) + expected):
            seen["folded, not acknowledged"] += count > len(numbers)
            return []
    return ["an acknowledged message is lost" if state.reports < SIZE * len(numbers) else "a message counts twice"]


def kill_once(place: Path, steps: int, moments: random.Random, careless: bool) -> int:
    """Start a sender; kill it exactly before that step, or at a random moment around it."""
    ear, mouth = os.pipe()
    inside = moments.random() < 0.6
    turn = itertools.count(1)

    def step() -> None:
        os.write(mouth, b".")
        if next(turn) == steps and not inside:
            wait_for_kill()

    child = os.fork()
    if not child:
        code = 1
        try:
            work(place, careless, step)
            code = 0
        except BaseException as failure:
            print(repr(failure), file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(mouth)
    pace = measure_seconds(lambda: read_steps(ear, steps)) / steps
    let_pass(moments.uniform(0, 2 * pace) if inside else 0)
    os.kill(child, signal.SIGKILL)
    os.close(ear)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read_steps(ear: int, steps: int) -> None:
    """Hear of so many steps, or of the end of the child, which its exit code will tell."""
    for _ in range(steps):
        if not os.read(ear, 1):
            break


def main() -> None:
    """Kill that many times; a new journal after each `every` kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--careless", action="store_true")
    options = parser.parse_args()
    moments = random.Random(options.seed)
    seen = dict.fromkeys(("no journal yet", "open journal", "folded, not acknowledged"), 0)
    problems: list[str] = []
    total = 0
    for turn in range(options.kills):
        place = options.directory / str(turn // options.every)
        place.mkdir(exist_ok=True)
        steps = moments.randrange(1, 14) if turn % options.every else 1  # 1: while making the journal
        if kill_once(place, steps, moments, options.careless) != -signal.SIGKILL:
            problems.append("the child ended by itself")
        problems += examine(place, seen)
        total += len(acknowledged(place)) if turn % options.every == options.every - 1 else 0
    print(json.dumps({"kills": options.kills, "problems": problems, "acknowledged": total, "seen": seen}))


if __name__ == "__main__":
    main()
